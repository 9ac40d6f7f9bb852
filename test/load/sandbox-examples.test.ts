/**
 * What docs/sandbox.md and docs/cli.md show runs. Their TypeScript stands in examples. Their commands are given to a
 * shell word for word, but for ports that another program may have, and for the ids that the page says to write.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { submit } from '../sandbox/running.js';
import { type BuiltPackage, buildPackage } from '../support/built-package.js';
import { followCli } from '../support/cli-flow.ts';
import { blocksOf, freePort, openSandbox, openTerminal, type Terminal } from '../support/terminal.js';

const blocks = (language: string) => blocksOf(readFileSync('docs/sandbox.md', 'utf8'), language);

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage(['express']);
});

afterAll(() => built.remove());

/** A machine that has nothing but the package: of the variables of this process, the path alone is there. */
const machine = () => ({
  cwd: built.folder,
  env: { PATH: `${built.bin}:${process.env.PATH}`, HOME: built.folder } as NodeJS.ProcessEnv,
});

function open(commands: string, pasted = ''): Terminal {
  const terminal = openTerminal(commands, { ...machine(), pasted });
  onTestFinished(() => terminal.close());
  return terminal;
}

async function startedBy(command: string) {
  const sandbox = await openSandbox(command, machine());
  onTestFinished(() => sandbox.close());
  return sandbox;
}

test('docs/sandbox.md: a link from code, its page, and the callback in Express', async () => {
  const [install, sandbox = '', start = ''] = blocks('sh');
  const [program = ''] = blocks('ts');
  const example = readFileSync(new URL('../../examples/try-the-sandbox.ts', import.meta.url), 'utf8');
  const [, file = ''] = /^node (\S+)\n$/.exec(start) ?? [];
  writeFileSync(join(built.folder, file), program.replaceAll('3000', String(await freePort())));

  const { pasted } = await startedBy(sandbox);
  const server = open(start, pasted);
  const [, url = ''] = await server.shows(/^Open (\S+)$/m);
  const { status } = await submit(url, { consent: 'yes', outcome: 'approved' });

  // A registry is asked for these in the checks of the packed package.
  expect(install).toBe('npm install hosted-client express\n');
  expect(example).toContain(program);
  expect(status).toBe(303);
  await server.shows(/^Job \S+: succeeded$/m);
}, 60_000);

test('docs/sandbox.md: the same by curl alone', async () => {
  const [, sandbox = '', , script = ''] = blocks('sh');
  const { origin } = await startedBy(sandbox);

  const stdout = await open(script.replace('http://127.0.0.1:4085', origin)).end();

  expect(stdout).toMatch(/^Your identity was verified\n/);
  expect(JSON.parse(stdout.slice(stdout.indexOf('\n')))).toMatchObject([
    { operation: 'links.create', status: 200, signature: { problem: null } },
  ]);
}, 60_000);

test('docs/cli.md: a link, its outcome and its callback by commands', async () => {
  const { printed } = await followCli(machine());
  const [created, played, waited, diagnosed = ''] = printed;

  expect(created).toMatch(/^Reference id /m);
  expect(played).toMatch(/^Job id /m);
  expect(waited).toMatch(/succeeded/);
  const findings = diagnosed.trim().split('\n');
  expect(findings.length).toBeGreaterThan(5);
  expect(findings.filter((finding) => !finding.startsWith('well '))).toEqual([]);
  expect(printed).toHaveLength(4);
}, 60_000);
