/**
 * The replay guard in memory, with a bounded size. Each call looks at only a few entries: anyone can post callbacks,
 * and many callbacks must not make the guard slow.
 *
 * @module
 */

import type { ReplayGuard } from './types.js';

/** How many callbacks are remembered. They take about 3 MB of memory. */
const maxRemembered = 10_000;

interface Remembered {
  readonly bodyDigest: string;
  readonly expiresAt: number;
  /** When the lease ends, by the monotonic clock. This time matters only while the callback is being handled. */
  readonly leaseEndsAt: number;
}

interface GuardClock {
  now(): number;
  elapsed(): number;
}

/** Creates a replay guard for one process. */
export function createReplayGuard({ now, elapsed }: GuardClock): ReplayGuard {
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
