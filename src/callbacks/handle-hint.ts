/**
 * Handles a callback as the hint that it is: job status is asked, within bounds, and its verified response
 * is handed over.
 *
 * @module
 */

import { isHostedError } from '../errors/errors.js';
import type { JobRef, JobStatus } from '../jobs/types.js';
import { assumedMaxJobs } from '../protocol/assumptions.js';
import { writeJson } from '../runtime/prototype.js';
import { sha256Hex } from '../runtime/sha256.js';
import { askForStatus, confirmedEvent } from './confirm.js';
import { createFailure, type DeliveryResult } from './delivery.js';
import { beganBefore, beginDelivery, createBusyError, type Handle, handOver } from './handle.js';
import type { Handling } from './handler.js';
import type { Hint, HintLimits, Permit } from './hint-limits.js';
import type { Begun, Lease } from './lease.js';
import type { ReceivedCallback } from './receive.js';
import type { ResultMemory } from './result-memory.js';
import type { Turns } from './turns.js';
import type { CallbackEvent, ConfirmedEvent } from './types.js';

/** What the handlers of one client share where they confirm. */
export interface Confirming {
  /** Asks job status once, with history. */
  readonly ask: (job: JobRef) => Promise<JobStatus>;
  readonly limits: HintLimits;
  readonly results: ResultMemory;
  readonly turns: Turns;
}

/** A hint that is this delivery's to handle. */
interface HintInHand {
  readonly event: CallbackEvent;
  readonly permit: Permit;
  readonly lease: Lease;
}

/** Creates what handles hints. */
export function createHintHandling({ ask, limits, results, turns }: Confirming): Handle {
  return async (callback, handling) => {
    const { event } = callback;
    const hint = await hintOf(callback, handling);
    const permit = limits.permit(hint);
    // One that is known costs no request, whatever else came under its pair. One with a permit is in hand.
    if (!limits.wasHandled(hint) && !limits.isInHand(hint)) return createLimitFailure(event);
    let begun: Begun;
    try {
      // Two bodies under one pair do not conflict here: each is a hint of its own, and has a key of its own.
      begun = limits.isForGuard(hint) ? await beginDelivery(callback, handling) : beginHere(hint);
    } catch (error) {
      permit?.giveBack();
      return createFailure('guard', 503, 'guard', error, event);
    }
    if (begun.lease === undefined) {
      permit?.giveBack();
      return beganBefore(begun.known, event);
    }
    if (permit === null) {
      await begun.lease.forget();
      return createLimitFailure(event);
    }
    try {
      return await confirmAndHandOver({ event, permit, lease: begun.lease }, handling);
    } finally {
      permit.end();
    }
  };

  /** Begins a hint that the guard does not know of: the permit is its lease. */
  function beginHere(hint: Hint): Begun {
    if (limits.wasHandled(hint)) return { known: 'repeat' };
    // Stryker disable next-line StringLiteral: of what has a lease nothing else is read
    return { known: 'new', lease: noLease };
  }

  async function confirmAndHandOver(
    { event, permit, lease }: HintInHand,
    { settings, client }: Handling,
  ): Promise<DeliveryResult> {
    const askInTurn = () =>
      turns.take(settings.maxConfirmations, () => {
        permit.noteRequest();
        return ask(event);
      });
    const startedAt = client.clock.elapsed();
    let status: JobStatus;
    let confirmed: ConfirmedEvent;
    try {
      status = await askForStatus(event, askInTurn, client.clock);
      confirmed = await confirmedEvent(event, status);
    } catch (error) {
      await lease.forget();
      return createFailure('confirm', 503, reasonOf(error), error, event);
    }
    const what = `${status.state} ${confirmed.id}`;
    // Another body under the same pair led to the same: it is not handled twice, nor remembered for that.
    if (permit.wasHandedOver(what)) {
      await lease.forget();
      return { status: 200, result: 'repeat' };
    }
    let inHand = lease;
    // Without an entry the event is about the job's state, and another callback may be about another result.
    if (confirmed.entry !== null) {
      const leaseMs = settings.leaseMs - (client.clock.elapsed() - startedAt);
      const begun = await results.begin({ confirmed, status, guard: settings.replayGuard, leaseMs });
      if (begun.lease === undefined) {
        await lease.forget();
        return beganBefore(begun.known, confirmed);
      }
      inHand = joinLeases(lease, begun.lease);
    }
    const outcome = await handOver(confirmed, inHand, () => settings.onEvent(confirmed, status));
    if (outcome.status === 200) permit.noteHandled(what);
    return outcome;
  }
}

/** One lease that ends two, the later one first. */
function joinLeases(one: Lease, other: Lease): Lease {
  return {
    async commit() {
      await other.commit();
      await one.commit();
    },
    async forget() {
      await other.forget();
      await one.forget();
    },
  };
}

const noLease: Lease = { commit: async () => undefined, forget: async () => undefined };

async function hintOf({ event, timestamp, bodyDigest }: ReceivedCallback, { settings }: Handling): Promise<Hint> {
  const { perTime, perSecond } = assumedMaxJobs;
  return {
    timestamp,
    job: await sha256Hex(writeJson([event.userId, event.jobId])),
    bodyDigest,
    guard: settings.replayGuard,
    maxJobs: settings.maxJobsPerSignature ?? (isInWholeSeconds(timestamp) ? perSecond : perTime),
    leaseMs: settings.leaseMs,
  };
}

// A date has no twelve digits in a row: these are an epoch in milliseconds.
function isInWholeSeconds(timestamp: string): boolean {
  return !/\.\d|\d{12}/.test(timestamp);
}

function createLimitFailure(event: CallbackEvent): DeliveryResult {
  const why = 'its signature came for more jobs than "maxJobsPerSignature", or for this one a moment ago';
  return createFailure('guard', 503, 'limit', createBusyError(why), event);
}

function reasonOf(error: unknown): string {
  if (!isHostedError(error)) return 'error';
  return error.code === 'poll_timeout' ? 'pending' : error.code;
}
