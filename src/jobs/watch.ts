/**
 * Watches one job: sleeps, polls and yields the status, until the status is final.
 *
 * @module
 */

import { addCallerFrames } from '../errors/caller-frames.js';
import { type WaitingClock, withSignals } from '../runtime/clock.js';
import type { Poller, Wait } from './poller.js';
import type { JobStatus } from './types.js';

export interface WatchContext {
  readonly poller: Poller;
  readonly clock: WaitingClock;
  /** The caller's signal. */
  readonly signal: AbortSignal | undefined;
  /** Aborts when the caller ends the watch. */
  readonly stop: AbortSignal;
}

/**
 * Yields every status of a job; the last status is final.
 *
 * @throws an error that more polls would not fix, the error of the deadline, or the signal's reason.
 */
export async function* watchJob(
  wait: Wait,
  { poller, clock, signal, stop }: WatchContext,
): AsyncGenerator<JobStatus, void, undefined> {
  try {
    for (;;) {
      const { status, error, over } = await withSignals([signal, stop], async (combined) => {
        // The delay counts from the last poll, so it includes the time in which the caller handled the last status.
        for (let delayMs = msUntilDue(); delayMs > 0; delayMs = msUntilDue()) await clock.sleep(delayMs, combined);
        combined.throwIfAborted();
        return poller.poll(wait, combined);
      });
      if (status) yield status;
      if (error) throw addCallerFrames(error);
      if (over) return;
    }
  } finally {
    poller.leave(wait);
  }

  function msUntilDue(): number {
    return wait.dueAt - clock.elapsed();
  }
}
