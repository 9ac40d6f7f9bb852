/**
 * The commands of docs/sandbox.md and docs/cli.md run: they are given to a shell word for word, but for ports that
 * another program may have, and for the ids that the page says to write.
 */

import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.js';
import { followCli } from '../support/cli-flow.ts';
import { readBlocks } from '../support/page-blocks.ts';
import { openSandbox, openTerminal } from '../support/terminal.js';

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage();
});

afterAll(() => built.remove());

/** A machine that has nothing but the package: of the variables of this process, the path alone is there. */
const machine = () => ({
  cwd: built.folder,
  env: { PATH: `${built.bin}:${process.env.PATH}`, HOME: built.folder } as NodeJS.ProcessEnv,
});

test('docs/sandbox.md: a link, its page and its result by curl alone', async () => {
  const [script = ''] = readBlocks('docs/sandbox.md')
    .map(({ code }) => code)
    .filter((code) => code.startsWith('at='));
  const { origin, close } = await openSandbox('npx hosted-client sandbox', machine());
  onTestFinished(() => close());

  const stdout = await openTerminal(script.replace('http://127.0.0.1:4085', origin), machine()).end();

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
