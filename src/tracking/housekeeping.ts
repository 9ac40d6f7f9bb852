/**
 * Removes jobs and links that ended long ago, and sends lost messages again. One of the processes does this once a
 * minute, in small batches. Each batch is its own transaction, so that what is done stays done.
 *
 * @module
 */

import type { Context } from './context.js';
import type { HandOver } from './hand-over.js';
import { createPause, type Loop, letOthersRun } from './pause.js';
import { batchSize } from './rules.js';
import { longStatementMs } from './sql.js';

/** How often, in ms, each process checks whether it should do the housekeeping now. */
const everyMs = 30_000;
/** How often, in ms, the only process does it: once a day. */
const aloneMs = 86_400_000;
/** The largest number of batches that are removed at a time. Further rows are removed a minute later. */
const maxBatches = 20;

/** Starts the housekeeping. */
export function createHousekeeping({ database, statements, storage, clock }: Context, handOver: HandOver): Loop {
  const pause = createPause(clock);
  let isStopping = false;
  /** The end date and the key of the completion whose message was checked last. */
  let checked: readonly [at: string, key: string] | null = null;
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
      await keepHouse().catch(() => undefined);
      if (!isStopping) await pause.sleep(database.watch ? aloneMs : everyMs);
    }
  }

  // If a step fails, the other one is done all the same.
  async function keepHouse(): Promise<void> {
    const turn = await storage.watch('no housekeeping is done', () => database.run(statements.keepHouse));
    if (turn.length === 0) return;
    await storage.watch('no lost message is replaced', replaceLost).catch(() => undefined);
    await storage.watch('no old job is removed', forget);
  }

  // If a batch fails, the next turn continues with it.
  async function replaceLost(): Promise<void> {
    while (!isStopping) {
      const rows = await database.transaction(async (inside) => {
        await inside.run(statements.readInOrder);
        const found = await inside.run(statements.findLost, [...(checked ?? [null, null])]);
        await handOver.send(
          inside,
          found.filter((row) => row.is_sent !== true),
        );
        return found;
      });
      const last = rows.at(-1);
      checked = last && rows.length === batchSize ? [String(last.at), String(last.key)] : null;
      if (checked === null) return;
      await letOthersRun();
    }
  }

  async function forget(): Promise<void> {
    for (const text of [statements.forget, statements.forgetHeard]) {
      for (let batch = 0; batch < maxBatches && !isStopping; batch++) {
        if ((await database.run(text, [], longStatementMs)).length === 0) break;
      }
    }
  }
}
