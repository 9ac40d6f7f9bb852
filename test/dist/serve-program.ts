/** A program that serves while a check asks it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

type Variables = Readonly<Record<string, string>>;

/** Runs a server by this Node or another runtime, and `work` with the URL that it prints and all its lines; ends it. */
export async function whileServing<T>(
  args: readonly string[],
  cwd: string,
  env: Variables,
  work: (url: string, printed: readonly string[]) => Promise<T>,
  binary = process.execPath,
): Promise<T> {
  const child = spawn(binary, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const printed: string[] = [];
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => printed.push(line));
  let complaints = '';
  child.stderr.on('data', (data: Buffer) => {
    complaints += data;
  });
  // However busy the machine is.
  const timer = globalThis.setTimeout(() => child.kill(), 300_000);
  try {
    const url = await urlIn(lines);
    if (url === null) throw new Error(`It does not say where it listens: ${complaints}`);
    return await work(url, printed);
  } finally {
    clearTimeout(timer);
    child.kill();
    await exited;
  }
}

/** The first URL that is printed; null where there is none. */
function urlIn(lines: NodeJS.EventEmitter): Promise<string | null> {
  return new Promise((resolve) => {
    lines.on('close', () => resolve(null));
    lines.on('line', (line: string) => {
      const [url] = /http:\/\/\S+/.exec(line) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}
