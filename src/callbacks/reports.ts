/**
 * The result of a delivery, and its reports to `onError`, to the log, to the client's events, and to its tracing
 * channel. Without these reports, a callback could be rejected and its result lost without any sign of it.
 *
 * @module
 */

import { describeThrown } from '../errors/caller-frames.js';
import { isHostedError } from '../errors/client-errors.js';
import { type HostedEvent, ignoreErrors, type Telemetry } from '../events.js';
import type { WaitingClock } from '../runtime/clock.js';
import { completeMessage, type TraceMessage, trace } from '../runtime/tracing-channel.js';
import type { HandlerOptions } from './types.js';

/** A delivery with a response other than 200. */
export type DeliveryFailure = Parameters<NonNullable<HandlerOptions['onError']>>[1] & {
  /** A short code for metrics. It contains nothing from the callback. */
  readonly reason: string;
  readonly error: unknown;
  readonly result: 'refused' | 'failed';
};

export type DeliveryResult = DeliveryFailure | { readonly status: 200; readonly result: 'accepted' | 'repeat' };

/**
 * Whether a step of a delivery has failed. Checks own properties only: other code may have put a `phase` on
 * `Object.prototype`.
 */
export function isFailure(result: object): result is DeliveryFailure {
  return Object.hasOwn(result, 'phase');
}

/** Creates the result of a delivery that did not succeed. */
export function createFailure(
  phase: DeliveryFailure['phase'],
  status: number,
  reason: string,
  error: unknown,
  event: DeliveryFailure['event'] = null,
): DeliveryFailure {
  return { phase, status, reason, error, event, result: status < 500 ? 'refused' : 'failed' };
}

/** The code of an error, for metrics. */
export function codeOf(error: unknown): string {
  return isHostedError(error) ? error.code : 'error';
}

/** The event about a delivery. */
export type CallbackReport = Extract<HostedEvent, { type: 'callback' }>;

/** The minimum time, in ms, between two log lines that count the rejected deliveries. */
const countEveryMs = 60_000;

export type DeliveryReports = ReturnType<typeof createDeliveryReports>;

export function createDeliveryReports({ report, warn }: Telemetry, clock: WaitingClock) {
  const rejected = new Map<number, number>();
  let quietUntil = Number.NEGATIVE_INFINITY;
  let latest = '';

  function logRejections(): void {
    if (rejected.size === 0 || clock.elapsed() < quietUntil) return;
    const total = [...rejected.values()].reduce((sum, times) => sum + times, 0);
    const counts = [...rejected].map(([status, times]) => `${times} with ${status}`).join(', ');
    const what = total === 1 ? '1 delivery of a callback was' : `${total} deliveries of callbacks were`;
    warn(`${what} rejected (${counts})${latest}`);
    rejected.clear();
    quietUntil = clock.elapsed() + countEveryMs;
  }

  return {
    clock,
    /** Logs a problem that does not change the result of a delivery. */
    warn,
    /**
     * Reports a delivery, and returns its event. If a listener or a clock fails, the result of the delivery stays the
     * same.
     */
    report(outcome: DeliveryResult, durationMs: number, onError: HandlerOptions['onError']): CallbackReport {
      const { status, result } = outcome;
      const reason = isFailure(outcome) ? outcome.reason : null;
      const event: CallbackReport = { type: 'callback', result, reason, status, durationMs };
      report?.(event);
      if (isFailure(outcome)) {
        const { phase, error, event: about } = outcome;
        ignoreErrors(() => onError?.(error, { phase, status, event: about }));
        if (status >= 500) warn(describeFailure(outcome));
        // An `onError` has been told already. Rejections are only counted: if each had a log line, anyone could fill the log.
        else if (!onError) {
          rejected.set(status, (rejected.get(status) ?? 0) + 1);
          latest = isHostedError(error) ? `; the latest: ${error.message}` : '';
        }
      }
      ignoreErrors(logRejections);
      return event;
    },
  };
}

/** A log line about a failed delivery. It shows no part of an error that the caller's code threw but where it was thrown. */
function describeFailure({ phase, status, reason, error }: DeliveryFailure): string {
  let why = `onEvent rejected with ${describeThrown(error)}`;
  if (phase !== 'handle') why = isHostedError(error) ? error.message : failureTexts[phase];
  return `a callback failed with status ${status} (${reason}) and has to be redelivered: ${why}`;
}

const failureTexts = {
  read: 'its body could not be read',
  verify: 'it could not be verified',
  guard: 'the replay guard failed',
  confirm: 'it could not be confirmed',
};

/** The message of the channel `hosted-client:callback`. It contains nothing from the callback. */
export interface CallbackMessage extends TraceMessage {
  /** The result of the delivery; null until the delivery was handled. */
  result: CallbackReport['result'] | null;
  /** The HTTP status of our response; null until the delivery was handled. */
  status: number | null;
}

/** Handles a delivery with `process`, and publishes the delivery if the channel has a subscriber. */
export function traceDelivery(process: () => Promise<CallbackReport>): Promise<CallbackReport> {
  return trace(
    'callback',
    (): CallbackMessage => ({ result: null, status: null, errorCode: null }),
    async (message) => {
      const event = await process();
      if (message) completeMessage(message, { result: event.result, status: event.status, errorCode: event.reason });
      return event;
    },
  );
}
