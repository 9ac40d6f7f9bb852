/**
 * What was received lately, in memory and bounded.
 *
 * @module
 */

import type { ReplayGuard } from './types.js';

/** How many pairs are remembered: some 3 MB. Beyond it the oldest is dropped, expired or not. */
const mostRemembered = 10_000;

interface Remembered {
  readonly bodyDigest: string;
  readonly expiresAt: number;
  state: 'busy' | 'handled' | 'failed';
}

/** Makes a guard for one process. */
export function createReplayGuard(now: () => number): ReplayGuard {
  // In the order in which they came, which is nearly that in which they expire.
  const remembered = new Map<string, Remembered>();

  function drop(): void {
    for (const [key, { expiresAt, state }] of remembered) {
      const expired = expiresAt <= now();
      if (!expired && remembered.size < mostRemembered) return;
      if (expired || state !== 'busy') remembered.delete(key);
    }
  }

  return {
    async begin(key, bodyDigest, expiresAt) {
      const known = remembered.get(key);
      if (!known || known.expiresAt <= now()) {
        remembered.delete(key);
        drop();
        remembered.set(key, { bodyDigest, expiresAt: expiresAt.getTime(), state: 'busy' });
        return 'new';
      }
      if (known.bodyDigest !== bodyDigest) return 'conflict';
      if (known.state === 'handled') return 'repeat';
      if (known.state === 'busy') return 'busy';
      known.state = 'busy';
      return 'new';
    },
    async commit(key) {
      const known = remembered.get(key);
      if (known) known.state = 'handled';
    },
    async forget(key) {
      // Not deleted: a pair whose first handling failed must not become good for another body.
      const known = remembered.get(key);
      if (known) known.state = 'failed';
    },
  };
}
