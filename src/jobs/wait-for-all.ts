/**
 * Waits for many jobs at once. All jobs share one timer, and the number of requests in flight is limited. Each waiting
 * job needs one small record.
 *
 * @module
 */

import { addCallerFrames } from '../errors/caller-frames.js';
import type { HostedError } from '../errors/hosted-error.js';
import { createDueQueue } from '../runtime/due-queue.js';
import { createJobSource, type SourcedJob } from './job-source.js';
import { endWait, type Poller, type Wait } from './poller.js';
import type { CompletedJob, JobRef } from './types.js';

/** How the wait for one job ended: see `Jobs.waitForAll`. */
type WaitEntry<J extends JobRef> =
  | { job: J; status: CompletedJob; error?: undefined }
  | { job: J; status?: undefined; error: HostedError };

// After this many new jobs, other code may run. Jobs with an initial delay need no request yet, so an endless source
// could otherwise add jobs without a pause.
const maxAdmittedAtOnce = 1_000;

/**
 * Waits for jobs, and yields an entry for each job in order of completion. The next job is taken from the source when
 * one more request may be sent. Requests alternate between new jobs and due polls.
 *
 * @throws the error of the source, after the waits for its jobs have ended. If the caller's signal aborts, its reason is
 *   thrown.
 *
 * @internal
 */
export async function* waitForEach<J extends JobRef>(
  jobs: Iterable<J> | AsyncIterable<J>,
  poller: Poller,
  stop: AbortSignal,
): AsyncGenerator<WaitEntry<J>, void, undefined> {
  const { clock } = poller;
  const { concurrency, signal } = poller.plan;
  const source = createJobSource(jobs);
  const waiting = createDueQueue<Wait<J>>();
  // Every wait that has not ended, in order of start. All waits have the same time limit, so this is also the order of
  // their deadlines.
  const waits = new Set<Wait<J>>();
  const stopPolls = new AbortController();
  let ended: WaitEntry<J>[] = [];
  let inFlight = 0;
  let failure: { readonly reason: unknown } | null = null;
  let notify: () => void = () => undefined;
  let timer: { readonly at: number; readonly cancel: AbortController } | null = null;
  let admitNext = true;

  const onAbort = () => fail(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  stop.addEventListener('abort', () => fail(stop.reason));
  try {
    throwFailure();
    fill();
    for (;;) {
      const entries = ended;
      ended = [];
      for (const entry of entries) {
        throwFailure();
        addCallerFrames(entry.error);
        yield entry;
      }
      throwFailure();
      if (ended.length > 0) continue;
      if (isDone()) break;
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    }
    source.throwFailure();
  } finally {
    release();
    stopPolls.abort();
    for (const wait of waits) endWait(wait);
    source.close();
  }

  // Starts due polls and takes new jobs while more requests may be sent. Then sets the timer for the next poll or, if
  // no more requests may be sent, for the next deadline.
  function fill(): void {
    let admitted = 0;
    endOverdue();
    while (!failure && inFlight < concurrency && admitted < maxAdmittedAtOnce) {
      const dueAt = waiting.nextDueAt();
      const isDue = dueAt !== null && dueAt <= clock.elapsed();
      const job = !isDue || admitNext ? source.take(fill) : null;
      admitNext = isDue && !job;
      if (job) {
        admitted += 1;
        admit(job);
      } else if (isDue) startPoll(waiting.take() as Wait<J>, clock.elapsed());
      else break;
    }
    if (inFlight >= concurrency) setTimer(nextDeadlineAt());
    else setTimer(admitted < maxAdmittedAtOnce ? waiting.nextDueAt() : clock.elapsed() + 1);
    if (isDone()) release();
    notify();
  }

  function admit({ job, ids }: SourcedJob<J>): void {
    const wait = poller.createWait(job, ids);
    waits.add(wait);
    if (wait.dueAt > wait.startedAt) waiting.add(wait);
    else startPoll(wait, wait.startedAt);
  }

  function startPoll(wait: Wait<J>, at: number): void {
    inFlight += 1;
    poller
      .poll(wait, at, stopPolls.signal)
      .then(({ status, error, over }) => {
        inFlight -= 1;
        if (!over) waiting.add(wait);
        else finish(wait, error ? { job: wait.job, error } : { job: wait.job, status });
        fill();
      })
      .catch(fail);
  }

  function finish(wait: Wait<J>, entry: WaitEntry<J>): void {
    waits.delete(wait);
    ended.push(entry);
  }

  // A wait ends at its deadline, even if other jobs use all requests.
  function endOverdue(): void {
    const now = clock.elapsed();
    for (const wait of waits) {
      if (poller.deadlineOf(wait) > now) return;
      if (inFlight < concurrency || !waiting.has(wait)) continue;
      waiting.remove(wait);
      finish(wait, { job: wait.job, error: poller.expire(wait) });
    }
  }

  function nextDeadlineAt(): number | null {
    // Skips the waits whose jobs are being polled: at most `concurrency` waits.
    for (const wait of waits) if (waiting.has(wait)) return poller.deadlineOf(wait);
    return null;
  }

  function setTimer(at: number | null): void {
    if (at === null || at === Number.POSITIVE_INFINITY || failure || (timer && timer.at <= at)) return;
    timer?.cancel.abort();
    const cancel = new AbortController();
    timer = { at, cancel };
    clock
      .sleep(Math.max(0, at - clock.elapsed()), cancel.signal)
      .then(
        () => {
          // If this timer fires while it is being replaced, it must not clear the new timer.
          if (timer?.cancel === cancel) timer = null;
          fill();
        },
        (error: unknown) => {
          // Either the timer was cancelled, or the sleep of the caller's clock failed.
          if (!cancel.signal.aborted) fail(error);
        },
      )
      .catch(fail);
  }

  function isDone(): boolean {
    return inFlight === 0 && waiting.nextDueAt() === null && source.isExhausted();
  }

  function fail(reason: unknown): void {
    failure ??= { reason };
    release();
    stopPolls.abort(reason);
    notify();
  }

  function throwFailure(): void {
    signal?.throwIfAborted();
    if (failure) throw failure.reason;
  }

  function release(): void {
    signal?.removeEventListener?.('abort', onAbort);
    timer?.cancel.abort();
    timer = null;
  }
}
