/** What every measure is given, and which variants take part in it. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Participant } from '../turns.ts';

export interface Context {
  /** The build that is measured. */
  readonly dist: string;
  /** A build to measure beside it, in the same run. */
  readonly against: string | null;
}

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const peersFolder = fileURLToPath(new URL('../peers', import.meta.url));

/** These and, where there is one, the build before; in this order they take turns. */
export function participantsOf(names: readonly string[], { dist, against }: Context): readonly Participant[] {
  const participants = names.map((name) => ({ name, variant: name, dist }));
  return against === null ? participants : [...participants, { name: 'before', variant: 'before', dist: against }];
}

/** Starts the service on loopback, in a process of its own, for as long as `work` takes. */
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
