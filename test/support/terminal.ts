/** A terminal: a shell that runs commands as a page shows them, and what it prints. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export interface Terminal {
  /** Resolves once this was printed. */
  shows(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves once the commands have ended well, with what they printed. */
  end(): Promise<string>;
  /** Ends what still runs. */
  close(): Promise<void>;
}

/** How long a command may take to print what is waited for, in ms. */
const limitMs = 60_000;

/** Runs commands; `pasted` goes before them. */
export function openTerminal(
  commands: string,
  { cwd, env, pasted = '' }: { cwd: string; env: NodeJS.ProcessEnv; pasted?: string },
): Terminal {
  const child = spawn('bash', ['-ec', `${pasted}\n${commands}`], { cwd, env, detached: true });
  const streams = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (streams.stdout += chunk));
  child.stderr.on('data', (chunk) => (streams.stderr += chunk));
  const closed = once(child, 'close');
  const describe = () => `\n${commands}\n${streams.stdout}${streams.stderr}`;
  return {
    async shows(pattern) {
      for (const startedAt = performance.now(); performance.now() - startedAt < limitMs; await setTimeout(20)) {
        const found = pattern.exec(streams.stdout) ?? pattern.exec(streams.stderr);
        if (found !== null) return found;
      }
      throw new Error(`It does not print ${pattern}:${describe()}`);
    },
    async end() {
      const [code] = await closed;
      if (code !== 0 || streams.stderr !== '') throw new Error(`It ends with ${code}:${describe()}`);
      return streams.stdout;
    },
    async close() {
      // What the shell has started goes with it.
      if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) process.kill(-child.pid);
      await closed;
    },
  };
}

/** Starts a sandbox by a page's command, on any free port, and gives the lines that it prints to be pasted. */
export async function openSandbox(command: string, at: { cwd: string; env: NodeJS.ProcessEnv }) {
  const terminal = openTerminal(`${command.trim()} --port 0`, at);
  const [, origin = ''] = await terminal.shows(/^The sandbox and its console: (\S+)$/m);
  const [pasted] = await terminal.shows(/(?:^export .*\n)+/m);
  return { origin, pasted, close: terminal.close };
}

/** A port of loopback that nothing listens on. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
