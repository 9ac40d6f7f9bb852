/** What all blocks share. A block is the work that a variant does in one turn; it runs in a separate process. */

import { setTimeout } from 'node:timers/promises';

/** Runs one turn, and returns its measurements by name. */
export type Block = () => Promise<Readonly<Record<string, number>>>;

/** The settings that every block gets. */
export interface BlockSettings {
  /** The name of the variant. */
  readonly variant: string;
  /** The folder of the build, if the variant is a build of this package. */
  readonly dist: string;
}

/** Returns the cost of one call in µs: CPU time of the process, and elapsed time. */
export async function measureCalls(times: number, call: () => Promise<unknown>) {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  let last: unknown;
  for (let count = 0; count < times; count++) last = await call();
  const { user, system } = process.cpuUsage(before);
  const wall = (performance.now() - startedAt) * 1_000;
  return { cpu: (user + system) / times, wall: wall / times, last };
}

/** Collects garbage, and returns the heap still in use, in bytes. */
export async function measureHeap(): Promise<number> {
  if (!globalThis.gc) throw new Error('Run node with --expose-gc');
  // One round is not enough: objects that are finalized after a round are collected in the next round.
  for (let round = 0; round < 3; round++) {
    await setTimeout(20);
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
