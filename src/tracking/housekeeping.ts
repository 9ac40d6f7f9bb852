/**
 * Removes jobs and links that ended long ago, and sends lost messages again. One of the processes does this once a
 * minute, in small batches.
 *
 * @module
 */

import type { Context } from './context.js';
import { type HandOver, queues } from './hand-over.js';
import { createPause } from './pause.js';
import { longStatementMs } from './sql.js';

/** How often, in ms, each process checks whether it should do the housekeeping now. */
const everyMs = 30_000;
/** The largest number of batches that are removed at a time. Further rows are removed a minute later. */
const maxBatches = 20;

/** The tracker checks the message of a completion only if the completion is at least this old, in ms. */
const orphanMs = 3_600_000;

/** Starts the housekeeping. */
export function createHousekeeping(
  { database, statements, report, storage }: Context,
  handOver: HandOver,
): { stop(): Promise<void> } {
  const pause = createPause();
  let isStopping = false;
  const loop = run();
  return {
    async stop() {
      isStopping = true;
      pause.wake();
      await loop;
    },
  };

  async function run(): Promise<void> {
    while (!isStopping) {
      const effect = 'no lost message is replaced, and no old job is removed';
      await storage.watch(effect, keepHouse).catch(() => undefined);
      if (!isStopping) await pause.sleep(everyMs);
    }
  }

  async function keepHouse(): Promise<void> {
    const turn = await database.run(statements.keepHouse);
    if (turn.length === 0) return;
    for (const row of await database.run(statements.findBuried, [queues.dead], longStatementMs)) {
      report({ type: 'dead', attempts: Number(row.attempts) });
    }
    await database.transaction((inside) => handOver.adoptOrphans(inside, orphanMs));
    for (const text of [statements.forget, statements.forgetHeard]) {
      for (let batch = 0; batch < maxBatches && !isStopping; batch++) {
        if ((await database.run(text, [], longStatementMs)).length === 0) break;
      }
    }
  }
}
