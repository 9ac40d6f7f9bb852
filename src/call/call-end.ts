/**
 * The end of a call: its last event, and the end of its trace.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';
import { completeMessage } from '../runtime/tracing-channel.js';
import type { Attempt, CallFacts, CallOutcome } from './attempt.js';

/** The facts about a call that has ended. `startedAt` is missing if the input was invalid. */
export type EndedCall = Pick<CallFacts, 'id' | 'operation' | 'shared' | 'traced'> &
  Partial<Pick<CallFacts, 'startedAt'>>;

/**
 * Reports that a call has ended after `attempt`, and completes its trace. `errorCode` is null if there was no error.
 */
export function reportEnd(
  call: EndedCall,
  outcome: CallOutcome,
  attempt: Attempt | null,
  errorCode: string | null = null,
): void {
  const { id: callId, operation, shared, traced } = call;
  const attempts = attempt?.number ?? 0;
  if (traced) completeMessage(traced, { status: attempt?.status ?? null, attempts, outcome, errorCode });
  shared.telemetry.report?.({
    type: 'call',
    callId,
    operation: operation.name,
    outcome,
    attempts,
    durationMs: durationSince(call.startedAt, shared.settings.clock),
  });
}

// If the caller's clock throws, the duration is 0, and the result of the call does not change.
function durationSince(startedAt: number | undefined, { elapsed }: WaitingClock): number {
  try {
    return startedAt === undefined ? 0 : Math.round(elapsed() - startedAt);
  } catch {
    return 0;
  }
}
