/**
 * Polls a job. Decides when the job is polled again, and when the wait for it ends (docs/protocol.md §2.4, §7). It sets
 * no timers: the caller starts each poll when it is due.
 *
 * @module
 */

import type { ResponseInfo } from '../call/api-promise.js';
import type { StartedClient } from '../call/call.js';
import {
  type AnyHostedError,
  HostedPollTimeoutError,
  HostedSignatureError,
  isHostedError,
} from '../errors/client-errors.js';
import { ignoreErrors } from '../events.js';
import type { CallOptions } from '../options.js';
import { assumedMaxHoldMs, assumedSettlingMs } from '../protocol/assumptions.js';
import type { Due } from '../runtime/due-queue.js';
import { openChannel } from '../runtime/tracing-channel.js';
import { readProperty } from '../runtime/untrusted-objects.js';
import { jobStatus } from './operations.js';
import type { CompletedJob, JobRef, JobStatus, PendingJob } from './types.js';
import type { WaitPlan } from './wait-input.js';
import { traceWait, type WaitTrace } from './wait-trace.js';

/**
 * The state of a wait for one job. It is one flat record to save memory, because there may be a million waits. The ids
 * are copied when the wait begins, because the caller may reuse the object for another job. All times are read from the
 * monotonic clock. They are whole milliseconds: the JavaScript engine would store a fractional number outside the
 * record, and would use 16 more bytes for it.
 */
export interface Wait<J = unknown> extends JobRef, Due {
  /** What `waitForAll` returns with the result: the caller's own object. In other waits, the copied ids. */
  readonly job: J;
  readonly callId: number;
  readonly startedAt: number;
  /** When the next poll is due. If `isExpiring` is true, this is when the wait ends. */
  dueAt: number;
  /** True if the wait makes no more polls and only waits for its deadline. */
  isExpiring: boolean;
  polls: number;
  /**
   * Whether the poll in flight is the last poll before the deadline. If no poll is in flight, whether the next poll is
   * the last one.
   */
  isLast: boolean;
  /** The duration of the last poll that returned a status. */
  lastPollMs: number;
  /** The number of transient errors since the last status. */
  errorsInRow: number;
  /** Whether the service has returned a status of the job. */
  wasFound: boolean;
  lastStatus: PendingJob | null;
  /** When the newest status of the wait was signed. Usually, this is the date of `lastStatus`, which takes no memory. */
  newestSignedAt: Date | null;
  /** The trace of the wait. Null if the tracing channel of waits has no subscriber, or if the wait has ended. */
  trace: WaitTrace | null;
}

/** The result of a poll: the end of the wait, or another poll at `wait.dueAt`. */
export type Step =
  | { readonly status: CompletedJob; readonly error: null; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: AnyHostedError; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: null; readonly over: false };

/** A poller of jobs, with the clock and the plan that its callers also use. */
export type Poller = ReturnType<typeof createPoller>;

/** The minimum time limit of a poll, in ms. Without this minimum, a poll at the deadline would time out at once. */
const minPollMs = 25;
/**
 * The largest time, in ms, between the start of the last poll and the deadline. A slow service does not make this time
 * longer.
 */
const maxLeadMs = 10_000;

/** Creates the functions that poll jobs with the same options. */
export function createPoller({ call, random, telemetry, settings }: StartedClient, plan: WaitPlan) {
  const { clock } = settings;
  const pollLimitMs = plan.call.totalTimeoutMs ?? settings.totalTimeoutMs;

  return { clock, plan, createWait, poll, deadlineOf, expire };

  /** Creates the state of a wait for the job with these ids. The wait begins now. */
  function createWait<J>(job: J, ids: JobRef): Wait<J> {
    const startedAt = Math.floor(clock.elapsed());
    telemetry.calls += 1;
    return {
      job,
      userId: ids.userId,
      jobId: ids.jobId,
      callId: telemetry.calls,
      startedAt,
      dueAt: startedAt + Math.min(plan.initialDelayMs, plan.deadlineMs),
      order: 0,
      index: -1,
      isExpiring: false,
      polls: 0,
      isLast: false,
      lastPollMs: 0,
      errorsInRow: 0,
      wasFound: false,
      lastStatus: null,
      newestSignedAt: null,
      trace: openChannel('wait')?.hasSubscribers ? traceWait(telemetry.calls) : null,
    };
  }

  /** Ends a wait whose deadline has passed between two polls, and returns its error. */
  function expire(wait: Wait): AnyHostedError {
    const error = createTimeoutError(wait, Math.floor(clock.elapsed()));
    endWait(wait, error);
    return error;
  }

  /**
   * Fetches the status once, and updates the wait. `at` is the current time.
   *
   * @throws the signal's reason when the signal aborts.
   */
  function poll(wait: Wait, at: number, signal: AbortSignal): Promise<Step> {
    return wait.trace ? wait.trace.inside(() => pollOnce(wait, at, signal)) : pollOnce(wait, at, signal);
  }

  async function pollOnce(wait: Wait, at: number, signal: AbortSignal): Promise<Step> {
    const startedAt = Math.floor(at);
    const step = wait.isExpiring ? createExpiredStep(wait, null, startedAt) : await fetchStep(wait, startedAt, signal);
    if (step.over) endWait(wait, step.error);
    return step;
  }

  async function fetchStep(wait: Wait, startedAt: number, signal: AbortSignal): Promise<Step> {
    wait.polls += 1;
    // A poll in flight is aborted at the deadline: a stalled request must not make the wait longer.
    const leftMs = Math.max(Math.ceil(deadlineOf(wait) - startedAt), minPollMs);
    const endsWait = leftMs <= pollLimitMs;
    const totalTimeoutMs = endsWait ? leftMs : plan.call.totalTimeoutMs;
    const options = { ...plan.call, totalTimeoutMs, signal } as CallOptions;
    // The call rejects an id in the place of a job.
    const query = typeof wait.job === 'string' ? wait.job : { ...idsOf(wait), ...plan.flags };
    let at: number;
    let step: Step;
    let status: JobStatus | null = null;
    let error: AnyHostedError | null = null;
    try {
      const { data, response } = await call(jobStatus, query, options, { issues: null }).withResponse();
      assertNotOlder(wait, data, response);
      status = data;
      at = Math.floor(clock.elapsed());
      wait.lastPollMs = at - startedAt;
      step = handleStatus(wait, status, at);
    } catch (caught) {
      // `signal.reason` may itself be a HostedError: an abort must not count as a failed poll.
      signal.throwIfAborted();
      if (!isHostedError(caught)) throw caught;
      error = caught;
      at = Math.floor(clock.elapsed());
      const isCutOff = endsWait && error.code === 'timeout' && error.phase === 'total';
      step = isCutOff ? createExpiredStep(wait, null, at) : handleError(wait, error, at);
    }
    report(wait, { at, status, error, over: step.over || wait.isExpiring });
    return step;
  }

  /** @throws {HostedSignatureError} (`stale`) when the status is older than one that the wait has returned. */
  function assertNotOlder(wait: Wait, { signedAt }: JobStatus, { attempts, requestId }: ResponseInfo): void {
    // If the service repeats our timestamps, they do not show the order of its statuses.
    if (signedAt === null || settings.wire.echoesTimestamp) return;
    const newest = wait.newestSignedAt ?? signedAt;
    if (newest.getTime() - signedAt.getTime() > assumedSettlingMs) {
      const facts = { operation: 'jobs.status', outcome: 'answered', attempts, requestId } as const;
      throw new HostedSignatureError('stale', facts, wasSignedEarlier);
    }
    wait.newestSignedAt = newest > signedAt ? newest : signedAt;
  }

  function handleStatus(wait: Wait, status: JobStatus, at: number): Step {
    wait.wasFound = true;
    wait.errorsInRow = 0;
    if (status.complete) return { status, error: null, over: true };
    wait.lastStatus = status;
    return scheduleNextPoll(wait, { at, status, atLeastMs: 0 });
  }

  function handleError(wait: Wait, error: AnyHostedError, at: number): Step {
    const graceEndsAt = wait.startedAt + plan.notFoundGraceMs;
    const retryAfterMs = Math.min(Number(readProperty(error, 'retryAfterMs') ?? 0), assumedMaxHoldMs);
    const next = { at, status: null, atLeastMs: retryAfterMs };
    if (error.code === 'not_found' && !wait.wasFound && at < graceEndsAt) {
      wait.errorsInRow = 0;
      const step = scheduleNextPoll(wait, next);
      // The grace period ends with a poll, unless `Retry-After` requests a later time. The deadline is later than this
      // poll, so this is not the last poll.
      const dueAt = Math.max(graceEndsAt, at + retryAfterMs);
      if (dueAt < wait.dueAt) {
        wait.dueAt = dueAt;
        wait.isLast = false;
      }
      return step;
    }
    wait.errorsInRow += 1;
    if (!isTransient(error, wait.wasFound) || wait.errorsInRow > plan.maxConsecutiveErrors) {
      return { status: null, error, over: true };
    }
    return scheduleNextPoll(wait, next);
  }

  function scheduleNextPoll(
    wait: Wait,
    { at, status, atLeastMs }: { at: number; status: PendingJob | null; atLeastMs: number },
  ): Step {
    const deadlineAt = deadlineOf(wait);
    if (at >= deadlineAt) return createExpiredStep(wait, status, at);
    const longest = Math.min(plan.maxDelayMs, plan.minDelayMs * plan.backoffFactor ** (wait.polls - 1));
    const delayMs = plan.jitter ? longest * (0.5 + random() / 2) : longest;
    // The last poll is made shortly before the deadline, but early enough for its response to arrive.
    const lastAt = deadlineAt - Math.min(2 * wait.lastPollMs, maxLeadMs);
    wait.isExpiring = wait.isLast || deadlineAt - at <= wait.lastPollMs / 2;
    const nextAt = Math.max(Math.min(at + Math.max(Math.round(delayMs), atLeastMs), lastAt), at);
    wait.isLast = nextAt >= lastAt;
    wait.dueAt = wait.isExpiring ? deadlineAt : nextAt;
    return { status, error: null, over: false };
  }

  function createExpiredStep(wait: Wait, status: PendingJob | null, at: number): Step {
    return { status, error: createTimeoutError(wait, at), over: true };
  }

  /** The latest time at which the wait ends. */
  function deadlineOf(wait: Wait): number {
    return wait.startedAt + plan.deadlineMs;
  }

  function report(
    wait: Wait,
    { at, status, error, over }: { at: number; status: JobStatus | null; error: AnyHostedError | null; over: boolean },
  ): void {
    const { callId, polls: attempt } = wait;
    const elapsedMs = Math.round(at - wait.startedAt);
    const nextDelayMs = over ? null : Math.max(0, Math.round(wait.dueAt - at));
    telemetry.report?.({ type: 'poll', callId, attempt, elapsedMs, nextDelayMs, state: status?.state ?? 'error' });
    const { onPoll } = plan;
    if (onPoll) ignoreErrors(() => onPoll({ job: idsOf(wait), attempt, elapsedMs, nextDelayMs, status, error }));
  }
}

const wasSignedEarlier = 'it was signed more than two seconds before an earlier response of this wait';

/** Ends the trace of a wait, by default because its caller has stopped waiting; unless the trace has already ended. */
export function endWait(wait: Wait, end: AnyHostedError | null | 'aborted' = 'aborted'): void {
  const { trace, polls } = wait;
  wait.trace = null;
  trace?.end(polls, end);
}

/** Copies the ids into a new object. If a caller changes this object, the same job is still polled. */
function idsOf({ userId, jobId }: Wait): JobRef {
  return { userId, jobId };
}

/** Whether the same poll may succeed later (docs/protocol.md §7). */
function isTransient(error: AnyHostedError, wasFound: boolean): boolean {
  switch (error.code) {
    // A response that is not JSON may come from a gateway, for example an HTML page with status 200.
    case 'response':
      return error.reason === 'malformed';
    // The signature was not fresh, but the next response may have a new signature.
    case 'signature':
      return error.reason === 'stale';
    // The service knew the job before, so a 404 without the service's code comes from a gateway.
    case 'not_found':
      return wasFound && error.serviceCode === null;
    default:
      return error.retryable;
  }
}

function createTimeoutError(wait: Wait, at: number): HostedPollTimeoutError {
  const { lastStatus, startedAt, polls } = wait;
  const last = lastStatus ? 'the job was still pending' : 'no poll returned the status of the job';
  return new HostedPollTimeoutError(
    `"deadlineMs" has passed, and ${last}; to wait again, you need only the job's two ids`,
    { job: idsOf(wait), lastStatus, elapsedMs: Math.round(at - startedAt) },
    { operation: 'jobs.status', outcome: lastStatus ? 'answered' : 'unknown', attempts: polls, retryable: true },
  );
}
