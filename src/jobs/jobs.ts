/**
 * The `jobs` namespace: what partners call (docs/protocol.md §4.5).
 *
 * @module
 */

import type { ApiPromise } from '../call/api-promise.js';
import type { Call } from '../call/call.js';
import { createSentSignatures } from '../call/sent-signatures.js';
import { HostedConnectionError, HostedValidationError } from '../errors/errors.js';
import type { Telemetry } from '../events.js';
import type { CallOptions } from '../options.js';
import { createAbortableIterable } from '../runtime/abortable-iterable.js';
import { lazy } from '../runtime/lazy.js';
import type { Settings } from '../settings.js';
import { copyIds } from './copy-ids.js';
import { jobStatus } from './operations.js';
import type { Polling } from './poller.js';
import type { CompletedJob, JobQuery, JobRef, JobStatus } from './types.js';
import type { WaitEntry } from './wait-for-all.js';
import { readWaitOptions, type WaitOptions } from './wait-options.js';

/** Verification jobs (docs/protocol.md §2.4, §4.5). */
export interface Jobs {
  /**
   * Asks for a job's status, and believes it only when the service signed it. Safe to repeat, and
   * repeated.
   *
   * @param query - Both ids of the job, and whether to ask for image links and history.
   * @param options - Options of this call alone.
   * @returns The status: pending, succeeded or failed. That the person was not verified is no error.
   * @throws {HostedValidationError} when an id is blank or no text; nothing was sent.
   * @throws {HostedNotFoundError} when the service knows no such job (code 2304).
   * @throws {HostedAuthenticationError} when partner id and key do not belong together (2305).
   * @throws {HostedSignatureError} when the answer is not signed by the service, or not lately.
   * @throws {HostedResponseError} when the answer is about another job, or cannot be read.
   *
   * @example Ask once, with history
   * ```ts
   * const status = await client.jobs.status({ userId, jobId, history: true });
   * if (status.complete) console.log(status.success);
   * ```
   *
   * @see §4.5 and §5 of docs/protocol.md; how flags and signature are spelt is not shown there, and assumptions.ts holds the guess
   */
  status(query: JobQuery, options?: CallOptions): ApiPromise<JobStatus>;

  /**
   * Gives every verified status of a job as it comes; ends after the completed one. Nothing is asked
   * before the iteration; each iteration is a wait of its own, and leaving it ends the wait.
   *
   * @param job - Both ids of the job; they are all it takes to go on later, in another process too.
   * @param options - When to poll and for how long; the defaults wait ten minutes.
   * @returns The statuses, to be iterated; what is thrown is thrown there.
   * @throws {HostedPollTimeoutError} when the job is still pending at the deadline.
   * @throws {HostedNotFoundError} when the service does not know the job, after a grace.
   * @throws {HostedValidationError} when an id is not fit to be sent, or an option is out of range.
   * @throws {HostedError} when more polls would not change an error, or it came too often in a row.
   *
   * @example Show each status
   * ```ts
   * for await (const status of client.jobs.watch({ userId, jobId })) {
   *   console.log(status.state, status.message);
   * }
   * ```
   *
   * @see §2.4, §3 and §7 of docs/protocol.md
   */
  watch(job: JobRef, options?: WaitOptions): AsyncIterable<JobStatus>;

  /**
   * Waits until a job has a final status. That the person was not verified is an answer, not an
   * error: read `success`.
   *
   * @param job - Both ids of the job; they are all it takes to go on later, in another process too.
   * @param options - When to poll and for how long; the defaults wait ten minutes.
   * @returns The completed job.
   * @throws {HostedPollTimeoutError} when the job is still pending at the deadline; it holds the job
   *   and the last status.
   * @throws {HostedNotFoundError} when the service does not know the job, after a grace.
   * @throws {HostedValidationError} when an id is not fit to be sent, or an option is out of range.
   * @throws {HostedError} when more polls would not change an error, or it came too often in a row.
   *
   * @example Wait for the result
   * ```ts
   * const { success, result } = await client.jobs.waitForCompletion({ userId, jobId });
   * console.log(success ? 'verified:' : 'not verified:', result?.resultText);
   * ```
   *
   * @see §2.4, §3 and §7 of docs/protocol.md
   */
  waitForCompletion(job: JobRef, options?: WaitOptions): Promise<CompletedJob>;

  /**
   * Waits for many jobs at once, by one timer and with at most `concurrency` requests in flight.
   * Gives each job's end in order of completion; one that fails is its own entry, and never the end
   * of the others. What the source of jobs throws is thrown once the jobs that it gave have ended.
   *
   * @typeParam J - Your own objects.
   * @param jobs - Your own objects, with both ids; taken as there is room for them.
   * @param options - When to poll, for how long each job is waited for, and how many requests at once.
   * @returns An entry for each job, to be iterated; what is thrown is thrown there.
   * @throws {HostedValidationError} when `jobs` is no iterable, or an option is out of range.
   *
   * @example Each job with the row it belongs to
   * ```ts
   * for await (const { job, status, error } of client.jobs.waitForAll(rows, { concurrency: 5 })) {
   *   if (error) console.log(`row ${job.row}: ${error.code}`);
   *   else console.log(`row ${job.row}: ${status.state}`);
   * }
   * ```
   *
   * @see §2.4, §3 and §7 of docs/protocol.md
   */
  waitForAll<J extends JobRef>(
    jobs: Iterable<J> | AsyncIterable<J>,
    options?: WaitOptions & {
      /** How many requests may be in flight at once: 1 to 1,000. Default 10. */
      concurrency?: number;
    },
  ): AsyncIterable<WaitEntry<J>>;
}

/** What the namespace needs beside a way to call, and its client's settings. */
export interface JobsNeeds {
  readonly telemetry: Telemetry;
  /** Gives a random number from 0 to 1. */
  readonly random: () => number;
}

// Many clients never wait: the code for it is loaded with the first wait.
const loadWaiting = lazy(async () => {
  try {
    return await import('./waiting.js');
  } catch {
    const why = 'the code that waits could not be loaded';
    throw new HostedConnectionError(why, { operation: 'jobs.status', retryable: true });
  }
});

/**
 * Creates the namespace over a way to call.
 *
 * @internal
 */
export function createJobs(call: Call, settings: Settings, { telemetry, random }: JobsNeeds): Jobs {
  const { clock, totalTimeoutMs, maxResponseAgeMs } = settings;
  const ask: Polling['ask'] = (query, options, part) => call(jobStatus, () => query, options, part);
  const createSent = () => createSentSignatures(maxResponseAgeMs);
  const polling = { ask, elapsed: clock.elapsed, random, telemetry, totalTimeoutMs, createSent };

  const watch: Jobs['watch'] = (job, options) => {
    // Copied now: the iteration may begin when the caller's object stands for another job.
    const ids = copyIds(job);
    return createAbortableIterable(async function* (stop) {
      const plan = readWaitOptions(options);
      const { createPoller, watchJob } = await loadWaiting();
      if (stop.aborted) return;
      const poller = createPoller(polling, plan);
      yield* watchJob(poller.begin(job, ids), { poller, clock, signal: plan.signal, stop });
    });
  };

  return {
    status: (query, options) => call(jobStatus, () => query, options),
    watch,
    async waitForCompletion(job, options) {
      for await (const seen of watch(job, options)) if (seen.complete) return seen;
      throw new Error('unreachable: a watch ends with a completed job or an error');
    },
    waitForAll: (jobs, options) =>
      createAbortableIterable(async function* (stop) {
        const plan = readWaitOptions(options);
        const { concurrency, signal } = plan;
        assertIterable(jobs);
        const { createPoller, waitForEach } = await loadWaiting();
        if (stop.aborted) return;
        const poller = createPoller(polling, plan);
        yield* waitForEach(jobs, { poller, clock, concurrency, signal, stop });
      }),
  };
}

function assertIterable(jobs: unknown): void {
  if (typeof jobs === 'object' && jobs !== null && (Symbol.iterator in jobs || Symbol.asyncIterator in jobs)) return;
  const issues = [{ path: 'jobs', message: 'must be an iterable of jobs' }];
  throw new HostedValidationError(issues, { operation: 'jobs.status' });
}
