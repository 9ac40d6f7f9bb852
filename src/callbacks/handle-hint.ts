/**
 * Handles a callback as a hint: fetches job status, within limits, and passes the verified response to `onEvent`.
 *
 * @module
 */

import { isHostedError } from '../errors/errors.js';
import type { JobRef, JobStatus } from '../jobs/types.js';
import { createBusyError } from './callback-errors.js';
import { createConfirmedEvent, fetchStatus } from './confirm.js';
import { beginDelivery, type Handle, runOnEvent, toKnownResult } from './handle-unconfirmed.js';
import { type Hint, type HintLimits, namedJobOf, type Permit } from './hint-limits.js';
import type { Begun, Lease } from './lease.js';
import type { VerifiedCallback } from './read-callback.js';
import { createFailure, type DeliveryResult } from './reports.js';
import type { ResultMemory } from './result-memory.js';
import type { Turns } from './turns.js';
import type { CallbackEvent, ConfirmedEvent } from './types.js';
import type { Handling } from './web-handler.js';

/** The parts that all confirming handlers of one client share. */
export interface ConfirmContext {
  /** Fetches job status once, with history. */
  readonly fetchOnce: (job: JobRef) => Promise<JobStatus>;
  readonly limits: HintLimits;
  readonly results: ResultMemory;
  readonly turns: Turns;
}

interface PermittedHint {
  readonly event: CallbackEvent;
  readonly permit: Permit;
  readonly lease: Lease;
}

export function createHintHandling({ fetchOnce, limits, results, turns }: ConfirmContext): Handle {
  return async (callback, handling) => {
    const { event } = callback;
    const hint = await hintOf(callback, handling);
    const permit = limits.permit(hint);
    // A hint that was handled before needs no request, so no limit applies to it. `isBusy` is true if this delivery has
    // just got the permit, or if another delivery of the same body has it.
    if (!limits.wasHandled(hint) && !limits.isBusy(hint)) return createLimitFailure(event);
    let begun: Begun;
    try {
      // Here, two bodies with the same signature do not conflict: the key of a hint covers its body.
      begun = limits.usesGuard(hint) ? await beginDelivery(callback, handling) : beginWithoutGuard(hint);
    } catch (error) {
      permit?.cancel();
      return createFailure('guard', 503, 'guard', error, event);
    }
    if (begun.lease === undefined) {
      permit?.cancel();
      return toKnownResult(begun.known, event);
    }
    if (permit === null) {
      await begun.lease.forget();
      return createLimitFailure(event);
    }
    try {
      return await confirmAndHandle({ event, permit, lease: begun.lease }, handling);
    } finally {
      permit.end();
    }
  };

  /** Begins to handle a hint for which the guard is not used. The permit takes the place of the lease. */
  function beginWithoutGuard(hint: Hint): Begun {
    if (limits.wasHandled(hint)) return { known: 'repeat' };
    // Stryker disable next-line StringLiteral: `known` is not read if there is a lease
    return { known: 'new', lease: noLease };
  }

  async function confirmAndHandle(
    { event, permit, lease }: PermittedHint,
    { settings, client }: Handling,
  ): Promise<DeliveryResult> {
    const fetchInTurn = () =>
      turns.take(settings.maxConfirmations, () => {
        permit.recordRequest();
        return fetchOnce(event);
      });
    const startedAt = client.clock.elapsed();
    let status: JobStatus;
    let confirmed: ConfirmedEvent;
    try {
      status = await fetchStatus(event, fetchInTurn, client.clock);
      confirmed = await createConfirmedEvent(event, status);
    } catch (error) {
      await lease.forget();
      return createFailure('confirm', 503, reasonOf(error), error, event);
    }
    const emitted = `${status.state} ${confirmed.id}`;
    // If `onEvent` already got this event for another body with the same signature, it must not get the event again.
    if (permit.wasEmitted(emitted)) {
      await lease.forget();
      return { status: 200, result: 'repeat' };
    }
    let held = lease;
    // An event without an entry is not remembered, because its id would be the same for another result of the job.
    if (confirmed.entry !== null) {
      const leaseMs = settings.leaseMs - (client.clock.elapsed() - startedAt);
      const begun = await results.begin({ confirmed, status, guard: settings.replayGuard, leaseMs });
      if (begun.lease === undefined) {
        await lease.forget();
        return toKnownResult(begun.known, confirmed);
      }
      held = joinLeases(lease, begun.lease);
    }
    const outcome = await runOnEvent(confirmed, held, () => settings.onEvent(confirmed, status));
    if (outcome.status === 200) permit.recordHandled(emitted);
    return outcome;
  }
}

/** Joins two leases: `commit` and `forget` call `other` first, and then `one`. */
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

async function hintOf(callback: VerifiedCallback, { settings }: Handling): Promise<Hint> {
  const { maxJobsPerSignature, replayGuard, leaseMs } = settings;
  return { ...(await namedJobOf(callback, maxJobsPerSignature)), guard: replayGuard, leaseMs };
}

function createLimitFailure(event: CallbackEvent): DeliveryResult {
  const why = 'its signature was used for more jobs than "maxJobsPerSignature" allows, or too often for this job';
  return createFailure('guard', 503, 'limit', createBusyError(why), event);
}

function reasonOf(error: unknown): string {
  if (!isHostedError(error)) return 'error';
  return error.code === 'poll_timeout' ? 'pending' : error.code;
}
