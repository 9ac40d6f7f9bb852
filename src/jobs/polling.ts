/**
 * One wait for one job: when to poll again, and what ends it (docs/protocol.md §2.4, §7). Knows no
 * requests and no timers: it is given a way to ask, and says how long to wait.
 *
 * @module
 */

import { assumedMaxRetryAfterMs } from '../assumptions.js';
import { type AnyHostedError, HostedPollTimeoutError, isHostedError } from '../errors.js';
import { quietly, type Telemetry } from '../events.js';
import { cannot } from '../messages.js';
import type { CallOptions } from '../options.js';
import { jobStatusRoute } from '../routes.js';
import { readProperty } from '../runtime/prototype.js';
import type { CompletedJob, JobQuery, JobRef, JobStatus, PendingJob } from './types.js';
import type { WaitPlan } from './wait-options.js';

/** How far a wait for a job has come. */
export interface Wait<J extends JobRef = JobRef> {
  /** The caller's own object. */
  readonly job: J;
  readonly callId: number;
  readonly startedAt: number;
  /** When the next poll is due. */
  dueAt: number;
  polls: number;
  /** Transient errors since the last answer. */
  errorsInRow: number;
  /** Whether the service has ever known the job. */
  seen: boolean;
  lastStatus: PendingJob | null;
}

/** What a poll led to: an end, or another one at `wait.dueAt`. */
export type Step =
  | { readonly status: CompletedJob; readonly error: null; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: AnyHostedError; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: null; readonly over: false };

/** What polling needs of the world. */
export interface PollingWorld {
  readonly ask: (query: () => JobQuery, options: CallOptions) => Promise<JobStatus>;
  readonly now: () => number;
  /** Chance, from 0 to 1. */
  readonly random: () => number;
  readonly telemetry: Telemetry;
}

/** Polls, by one plan. */
export interface Poller {
  /** Begins to wait for a job. */
  begin<J extends JobRef>(job: J): Wait<J>;
  /**
   * Asks once, and notes in the wait what follows from the answer.
   *
   * @throws the signal's reason when it aborts.
   */
  poll(wait: Wait, signal: AbortSignal): Promise<Step>;
}

/** Makes a poller. */
export function createPoller({ ask, now, random, telemetry }: PollingWorld, plan: WaitPlan): Poller {
  return { begin, poll };

  function begin<J extends JobRef>(job: J): Wait<J> {
    const startedAt = now();
    return {
      job,
      callId: telemetry.nextCallId(),
      startedAt,
      dueAt: startedAt + Math.min(plan.initialDelayMs, plan.deadlineMs),
      polls: 0,
      errorsInRow: 0,
      seen: false,
      lastStatus: null,
    };
  }

  async function poll(wait: Wait, signal: AbortSignal): Promise<Step> {
    wait.polls += 1;
    let step: Step;
    let status: JobStatus | null = null;
    let error: AnyHostedError | null = null;
    try {
      status = await ask(() => queryOf(wait.job), { ...plan.call, signal });
      step = afterStatus(wait, status);
    } catch (caught) {
      // An abort is no answer, also where its reason is an error of another call.
      signal.throwIfAborted();
      if (!isHostedError(caught)) throw caught;
      error = caught;
      step = afterError(wait, caught);
    }
    tell(wait, { status, error, over: step.over });
    return step;
  }

  // Callers' objects carry more than the ids, and those of callers without types anything at all.
  function queryOf(job: JobRef): JobQuery {
    const idOf = (name: keyof JobRef) => readProperty(Object(job), name) as string;
    return { userId: idOf('userId'), jobId: idOf('jobId'), ...plan.asked };
  }

  function afterStatus(wait: Wait, status: JobStatus): Step {
    wait.seen = true;
    wait.errorsInRow = 0;
    if (status.complete) return { status, error: null, over: true };
    wait.lastStatus = status;
    return waitOn(wait, status, 0);
  }

  function afterError(wait: Wait, error: AnyHostedError): Step {
    const elapsedMs = now() - wait.startedAt;
    if (error.code === 'not_found' && !wait.seen && elapsedMs < plan.notFoundGraceMs) {
      wait.errorsInRow = 0;
      const step = waitOn(wait, null, 0);
      // As at the deadline, the last poll is made at the end of the grace.
      wait.dueAt = Math.min(wait.dueAt, wait.startedAt + plan.notFoundGraceMs);
      return step;
    }
    wait.errorsInRow += 1;
    if (!error.retryable || wait.errorsInRow > plan.maxConsecutiveErrors) return { status: null, error, over: true };
    const retryAfterMs = Number(readProperty(error, 'retryAfterMs') ?? 0);
    return waitOn(wait, null, Math.min(retryAfterMs, assumedMaxRetryAfterMs));
  }

  function waitOn(wait: Wait, status: PendingJob | null, atLeastMs: number): Step {
    const deadlineAt = wait.startedAt + plan.deadlineMs;
    const at = now();
    if (at >= deadlineAt) return { status, error: timeout(wait, at), over: true };
    const longest = Math.min(plan.maxDelayMs, plan.minDelayMs * plan.backoffFactor ** (wait.polls - 1));
    const drawn = plan.jitter ? longest * (0.5 + random() / 2) : longest;
    // The last poll is made at the deadline, not one delay before it.
    wait.dueAt = Math.min(at + Math.max(Math.round(drawn), atLeastMs), deadlineAt);
    return { status, error: null, over: false };
  }

  function tell(wait: Wait, poll: { status: JobStatus | null; error: AnyHostedError | null; over: boolean }): void {
    const at = now();
    const { callId, polls: attempt } = wait;
    const elapsedMs = at - wait.startedAt;
    const nextDelayMs = poll.over ? null : wait.dueAt - at;
    const { status, error } = poll;
    telemetry.report({ type: 'poll', callId, attempt, elapsedMs, nextDelayMs, state: status?.state ?? 'error' });
    const { onPoll } = plan;
    if (onPoll) quietly(() => onPoll({ attempt, elapsedMs, nextDelayMs, status, error }));
  }
}

function timeout({ job, lastStatus, startedAt, polls }: Wait, at: number): HostedPollTimeoutError {
  const { name } = jobStatusRoute;
  const { userId, jobId } = job;
  const last = lastStatus ? 'it was pending' : 'no poll was answered with its status';
  return new HostedPollTimeoutError(
    cannot(name, `"deadlineMs" is over, and ${last}; the job's two ids are all it takes to go on waiting`),
    { job: { userId, jobId }, lastStatus, elapsedMs: at - startedAt },
    { operation: name, outcome: lastStatus ? 'answered' : 'unknown', attempts: polls, retryable: true },
  );
}
