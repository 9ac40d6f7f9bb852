/**
 * The `jobs` namespace: what partners call (docs/protocol.md §4.5).
 *
 * @module
 */

import type { ApiPromise } from '../api-promise.js';
import type { Call } from '../call.js';
import { HostedValidationError } from '../errors.js';
import type { Telemetry } from '../events.js';
import { cannot } from '../messages.js';
import type { CallOptions } from '../options.js';
import { jobStatusRoute } from '../routes.js';
import { stoppable } from '../stoppable.js';
import type { WaitingClock } from '../time.js';
import { jobStatus } from './operations.js';
import { createPoller, type PollingWorld } from './polling.js';
import { type WaitEntry, waitForEach } from './schedule.js';
import type { CompletedJob, JobQuery, JobRef, JobStatus } from './types.js';
import { readWaitOptions, type WaitOptions, type WaitPlan } from './wait-options.js';
import { watchJob } from './watch.js';

/** Verification jobs. */
export interface Jobs {
  /**
   * Asks for a job's status, and believes it only when the service signed it.
   *
   * @param query - Both ids of the job, and whether to ask for image links and history.
   * @throws {HostedNotFoundError} when the service knows no such job (code 2304).
   * @throws {HostedAuthenticationError} when partner id and key do not belong together (2305).
   * @throws {HostedSignatureError} when the answer is not signed by the service, or not lately.
   * @throws {HostedResponseError} when the answer is about another job, or cannot be read.
   *
   * @example
   * ```ts
   * const status = await client.jobs.status({ userId, jobId, history: true });
   * if (status.complete) console.log(status.success);
   * ```
   *
   * docs/protocol.md §4.5
   */
  status(query: JobQuery, options?: CallOptions): ApiPromise<JobStatus>;

  /**
   * Gives every verified status of a job as it comes; ends after the completed one.
   *
   * @param job - Both ids of the job; they are all it takes to go on later, in another process too.
   * @throws {HostedPollTimeoutError} when the job is still pending at the deadline.
   * @throws {HostedNotFoundError} when the service does not know the job, after a grace.
   * @throws any other error that more polls would not change, or that came too often in a row.
   *
   * docs/protocol.md §2.4, §7
   */
  watch(job: JobRef, options?: WaitOptions): AsyncIterable<JobStatus>;

  /**
   * Waits until a job has a final status. That the person was not verified is an answer, not an
   * error: read `success`.
   *
   * @param job - Both ids of the job; they are all it takes to go on later, in another process too.
   * @throws {HostedPollTimeoutError} when the job is still pending at the deadline; it holds the job
   *   and the last status.
   * @throws {HostedNotFoundError} when the service does not know the job, after a grace.
   * @throws any other error that more polls would not change, or that came too often in a row.
   *
   * @example
   * ```ts
   * const { success, result } = await client.jobs.waitForCompletion({ userId, jobId });
   * ```
   *
   * docs/protocol.md §2.4, §7
   */
  waitForCompletion(job: JobRef, options?: WaitOptions): Promise<CompletedJob>;

  /**
   * Waits for many jobs at once, by one timer and with at most `concurrency` requests in flight
   * (default 10). Gives each job's end in order of completion; one that fails is its own entry, and
   * never the end of the others.
   *
   * @param jobs - Your own objects, with both ids; taken as there is room for them.
   * @throws what the source of jobs throws, once the jobs that it gave have ended.
   *
   * docs/protocol.md §2.4, §7
   */
  waitForAll<J extends JobRef>(
    jobs: Iterable<J> | AsyncIterable<J>,
    options?: WaitOptions & { concurrency?: number },
  ): AsyncIterable<WaitEntry<J>>;
}

/** What the namespace needs beside a way to call. */
export interface JobsWorld {
  readonly clock: WaitingClock;
  readonly telemetry: Telemetry;
  /** Chance, from 0 to 1. */
  readonly random: () => number;
}

/**
 * Makes the namespace over a way to call.
 *
 * @internal
 */
export function createJobs(call: Call, { clock, telemetry, random }: JobsWorld): Jobs {
  const ask: PollingWorld['ask'] = (query, options) => call(jobStatus, query, options);
  const pollerOf = (plan: WaitPlan) => createPoller({ ask, now: clock.now, random, telemetry }, plan);

  const watch: Jobs['watch'] = (job, options) =>
    stoppable(async function* (stop) {
      const plan = readWaitOptions(options);
      yield* watchJob(job, { poller: pollerOf(plan), clock, signal: plan.signal, stop });
    });

  return {
    status: (query, options) => call(jobStatus, () => query, options),
    watch,
    async waitForCompletion(job, options) {
      for await (const seen of watch(job, options)) if (seen.complete) return seen;
      throw new Error('unreachable: a watch ends with a completed job or an error');
    },
    waitForAll: (jobs, options) =>
      stoppable(async function* (stop) {
        const plan = readWaitOptions(options);
        const { concurrency, signal } = plan;
        yield* waitForEach(checkedJobs(jobs), { poller: pollerOf(plan), clock, concurrency, signal, stop });
      }),
  };
}

function checkedJobs<J>(jobs: Iterable<J> | AsyncIterable<J>): Iterable<J> | AsyncIterable<J> {
  const given: unknown = jobs;
  if (typeof given === 'object' && given !== null && (Symbol.iterator in given || Symbol.asyncIterator in given)) {
    return jobs;
  }
  const { name } = jobStatusRoute;
  const issues = [{ path: 'jobs', message: 'must be an iterable of jobs' }];
  throw new HostedValidationError(cannot(name, '"jobs" must be an iterable of jobs'), issues, { operation: name });
}
