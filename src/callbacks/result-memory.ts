/**
 * Remembers which confirmed results were passed to `onEvent` or are being handled. The signed time does not matter: a
 * result that is redelivered with a new signature is the same result.
 *
 * @module
 */

import type { JobStatus } from '../jobs/types.js';
import { type Begun, begin, type LeaseContext } from './lease.js';
import { createReplayGuard } from './replay-guard.js';
import type { ConfirmedEvent, ReplayGuard } from './types.js';

export interface ConfirmedResult {
  readonly confirmed: ConfirmedEvent;
  readonly status: JobStatus;
  /** The replay guard. Handlers with the same guard share the memory of handled results. */
  readonly guard: object;
  /** How long handling may still take, in ms. */
  readonly leaseMs: number;
}

/** Remembers confirmed results, in memory: the latest 10,000 for each guard. */
export interface ResultMemory {
  /** Begins to handle a result, or says why this delivery must not handle it. */
  begin(result: ConfirmedResult): Promise<Begun>;
}

export function createResultMemory(context: LeaseContext): ResultMemory {
  const memories = new WeakMap<object, ReplayGuard>();

  function memoryOf(guard: object): ReplayGuard {
    const known = memories.get(guard);
    if (known) return known;
    const memory = createReplayGuard(context.clock);
    memories.set(guard, memory);
    return memory;
  }

  return {
    begin({ confirmed, status, guard, leaseMs }) {
      const key = `${status.state} ${confirmed.id}`;
      // Only the key identifies a confirmed result: no body is compared, and the result never expires.
      // Stryker disable next-line StringLiteral: any digest would do, because all are the same
      const remembered = { key, bodyDigest: '', expiresAt: endOfTime };
      return begin(remembered, { replayGuard: memoryOf(guard), leaseMs }, context);
    },
  };
}

/** The latest time that a date can hold. */
const endOfTime = new Date(8.64e15);
