/**
 * Limits how much work runs at the same time. Work above the limit waits, and starts in order of arrival.
 *
 * @module
 */

import { HostedTimeoutError } from '../errors/errors.js';
import type { WaitingClock } from '../runtime/clock.js';

/** How many calls may wait. */
const maxWaiting = 1_000;
/** How long each call may wait, in ms. */
const maxWaitMs = 10_000;

export function createConcurrencyLimit(clock: Pick<WaitingClock, 'setTimer'>) {
  let running = 0;
  // A set keeps the order of arrival. `start` lets the waiting work start.
  const queue = new Set<{ readonly atOnce: number; start(): void }>();

  function startNext(): void {
    for (const next of queue) {
      if (running >= next.atOnce) return;
      queue.delete(next);
      running += 1;
      next.start();
    }
  }

  async function wait(atOnce: number): Promise<void> {
    if (queue.size >= maxWaiting) throw createQueueError();
    let cancel = () => {};
    await new Promise<void>((resolve, reject) => {
      const waiting = { atOnce, start: resolve };
      cancel = clock.setTimer(maxWaitMs, () => {
        if (queue.delete(waiting)) reject(createQueueError());
      });
      queue.add(waiting);
    });
    cancel();
  }

  return {
    /**
     * Runs `work` when fewer than `atOnce` calls are running and no earlier call waits.
     *
     * @throws {HostedTimeoutError} when the work cannot start in time, or when too many calls already wait.
     */
    async take<T>(atOnce: number, work: () => Promise<T>): Promise<T> {
      if (running < atOnce && queue.size === 0) running += 1;
      else await wait(atOnce);
      try {
        return await work();
      } finally {
        running -= 1;
        startNext();
      }
    },
  };
}

function createQueueError(): HostedTimeoutError {
  const why = 'too many confirmations are running, and this one cannot start within 10 seconds';
  const limit = { phase: 'total', timeoutMs: maxWaitMs } as const;
  return new HostedTimeoutError(why, limit, { task: 'receive a callback', outcome: 'not_sent', retryable: true });
}
