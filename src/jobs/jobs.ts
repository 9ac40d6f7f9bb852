/**
 * The `jobs` namespace: the public methods (docs/protocol.md §4.5).
 *
 * @module
 */

import type { ApiPromise } from '../call/api-promise.js';
import { callOnceStarted, type StartClient } from '../call/call.js';
import { HostedValidationError } from '../errors/client-errors.js';
import type { HostedError } from '../errors/hosted-error.js';
import type { CallOptions } from '../options.js';
import { createAbortableIterable } from '../runtime/abortable-iterable.js';
import { jobStatus } from './operations.js';
import { createPoller } from './poller.js';
import type { CompletedJob, JobQuery, JobRef, JobStatus } from './types.js';
import { waitForEach } from './wait-for-all.js';
import { copyIds, readWaitOptions, type WaitOptions } from './wait-input.js';
import { watchJob } from './watch.js';

/** Verification jobs (docs/protocol.md §2.4, §4.5). */
export interface Jobs {
  /**
   * Fetches a job's status and verifies its signature. The request is retried automatically.
   *
   * @param query - Both ids of the job, and whether to request image links and history.
   * @param options - Options for this call only.
   * @returns The status: pending, succeeded or failed. If the person was not verified, the status is failed, and no
   *   error is thrown.
   * @throws {HostedValidationError} when an id is blank or not a string; nothing was sent.
   * @throws {HostedNotFoundError} when the service knows no such job (code 2304).
   * @throws {HostedAuthenticationError} when partner id and key do not belong together (2305).
   * @throws {HostedSignatureError} when the response is not signed by the service, or its signature is not fresh.
   * @throws {HostedResponseError} when the response is about another job, or cannot be read.
   *
   * @example Ask once, with history
   * ```ts
   * const status = await client.jobs.status({ userId, jobId, history: true });
   * if (status.complete) console.log(status.success);
   * ```
   *
   * @see [§4.5](../../docs/protocol.md#45-job-status), [§5](../../docs/protocol.md#5-authentication) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  status(query: JobQuery, options?: CallOptions): ApiPromise<JobStatus>;

  /**
   * Polls a job and yields every verified status, until the status is final. No request is sent before the iteration
   * begins. Each iteration over the statuses is a separate wait. The wait ends when you leave the loop.
   *
   * @param job - Both ids of the job. To continue later, also in another process, you need only these ids.
   * @param options - When to poll and how long to wait. By default, the wait ends after ten minutes.
   * @returns An async iterable of the statuses. The errors below are thrown by the iteration.
   * @throws {HostedPollTimeoutError} when the job is still pending at the deadline.
   * @throws {HostedNotFoundError} when the service still does not know the job after `notFoundGraceMs`.
   * @throws {HostedValidationError} when an id is invalid, or an option is out of range.
   * @throws {HostedError} when a poll failed and more polls would not help, or when too many consecutive polls failed.
   *
   * @example Show each status
   * ```ts
   * for await (const status of client.jobs.watch({ userId, jobId })) {
   *   console.log(status.state, status.message);
   * }
   * ```
   *
   * @see [§2.4](../../docs/protocol.md#24-job-status), [§3](../../docs/protocol.md#3-states) and
   *   [§7](../../docs/protocol.md#7-errors) of docs/protocol.md
   */
  watch(job: JobRef, options?: WaitOptions): AsyncIterable<JobStatus>;

  /**
   * Waits until a job has a final status. If the person was not verified, no error is thrown: read `success`.
   *
   * @param job - Both ids of the job. To continue later, also in another process, you need only these ids.
   * @param options - When to poll and how long to wait. By default, the wait ends after ten minutes.
   * @returns The completed job.
   * @throws {HostedPollTimeoutError} when the job is still pending at the deadline; the error has the job's ids and the
   *   last status.
   * @throws {HostedNotFoundError} when the service still does not know the job after `notFoundGraceMs`.
   * @throws {HostedValidationError} when an id is invalid, or an option is out of range.
   * @throws {HostedError} when a poll failed and more polls would not help, or when too many consecutive polls failed.
   *
   * @example Wait for the result
   * ```ts
   * const { success, result } = await client.jobs.waitForCompletion({ userId, jobId });
   * console.log(success ? 'verified:' : 'not verified:', result?.resultText);
   * ```
   *
   * @see [§2.4](../../docs/protocol.md#24-job-status), [§3](../../docs/protocol.md#3-states) and
   *   [§7](../../docs/protocol.md#7-errors) of docs/protocol.md
   */
  waitForCompletion(job: JobRef, options?: WaitOptions): Promise<CompletedJob>;

  /**
   * Waits for many jobs at once, with at most `concurrency` requests in flight. Yields an entry for each job, in order
   * of completion. If the wait for a job fails, its entry has the error, and the other waits go on. If the iterable of
   * jobs throws, `waitForAll` still waits for the jobs that it has already read. Then it throws the iterable's error.
   *
   * @typeParam J - The type of your own objects.
   * @param jobs - Your own objects, each with both ids of a job. The next object is read when one more request may be
   *   sent.
   * @param options - When to poll, how long to wait for each job, and how many requests to make at once.
   * @returns An async iterable with an entry for each job. The errors below are thrown by the iteration.
   * @throws {HostedValidationError} when `jobs` is not an iterable, or an option is out of range.
   *
   * @example Show the row and the state of each job
   * ```ts
   * for await (const { job, status, error } of client.jobs.waitForAll(rows, { concurrency: 5 })) {
   *   if (error) console.log(`row ${job.row}: ${error.code}`);
   *   else console.log(`row ${job.row}: ${status.state}`);
   * }
   * ```
   *
   * @see [§2.4](../../docs/protocol.md#24-job-status), [§3](../../docs/protocol.md#3-states) and
   *   [§7](../../docs/protocol.md#7-errors) of docs/protocol.md
   */
  waitForAll<J extends JobRef>(
    jobs: Iterable<J> | AsyncIterable<J>,
    options?: WaitOptions & {
      /** How many requests may be in flight at once: 1 to 1,000. Default 10. */
      concurrency?: number;
    },
  ): AsyncIterable<
    | {
        /** Your own object. */
        job: J;
        /** The job's final status. */
        status: CompletedJob;
        /** There is no error. */
        error?: undefined;
      }
    | {
        /** Your own object. */
        job: J;
        /** There is no status. */
        status?: undefined;
        /** Why the wait for the job ended without a final status. */
        error: HostedError;
      }
  >;
}

/**
 * Creates the namespace.
 *
 * @internal
 */
export function createJobs(start: StartClient): Jobs {
  const call = callOnceStarted(start);

  return {
    status: (query, options) => call(jobStatus, query, options),
    // A job that is a string is an id. A call rejects it before the options are read: the second id is in their place.
    watch(job, options) {
      // The ids are copied now, because the caller may change the object before the iteration begins.
      const ids = copyIds(job);
      return createAbortableIterable(async function* (stop) {
        if (typeof job === 'string') await call(jobStatus, job);
        yield* watchJob(ids, createPoller(start(), readWaitOptions(options)), stop);
      });
    },
    async waitForCompletion(job, options) {
      if (typeof job === 'string') await call(jobStatus, job);
      const plan = readWaitOptions(options);
      const statuses = watchJob(copyIds(job), createPoller(start(), plan), undefined);
      for await (const seen of statuses) if (seen.complete) return seen;
      throw new Error('unreachable: a watch ends with a completed job or an error');
    },
    waitForAll: (jobs, options) =>
      createAbortableIterable(async function* (stop) {
        assertIterable(jobs);
        const plan = readWaitOptions(options);
        yield* waitForEach(jobs, createPoller(start(), plan), stop);
      }),
  };
}

function assertIterable(jobs: unknown): void {
  if (typeof jobs === 'object' && jobs !== null && (Symbol.iterator in jobs || Symbol.asyncIterator in jobs)) return;
  const message =
    typeof jobs === 'string'
      ? 'must be an iterable of objects with "userId" and "jobId", not the ids one by one'
      : 'must be an iterable of jobs';
  const issues = [{ path: 'jobs', message }];
  throw new HostedValidationError(issues, { operation: 'jobs.status' });
}
