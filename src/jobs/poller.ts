/**
 * One wait for one job: when to poll again, and what ends it (docs/protocol.md §2.4, §7). Knows no
 * requests and no timers: it is given a way to ask, and says how long to wait.
 *
 * @module
 */

import type { SentSignatures } from '../call/sent-signatures.js';
import { type AnyHostedError, HostedPollTimeoutError, isHostedError } from '../errors/errors.js';
import { ignoreErrors, type Telemetry } from '../events.js';
import type { CallOptions } from '../options.js';
import { readProperty } from '../runtime/prototype.js';
import type { CompletedJob, JobQuery, JobRef, JobStatus, PendingJob } from './types.js';
import type { WaitPlan } from './wait-options.js';

/** How far a wait for a job has come. Times are those of the monotonic clock. */
export interface Wait<J = unknown> {
  /** The caller's own object. */
  readonly job: J;
  /** Its ids when the wait began: the object may be used again for another job. */
  readonly ids: JobRef;
  readonly callId: number;
  readonly startedAt: number;
  /** When the next poll is due; where `isExpiring`, the end. */
  dueAt: number;
  /** Whether the last poll before the deadline was made. */
  isExpiring: boolean;
  polls: number;
  /** Whether the poll that is due, or under way, is the last one before the deadline. */
  isLast: boolean;
  /** How long the last poll that was answered took. */
  lastPollMs: number;
  /** Transient errors since the last status. */
  errorsInRow: number;
  /** Whether the service has ever known the job. */
  wasFound: boolean;
  lastStatus: PendingJob | null;
  /** The signatures of all polls; null before the first. */
  sent: SentSignatures | null;
}

/** What a poll led to: an end, or another one at `wait.dueAt`. */
export type Step =
  | { readonly status: CompletedJob; readonly error: null; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: AnyHostedError; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: null; readonly over: false };

/** What polling needs. */
export interface Polling {
  readonly ask: (query: JobQuery, options: CallOptions, part: { readonly sent: SentSignatures }) => Promise<JobStatus>;
  /** The monotonic clock, in ms. */
  readonly elapsed: () => number;
  /** Gives a random number from 0 to 1. */
  readonly random: () => number;
  readonly telemetry: Telemetry;
  /** The limit of a poll where the wait's options name none, in ms. */
  readonly totalTimeoutMs: number;
  readonly createSent: () => SentSignatures;
}

/** Polls, by one plan. */
export interface Poller {
  /** Begins to wait for the job of these ids. */
  begin<J>(job: J, ids: JobRef): Wait<J>;
  /**
   * Asks once, and notes in the wait what follows from the response.
   *
   * @throws the signal's reason when it aborts.
   */
  poll(wait: Wait, signal: AbortSignal): Promise<Step>;
  /** When the wait ends, whatever happens. */
  deadlineOf(wait: Wait): number;
  /** Gives the error of a wait whose deadline is over. */
  createDeadlineError(wait: Wait): AnyHostedError;
}

/** A poll at the deadline itself may take this long, in ms: without it, it could not be made. */
const minPollMs = 25;
/** The last poll begins at most this long, in ms, before the deadline, however slow the service is. */
const maxLeadMs = 10_000;

/** Creates a poller. */
export function createPoller(polling: Polling, plan: WaitPlan): Poller {
  const { ask, elapsed, random, telemetry, createSent } = polling;
  const pollLimitMs = plan.call.totalTimeoutMs ?? polling.totalTimeoutMs;

  return { begin, poll, deadlineOf, createDeadlineError: (wait) => createTimeoutError(wait, elapsed()) };

  function begin<J>(job: J, ids: JobRef): Wait<J> {
    const startedAt = elapsed();
    telemetry.calls += 1;
    return {
      job,
      ids,
      callId: telemetry.calls,
      startedAt,
      dueAt: startedAt + Math.min(plan.initialDelayMs, plan.deadlineMs),
      isExpiring: false,
      polls: 0,
      isLast: false,
      lastPollMs: 0,
      errorsInRow: 0,
      wasFound: false,
      lastStatus: null,
      sent: null,
    };
  }

  async function poll(wait: Wait, signal: AbortSignal): Promise<Step> {
    const startedAt = elapsed();
    if (wait.isExpiring) return createExpiredStep(wait, null, startedAt);
    wait.polls += 1;
    wait.sent ??= createSent();
    // A poll under way ends with the wait: a stalled one must not make the wait longer.
    const leftMs = Math.max(Math.ceil(deadlineOf(wait) - startedAt), minPollMs);
    const endsWait = leftMs <= pollLimitMs;
    const limited = endsWait ? { ...plan.call, totalTimeoutMs: leftMs } : plan.call;
    let step: Step;
    let status: JobStatus | null = null;
    let error: AnyHostedError | null = null;
    try {
      status = await ask({ ...wait.ids, ...plan.flags }, { ...limited, signal }, { sent: wait.sent });
      wait.lastPollMs = elapsed() - startedAt;
      step = handleStatus(wait, status);
    } catch (caught) {
      // The reason of an abort may be another call's error.
      signal.throwIfAborted();
      if (!isHostedError(caught)) throw caught;
      error = caught;
      const isCutOff = endsWait && error.code === 'timeout' && error.phase === 'total';
      step = isCutOff ? createExpiredStep(wait, null, elapsed()) : handleError(wait, error);
    }
    report(wait, { status, error, over: step.over || wait.isExpiring });
    return step;
  }

  function handleStatus(wait: Wait, status: JobStatus): Step {
    wait.wasFound = true;
    wait.errorsInRow = 0;
    if (status.complete) return { status, error: null, over: true };
    wait.lastStatus = status;
    return scheduleNextPoll(wait, status, 0);
  }

  function handleError(wait: Wait, error: AnyHostedError): Step {
    const graceEndsAt = wait.startedAt + plan.notFoundGraceMs;
    const retryAfterMs = Number(readProperty(error, 'retryAfterMs') ?? 0);
    const at = elapsed();
    if (error.code === 'not_found' && !wait.wasFound && at < graceEndsAt) {
      wait.errorsInRow = 0;
      const step = scheduleNextPoll(wait, null, retryAfterMs);
      // As at the deadline, the last poll is made at the end of the grace, unless the service asks for later.
      if (!wait.isExpiring) wait.dueAt = Math.min(wait.dueAt, Math.max(graceEndsAt, at + retryAfterMs));
      return step;
    }
    wait.errorsInRow += 1;
    if (!isTransient(error, wait.wasFound) || wait.errorsInRow > plan.maxConsecutiveErrors) {
      return { status: null, error, over: true };
    }
    return scheduleNextPoll(wait, null, retryAfterMs);
  }

  function scheduleNextPoll(wait: Wait, status: PendingJob | null, atLeastMs: number): Step {
    const deadlineAt = deadlineOf(wait);
    const at = elapsed();
    if (at >= deadlineAt) return createExpiredStep(wait, status, at);
    const longest = Math.min(plan.maxDelayMs, plan.minDelayMs * plan.backoffFactor ** (wait.polls - 1));
    const delayMs = plan.jitter ? longest * (0.5 + random() / 2) : longest;
    // The last poll is made at the deadline, not one delay before it: early enough to be answered in time.
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

  function deadlineOf(wait: Wait): number {
    return wait.startedAt + plan.deadlineMs;
  }

  function report(wait: Wait, poll: { status: JobStatus | null; error: AnyHostedError | null; over: boolean }): void {
    const at = elapsed();
    const { callId, polls: attempt } = wait;
    const elapsedMs = Math.round(at - wait.startedAt);
    const nextDelayMs = poll.over ? null : Math.max(0, Math.round(wait.dueAt - at));
    const { status, error } = poll;
    telemetry.report?.({ type: 'poll', callId, attempt, elapsedMs, nextDelayMs, state: status?.state ?? 'error' });
    const { onPoll } = plan;
    // Stryker disable next-line OptionalChaining: what calling no function throws is ignored
    ignoreErrors(() => onPoll?.({ attempt, elapsedMs, nextDelayMs, status, error }));
  }
}

/** Whether the same poll may well succeed later (docs/protocol.md §7). */
function isTransient(error: AnyHostedError, seen: boolean): boolean {
  switch (error.code) {
    // A gateway's page, with status 200.
    case 'response':
      return error.reason === 'malformed';
    // Nothing is trusted by polling again.
    case 'signature':
      return error.reason === 'stale';
    // The service knew the job: a 404 that does not carry its code is a gateway's.
    case 'not_found':
      return seen && error.serviceCode === null;
    default:
      return error.retryable;
  }
}

function createTimeoutError({ ids, lastStatus, startedAt, polls }: Wait, at: number): HostedPollTimeoutError {
  const last = lastStatus ? 'it was pending' : 'no poll was answered with its status';
  return new HostedPollTimeoutError(
    `"deadlineMs" is over, and ${last}; the job's two ids are all that is needed to go on waiting`,
    { job: ids, lastStatus, elapsedMs: Math.round(at - startedAt) },
    { operation: 'jobs.status', outcome: lastStatus ? 'answered' : 'unknown', attempts: polls, retryable: true },
  );
}
