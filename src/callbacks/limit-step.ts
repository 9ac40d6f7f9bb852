/**
 * Limits how long a step of receiving a callback may wait: for code of the caller, or for its turn.
 *
 * @module
 */

import { type WaitingClock, withTimeout } from '../runtime/clock.js';

/** How long each step may take, in ms. */
export const maxStepMs = 10_000;

/**
 * Waits for a step, which may never settle. Rejects with `timedOut()` when it takes longer than {@link maxStepMs}. If it
 * ends too late, `onLate` gets its value.
 */
export function limitStep<T>(
  clock: Pick<WaitingClock, 'setTimer'>,
  timedOut: () => Error,
  step: () => T | Promise<T>,
  onLate?: (value: T) => unknown,
): Promise<T> {
  return withTimeout({ clock, ms: maxStepMs, timedOut }, async (signal) => {
    const value = await step();
    if (signal.aborted) await onLate?.(value);
    return value;
  });
}
