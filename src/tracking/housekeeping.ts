/**
 * Removes jobs and links that ended long ago, and shortens waits that are too long because the clock of the database has
 * gone back. One of the processes does this once a minute, in small batches. Each process ends connections whose machine
 * has vanished.
 *
 * @module
 */

import type { Context } from './context.js';
import { createPause, type Loop } from './pause.js';
import { longStatementMs } from './sql.js';

/** How often, in ms, each process checks whether it should do the housekeeping now. */
const everyMs = 30_000;
/** How often, in ms, the only process does it: once a day. */
const aloneMs = 86_400_000;
/** The largest number of batches that are removed at a time. Further rows are removed a minute later. */
const maxBatches = 20;

/** Starts the housekeeping. */
export function createHousekeeping({ database, statements, storage, clock }: Context): Loop {
  const pause = createPause(clock);
  let isStopping = false;
  const loop = run();
  return {
    wake: pause.wake,
    isIdle: pause.isSleeping,
    async drain() {
      isStopping = true;
      pause.wake();
      await loop;
    },
  };

  // Errors are ignored here, because the loop that polls jobs logs that the database cannot be reached.
  async function run(): Promise<void> {
    while (!isStopping) {
      await storage.watch('no old job is removed', keepHouse).catch(() => undefined);
      if (!isStopping) await pause.sleep(database.watch ? aloneMs : everyMs);
    }
  }

  async function keepHouse(): Promise<void> {
    await database.run(statements.endSilent);
    if ((await database.run(statements.keepHouse)).length === 0) return;
    const { pullDues, pullMentionedDues, pullDeliveries, lowerFloors, forget, forgetMentioned } = statements;
    for (const text of [pullDues, pullMentionedDues, pullDeliveries, lowerFloors, forget, forgetMentioned]) {
      for (let batch = 0; batch < maxBatches && !isStopping; batch++) {
        if ((await database.run(text, [], longStatementMs)).length === 0) break;
      }
    }
  }
}
