/**
 * Publishes each wait for a job on the tracing channel `hosted-client:wait`. No message names a job.
 *
 * @module
 */

import type { AnyHostedError } from '../errors/client-errors.js';
import type { Outcome } from '../errors/hosted-error.js';
import type { OperationName } from '../protocol/routes.js';
import { completeMessage, snapshotContext, type TraceMessage, trace } from '../runtime/tracing-channel.js';

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

/** The trace of a wait that has not ended. */
export interface WaitTrace {
  /** Runs a poll within the subscribers' contexts. */
  readonly inside: ReturnType<typeof snapshotContext>;
  /** Publishes the end of the wait: its error, or `'aborted'`; null after a final status. */
  readonly end: (polls: number, reason: AnyHostedError | null | 'aborted') => void;
}

/** Publishes the start of a wait. Returns null if the channel has lost its subscribers. */
export function traceWait(callId: number): WaitTrace | null {
  let waitTrace: WaitTrace | null = null;
  void trace(
    'wait',
    (): WaitMessage => ({ callId, operation: 'jobs.status', polls: 0, outcome: null, errorCode: null }),
    async (message) => {
      if (message === null) return;
      const [polls, reason] = await new Promise<Parameters<WaitTrace['end']>>((resolve) => {
        waitTrace = { inside: snapshotContext(), end: (...given) => resolve(given) };
      });
      const isError = reason !== null && reason !== 'aborted';
      const outcome = isError ? reason.outcome : (reason ?? 'ok');
      completeMessage(message, { polls, outcome, errorCode: isError ? reason.code : null });
    },
  );
  return waitTrace;
}
