/** Work that is measured in turns, in a process of its own. */

import { setTimeout } from 'node:timers/promises';

/** Does its part of a round, and returns what it measured, by name. */
export type Block = () => Promise<Readonly<Record<string, number>>>;

/** What every block is given. */
export interface BlockSettings {
  /** The name of the variant. */
  readonly variant: string;
  /** The folder of the build, where the variant is one. */
  readonly dist: string;
}

/** What a call costs, in µs: of the process's CPU, and on the wall. */
export async function measureCalls(times: number, call: () => Promise<unknown>) {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let last: unknown;
  for (let count = 0; count < times; count++) last = await call();
  const { user, system } = process.cpuUsage(before);
  const wall = (performance.now() - startedAt) * 1_000;
  return { cpu: (user + system) / times, wall: wall / times, last };
}

/** The heap in use once what is garbage was collected, in bytes. */
export async function measureHeap(): Promise<number> {
  if (!globalThis.gc) throw new Error('Run it with --expose-gc');
  // What is finalized after one round is collected in the next.
  for (let round = 0; round < 3; round++) {
    await setTimeout(20);
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
