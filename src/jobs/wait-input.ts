/**
 * Reads what a caller gives to a wait: checks the options, and copies the ids of a job.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/client-errors.js';
import type { HostedError } from '../errors/hosted-error.js';
import type { CallOptions } from '../options.js';
import { maxTimerMs } from '../runtime/clock.js';
import { readProperty, withoutUndefined } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { callOptions, durationOr, flag, functionOf, integer } from '../validation/input.js';
import type { JobRef, JobStatus } from './types.js';

/**
 * Options of a wait. `timeoutMs` and `totalTimeoutMs` apply to each poll. `maxRetries` is ignored, because the next
 * poll is the retry. `Retry-After` delays the next poll by the requested time, but not beyond the deadline.
 */
export interface WaitOptions extends CallOptions {
  /**
   * How long to wait for a job, in milliseconds. This time begins with the initial delay; if there is no initial delay,
   * it begins with the first poll. The last poll is made close to the deadline; a poll that is still in flight at the
   * deadline is aborted. Default 600,000; `Infinity` waits forever.
   */
  deadlineMs?: number;
  /** The delay before the first poll, in milliseconds. Default 0. */
  initialDelayMs?: number;
  /** The delay between the first two polls, in milliseconds; at most `maxDelayMs`. Default 2,000. */
  minDelayMs?: number;
  /** The longest delay between two polls, in milliseconds. Default 30,000. */
  maxDelayMs?: number;
  /** After each poll, the delay is multiplied by this number. It must be 1 or more. Default 1.5. */
  backoffFactor?: number;
  /**
   * Whether each delay is shortened to a random 50 to 100 percent of its length, so that many waits do not poll at the
   * same time. Default `true`.
   */
  jitter?: boolean;
  /**
   * How long "not found" is tolerated, in milliseconds from the start of a wait. The service may not know a new job
   * yet. After the service has returned a status, "not found" is an error. With 0, "not found" is always an error.
   * Default 30,000.
   */
  notFoundGraceMs?: number;
  /**
   * How many consecutive transient errors are tolerated. The transient errors are: broken connections, timeouts, status
   * 429, server errors, a response that is not JSON, a signature that is not fresh or was made more than two seconds
   * before that of an earlier response, and a gateway's 404 for a job that was found before. Default 3.
   */
  maxConsecutiveErrors?: number;
  /** Whether every poll requests image links. Default `false`. */
  imageLinks?: boolean;
  /** Whether every poll requests the history. Default `false`. */
  history?: boolean;
  /**
   * Receives a report of every poll. Errors that this function throws are ignored.
   *
   * @param poll - The status or the error of the poll, and the delay until the next poll.
   */
  onPoll?: (poll: {
    /** The ids of the job that was polled. */
    job: JobRef;
    /** The number of the poll in its wait, from 1. */
    attempt: number;
    /** Milliseconds since the wait began. */
    elapsedMs: number;
    /** Milliseconds until the next poll; null if this was the last poll. */
    nextDelayMs: number | null;
    /** The job's status; null if the poll failed. */
    status: JobStatus | null;
    /** Why the poll failed; null if it succeeded. */
    error: HostedError | null;
  }) => void;
}

/** The options of a wait, checked and with their defaults. */
export type WaitPlan = Readonly<typeof defaults>;

const waitOptions = inputObject({
  ...callOptions,
  deadlineMs: z.optional(durationOr(Number.POSITIVE_INFINITY, 'must be an integer of milliseconds, or Infinity', 0)),
  initialDelayMs: z.optional(integer(0, maxTimerMs)),
  minDelayMs: z.optional(integer(1, maxTimerMs)),
  maxDelayMs: z.optional(integer(1, maxTimerMs)),
  backoffFactor: z.optional(
    z.custom<number>((factor) => Number.isFinite(factor) && Number(factor) >= 1, 'must be a number of 1 or more'),
  ),
  jitter: z.optional(flag),
  notFoundGraceMs: z.optional(integer(0, maxTimerMs)),
  maxConsecutiveErrors: z.optional(integer(0)),
  imageLinks: z.optional(flag),
  history: z.optional(flag),
  onPoll: z.optional(functionOf<NonNullable<WaitOptions['onPoll']>>()),
  concurrency: z.optional(integer(1, 1_000)),
});

/** The plan of a wait without options. */
const defaults = {
  deadlineMs: 600_000,
  initialDelayMs: 0,
  minDelayMs: 2_000,
  maxDelayMs: 30_000,
  backoffFactor: 1.5,
  jitter: true,
  notFoundGraceMs: 30_000,
  maxConsecutiveErrors: 3,
  /** How many requests may be in flight at once. */
  concurrency: 10,
  onPoll: undefined as WaitOptions['onPoll'],
  /** The fields that every poll requests besides the status. */
  flags: {} as Pick<WaitOptions, 'imageLinks' | 'history'>,
  /**
   * The options of every poll's call, without the signal. Each is an own property, so that none is read from a polluted
   * `Object.prototype`.
   */
  call: { maxRetries: 0, timeoutMs: undefined, totalTimeoutMs: undefined, headers: undefined } as PollOptions,
  signal: undefined as AbortSignal | undefined,
};

type PollOptions = { readonly [Name in Exclude<keyof CallOptions, 'signal'>]: CallOptions[Name] | undefined };

/**
 * Checks the options of a wait, and adds the defaults.
 *
 * @throws {HostedValidationError} with every problem.
 */
export function readWaitOptions(options: (WaitOptions & { concurrency?: number }) | null | undefined): WaitPlan {
  if (options === undefined || options === null) return defaults;
  const { data, issues } = check(waitOptions, options);
  if (!data) throw new HostedValidationError(issues, { operation: 'jobs.status' });
  const { timeoutMs, totalTimeoutMs, headers, imageLinks, history, ...others } = data;
  const plan: WaitPlan = {
    ...defaults,
    ...withoutUndefined(others),
    flags: { ...(imageLinks && { imageLinks }), ...(history && { history }) },
    call: { ...defaults.call, timeoutMs, totalTimeoutMs, headers },
  };
  const { minDelayMs, maxDelayMs } = plan;
  if (minDelayMs > maxDelayMs) {
    const message = `must be at most "maxDelayMs" (${maxDelayMs}), got ${minDelayMs}`;
    throw new HostedValidationError([{ path: 'minDelayMs', message }], { operation: 'jobs.status' });
  }
  return plan;
}

/**
 * Copies the ids of a job, because the caller may change the object later. If the object cannot be read, both ids are
 * missing, and the input check of the first poll reports this.
 */
export function copyIds(job: unknown): JobRef {
  try {
    const given = Object(job);
    return { userId: readProperty(given, 'userId') as string, jobId: readProperty(given, 'jobId') as string };
  } catch {
    return {} as JobRef;
  }
}
