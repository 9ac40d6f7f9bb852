/** Does what docs/cli.md shows, word for word, with three terminals in a folder that has the package. */

import { readBlocks } from './page-blocks.ts';
import { openSandbox, openTerminal, type Terminal } from './terminal.ts';

export interface CliFlow {
  /** What each command of the third terminal prints. */
  readonly printed: readonly string[];
}

/** Creates a link, plays an outcome, waits for it, and asks the doctor; ends when `listen` has the callback. */
export async function followCli(at: { cwd: string; env: NodeJS.ProcessEnv }): Promise<CliFlow> {
  const [start = '', listen = '', commands = ''] = readBlocks('docs/cli.md').map(({ code }) => code);
  const sandbox = await openSandbox(start, at);
  const terminals: Terminal[] = [];
  const open = (commands: string) => {
    const terminal = openTerminal(commands, { ...at, pasted: sandbox.pasted });
    terminals.push(terminal);
    return terminal;
  };
  const labels = { 'Reference id': 'REF', 'User id': 'USER_ID', 'Job id': 'JOB_ID' };
  const ids = new Map<string, string>();
  const printed: string[] = [];
  try {
    const door = open(`${listen.trim()} --port 0`);
    const [, port = ''] = await door.shows(/receives callbacks at http:\/\/127\.0\.0\.1:(\d+)\/$/m);
    for (const line of commands.trim().split('\n')) {
      const written = line.replace(/\b(?:REF|USER_ID|JOB_ID)\b/g, (name) => ids.get(name) ?? name);
      const stdout = await open(written.replace('4086', port)).end();
      printed.push(stdout);
      for (const [label, name] of Object.entries(labels)) {
        const [, id] = new RegExp(`^${label} +(\\S+)$`, 'm').exec(stdout) ?? [];
        if (id !== undefined) ids.set(name, id);
      }
    }
    await door.shows(new RegExp(`${ids.get('JOB_ID')}.*succeeded`));
    return { printed };
  } finally {
    for (const terminal of terminals) await terminal.close();
    await sandbox.close();
  }
}
