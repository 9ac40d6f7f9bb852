/**
 * Publishes each wait for a job on the tracing channel `hosted-client:wait`. No message names a job.
 *
 * @module
 */

import type { AnyHostedError } from '../errors/errors.js';
import type { Outcome } from '../errors/hosted-error.js';
import type { OperationName } from '../protocol/routes.js';
import {
  beginTrace,
  completeMessage,
  type Trace,
  type TraceMessage,
  type TracingChannel,
} from '../runtime/tracing-channel.js';

/** The message of the channel `hosted-client:wait`. */
export interface WaitMessage extends TraceMessage {
  /** The poll events of the wait have the same id. */
  readonly callId: number;
  readonly operation: OperationName;
  /** How many polls were made. */
  polls: number;
  /**
   * `'ok'` after a final status, succeeded or failed; `'aborted'` after an abort; otherwise the outcome of the error.
   * Null until the wait has ended.
   */
  outcome: 'ok' | Outcome | 'aborted' | null;
}

export interface WaitTrace extends Trace {
  readonly message: WaitMessage;
}

/** Publishes the start of a wait on the channel, and returns the trace. */
export function beginWaitTrace(channel: TracingChannel, callId: number): WaitTrace {
  const message: WaitMessage = { callId, operation: 'jobs.status', polls: 0, outcome: null, errorCode: null };
  return { message, ...beginTrace(channel, message) };
}

/** Publishes the end of a wait. `end` is the error of the wait, or `'aborted'`. After a final status, it is null. */
export function endWaitTrace(trace: WaitTrace, polls: number, end: AnyHostedError | null | 'aborted'): void {
  const isError = end !== null && end !== 'aborted';
  const outcome = isError ? end.outcome : (end ?? 'ok');
  completeMessage(trace.message, { polls, outcome, errorCode: isError ? end.code : null });
  trace.end();
}
