/**
 * Which confirmed results were handed over, or are in hand, whatever time their callbacks were signed at: a
 * result that is redelivered under a new signature is the same result.
 *
 * @module
 */

import type { JobStatus } from '../jobs/types.js';
import { type Begun, begin, type LeaseWorld } from './lease.js';
import { createReplayGuard } from './replay-guard.js';
import type { ConfirmedEvent, ReplayGuard } from './types.js';

/** A result that job status confirmed. */
export interface ConfirmedResult {
  readonly confirmed: ConfirmedEvent;
  readonly status: JobStatus;
  /** The same for handlers that share a guard: what one of them handled, the others did. */
  readonly guard: object;
  /** How long it may still be in hand, in ms. */
  readonly leaseMs: number;
}

/** Remembers confirmed results, in memory: the latest 10,000 for each guard. */
export interface ResultMemory {
  /** Takes a result in hand, or says why not. */
  begin(result: ConfirmedResult): Promise<Begun>;
}

/** Creates a memory that knows nothing. */
export function createResultMemory(world: LeaseWorld): ResultMemory {
  const memories = new WeakMap<object, ReplayGuard>();

  function memoryOf(guard: object): ReplayGuard {
    const known = memories.get(guard);
    if (known) return known;
    const memory = createReplayGuard(world.clock);
    memories.set(guard, memory);
    return memory;
  }

  return {
    begin({ confirmed, status, guard, leaseMs }) {
      const key = `${status.state} ${confirmed.id}`;
      // A verified result has no second body, and stays the same for as long as there is room for it.
      // Stryker disable next-line StringLiteral: any digest does, as all are the same
      const remembered = { key, bodyDigest: '', expiresAt: endOfTime };
      return begin(remembered, { replayGuard: memoryOf(guard), leaseMs }, world);
    },
  };
}

/** The latest time that a date can hold. */
const endOfTime = new Date(8.64e15);
