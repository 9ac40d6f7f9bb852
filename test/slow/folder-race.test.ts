/** Processes that take one folder in the same instant, after the process that had it was killed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.ts';

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage();
});

afterAll(() => built.remove());

/** Takes a folder when it is told to, and says what became of it; it keeps what it has until it is killed. */
const program = `
  import { startSandbox } from 'hosted-client/sandbox';
  process.stdin.on('data', async (folder) => {
    const held = startSandbox({ port: 0, folder: String(folder) });
    console.log(await held.then(() => 'held', (error) => error.issues.map(({ path }) => path).join()));
  });
  console.log('ready');`;

async function startOne() {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: built.folder,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const nextLine = async () => String((await lines.next()).value);
  expect(await nextLine()).toBe('ready');
  return {
    async take(folder: string) {
      child.stdin.write(folder);
      return nextLine();
    },
    async kill() {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
}

test('of processes that take over a folder in the same instant, one has it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const rounds: string[][] = [];

  for (let round = 0; round < 8; round += 1) {
    // Each is killed with the folder in its hands, so the next round finds what a killed process leaves.
    const processes = await Promise.all([startOne(), startOne(), startOne()]);
    rounds.push((await Promise.all(processes.map(({ take }) => take(folder)))).sort());
    await Promise.all(processes.map(({ kill }) => kill()));
  }

  expect(rounds).toEqual(rounds.map(() => ['folder', 'folder', 'held']));
}, 60_000);
