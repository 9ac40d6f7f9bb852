/**
 * Remembers which callbacks and results were handled, or are being handled: the replay guard in memory, the leases that
 * any guard gives, and the memory of confirmed results.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';
import { limitStep, type VerifiedCallback } from './read-callback.js';
import type { DeliveryReports } from './reports.js';
import type { ReplayGuard } from './types.js';

/** How many callbacks are remembered. They take about 3 MB of memory. */
const maxRemembered = 10_000;

interface Remembered {
  readonly bodyDigest: string;
  readonly expiresAt: number;
  /** When the lease ends, by the monotonic clock. This time matters only while the callback is being handled. */
  readonly leaseEndsAt: number;
}

/**
 * Creates a replay guard for one process. Each call looks at only a few entries: anyone can post callbacks, and many
 * callbacks must not make the guard slow.
 */
export function createReplayGuard({ now, elapsed }: Pick<WaitingClock, 'now' | 'elapsed'>): ReplayGuard {
  // Each map is in order of insertion.
  const failed = new Map<string, Remembered>();
  const handled = new Map<string, Remembered>();
  const busy = new Map<string, Remembered>();

  function find(key: string): Remembered | undefined {
    const known = busy.get(key) ?? handled.get(key) ?? failed.get(key);
    if (known && known.expiresAt > now()) return known;
    for (const entries of [failed, handled, busy]) entries.delete(key);
    return undefined;
  }

  // Failed entries are dropped first: forged callbacks fail, and many forged callbacks must not displace handled ones.
  // Busy entries are kept until their leases end.
  function makeRoom(): void {
    if (failed.size + handled.size + busy.size < maxRemembered) return;
    for (const entries of [failed, handled, busy]) {
      const [oldest] = entries;
      if (!oldest) continue;
      if (entries !== busy || oldest[1].leaseEndsAt <= elapsed()) entries.delete(oldest[0]);
      return;
    }
  }

  return {
    async begin(key, bodyDigest, expiresAt, leaseEndsAt) {
      const known = find(key);
      if (known && known.bodyDigest !== bodyDigest) return 'conflict';
      if (handled.has(key)) return 'repeat';
      if (known && busy.has(key) && known.leaseEndsAt > elapsed()) return 'busy';
      failed.delete(key);
      busy.delete(key);
      makeRoom();
      // The lease is counted by the monotonic clock, so that setting the system time does not change it.
      const leaseMs = leaseEndsAt.getTime() - now();
      busy.set(key, { bodyDigest, expiresAt: expiresAt.getTime(), leaseEndsAt: elapsed() + leaseMs });
      return 'new';
    },
    async commit(key) {
      const known = busy.get(key) ?? failed.get(key);
      if (!known) return;
      busy.delete(key);
      failed.delete(key);
      handled.set(key, known);
    },
    async forget(key) {
      const known = busy.get(key);
      if (!known) return;
      busy.delete(key);
      // The entry is kept: even after a failure, the signature must not be accepted with another body.
      failed.set(key, known);
    },
  };
}

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

/**
 * Asks the guard for the lease of a callback.
 *
 * @throws the error that the guard throws.
 * @throws {HostedTimeoutError} when the guard does not respond. If it gives the lease later, the lease is given back.
 */
export async function begin(
  { key, bodyDigest, expiresAt }: Pick<VerifiedCallback, 'key' | 'bodyDigest' | 'expiresAt'>,
  { replayGuard, leaseMs }: { readonly replayGuard: ReplayGuard; readonly leaseMs: number },
  { clock, warn }: Pick<DeliveryReports, 'clock' | 'warn'>,
): Promise<Begun> {
  const endsAt = clock.elapsed() + leaseMs;
  const leaseEndsAt = new Date(clock.now() + leaseMs);
  // A failure is only logged: what the service gets was decided before.
  const settle = (step: () => Promise<void>, result: 'handled' | 'not handled') =>
    limitStep(clock, 'replay guard', step).catch(() => warn(`the replay guard failed after a callback was ${result}`));
  const lease = {
    // Commits even if the lease has ended: the callback was handled, and must not be handled again. For the same reason,
    // the service gets no error response if this fails.
    commit: () => settle(() => replayGuard.commit(key), 'handled'),
    async forget() {
      // Another delivery may have the lease by now.
      if (clock.elapsed() < endsAt) await settle(() => replayGuard.forget(key), 'not handled');
    },
  };
  const known = await limitStep(
    clock,
    'replay guard',
    () => replayGuard.begin(key, bodyDigest, expiresAt, leaseEndsAt),
    (late) => late === 'new' && lease.forget(),
  );
  if (known === 'repeat') return { known };
  // If the guard returns an unknown value, this delivery must not handle the callback.
  return known === 'new' || known === 'conflict' ? { known, lease } : { known: 'busy' };
}

/**
 * Remembers which confirmed results were passed to `onEvent`, or are being handled: the latest 10,000 for each guard. A
 * result that is redelivered with a new signature is the same result. The function that is returned begins to handle
 * the result that `key` identifies, or says why this delivery must not handle it. Handling may take `leaseMs`.
 */
export function createResultMemory(reports: Pick<DeliveryReports, 'clock' | 'warn'>) {
  const memories = new WeakMap<ReplayGuard, ReplayGuard>();
  return (key: string, guard: ReplayGuard, leaseMs: number): Promise<Begun> => {
    const memory = memories.get(guard) ?? createReplayGuard(reports.clock);
    memories.set(guard, memory);
    // Only the key identifies a confirmed result: no body is compared, and the result never expires.
    return begin({ key, bodyDigest: '', expiresAt: endOfTime }, { replayGuard: memory, leaseMs }, reports);
  };
}

/** The latest time that a date can hold. */
const endOfTime = new Date(8.64e15);
