/**
 * The end of a call, as its last event.
 *
 * @module
 */

import type { HostedEvent } from '../events.js';
import type { WaitingClock } from '../runtime/clock.js';
import type { Attempt, CallFacts } from './attempt.js';

/** What is known of a call that has ended; one whose input was invalid has no start. */
export type EndedCall = Pick<CallFacts, 'id' | 'operation' | 'shared'> & Partial<Pick<CallFacts, 'startedAt'>>;

/** What became of a call. */
export type CallOutcome = Extract<HostedEvent, { type: 'call' }>['outcome'];

/** Reports that a call has ended, after `attempt`. */
export function reportEnd(call: EndedCall, outcome: CallOutcome, attempt: Attempt | null): void {
  const { id: callId, operation, shared } = call;
  shared.telemetry.report?.({
    type: 'call',
    callId,
    operation: operation.name,
    outcome,
    attempts: attempt?.number ?? 0,
    durationMs: durationSince(call.startedAt, shared.settings.clock),
  });
}

// A clock that fails does not change how a call ends.
function durationSince(startedAt: number | undefined, { elapsed }: WaitingClock): number {
  try {
    return startedAt === undefined ? 0 : Math.round(elapsed() - startedAt);
  } catch {
    return 0;
  }
}
