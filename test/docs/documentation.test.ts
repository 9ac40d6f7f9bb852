// What the public surface says of itself: every symbol of the entries has a doc comment, every member of it
// too, in the order a reader expects, and the examples in these comments compile.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));
const source = `${root}src/`;
const entries = [
  'index.ts',
  'node/index.ts',
  'opentelemetry/index.ts',
  'sandbox/index.ts',
  'testing/index.ts',
  'testing/msw.ts',
  'tracking/index.ts',
].map((path) => source + path);

const { config } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, files: [], include: [] }, ts.sys, root);

/** A program over real files and these, which no disk has; what was read for `base` is not read again. */
function programOf(virtual: ReadonlyMap<string, string>, base?: ts.Program): ts.Program {
  const host = ts.createCompilerHost(options, true);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => virtual.has(path) || fileExists(path);
  host.readFile = (path) => virtual.get(path) ?? readFile(path);
  host.getSourceFile = (path, version) => {
    const text = virtual.get(path);
    if (text !== undefined) return ts.createSourceFile(path, text, version, true);
    return base?.getSourceFile(path) ?? getSourceFile(path, version);
  };
  // An example shows what a call gives, and need not use it.
  return ts.createProgram([...entries, ...virtual.keys()], { ...options, noUnusedLocals: false }, host, base);
}

type Member =
  | ts.ClassElement
  | ts.TypeElement
  | ts.FunctionDeclaration
  | ts.ClassDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.VariableDeclaration;

interface Example {
  readonly of: string;
  readonly code: string;
}

/** What was found in the doc comments that can be reached from an entry. */
interface Reading {
  /** `HostedClient.fromEnv`, and whatever else was looked at. */
  readonly seen: readonly string[];
  readonly problems: readonly string[];
  readonly examples: readonly Example[];
}

/** Reads the exports of these files, and whatever types of the same source their declarations name. */
function read(program: ts.Program, paths: readonly string[]): Reading {
  const checker = program.getTypeChecker();
  const seen: string[] = [];
  const problems: string[] = [];
  const examples: Example[] = [];
  const followed = new Set<ts.Symbol>();

  function follow(given: ts.Symbol | undefined): void {
    if (given === undefined || given.flags & ts.SymbolFlags.TypeParameter) return;
    const symbol = given.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(given) : given;
    if (followed.has(symbol)) return;
    followed.add(symbol);
    const own = (symbol.declarations ?? []).filter((declaration) => isOwn(declaration.getSourceFile().fileName));
    for (const declaration of own) visit(declaration, '');
  }

  const isOwn = (path: string) => path.startsWith(source) || paths.includes(path);

  function visit(node: ts.Node, path: string): void {
    if (ts.isBlock(node) || isHidden(node)) return;
    const at = isMember(node) ? [path, nameOf(node)].filter(Boolean).join('.') : path;
    if (isMember(node)) check(node, at);
    if (ts.isTypeReferenceNode(node)) follow(checker.getSymbolAtLocation(node.typeName));
    if (ts.isExpressionWithTypeArguments(node)) follow(checker.getSymbolAtLocation(node.expression));
    ts.forEachChild(node, (child) => visit(child, at));
  }

  function check(node: Member, at: string): void {
    seen.push(at);
    if (!textOf(node)) problems.push(`${at} has no doc comment`);
    for (const problem of [...parameterProblems(node), ...tagProblems(node)]) problems.push(`${at} ${problem}`);
    for (const tag of ts.getJSDocTags(node).filter(({ tagName }) => tagName.text === 'example')) {
      const [, code] = /```ts\n(.*?)```/s.exec(ts.getTextOfJSDocComment(tag.comment) ?? '') ?? [];
      if (code !== undefined) examples.push({ of: at, code });
      else problems.push(`${at} has an example without a block of TypeScript`);
    }
  }

  // A member that is declared once may have its words from the class or interface above; an overload may not.
  function textOf(node: Member): string {
    const own = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).at(-1)?.comment;
    const symbol = node.name && checker.getSymbolAtLocation(node.name);
    if (own !== undefined || symbol?.declarations?.length !== 1) return ts.getTextOfJSDocComment(own) ?? '';
    return ts.displayPartsToString(symbol.getDocumentationComment(checker));
  }

  function parameterProblems(node: Member): readonly string[] {
    if (!ts.isFunctionLike(node)) return [];
    const nameless = node.parameters.filter(
      (parameter) => !ts.getJSDocParameterTags(parameter).some(({ comment }) => ts.getTextOfJSDocComment(comment)),
    );
    const signature = checker.getSignatureFromDeclaration(node);
    const gives = signature ? checker.typeToString(checker.getReturnTypeOfSignature(signature)) : 'void';
    const isTold =
      ['void', 'Promise<void>'].includes(gives) ||
      ts.isConstructorDeclaration(node) ||
      ts.isAccessor(node) ||
      isOverride(node) ||
      ts.getJSDocReturnTag(node)?.comment !== undefined;
    return [
      ...nameless.map(({ name }) => `has no @param for "${name.getText()}"`),
      ...(isTold ? [] : ['has no @returns']),
    ];
  }

  for (const path of paths) {
    const file = program.getSourceFile(path);
    const module = file && checker.getSymbolAtLocation(file);
    if (!module) throw new Error(`Cannot read the exports of "${path}"`);
    for (const exported of checker.getExportsOfModule(module)) follow(exported);
  }
  return { seen, problems, examples };
}

const order = ['typeParam', 'param', 'returns', 'throws', 'example', 'see'];

/** Tags that are not as the others are: in another order, an error without its class, an example without a title. */
function tagProblems(node: ts.Node): readonly string[] {
  const tags = ts.getJSDocTags(node).filter(({ tagName }) => tagName.text !== 'inline');
  const source = node.getSourceFile().fileName;
  const places = tags.map(({ tagName }) => order.indexOf(tagName.text));
  const isOrdered = places.every((place, index) => place >= (index === 0 ? 0 : (places[index - 1] ?? 0)));
  return [
    ...(isOrdered ? [] : [`has its tags in the order ${tags.map(({ tagName }) => tagName.text).join(', ')}`]),
    ...tags
      .filter(ts.isJSDocThrowsTag)
      .filter((tag) => !tag.typeExpression || !/^when /.test(ts.getTextOfJSDocComment(tag.comment) ?? ''))
      .map(() => 'has a @throws without "{Class} when …"'),
    ...tags
      .filter(({ tagName }) => tagName.text === 'example')
      .filter((tag) => !/^[A-Z]/.test(ts.getTextOfJSDocComment(tag.comment) ?? ''))
      .map(() => 'has an example without a title'),
    ...tags
      .filter(({ tagName }) => tagName.text === 'see')
      .filter((tag) => !leadsToHeadings(tag.getText(), dirname(source)))
      .map(() => 'has a @see without links to headings that exist'),
  ];
}

function leadsToHeadings(text: string, folder: string): boolean {
  const links = [...text.matchAll(/\]\(([^)#]+)#([^)]+)\)/g)];
  // Editors show a first word as the name of a symbol.
  return (
    text.startsWith('@see [') &&
    links.length > 0 &&
    links.every(([, path = '', id = '']) => headingIds(join(folder, path)).includes(id))
  );
}

/** The ids that a web page of a document gives to its headings. */
function headingIds(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
}

function isMember(node: ts.Node): node is Member {
  return (
    ts.isClassElement(node) ||
    ts.isTypeElement(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isVariableDeclaration(node)
  );
}

/** Whether a function implements overloads, which are what a declaration file has of it. */
function isImplementation(node: ts.Node): boolean {
  if (!ts.isFunctionDeclaration(node) || !node.body || !ts.isSourceFile(node.parent)) return false;
  const name = node.name?.text;
  return node.parent.statements.some(
    (other) => ts.isFunctionDeclaration(other) && !other.body && other.name?.text === name,
  );
}

// What no declaration file has: private members, static blocks, implementations, and what is marked as internal.
function isHidden(node: ts.Node): boolean {
  const isPrivate = ts.isClassElement(node) && node.name !== undefined && ts.isPrivateIdentifier(node.name);
  return (
    ts.isClassStaticBlockDeclaration(node) ||
    isPrivate ||
    isImplementation(node) ||
    ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal')
  );
}

function isOverride(node: ts.Node): boolean {
  return ts.canHaveModifiers(node) && (node.modifiers ?? []).some(({ kind }) => kind === ts.SyntaxKind.OverrideKeyword);
}

function nameOf(node: Member): string {
  return ts.isConstructorDeclaration(node) ? 'constructor' : (node.name?.getText() ?? 'signature');
}

/** What examples take for granted: the exports of this package, and what a caller has at hand. */
const given = `
import type * as Main from 'hosted-client';
import type * as Sandboxes from 'hosted-client/sandbox';
import type * as Testing from 'hosted-client/testing';
import type * as Tracking from 'hosted-client/tracking';
declare global {
  const ed25519: typeof Main.ed25519;
  const HostedClient: typeof Main.HostedClient;
  const hmacSha256: typeof Main.hmacSha256;
  const isHostedError: typeof Main.isHostedError;
  type Signer = Main.Signer;
  const createMockService: typeof Testing.createMockService;
  const createTestClock: typeof Testing.createTestClock;
  const createTestTracker: typeof Testing.createTestTracker;
  const clock: ReturnType<typeof Testing.createTestClock>;
  const instrument: typeof import('hosted-client/opentelemetry').instrument;
  const startSandbox: typeof Sandboxes.startSandbox;
  const mswHandlers: typeof import('hosted-client/testing/msw').mswHandlers;
  const createTracker: typeof Tracking.createTracker;
  const migrateTracking: typeof Tracking.migrateTracking;
  const postgresReplayGuard: typeof Tracking.postgresReplayGuard;
  const pool: Tracking.SqlPool;
  const tracker: Tracking.Tracker;
  const transaction: Tracking.SqlRunner;
  const connectionString: string;
  const setupServer: typeof import('msw/node').setupServer;
  const express: typeof import('express').default;
  const app: import('express').Express;
  const lambdaHandler: typeof import('hosted-client/node').lambdaHandler;
  const nodeHandler: typeof import('hosted-client/node').nodeHandler;
  const bindings: { HOSTED_API_KEY: string; cache: Map<string, string> };
  const client: Main.HostedClient;
  const service: Testing.MockService;
  const newKey: string, oldKey: string, productionKey: string, refId: string, userId: string, jobId: string;
  const another: Main.IdType;
  const newLink: Main.NewLink;
  const job: Main.JobRef;
  const rows: readonly (Main.JobRef & { row: number })[];
  const request: Request;
  const handle: (request: Request) => Promise<Response>;
  const keyService: {
    mac(text: string): Promise<string>;
    verifyMac(text: string, mac: string): Promise<boolean>;
  };
}`;

function diagnosticsOf(examples: readonly Example[], base: ts.Program): readonly string[] {
  const file = (index: number) => `${root}test/example-${index}.ts`;
  const virtual = new Map([
    [`${root}test/example-given.d.ts`, given],
    ...examples.map(({ code }, index) => [file(index), `${code}\nexport {};\n`] as const),
  ]);
  const program = programOf(virtual, base);
  return examples.flatMap(({ of }, index) => {
    const example = program.getSourceFile(file(index));
    return [...program.getSyntacticDiagnostics(example), ...program.getSemanticDiagnostics(example)].map(
      ({ messageText }) => `${of}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
    );
  });
}

describe('doc comments', { timeout: 60_000 }, () => {
  const program = programOf(new Map());
  const reading = read(program, entries);

  test('every public symbol and member has one', () => {
    expect(reading.seen.length).toBeGreaterThan(300);
    expect(reading.seen).toEqual(
      expect.arrayContaining([
        'HostedClient.constructor',
        'HostedApiError.code',
        'ServiceError.rawBody',
        'HostedEvent.durationMs',
        'WaitOptions.onPoll.nextDelayMs',
        'MockEnvironment.jobs.report.resultCode',
        'createTestClock.advance',
        'Sandbox.play.idType',
        'SandboxRequest.signature.message',
        'mswHandlers',
        'instrument',
      ]),
    );
    expect(reading.problems).toEqual([]);
  });

  test('their examples compile', () => {
    expect(reading.examples.length).toBeGreaterThan(20);
    expect(diagnosticsOf(reading.examples, program)).toEqual([]);
  });

  test('what is missing or wrong would be found', () => {
    const path = `${root}test/planted.ts`;
    const planted = `
      interface Reached { member: string }
      /** Has members. */
      export interface Planted extends Reached {
        /** Does something. */
        act(how: string): number;
        /** One of two. */
        pick(): void;
        pick(): void;
        /**
         * Leads nowhere.
         *
         * @see §6 of docs/protocol.md
         */
        lost: string;
        /**
         * Leads to no heading.
         *
         * @see [§6](../docs/protocol.md#6-callbacks) of docs/protocol.md
         */
        wrong: string;
        /**
         * Leads somewhere.
         *
         * @see [§6](../docs/protocol.md#6-events) of docs/protocol.md
         */
        led: string;
        /** One of several. */
        shape: { nested: string };
        /** @internal */
        hidden: string;
      }
      /**
       * Fails.
       *
       * @throws now and then.
       * @returns Nothing much.
       *
       * @example
       * \`\`\`ts
       * const text: string = client.environment.length;
       * \`\`\`
       */
      export function fail(): number { return 0; }
      export const bare = 1;`;
    const found = read(programOf(new Map([[path, planted]]), program), [path]);

    expect([...found.problems].sort()).toEqual([
      'Planted.act has no @param for "how"',
      'Planted.act has no @returns',
      'Planted.lost has a @see without links to headings that exist',
      'Planted.pick has no doc comment',
      'Planted.shape.nested has no doc comment',
      'Planted.wrong has a @see without links to headings that exist',
      'Reached has no doc comment',
      'Reached.member has no doc comment',
      'bare has no doc comment',
      'fail has a @throws without "{Class} when …"',
      'fail has an example without a title',
      'fail has its tags in the order throws, returns, example',
    ]);
    expect(diagnosticsOf(found.examples, program)).toEqual(["fail: Type 'number' is not assignable to type 'string'."]);
  });
});
