/** The context that every measure gets, and the variants that take part in a measure. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Participant } from '../turns.ts';

export interface Context {
  /** The folder of the measured build. */
  readonly dist: string;
  /** The folder of a second build, measured in the same run for comparison, or null. */
  readonly against: string | null;
}

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const peersFolder = fileURLToPath(new URL('../peers', import.meta.url));

/** Returns the named variants and the second build, if there is one, in the order of their turns. */
export function participantsOf(names: readonly string[], { dist, against }: Context): readonly Participant[] {
  const participants = names.map((name) => ({ name, variant: name, dist }));
  return against === null ? participants : [...participants, { name: 'before', variant: 'before', dist: against }];
}

/** Starts the service on loopback in a separate process, runs `work`, and ends the process. */
export async function withServer<T>(
  { latencyMs = 0, totalPages = 1 }: { latencyMs?: number; totalPages?: number },
  work: (url: string) => Promise<T>,
): Promise<T> {
  const args = [String(latencyMs), String(totalPages)];
  const server: ChildProcess = fork(new URL('../service/server.ts', import.meta.url), args);
  try {
    const [port] = (await once(server, 'message')) as [number];
    return await work(`http://127.0.0.1:${port}`);
  } finally {
    server.disconnect();
  }
}
