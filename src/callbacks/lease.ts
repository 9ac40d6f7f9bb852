/**
 * A callback that is in hand: for as long as its lease lasts, no other delivery of it is handled.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';
import type { ReceiveSettings } from './options.js';
import type { ReceivedCallback } from './receive.js';

/** The right to handle a callback. Neither way to end it rejects. */
export interface Lease {
  /** Ends it: the callback was handled. */
  commit(): Promise<void>;
  /** Ends it: the next delivery counts as new. */
  forget(): Promise<void>;
}

/** What a guard says of a callback: that it is the caller's to handle, or why it is not. */
export type Begun =
  | { readonly known: 'new' | 'conflict'; readonly lease: Lease }
  | { readonly known: 'busy' | 'repeat'; readonly lease?: undefined };

/** What it takes to begin. */
export interface LeaseWorld {
  readonly clock: Pick<WaitingClock, 'now' | 'elapsed'>;
  readonly warn: (message: string) => void;
}

/**
 * Asks the guard for a callback.
 *
 * @throws what the guard throws.
 */
export async function begin(
  { key, bodyDigest, expiresAt }: Pick<ReceivedCallback, 'key' | 'bodyDigest' | 'expiresAt'>,
  { replayGuard, leaseMs }: Pick<ReceiveSettings, 'replayGuard' | 'leaseMs'>,
  { clock, warn }: LeaseWorld,
): Promise<Begun> {
  const endsAt = clock.elapsed() + leaseMs;
  const known = await replayGuard.begin(key, bodyDigest, expiresAt, new Date(clock.now() + leaseMs));
  if (known === 'repeat') return { known };
  // A guard that says something else does not know that the callback is the caller's.
  if (known !== 'new' && known !== 'conflict') return { known: 'busy' };
  const lease = {
    // Also of a lease that has ended: the callback was handled, and must not be handled again.
    async commit() {
      try {
        await replayGuard.commit(key);
      } catch {
        // The service is not asked to deliver it again: it would be handled twice.
        warn('the replay guard failed after a callback was handled');
      }
    },
    async forget() {
      // Another delivery may be in hand by now: it is not this one's to forget.
      if (clock.elapsed() >= endsAt) return;
      try {
        await replayGuard.forget(key);
      } catch {
        warn('the replay guard failed after a callback was not handled');
      }
    },
  };
  return { known, lease };
}
