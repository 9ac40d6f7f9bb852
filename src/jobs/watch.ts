/**
 * Watches one job: sleeps, polls and yields the status, until the status is final.
 *
 * @module
 */

import { addCallerFrames } from '../errors/caller-frames.js';
import { withSignals } from '../runtime/clock.js';
import { endWait, type Poller } from './poller.js';
import type { JobRef, JobStatus } from './types.js';

/**
 * Yields every status of a job; the last status is final. `stop` aborts when the caller ends the iteration; it is
 * undefined if the caller does not iterate.
 *
 * @throws the error of a poll, if more polls would not help; the timeout error, if the deadline passes; the reason of
 * the signal, if it aborts.
 */
export async function* watchJob(
  job: JobRef,
  poller: Poller,
  stop: AbortSignal | undefined,
): AsyncGenerator<JobStatus, void, undefined> {
  const { clock, plan } = poller;
  const wait = poller.createWait(job, job);
  let now = wait.startedAt;
  try {
    for (;;) {
      const { status, error, over } = await withSignals([plan.signal, stop], async (combined) => {
        while (now < wait.dueAt) {
          await clock.sleep(wait.dueAt - now, combined);
          now = clock.elapsed();
        }
        combined.throwIfAborted();
        return poller.poll(wait, now, combined);
      });
      if (status) yield status;
      if (error) throw addCallerFrames(error);
      if (over) return;
      // The delay counts from the last poll, so it includes the time in which the caller handled the last status.
      now = clock.elapsed();
    }
  } finally {
    endWait(wait);
  }
}
