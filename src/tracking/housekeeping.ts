/**
 * Cleans up once a minute, in one process. It removes jobs and links that ended long ago, in small batches. It also
 * sends lost messages again.
 *
 * @module
 */

import type { Context } from './context.js';
import { type HandOver, queues } from './hand-over.js';
import { createPause } from './pause.js';

/** How often, in ms, each process asks whether it is its turn. */
const everyMs = 30_000;
/** How many batches are removed at a time, at most. The rest waits for a minute. */
const maxBatches = 20;

/** How long, in ms, a completion must have been handed over before its message is checked. */
const orphanMs = 3_600_000;

/** Starts the housekeeping. */
export function createHousekeeping(
  { database, statements, report }: Context,
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
      // The loop that looks at jobs reports a database that cannot be reached.
      await keepHouse().catch(() => undefined);
      if (!isStopping) await pause.sleep(everyMs);
    }
  }

  async function keepHouse(): Promise<void> {
    const turn = await database.run(statements.keepHouse);
    if (turn.length === 0) return;
    for (const row of await database.run(statements.findBuried, [queues.dead])) {
      report({ type: 'dead', attempts: Number(row.attempts) });
    }
    await database.transaction((inside) => handOver.adoptOrphans(inside, orphanMs));
    for (const text of [statements.forget, statements.forgetHeard]) {
      for (let batch = 0; batch < maxBatches && !isStopping; batch++) {
        if ((await database.run(text)).length === 0) break;
      }
    }
  }
}
