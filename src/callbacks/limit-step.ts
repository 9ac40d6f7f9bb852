/**
 * Limits how long a delivery waits for code of the caller, which may never settle: the replay guard and the signer.
 *
 * @module
 */

import { HostedTimeoutError } from '../errors/errors.js';
import { type WaitingClock, withTimeout } from '../runtime/clock.js';
import { callbackFacts } from './callback-errors.js';

/** How long each step may take, in ms. */
const maxStepMs = 10_000;

/**
 * Waits for a step. If the step ends too late, `onLate` gets its value.
 *
 * @throws {HostedTimeoutError} when the step takes longer than {@link maxStepMs}.
 */
export function limitStep<T>(clock: Pick<WaitingClock, 'setTimer'>, { of, step, onLate }: Step<T>): Promise<T> {
  const timedOut = () => {
    const limit = { phase: 'attempt', timeoutMs: maxStepMs } as const;
    const why = `the ${of} did not respond within 10 seconds`;
    return new HostedTimeoutError(why, limit, { ...callbackFacts, retryable: true });
  };
  return withTimeout({ clock, ms: maxStepMs, timedOut }, async (signal) => {
    const value = await step();
    if (signal.aborted) await onLate?.(value);
    return value;
  });
}

interface Step<T> {
  readonly of: 'replay guard' | 'signer';
  readonly step: () => T | Promise<T>;
  readonly onLate?: (value: T) => unknown;
}
