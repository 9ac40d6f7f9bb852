/**
 * Handles a callback whose signature is verified: begin → handle → commit.
 *
 * @module
 */

import { callbackSource, createBusyError, createJobLimitError } from './callback-errors.js';
import { type HintLimits, namedJobOf } from './hint-limits.js';
import { type Begun, begin, type Lease } from './lease.js';
import type { VerifiedCallback } from './read-callback.js';
import { createFailure, type DeliveryResult } from './reports.js';
import type { CallbackEvent, ConfirmedEvent } from './types.js';
import type { Handling } from './web-handler.js';

export type Handle = (callback: VerifiedCallback, handling: Handling) => Promise<DeliveryResult>;

/** Creates the function that passes a callback to `onEvent` as it is, without confirming it. */
export function createUnconfirmedHandling(limits: HintLimits): Handle {
  return (callback, handling) => handleUnconfirmed(callback, handling, limits);
}

async function handleUnconfirmed(
  callback: VerifiedCallback,
  handling: Handling,
  limits: HintLimits,
): Promise<DeliveryResult> {
  const { event } = callback;
  let begun: Begun;
  try {
    begun = await beginDelivery(callback, handling);
  } catch (error) {
    return createFailure('guard', 503, 'guard', error, event);
  }
  // A signature is accepted with one body only: anyone who has seen the signature could put it on other bodies.
  if (begun.known === 'conflict')
    return createFailure('guard', 401, 'replayed', callbackSource.createUntrusted('replayed'), event);
  if (begun.lease === undefined) return toKnownResult(begun.known, event);
  // The default guard lets a signed time name one job only. But a caller's guard may accept more than one body.
  if (!limits.admits(await namedJobOf(callback, handling.settings.maxJobsPerSignature))) {
    await begun.lease.forget();
    return createFailure('guard', 503, 'limit', createJobLimitError(), event);
  }
  return runOnEvent(event, begun.lease, () => handling.settings.onEvent(event));
}

/** Asks the replay guard whether this delivery may handle the callback. */
export function beginDelivery(callback: VerifiedCallback, { settings, client, reports }: Handling): Promise<Begun> {
  return begin(callback, settings, { clock: client.clock, warn: reports.warn });
}

/** The result for a callback that another delivery has handled, or is handling. */
export function toKnownResult(known: 'busy' | 'repeat', event: CallbackEvent | ConfirmedEvent): DeliveryResult {
  if (known === 'repeat') return { status: 200, result: 'repeat' };
  return createFailure('guard', 503, 'busy', createBusyError(), event);
}

/**
 * Runs the caller's `onEvent`. If `onEvent` resolves, the lease is committed. If `onEvent` rejects, the lease is
 * dropped.
 */
export async function runOnEvent(
  event: CallbackEvent | ConfirmedEvent,
  lease: Lease,
  onEvent: () => unknown,
): Promise<DeliveryResult> {
  try {
    await onEvent();
  } catch (error) {
    await lease.forget();
    return createFailure('handle', 500, 'handler', error, event);
  }
  await lease.commit();
  return { status: 200, result: 'accepted' };
}
