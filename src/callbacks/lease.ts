/**
 * The lease of a callback: while it lasts, no other delivery of the callback is handled.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';
import { limitStep } from './limit-step.js';
import type { ReceiveSettings } from './options.js';
import type { VerifiedCallback } from './read-callback.js';

/** The right to handle a callback. Its methods never reject. */
export interface Lease {
  /** Ends the lease: the callback was handled. */
  commit(): Promise<void>;
  /** Ends the lease: the next delivery counts as new. */
  forget(): Promise<void>;
}

/** The guard's result for a callback, with a lease if this delivery may handle it. */
export type Begun =
  | { readonly known: 'new' | 'conflict'; readonly lease: Lease }
  | { readonly known: 'busy' | 'repeat'; readonly lease?: undefined };

export interface LeaseContext {
  readonly clock: Pick<WaitingClock, 'now' | 'elapsed' | 'setTimer'>;
  readonly warn: (message: string) => void;
}

const of = 'replay guard';

/**
 * Asks the guard for the lease of a callback.
 *
 * @throws the error that the guard throws.
 * @throws {HostedTimeoutError} when the guard does not respond. If it gives the lease later, the lease is given back.
 */
export async function begin(
  { key, bodyDigest, expiresAt }: Pick<VerifiedCallback, 'key' | 'bodyDigest' | 'expiresAt'>,
  { replayGuard, leaseMs }: Pick<ReceiveSettings, 'replayGuard' | 'leaseMs'>,
  { clock, warn }: LeaseContext,
): Promise<Begun> {
  const endsAt = clock.elapsed() + leaseMs;
  const leaseEndsAt = new Date(clock.now() + leaseMs);
  const lease = {
    // Commits even if the lease has ended: the callback was handled, and must not be handled again.
    async commit() {
      try {
        await limitStep(clock, { of, step: () => replayGuard.commit(key) });
      } catch {
        // The service gets no error response: after an error response, it would redeliver the callback, and the
        // callback would be handled twice.
        warn('the replay guard failed after a callback was handled');
      }
    },
    async forget() {
      // Another delivery may have the lease by now.
      if (clock.elapsed() >= endsAt) return;
      try {
        await limitStep(clock, { of, step: () => replayGuard.forget(key) });
      } catch {
        warn('the replay guard failed after a callback was not handled');
      }
    },
  };
  const known = await limitStep(clock, {
    of,
    step: () => replayGuard.begin(key, bodyDigest, expiresAt, leaseEndsAt),
    onLate: (late) => late === 'new' && lease.forget(),
  });
  if (known === 'repeat') return { known };
  // If the guard returns an unknown value, this delivery must not handle the callback.
  return known === 'new' || known === 'conflict' ? { known, lease } : { known: 'busy' };
}
