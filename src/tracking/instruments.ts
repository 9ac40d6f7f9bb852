/**
 * The messages of the tracing channels `hosted-client:batch` and `hosted-client:delivery`, and the part of a tracker that
 * `instrument()` of `hosted-client/opentelemetry` uses. Nothing here names a person, a job or a link.
 *
 * @module
 */

import type { HostedErrorCode } from '../errors/client-errors.js';
import type { TraceMessage } from '../runtime/tracing-channel.js';
import type { Completion, TrackedJob, TrackerEvent, TrackerStats } from './types.js';

/** The result of a poll. */
export interface Poll {
  /** `'failed'` means that the job or link is polled again, because of an error. */
  readonly result: 'pending' | 'ended' | 'failed';
  readonly errorCode: HostedErrorCode | null;
}

/** The message of the channel `hosted-client:batch`: due jobs and links that were taken together. */
export interface BatchMessage extends TraceMessage {
  readonly jobs: number;
  /** How late, in ms, the batch was taken: the time since the earliest due date of its jobs and links. */
  readonly lateMs: number;
  /** The results of the polls. Empty until all of them have ended. */
  polls: readonly Poll[];
}

/** How the handler of a delivery ended. */
export type Handled = Pick<Extract<TrackerEvent, { type: 'delivery' }>, 'result' | 'durationMs'>;

/** The message of the channel `hosted-client:delivery`. */
export interface DeliveryMessage extends TraceMessage {
  readonly attempt: number;
  readonly outcome: Completion['outcome'];
  /** The trace contexts of the callback and of `track()` or `trackLink()`, as the header `traceparent` has them. */
  readonly causes: readonly string[];
  /**
   * `'not_begun'` means that the handler was not called, for example because the status could not be fetched. Null until
   * the result is stored.
   */
  result: Handled['result'] | 'not_begun' | null;
  /** How long the handler took, in ms. */
  durationMs: number | null;
  /** Whether the completion has become a dead letter. */
  isDead: boolean;
}

/** What is measured of all processes together. */
export interface Gauges {
  /** How many rows each state has. */
  readonly jobs: Readonly<Record<TrackedJob['state'], number>>;
  /** How late the most overdue poll is, in ms. */
  readonly overdueMs: number;
  /** How long ago, in ms, the end of the oldest completion was that is not handled yet. */
  readonly waitingMs: number;
  readonly problem: NonNullable<TrackerStats['problem']>['code'] | null;
}

/** The part of a tracker that `instrument()` uses. */
export interface Instruments {
  readGauges(): Promise<Gauges>;
  /** Returns the active trace context as the header `traceparent`. Null if nobody traces. */
  findTrace: (() => string | null) | null;
}

/** Reads the active trace context. Null if there is none, or if it is not a valid `traceparent` of version 00. */
export function readTrace({ findTrace }: Instruments): string | null {
  try {
    const trace = findTrace?.() ?? null;
    return trace !== null && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(trace) ? trace : null;
  } catch {
    return null;
  }
}
