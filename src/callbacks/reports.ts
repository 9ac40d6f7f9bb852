/**
 * The result of a delivery, and its reports to `onError`, to the log, to the client's events, and to its tracing channel. Without these
 * reports, a callback could be rejected and its result lost without any sign of it.
 *
 * @module
 */

import { isHostedError } from '../errors/errors.js';
import { type HostedEvent, ignoreErrors, type Telemetry } from '../events.js';
import type { WaitingClock } from '../runtime/clock.js';
import { completeMessage, type TraceMessage, trace } from '../runtime/tracing-channel.js';
import type { HandlerSettings } from './options.js';
import type { HandlerOptions } from './types.js';

type FailurePoint = Parameters<HandlerOptions['onError'] & object>[1];

/** A delivery with a 200 response. */
export interface DeliverySuccess {
  readonly status: 200;
  readonly result: 'accepted' | 'repeat';
}

/** A delivery with a response other than 200. */
export interface DeliveryFailure extends FailurePoint {
  /** A short code for metrics. It contains nothing from the callback. */
  readonly reason: string;
  readonly error: unknown;
}

export type DeliveryResult = DeliverySuccess | DeliveryFailure;

// Checks own properties only: other code may have put a `phase` on `Object.prototype`.
function isSuccess(result: DeliveryResult): result is DeliverySuccess {
  return !Object.hasOwn(result, 'phase');
}

/** Creates the result of a delivery that did not succeed. */
export function createFailure(
  phase: FailurePoint['phase'],
  status: number,
  reason: string,
  error: unknown,
  event: FailurePoint['event'] = null,
): DeliveryFailure {
  return { phase, status, reason, error, event };
}

/** The code of an error, for metrics. */
export function codeOf(error: unknown): string {
  return isHostedError(error) ? error.code : 'error';
}

export type Delivery = Omit<Extract<HostedEvent, { type: 'callback' }>, 'type'>;

export interface DeliveryReports {
  /** Reports a delivery, and returns the report. */
  report(outcome: DeliveryResult, durationMs: number, onError: HandlerSettings['onError']): Delivery;
  /** Logs a problem that does not change the result of a delivery. */
  warn(message: string): void;
}

/** The minimum time, in ms, between two log lines that count the rejected deliveries. */
const countEveryMs = 60_000;

export function createDeliveryReports(
  { report, warn }: Telemetry,
  { elapsed }: Pick<WaitingClock, 'elapsed'>,
): DeliveryReports {
  const rejected = new Map<number, number>();
  let quietUntil = Number.NEGATIVE_INFINITY;
  let latest = '';

  // Rejections are only counted. If each rejection had a log line, anyone could fill the log.
  function countRejection({ status, error }: DeliveryFailure): void {
    rejected.set(status, (rejected.get(status) ?? 0) + 1);
    latest = isHostedError(error) ? `; the latest: ${error.message}` : '';
  }

  function logRejections(): void {
    if (rejected.size === 0 || elapsed() < quietUntil) return;
    const total = [...rejected.values()].reduce((sum, times) => sum + times, 0);
    const counts = [...rejected].map(([status, times]) => `${times} with ${status}`).join(', ');
    const what = total === 1 ? '1 delivery of a callback was' : `${total} deliveries of callbacks were`;
    warn(`${what} rejected (${counts})${latest}`);
    rejected.clear();
    quietUntil = elapsed() + countEveryMs;
  }

  return {
    warn,
    // If a listener or a clock fails, the result of a delivery stays the same.
    report(outcome, durationMs, onError) {
      const { status } = outcome;
      if (isSuccess(outcome)) {
        const delivery: Delivery = { result: outcome.result, reason: null, status, durationMs };
        report?.({ type: 'callback', ...delivery });
        ignoreErrors(logRejections);
        return delivery;
      }
      const { phase, event, error, reason } = outcome;
      const delivery: Delivery = { result: status < 500 ? 'refused' : 'failed', reason, status, durationMs };
      report?.({ type: 'callback', ...delivery });
      ignoreErrors(() => onError?.(error, { phase, status, event }));
      if (status < 500) countRejection(outcome);
      else warn(describeFailure(outcome));
      ignoreErrors(logRejections);
      return delivery;
    },
  };
}

/** Whether a log line of a client is about deliveries that were rejected or failed. */
export function isDeliveryLine(line: string): boolean {
  return /^hosted-client: (?:a callback failed|\d+ deliver)/.test(line);
}

/** A log line about a failed delivery. It shows no part of an error that the caller's code threw. */
function describeFailure({ phase, status, reason, error }: DeliveryFailure): string {
  const why = isHostedError(error) && phase !== 'handle' ? error.message : failureTexts[phase];
  return `a callback failed with status ${status} (${reason}) and has to be redelivered: ${why}`;
}

const failureTexts: Readonly<Record<FailurePoint['phase'], string>> = {
  read: 'its body could not be read',
  verify: 'it could not be verified',
  guard: 'the replay guard failed',
  confirm: 'it could not be confirmed',
  handle: 'onEvent rejected',
};

/** The message of the channel `hosted-client:callback`. It contains nothing from the callback. */
export interface CallbackMessage extends TraceMessage {
  /** The result of the delivery; null until the delivery was handled. */
  result: Delivery['result'] | null;
  /** The HTTP status of our response; null until the delivery was handled. */
  status: number | null;
}

/** Handles a delivery with `process`, and publishes the delivery if the channel has a subscriber. */
export function traceDelivery(process: () => Promise<Delivery>): Promise<Delivery> {
  const begun: CallbackMessage = { result: null, status: null, errorCode: null };
  return trace(
    'callback',
    () => begun,
    async (message) => {
      const delivery = await process();
      const { result, reason, status } = delivery;
      if (message) completeMessage(message, { result, status, errorCode: reason });
      return delivery;
    },
  );
}
