/** What the pages show, each from an empty folder: what they say to install is installed, and what they show runs. */

import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { followCli } from '../support/cli-flow.ts';
import { chromium } from '../support/needed.ts';
import { packagesOf } from '../support/page-blocks.ts';
import { freePort, openSandbox, openTerminal } from '../support/terminal.ts';
import { census, takeCommands, takeFile } from './blocks.ts';
import { type Check, endsWell } from './check.ts';
import { install, tested } from './consumer.ts';
import { makeProject, mustRun, ownEnvironment, root, writeFiles } from './project.ts';

/** A program that a page shows, and what it prints in the sandbox, where there is one link with one approved job. */
interface Program {
  /** Null of commands that need no file of ours. */
  readonly file: string | null;
  readonly start: string;
  readonly prints: RegExp;
}

// A machine that has Playwright has its browser. Here, it is the one of the tests.
const configure = `echo "export default { use: { launchOptions: { executablePath: '${chromium}' } } }" > playwright.config.mjs\n`;

const programs: Readonly<Record<string, readonly Program[]>> = {
  'docs/calls.md': [
    {
      file: 'list-links.mjs',
      start: 'node list-links.mjs',
      prints: /^1 links are active\n1 of 1 are on the first page, 0 on the next\n$/,
    },
    {
      file: 'wait-for-many.mjs',
      start: 'node wait-for-many.mjs',
      prints: /^(?:row 1: succeeded\nrow 2: not_found|row 2: not_found\nrow 1: succeeded)\n$/,
    },
  ],
  'docs/errors.md': [{ file: 'create-link.mjs', start: 'node create-link.mjs', prints: /^$/ }],
  'docs/settings.md': [
    { file: 'production.mjs', start: 'node production.mjs', prints: /^made for production\n$/ },
    { file: 'through-a-proxy.mts', start: 'node through-a-proxy.mts', prints: /^1 links, through the proxy\n$/ },
  ],
  'docs/observability.md': [
    { file: 'trace-calls.mjs', start: 'node trace-calls.mjs', prints: /^1 links, traced\n$/ },
    {
      file: 'hide-link-ids.mjs',
      start: 'node --import ./hide-link-ids.mjs trace-calls.mjs',
      prints: /^1 links, traced\n$/,
    },
    {
      file: 'print-calls.mjs',
      start: 'node --import ./print-calls.mjs trace-calls.mjs',
      prints: /operation: 'links\.list'[\s\S]+\n1 links, traced\n$/,
    },
  ],
  'examples/README.md': [
    { file: null, start: takeCommands('examples/README.md', 'cp'), prints: /^1 links are active\n/ },
  ],
  'docs/testing.md': [
    { file: 'msw.test.ts', start: 'npx vitest run msw.test.ts', prints: /Tests +1 passed/ },
    {
      file: 'end-to-end.spec.ts',
      start: `${configure}npx playwright test end-to-end 2>/dev/null`,
      prints: / 1 passed /,
    },
  ],
  'skills/test/SKILL.md': [
    {
      file: null,
      start: 'cp node_modules/hosted-client/examples/first-tests.test.ts first.test.ts\nnpx vitest run first.test.ts',
      prints: /Tests +2 passed/,
    },
    {
      file: null,
      // The client warns of the forged callback.
      start:
        'cp node_modules/hosted-client/examples/test-with-sandbox.test.ts sandbox.test.ts\nnpx vitest run sandbox.test.ts 2>&1',
      prints: /Tests +1 passed/,
    },
  ],
};

/** Blocks that no check runs here, and why. */
const notRun: Readonly<Record<string, string>> = {
  'README.md: npm ci && npm run demo': 'is for a clone, where the gate runs it',
  'README.md: npm ci && npm test': 'is for a clone, where the gate runs it',
  'docs/sandbox.md: at=http://127.0.0.1:4085': 'needs openssl; test/slow/sandbox-examples.test.ts runs it',
  'docs/sandbox.md: npx hosted-client sandbox --host 0.0.0.0':
    'opens a port to the network; the tests of the sandbox do it',
  'docs/observability.md: hosted-client-rules.yml':
    'is for Prometheus; test/slow/alert-rules.test.ts evaluates it, and check:alerts with promtool',
  'docs/recipes.md: lib/hosted.ts': 'is for Next, which check:frameworks builds each night',
  'docs/recipes.md: app/api/callbacks/route.ts': 'is for Next, which check:frameworks builds each night',
  'docs/recipes.md: hono-on-workers.ts': 'needs workerd, where check:runtimes runs it; it compiles',
};

export function pageChecks(tarball: string): readonly Check[] {
  for (const beginning of ['sandbox', 'listen', 'links']) takeCommands('docs/cli.md', `npx hosted-client ${beginning}`);
  for (const page of ['docs/tracking.md', 'docs/testing.md']) takeCommands(page, 'npm install');
  const track = takeFile('docs/tracking.md', 'track.mjs');
  return [
    { name: 'docs/cli.md, in three terminals', look: () => doCli(tarball) },
    { name: 'docs/tracking.md, its first program', look: () => trackInFolder(tarball, track) },
    ...Object.entries(programs).map(([page, rows]) => {
      const names = rows.flatMap(({ file }) => file ?? []);
      const files = Object.fromEntries(names.map((file) => [file, takeFile(page, file)]));
      return { name: `${page}, its programs`, look: () => runPrograms(tarball, page, rows, files) };
    }),
    { name: 'The examples of the package, copied: they compile', look: () => compileExamples(tarball) },
  ];
}

/** To be looked at when all other checks have taken their blocks. */
export const censusCheck: Check = {
  name: 'Every block of the pages is run, or is named with the reason',
  look: async () => {
    const blocks = census();
    const wholes = blocks.filter(({ partOf }) => partOf === null);
    const left = wholes
      .filter(({ isTaken }) => !isTaken)
      .map(({ page, file, code }) => `${page}: ${file ?? code.split('\n', 1)[0]}`);
    for (const [block, reason] of Object.entries(notRun)) console.log(`not run: ${block} ${reason}`);
    console.log(
      `${blocks.length} blocks: ${wholes.length - left.length} run, ${blocks.length - wholes.length} are parts`,
    );
    const problems = [
      ...left.filter((block) => !(block in notRun)).map((block) => `No check runs ${block}`),
      ...Object.keys(notRun)
        .filter((block) => !left.includes(block))
        .map((block) => `A check runs ${block}, or it is gone`),
    ];
    return problems.length === 0 ? null : problems.join('\n');
  },
};

type At = { readonly cwd: string; readonly env: NodeJS.ProcessEnv };

/** An empty folder with what the page says to install: the tarball, and the versions that are tested. */
async function openFolder(tarball: string, page: string, without?: string): Promise<At> {
  const cwd = await makeProject(page.replaceAll('/', '-'));
  await mustRun('npm', ['init', '-y', '--loglevel=error'], { cwd });
  const others = packagesOf(page).filter((name) => name !== 'hosted-client' && name !== without);
  await install(cwd, [tarball, ...others.map(tested)]);
  // What npm is set to on this machine may make it warn.
  return { cwd, env: { ...ownEnvironment(), npm_config_loglevel: 'error' } };
}

async function doCli(tarball: string): Promise<string | null> {
  const { printed } = await followCli(await openFolder(tarball, 'docs/cli.md'));
  const findings = printed.at(-1)?.trim().split('\n') ?? [];
  const isWell = printed.length === 4 && findings.every((finding) => finding.startsWith('well '));
  return isWell ? null : printed.join('\n');
}

async function trackInFolder(tarball: string, track: string): Promise<string | null> {
  // A folder needs PGlite alone.
  const at = await openFolder(tarball, 'docs/tracking.md', 'pg');
  await writeFiles(at.cwd, { 'track.mjs': track.replaceAll('3000', String(await freePort())) });
  const { pasted, close } = await openSandbox('npx hosted-client sandbox', at);
  const program = openTerminal('node track.mjs', { ...at, pasted });
  try {
    const [, refId = ''] = await program.shows(/^Open \S+\/(\S+)$/m);
    await openTerminal(`npx hosted-client play ${refId} approved`, { ...at, pasted }).end();
    await program.shows(/^\{"customer":7\}: succeeded$/m);
    return null;
  } finally {
    await program.close();
    await close();
  }
}

async function runPrograms(
  tarball: string,
  page: string,
  rows: readonly Program[],
  files: Readonly<Record<string, string>>,
): Promise<string | null> {
  const at = await openFolder(tarball, page);
  await writeFiles(at.cwd, files);
  const { pasted, close } = await openSandbox('npx hosted-client sandbox', at);
  const print = (commands: string, ids = '') => openTerminal(`${ids}${commands}`, { ...at, pasted }).end();
  try {
    const { refId } = JSON.parse(
      await print(
        "npx hosted-client links create --company-name 'Example Ltd' --json --data-privacy-policy-url https://example.test/privacy",
      ),
    );
    const { userId, jobId } = JSON.parse(await print(`npx hosted-client play ${refId} approved --json`));
    for (const { start, prints } of rows) {
      const printed = await print(start, `export USER_ID=${userId} JOB_ID=${jobId}\n`);
      if (!prints.test(printed)) return `${start} prints: ${printed}`;
    }
    return null;
  } finally {
    await close();
  }
}

/** What the examples import that is not in Node, and the types of what has none. */
const importedByExamples = [
  '@hono/node-server',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@opentelemetry/api',
  '@opentelemetry/instrumentation-undici',
  '@playwright/test',
  '@types/express',
  '@types/node',
  '@types/pg',
  'bullmq',
  'express',
  'fastify',
  'hono',
  'ioredis',
  'msw',
  'pg',
  'reflect-metadata',
  'rxjs',
  'server-only',
  'undici',
  'vitest',
];

/** Every block of a page stands in one of them. */
async function compileExamples(tarball: string): Promise<string | null> {
  const cwd = await makeProject('examples', {
    'package.json': JSON.stringify({ private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        target: 'es2023',
        module: 'preserve',
        types: ['node'],
        allowImportingTsExtensions: true,
        experimentalDecorators: true,
        emitDecoratorMetadata: true,
        paths: { '@/*': ['./examples/recipes/next/*'] },
      },
      include: ['examples'],
    }),
  });
  await install(cwd, [tarball, ...importedByExamples.map(tested)]);
  await cp(join(cwd, 'node_modules/hosted-client/examples'), join(cwd, 'examples'), { recursive: true });
  return endsWell(process.execPath, [join(root, 'node_modules/@typescript/native/bin/tsc'), '-p', '.'], { cwd });
}
