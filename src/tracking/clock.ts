/**
 * Watches the clock of the database. If the clock goes back, for example after a failover to another machine, stored
 * dates are too far in the future, and every wait would take longer by this difference. So the waits are shortened then,
 * in small batches.
 *
 * @module
 */

import { type Context, numberOf } from './context.js';
import { createPause } from './pause.js';
import type { Row } from './sql.js';
import { clockSlackMs, unwatchedMs } from './statements/expressions.js';

/** Watches the clock of the database. */
export interface ClockWatch {
  /** Reads the clock from the first row of the statement `claim`. If it has gone back, begins to correct the dates. */
  observe(fleet: Row): void;
  /** Stops the correction. Resolves when no statement runs. */
  stop(): Promise<void>;
}

/** How long, in ms, the correction waits for transactions that have locked rows. */
const lockedMs = 1_000;

/** Creates the watch of one process. */
export function createClockWatch({ database, statements, log, clock }: Context): ClockWatch {
  const pause = createPause(clock);
  let isStopping = false;
  let isLogged = false;
  /** The latest time that this process has read. */
  let seenMs = 0;
  let correction: Promise<void> | null = null;

  return {
    observe(fleet) {
      if (correction !== null) return;
      const nowMs = numberOf(fleet, 'now_ms');
      // Without claims, the stored time may be a minute and a half old.
      const passedMs = nowMs - Math.max(numberOf(fleet, 'clock_us') / 1_000, seenMs);
      seenMs = Math.max(seenMs, nowMs);
      const isBack = passedMs < -clockSlackMs;
      if (!isBack && passedMs < unwatchedMs) return;
      if (isBack && !isLogged) log('warn', 'the clock of the database has gone back: waits are shortened');
      isLogged = isBack;
      // If a statement fails, the next observation begins again.
      correction = correct(fleet)
        .then(() => {
          seenMs = 0;
        })
        .catch(() => undefined)
        .finally(() => {
          correction = null;
        });
    },
    async stop() {
      isStopping = true;
      pause.wake();
      await correction;
    },
  };

  async function correct(fleet: Row): Promise<void> {
    while (!isStopping && (await correctDues()) > 0) await pause.sleep(lockedMs);
    await repeat(statements.correctMessages);
    await repeat(statements.correctLeases);
    await database.run(statements.correctQueues);
    if (!isStopping) await database.run(statements.acceptClock, [numberOf(fleet, 'now_ms'), String(fleet.clock_us)]);
  }

  /** Resolves with the number of rows that were locked, and that may still be wrong. */
  async function correctDues(): Promise<number> {
    let locked = 0;
    for (const text of [statements.correctDues, statements.correctToldDues]) {
      let last: Row | undefined = { due_us: 0, key: '00000000-0000-0000-0000-000000000000' };
      while (last && !isStopping) {
        [last] = await database.run(text, [String(last.due_us), last.key]);
        if (last) locked += numberOf(last, 'locked');
      }
    }
    return locked;
  }

  async function repeat(text: string): Promise<void> {
    while (!isStopping && (await database.run(text)).length > 0);
  }
}
