/**
 * How to wait for jobs: the options, and what they are when nothing is said.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/errors.js';
import type { HostedError, Issue } from '../errors/hosted-error.js';
import type { CallOptions } from '../options.js';
import { check } from '../validation/check.js';
import { callOptions, choice, flag, inputObject, integer, maxTimer } from '../validation/input.js';
import type { JobStatus } from './types.js';

/**
 * What `onPoll` is told after each poll.
 *
 * @inline
 */
export interface PollReport {
  /** Which poll of the wait, from 1. */
  attempt: number;
  /** Since the wait began, in milliseconds. */
  elapsedMs: number;
  /** Until the next poll, in milliseconds; null when this was the last one. */
  nextDelayMs: number | null;
  /** What the service says; null where the poll failed. */
  status: JobStatus | null;
  /** Why the poll failed; null where it did not. */
  error: HostedError | null;
}

/**
 * Options of a wait. Of a call's options, `timeoutMs` and `totalTimeoutMs` count for each poll, and
 * `maxRetries` is 0 inside a wait, whatever is given: polling is the retry. `Retry-After` moves the next
 * poll as far as it asks, up to the deadline.
 */
export interface WaitOptions extends CallOptions {
  /**
   * How long to wait for a job, in milliseconds, from when its turn comes; a poll under way ends with
   * it. One more poll is made at the deadline, or as long before it as polls take. Default 600,000;
   * `Infinity` waits without end.
   */
  deadlineMs?: number;
  /** Before the first poll, in milliseconds. Default 0. */
  initialDelayMs?: number;
  /** Between the first two polls, in milliseconds; at most `maxDelayMs`. Default 2,000. */
  minDelayMs?: number;
  /** Between any two polls at the most, in milliseconds. Default 30,000. */
  maxDelayMs?: number;
  /** By how much each delay is longer than the one before: 1 or more. Default 1.5. */
  backoffFactor?: number;
  /** Draws each delay by chance from its upper half, so that many waits do not poll at once. Default `true`. */
  jitter?: boolean;
  /**
   * How long a job that the service does not know is waited for, in milliseconds: one may be asked
   * for before it has arrived. Only until it was first seen; 0 for not at all. Default 30,000.
   */
  notFoundGraceMs?: number;
  /**
   * How many transient errors in a row are tolerated: broken connections, timeouts, 429, server errors, a
   * response that is no JSON, one that is stale, a gateway's 404 once the job was seen. Default 3.
   */
  maxConsecutiveErrors?: number;
  /** Asks for image links with every poll. Default `false`. */
  imageLinks?: boolean;
  /** Asks for the history with every poll. Default `false`. */
  history?: boolean;
  /**
   * Is told of every poll. What it throws is ignored.
   *
   * @param poll - What came of it, and when the next one follows.
   */
  onPoll?: (poll: PollReport) => void;
}

/** Options with nothing left open. */
export interface WaitPlan {
  readonly deadlineMs: number;
  readonly initialDelayMs: number;
  readonly minDelayMs: number;
  readonly maxDelayMs: number;
  readonly backoffFactor: number;
  readonly jitter: boolean;
  readonly notFoundGraceMs: number;
  readonly maxConsecutiveErrors: number;
  /** How many requests may be in flight at once. */
  readonly concurrency: number;
  readonly onPoll: WaitOptions['onPoll'];
  /** What every poll asks for beside the job. */
  readonly flags: { readonly imageLinks?: boolean; readonly history?: boolean };
  /** What every poll is called with, its signal aside. */
  readonly call: CallOptions;
  readonly signal: AbortSignal | undefined;
}

const waitOptions = inputObject({
  ...callOptions,
  deadlineMs: z.optional(
    z.union(
      [integer(0, maxTimer), choice([Number.POSITIVE_INFINITY])],
      'must be an integer of milliseconds, or Infinity',
    ),
  ),
  initialDelayMs: z.optional(integer(0, maxTimer)),
  minDelayMs: z.optional(integer(1, maxTimer)),
  maxDelayMs: z.optional(integer(1, maxTimer)),
  backoffFactor: z.optional(
    z.number('must be a number of 1 or more').check(z.refine((factor) => factor >= 1, 'must be a number of 1 or more')),
  ),
  jitter: z.optional(flag),
  notFoundGraceMs: z.optional(integer(0, maxTimer)),
  maxConsecutiveErrors: z.optional(integer(0)),
  imageLinks: z.optional(flag),
  history: z.optional(flag),
  onPoll: z.optional(
    z.custom<(poll: PollReport) => void>((value) => typeof value === 'function', 'must be a function'),
  ),
  concurrency: z.optional(integer(1, 1_000)),
});

/**
 * Checks the options of a wait.
 *
 * @throws {HostedValidationError} with every problem.
 */
export function readWaitOptions(options: (WaitOptions & { concurrency?: number }) | undefined): WaitPlan {
  const { data, issues } = check(waitOptions, options ?? {});
  if (!data) throw createValidationError(issues);
  const { signal, timeoutMs, totalTimeoutMs, headers, imageLinks, history, onPoll, ...given } = data;
  const { minDelayMs = 2_000, maxDelayMs = 30_000 } = given;
  if (minDelayMs > maxDelayMs) {
    const message = `must be at most "maxDelayMs" (${maxDelayMs}), got ${minDelayMs}`;
    throw createValidationError([{ path: 'minDelayMs', message }]);
  }
  return {
    deadlineMs: given.deadlineMs ?? 600_000,
    initialDelayMs: given.initialDelayMs ?? 0,
    minDelayMs,
    maxDelayMs,
    backoffFactor: given.backoffFactor ?? 1.5,
    jitter: given.jitter ?? true,
    notFoundGraceMs: given.notFoundGraceMs ?? 30_000,
    maxConsecutiveErrors: given.maxConsecutiveErrors ?? 3,
    concurrency: given.concurrency ?? 10,
    onPoll,
    flags: { ...(imageLinks && { imageLinks }), ...(history && { history }) },
    call: {
      maxRetries: 0,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(totalTimeoutMs !== undefined && { totalTimeoutMs }),
      ...(headers && { headers }),
    },
    signal,
  };
}

function createValidationError(issues: readonly Issue[]): HostedValidationError {
  return new HostedValidationError(issues, { operation: 'jobs.status' });
}
