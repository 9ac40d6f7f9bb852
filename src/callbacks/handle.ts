/**
 * What is done with a callback once its signature is verified: begin → handle → commit.
 *
 * @module
 */

import { HostedSignatureError } from '../errors/errors.js';
import { callbackFacts, callbackSource } from './callback-errors.js';
import { createFailure, type DeliveryResult } from './delivery.js';
import type { Handling } from './handler.js';
import { type Begun, begin, type Lease } from './lease.js';
import type { ReceivedCallback } from './receive.js';
import type { CallbackEvent, ConfirmedEvent } from './types.js';

/** Handles a callback. */
export type Handle = (callback: ReceivedCallback, handling: Handling) => Promise<DeliveryResult>;

/** Hands a callback over as it is: what it says is not confirmed. */
export const handleUnconfirmed: Handle = async (callback, handling) => {
  const { event } = callback;
  let begun: Begun;
  try {
    begun = await beginDelivery(callback, handling);
  } catch (error) {
    return createFailure('guard', 503, 'guard', error, event);
  }
  // A signature is worth one body: a caller that has seen it could put it on others.
  if (begun.known === 'conflict')
    return createFailure('guard', 401, 'replayed', callbackSource.createUntrusted('replayed'), event);
  if (begun.lease === undefined) return beganBefore(begun.known, event);
  return handOver(event, begun.lease, () => handling.settings.onEvent(event));
};

/** Asks the guard whether a callback is this delivery's to handle. */
export function beginDelivery(callback: ReceivedCallback, { settings, client, reports }: Handling): Promise<Begun> {
  return begin(callback, settings, { clock: client.clock, warn: reports.warn });
}

/** What becomes of a callback that another delivery has handled, or is handling. */
export function beganBefore(known: 'busy' | 'repeat', event: CallbackEvent | ConfirmedEvent): DeliveryResult {
  if (known === 'repeat') return { status: 200, result: 'repeat' };
  return createFailure('guard', 503, 'busy', createBusyError('the same callback is being handled'), event);
}

/** Runs the caller's `onEvent`, and ends the lease by how that ends. */
export async function handOver(
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

/** The error for a callback that is not handled now, and may be later. */
export function createBusyError(why: string): HostedSignatureError {
  return new HostedSignatureError('replayed', { ...callbackFacts, retryable: true }, why);
}
