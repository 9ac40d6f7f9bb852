/**
 * Watching one job: poll, tell, sleep, and again, until there is a final status.
 *
 * @module
 */

import type { WaitingClock } from '../time.js';
import type { Poller } from './polling.js';
import type { JobRef, JobStatus } from './types.js';

/**
 * Gives every status of a job as it comes, the completed one last.
 *
 * @throws what ends the wait otherwise: an error that more polls would not change, the deadline, or
 *   the signal's reason.
 */
export async function* watchJob(
  job: JobRef,
  { poller, clock, signal }: { poller: Poller; clock: WaitingClock; signal: AbortSignal | undefined },
): AsyncGenerator<JobStatus, void, undefined> {
  const wait = poller.begin(job);
  for (;;) {
    // Counted from the last poll: whoever reads a status slowly does not poll less often.
    const delayMs = wait.dueAt - clock.now();
    if (delayMs > 0) await clock.sleep(delayMs, signal);
    else signal?.throwIfAborted();
    const { status, error, over } = await poller.poll(wait, signal);
    if (status) yield status;
    if (error) throw error;
    if (over) return;
  }
}
