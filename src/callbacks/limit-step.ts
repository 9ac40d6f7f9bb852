/**
 * Limits how long a step of receiving a callback waits for code of the caller: a replay guard or a signer.
 *
 * @module
 */

import { HostedTimeoutError } from '../errors/client-errors.js';
import { type WaitingClock, withTimeout } from '../runtime/clock.js';
import { callbackFacts } from './callback-errors.js';

/** How long each step may take, in ms. */
const maxStepMs = 10_000;

/**
 * Waits for code of the caller, which may never settle. If it ends too late, `onLate` gets its value.
 *
 * @throws {HostedTimeoutError} when the step takes longer than {@link maxStepMs}.
 */
export function limitStep<T>(
  clock: Pick<WaitingClock, 'setTimer'>,
  of: 'replay guard' | 'signer',
  step: () => T | Promise<T>,
  onLate?: (value: T) => unknown,
): Promise<T> {
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
