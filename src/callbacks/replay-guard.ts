/**
 * What was received lately, in memory and bounded. No call looks at more than a few entries, however many
 * there are: any caller may post.
 *
 * @module
 */

import type { ReplayGuard } from './types.js';

/** How many callbacks are remembered: some 3 MB. */
const maxRemembered = 10_000;

interface Remembered {
  readonly bodyDigest: string;
  readonly expiresAt: number;
  /** By the monotonic clock. Counts while the callback is being handled. */
  readonly leaseEndsAt: number;
}

/** What a guard measures time by. */
interface GuardClock {
  now(): number;
  elapsed(): number;
}

/** Creates a guard for one process. */
export function createReplayGuard({ now, elapsed }: GuardClock): ReplayGuard {
  // Each in the order in which its entries came, oldest first.
  const failed = new Map<string, Remembered>();
  const handled = new Map<string, Remembered>();
  const busy = new Map<string, Remembered>();

  function find(key: string): Remembered | undefined {
    const known = busy.get(key) ?? handled.get(key) ?? failed.get(key);
    if (known && known.expiresAt > now()) return known;
    for (const entries of [failed, handled, busy]) entries.delete(key);
    return undefined;
  }

  // What failed is worth least: forged callbacks do, and there may be many. What was handled is not
  // crowded out by them, and what is in hand is kept until its lease ends.
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
      // A clock that is set meanwhile makes a lease neither longer nor shorter.
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
      // Not dropped: a pair whose first handling failed must not become good for another body.
      failed.set(key, known);
    },
  };
}
