/**
 * What became of a delivery, and where it is reported: to `onError`, the log, and the client's events.
 * A result that is refused in silence is a lost result.
 *
 * @module
 */

import { isHostedError } from '../errors/errors.js';
import { ignoreErrors, type Telemetry } from '../events.js';
import type { WaitingClock } from '../runtime/clock.js';
import type { HandlerSettings } from './options.js';
import type { HandlerOptions } from './types.js';

type Place = Parameters<HandlerOptions['onError'] & object>[1];

/** A delivery that ended in 200. */
export interface Delivered {
  readonly status: 200;
  readonly result: 'accepted' | 'repeat';
}

/** A delivery that ended in something else. */
export interface Undelivered extends Place {
  /** A short code for metrics: nothing of the callback. */
  readonly reason: string;
  readonly error: unknown;
}

/** What became of a delivery. */
export type DeliveryResult = Delivered | Undelivered;

// By an own property, as other code may have put one on all objects.
function isDelivered(result: DeliveryResult): result is Delivered {
  return !Object.hasOwn(result, 'phase');
}

/** Creates the result of a delivery that did not succeed. */
export function createFailure(
  phase: Place['phase'],
  status: number,
  reason: string,
  error: unknown,
  event: Place['event'] = null,
): Undelivered {
  return { phase, status, reason, error, event };
}

/** The reason to give for an error. */
export function codeOf(error: unknown): string {
  return isHostedError(error) ? error.code : 'error';
}

/** Reports deliveries. */
export interface DeliveryReports {
  report(outcome: DeliveryResult, durationMs: number, onError: HandlerSettings['onError']): void;
  /** Writes a log line about what does not change what a delivery ends in. */
  warn(message: string): void;
}

/** How often, in ms, the deliveries that were refused are counted in a log line. */
const countEveryMs = 60_000;

/** Creates the reports of one client. */
export function createDeliveryReports(
  { report, warn }: Telemetry,
  { elapsed }: Pick<WaitingClock, 'elapsed'>,
): DeliveryReports {
  const refused = new Map<number, number>();
  let quietUntil = Number.NEGATIVE_INFINITY;
  // Stryker disable next-line StringLiteral: it is read only after a refused delivery has set it
  let latest = '';

  // Any caller can post what is refused: a line for each would let it fill the log.
  function count({ status, error }: Undelivered): void {
    refused.set(status, (refused.get(status) ?? 0) + 1);
    latest = isHostedError(error) ? `; the latest: ${error.message}` : '';
  }

  function writeCounts(): void {
    if (refused.size === 0 || elapsed() < quietUntil) return;
    const total = [...refused.values()].reduce((sum, times) => sum + times, 0);
    const counts = [...refused].map(([status, times]) => `${times} with ${status}`).join(', ');
    warn(`${total} deliveries of callbacks were refused (${counts})${latest}`);
    refused.clear();
    quietUntil = elapsed() + countEveryMs;
  }

  return {
    warn,
    // Neither a listener nor a clock that fails changes what a delivery ends in.
    report(outcome, durationMs, onError) {
      const { status } = outcome;
      if (isDelivered(outcome)) {
        report?.({ type: 'callback', result: outcome.result, reason: null, status, durationMs });
        ignoreErrors(writeCounts);
        return;
      }
      const { phase, event, error, reason } = outcome;
      const result = status < 500 ? 'refused' : 'failed';
      report?.({ type: 'callback', result, reason, status, durationMs });
      // Stryker disable next-line OptionalChaining: what calling no function throws is ignored
      ignoreErrors(() => onError?.(error, { phase, status, event }));
      if (status < 500) count(outcome);
      else warn(describeFailure(outcome));
      ignoreErrors(writeCounts);
    },
  };
}

/** A log line about a failed delivery. Of what the caller's own code threw, nothing is shown. */
function describeFailure({ phase, status, reason, error }: Undelivered): string {
  const why = isHostedError(error) && phase !== 'handle' ? error.message : failures[phase];
  return `a callback was answered ${status} (${reason}), so that it is delivered again: ${why}`;
}

const failures: Readonly<Record<Place['phase'], string>> = {
  read: 'its body could not be read',
  verify: 'it could not be verified',
  guard: 'the replay guard failed',
  confirm: 'it could not be confirmed',
  handle: 'onEvent rejected',
};
