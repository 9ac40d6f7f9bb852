/**
 * The state of a wait, and what waits share.
 *
 * @module
 */

import type { SentSignatures } from '../call/attempt.js';
import type { Started } from '../call/call.js';
import type { AnyHostedError } from '../errors/errors.js';
import type { Due } from '../runtime/due-queue.js';
import type { CompletedJob, JobRef, PendingJob } from './types.js';
import type { WaitPlan } from './wait-input.js';
import type { WaitTrace } from './wait-trace.js';

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
  /** The signatures that all polls have sent; null before the first poll. */
  sent: SentSignatures | null;
  /** The trace of the wait. Null if the tracing channel of waits has no subscriber, or if the wait has ended. */
  trace: WaitTrace | null;
}

/** The result of a poll: the end of the wait, or another poll at `wait.dueAt`. */
export type Step =
  | { readonly status: CompletedJob; readonly error: null; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: AnyHostedError; readonly over: true }
  | { readonly status: PendingJob | null; readonly error: null; readonly over: false };

/** How a caller waits for one job or for many. */
export interface WaitContext {
  readonly client: Started;
  readonly plan: WaitPlan;
  /** Aborts when the caller ends the iteration; undefined if the caller does not iterate. */
  readonly stop: AbortSignal | undefined;
}
