/** Does what the README shows, word for word, in a folder that has the package and Express. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBlocks } from './page-blocks.ts';
import { freePort, openSandbox, openTerminal, type Terminal } from './terminal.ts';

/** The programs of the README, in its order; its tests are another flow. */
export const readmePrograms = ['first-call.mjs', 'server.mjs', 'status.mjs', 'wait.mjs'] as const;

export interface ReadmeFlow {
  /** What `play` and `wait.mjs` print. */
  readonly waited: string;
  readonly status: string;
}

/** Makes the first call, plays an outcome, and waits; ends when the server has the callback. */
export async function followReadme(at: { cwd: string; env: NodeJS.ProcessEnv }): Promise<ReadmeFlow> {
  const blocks = readBlocks('README.md');
  const commands = (beginning: string) => blocks.find(({ code }) => code.startsWith(beginning))?.code ?? '';
  // Another program may have the port of the page.
  const port = String(await freePort());
  for (const name of readmePrograms) {
    const code = blocks.find(({ file }) => file === name)?.code ?? '';
    writeFileSync(join(at.cwd, name), code.replaceAll('3000', port));
  }
  const sandbox = await openSandbox(commands('npx hosted-client sandbox'), at);
  const terminals: Terminal[] = [];
  const open = (commands: string) => {
    const terminal = openTerminal(commands, { ...at, pasted: sandbox.pasted });
    terminals.push(terminal);
    return terminal;
  };
  try {
    const server = open('node server.mjs');
    const [, refId = ''] = /^Keep (\S+), and send/.exec(await open('node first-call.mjs').end()) ?? [];
    const waited = await open(commands('npx hosted-client play').replace('REF', refId)).end();
    const { userId, jobId } = JSON.parse(readFileSync(join(at.cwd, 'job.json'), 'utf8'));
    const status = await open(`USER_ID=${userId} JOB_ID=${jobId} node status.mjs`).end();
    await server.shows(/^change [0-9a-f]{64}: the job is succeeded$/m);
    return { waited, status };
  } finally {
    for (const terminal of terminals) await terminal.close();
    await sandbox.close();
  }
}
