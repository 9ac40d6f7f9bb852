// How the source hangs together: who imports whom, which packages where, and what reaches a browser's bundle.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../src/', import.meta.url));

interface SourceFile {
  /** `links/decode.ts` */
  readonly path: string;
  readonly text: string;
  /** The files it imports, types and re-exports counted. */
  readonly files: readonly string[];
  /** The same, and whether types alone are imported. */
  readonly imports: readonly { readonly file: string; readonly isTypeOnly: boolean }[];
  /** The packages it imports, by their full specifiers. */
  readonly packages: readonly string[];
}

const sources: readonly SourceFile[] = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => /\.tsx?$/.test(path))
  .sort()
  .map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    const specifiers = ts.preProcessFile(text).importedFiles.map(({ fileName }) => fileName);
    const own = specifiers.filter((specifier) => specifier.startsWith('.'));
    const typesOnly = new Set([...text.matchAll(/^import type [^;]*? from '([^']+)';/gms)].map(([, from]) => from));
    const fileOf = (specifier: string) =>
      normalize(join(dirname(path), specifier))
        .replaceAll('\\', '/')
        .replace(
          /\.js$/,
          readdirSync(dirname(join(root, dirname(path), specifier))).includes(
            basename(specifier).replace(/\.js$/, '.tsx'),
          )
            ? '.tsx'
            : '.ts',
        );
    return {
      path,
      text,
      files: own.map(fileOf),
      imports: own.map((specifier) => ({ file: fileOf(specifier), isTypeOnly: typesOnly.has(specifier) })),
      packages: specifiers.filter((specifier) => !specifier.startsWith('.')),
    };
  });

const importsOf = new Map(sources.map(({ path, files }) => [path, files]));

/** Every file that can be reached from these, themselves included. */
function reachedFrom(...starts: readonly string[]): ReadonlySet<string> {
  const reached = new Set(starts);
  for (const path of reached) for (const next of importsOf.get(path) ?? []) reached.add(next);
  return reached;
}

/** The files that import a package, or one of its parts. */
const importersOf = (name: string) =>
  sources
    .filter(({ packages }) => packages.some((specifier) => specifier === name || specifier.startsWith(`${name}/`)))
    .map(({ path }) => path);

const within = (folder: string) => sources.filter(({ path }) => path.startsWith(`${folder}/`)).map(({ path }) => path);

test('the source was found, and its imports can be read', () => {
  expect(sources.length).toBeGreaterThan(40);
  expect(importsOf.get('index.ts')).toContain('client.ts');
  expect(importsOf.get('signing/ed25519.ts')).toContain('signing/signer.ts');
  for (const { path, files } of sources) {
    for (const file of files) expect([...importsOf.keys()], `${path} imports ${file}`).toContain(file);
  }
});

test('no imports run in a circle, types counted', () => {
  const circles = sources
    .filter(({ path, files }) => reachedFrom(...files).has(path))
    .map(({ path, files }) => `${path} ← ${files.filter((file) => reachedFrom(file).has(path)).join(', ')}`);

  expect(circles).toEqual([]);
});

/** The folders from top to bottom; `''` is the root. What stands in one line may import what stands below it. */
const order = [
  'opentelemetry',
  'tracking',
  '',
  'node',
  'callbacks',
  'links jobs',
  'call',
  'signing',
  'validation',
  'errors',
  'protocol',
  'local',
  'runtime',
];

const levelOf = (path: string) => {
  const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : '';
  return order.findIndex((line) => line.split(' ').includes(folder));
};

/** Option types, events and public types, which everything may name; of the settings their types. */
const mayBeNamed = (path: string, isTypeOnly: boolean) =>
  ['options.ts', 'events.ts'].includes(path) || path.endsWith('/types.ts') || (path === 'settings.ts' && isTypeOnly);

/** Entries of their own, above the rest. */
const isApart = (path: string) => /^(?:cli|sandbox|testing)\//.test(path);

test('six files stand in the root: what one configures', () => {
  const root = sources.map(({ path }) => path).filter((path) => !path.includes('/'));

  expect(root).toEqual(['client.ts', 'events.ts', 'from-env.ts', 'index.ts', 'options.ts', 'settings.ts']);
});

test('imports run downwards: from a folder to one below it', () => {
  const upwards = sources
    .filter(({ path }) => !isApart(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter(({ file, isTypeOnly }) => levelOf(file) < levelOf(path) && !mayBeNamed(file, isTypeOnly))
        .map(({ file }) => `${path} → ${file}`),
    );

  expect(upwards).toEqual([]);
});

test('options, events and public types know nothing above the errors', () => {
  const named = sources.filter(({ path }) => mayBeNamed(path, false) && !isApart(path));
  const above = named.flatMap(({ path, imports }) =>
    imports
      .filter(({ file }) => levelOf(file) < levelOf('errors/client-errors.ts') && !mayBeNamed(file, true))
      .map(({ file }) => `${path} → ${file}`),
  );

  expect(above).toEqual(['options.ts → signing/signer.ts']);
});

test('links and jobs do not know each other', () => {
  const crossings = [
    ...[...within('links')].filter((path) => importsOf.get(path)?.some((file) => file.startsWith('jobs/'))),
    ...[...within('jobs')].filter((path) => importsOf.get(path)?.some((file) => file.startsWith('links/'))),
  ];

  expect(crossings).toEqual([]);
});

test.each([
  // The testing kit only hands it to the client.
  ['ky', ['call/transport.ts', 'testing/preload.ts']],
  ['tweetnacl', ['signing/ed25519-backend.ts']],
  ['msw', ['testing/msw.ts']],
  ['pg', ['tracking/places/peers.ts']],
])('%s is imported in one file', (name, files) => {
  expect(importersOf(name)).toEqual(files);
});

const mayCheckShapes = [
  'callbacks/options.ts',
  'from-env.ts',
  'validation/input.ts',
  'validation/check.ts',
  'jobs/operations.ts',
  'jobs/wait-input.ts',
  'links/find-link.ts',
  'links/id-types.ts',
  'links/link-list.ts',
  'links/operations.ts',
  'call/operation.ts',
  'sandbox/input.ts',
  'sandbox/options.ts',
  'settings.ts',
  'testing/service-options.ts',
  'tracking/input.ts',
  'tracking/options.ts',
];

test('zod is imported where shapes are checked, as zod/mini, and nowhere else', () => {
  const others = importersOf('zod').filter((path) => !mayCheckShapes.includes(path));
  const specifiers = new Set(sources.flatMap(({ packages }) => packages.filter((name) => name.startsWith('zod'))));

  expect(others).toEqual([]);
  expect([...specifiers]).toEqual(['zod/mini']);
});

test('what callers give is checked as a copy: `inputObject` alone makes a schema of an object', () => {
  const direct = sources.filter(({ text }) => /\bz\s*\.(?:strictObject|object)\(/.test(text));

  expect(direct.map(({ path }) => path)).toEqual(['validation/check.ts']);
});

test('no other package is imported', () => {
  // PGlite is loaded by a name that bundlers do not find.
  const known = ['@opentelemetry/api', 'hono', 'ky', 'msw', 'pg', 'tweetnacl', 'zod'];
  const packages = sources.flatMap((source) => source.packages).filter((name) => !name.startsWith('node:'));
  const nameOf = (path: string) => path.split('/', path.startsWith('@') ? 2 : 1).join('/');

  expect([...new Set(packages.map(nameOf))].sort()).toEqual(known);
});

test.each([
  ['hono', 'sandbox'],
  ['@opentelemetry', 'opentelemetry'],
])('%s is imported by %s alone', (name, folder) => {
  expect(importersOf(name).filter((path) => !path.startsWith(`${folder}/`))).toEqual([]);
});

test.each(['cli', 'node', 'opentelemetry'])('nothing outside %s imports it', (folder) => {
  const importers = sources.filter(
    ({ path, files }) => !path.startsWith(`${folder}/`) && files.some((file) => file.startsWith(`${folder}/`)),
  );

  expect(importers.map(({ path }) => path)).toEqual([]);
});

test('the node entry reaches neither calls nor handlers', () => {
  const reached = [...reachedFrom(...within('node'))].map((path) => path.split('/')[0]);

  expect(reached).not.toContain('call');
  expect(reached).not.toContain('callbacks');
});

test('nothing imports the sandbox, and the sandbox alone imports testing', () => {
  const importers = sources.filter(({ path, files }) => !isApart(path) && files.some(isApart)).map(({ path }) => path);
  const fromTesting = within('testing').filter((path) =>
    importsOf.get(path)?.some((file) => file.startsWith('sandbox/')),
  );

  expect([...importers, ...fromTesting]).toEqual([]);
});

test('the testing kit reaches nothing that calls, sends or decodes', () => {
  // Which hands the client its own code before the first call, and uses none of it.
  const handsOver = 'testing/preload.ts';
  // The entry offers the tracker for tests, which the kit does not use.
  const isOffered = (path: string) => path.startsWith('tracking/');
  const reached = new Set(within('testing').filter((path) => path !== handsOver));
  for (const path of reached) {
    for (const next of importsOf.get(path) ?? []) if (next !== handsOver && !isOffered(next)) reached.add(next);
  }
  const forbidden = ['call/call.ts', 'call/transport.ts', 'client.ts', 'call/response.ts', 'index.ts'];

  expect([...reached].filter((path) => forbidden.includes(path) || /decode\.ts$/.test(path))).toEqual([]);
});

test('nothing outside tracking imports it, but a command that loads it when it runs, and the entry for tests', () => {
  const all = sources.filter(
    ({ path, files }) => !path.startsWith('tracking/') && files.some((file) => file.startsWith('tracking/')),
  );
  // OpenTelemetry imports types, so that pg is not needed.
  const isOfTypes = ({ path, text }: (typeof all)[number]) =>
    path.startsWith('opentelemetry/') && !/^import (?!type )[^;]*'\.\.\/tracking\//m.test(text);
  const importers = all.filter((source) => !isOfTypes(source));

  expect(importers.map(({ path }) => path)).toEqual(['cli/commands/tracking.ts', 'testing/index.ts']);
  const offered = importsOf.get('testing/index.ts')?.filter((file) => file.startsWith('tracking/'));
  expect(offered).toEqual(['tracking/options.ts', 'tracking/test-tracker.ts']);
  expect(importers[0]?.text).not.toMatch(/^import (?!type )[^;]*tracking\/index/m);
});

test('the main entry reaches neither the sandbox nor testing nor msw, and nothing that only these share', () => {
  const reached = reachedFrom('index.ts');

  expect([...reached].filter((path) => isApart(path) || path.startsWith('local/'))).toEqual([]);
  expect([...reached].filter((path) => importersOf('msw').includes(path))).toEqual([]);
});

test('nothing of Node alone is imported, but by the sandbox and the command line', () => {
  const builtIn =
    /^(?:node:|bun:|(?:assert|buffer|crypto|events|fs|http|https|net|os|path|process|stream|timers|tls|url|util|zlib)(?:\/|$))/;

  const importers = sources.filter(({ packages }) => packages.some((name) => builtIn.test(name)));

  expect(importers.filter(({ path }) => !/^(?:cli|sandbox)\//.test(path)).map(({ path }) => path)).toEqual([]);
});

/** Where a file uses `any`, an enum, a namespace, a `!` or a default export. */
function habitsOf({ path, text }: SourceFile): readonly string[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const habit =
      node.kind === ts.SyntaxKind.AnyKeyword
        ? 'any'
        : ts.isEnumDeclaration(node)
          ? 'enum'
          : ts.isModuleDeclaration(node)
            ? 'namespace'
            : ts.isNonNullExpression(node)
              ? '!'
              : ts.isExportAssignment(node) ||
                  (node.kind === ts.SyntaxKind.DefaultKeyword && !ts.isDefaultClause(node.parent))
                ? 'export default'
                : null;
    if (habit) found.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${habit}`);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

test('a file that the code, CONTRIBUTING or a page of docs names is there', () => {
  const repository = join(root, '..');
  const pages = readdirSync(join(repository, 'docs')).filter((name) => name.endsWith('.md'));
  const texts = ['CONTRIBUTING.md', 'bench/README.md', ...pages.map((name) => `docs/${name}`)].map((path) => ({
    path,
    text: readFileSync(join(repository, path), 'utf8'),
  }));
  const files = ['src', 'test', 'bench', 'docs', 'examples'].flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((path) =>
      `/${folder}/${path}`.replaceAll('\\', '/'),
    ),
  );

  const lost = [...texts, ...sources].flatMap(({ path, text }) =>
    [...text.matchAll(/`([a-z0-9-]+(?:\/[a-z0-9.-]+)*\.tsx?)`/g)]
      .filter(([, name]) => !files.some((file) => file.endsWith(`/${name}`)))
      .map(([named]) => `${path} names ${named}`),
  );

  expect(lost).toEqual([]);
});

test('the source has no any, enum, namespace, non-null assertion or default export', () => {
  const planted = 'const x: any = y!; enum E {} namespace N {} export default x;';

  expect(habitsOf({ path: 'planted.ts', text: planted, files: [], imports: [], packages: [] })).toHaveLength(5);
  expect(sources.flatMap(habitsOf)).toEqual([]);
});

test('a bundle of the main entry for browsers has nothing of Node and nothing of msw', async () => {
  const { outputFiles, metafile, warnings } = await build({
    entryPoints: [join(root, 'index.ts')],
    platform: 'browser',
    format: 'esm',
    bundle: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
  });

  const code = outputFiles.map(({ text }) => text).join('\n');
  expect(code).toContain('HostedClient');
  expect(code).not.toMatch(/node:/);
  expect(code).not.toMatch(/\bmsw\b|pglite|'pg'|"pg"/);
  expect(
    Object.keys(metafile.inputs).filter((path) =>
      /node_modules\/(?:hono|msw)\/|src\/(?:cli|sandbox|testing)\//.test(path),
    ),
  ).toEqual([]);
  expect(warnings).toEqual([]);
});
