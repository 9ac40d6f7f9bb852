/**
 * What a callback becomes once job status was asked: nothing but what the verified response says. The
 * callback chooses which of the job's results is meant, and has no other part in it (docs/protocol.md §6).
 *
 * @module
 */

import { HostedPollTimeoutError } from '../errors/errors.js';
import type { HistoryEntry, JobRef, JobStatus } from '../jobs/types.js';
import { assumedInterimCodes, assumedSettlingMs } from '../protocol/assumptions.js';
import type { WaitingClock } from '../runtime/clock.js';
import { writeJson } from '../runtime/prototype.js';
import { sha256Hex } from '../runtime/sha256.js';
import { callbackFacts } from './callback-errors.js';
import { resultId } from './digest.js';
import type { CallbackEvent, ConfirmedEvent } from './types.js';

/**
 * Asks for the status that a callback tells of. Job status may lag behind the callback: where that is
 * final, a pending status is asked for once more.
 *
 * @throws {HostedPollTimeoutError} when it is pending then, too.
 */
export async function askForStatus(
  event: CallbackEvent,
  ask: () => Promise<JobStatus>,
  { sleep }: Pick<WaitingClock, 'sleep'>,
): Promise<JobStatus> {
  const first = await ask();
  if (first.complete || isInterim(event)) return first;
  await sleep(assumedSettlingMs);
  const second = await ask();
  if (second.complete) return second;
  throw new HostedPollTimeoutError(
    'it calls itself final, and the job is still pending',
    { job: { userId: event.userId, jobId: event.jobId }, lastStatus: second, elapsedMs: assumedSettlingMs },
    { ...callbackFacts, operation: 'jobs.status', attempts: 2, retryable: true },
  );
}

/** What is handed over in the place of a callback. */
export async function confirmedEvent(event: CallbackEvent, status: JobStatus): Promise<ConfirmedEvent> {
  // The ids that were asked about: those in the history's entries differ in honest responses.
  const { userId, jobId, signedAt } = event;
  // Stryker disable next-line ArrayDeclaration: a string in the history is no entry of any job
  const entry = await findEntry(event, status.history ?? []);
  const id = entry ? await resultId(event, entry) : await stateId(event, status);
  return { id, repeat: false, userId, jobId, linkId: entry?.partnerParams?.linkId ?? null, entry, signedAt };
}

function isInterim({ entry: { isFinal, resultCode } }: CallbackEvent): boolean {
  // Stryker disable next-line StringLiteral: neither is a code
  return isFinal === false || assumedInterimCodes.has(resultCode ?? '');
}

async function findEntry(event: CallbackEvent, history: readonly HistoryEntry[]): Promise<HistoryEntry | null> {
  const { hostedJobId, resultCode } = event.entry;
  // The id has both of them in it: no other entry can have the event's.
  const similar = history.filter((entry) => entry.hostedJobId === hostedJobId && entry.resultCode === resultCode);
  const ids = await Promise.all(similar.map((entry) => resultId(event, entry)));
  // Of results that were sent twice the later one.
  const same = similar[ids.lastIndexOf(event.id)];
  return same ?? (similar.length === 1 ? (similar[0] ?? null) : null);
}

/** The id of what is known of a job without one of its results. */
function stateId({ userId, jobId }: JobRef, { state }: JobStatus): Promise<string> {
  return sha256Hex(writeJson([userId, jobId, state]));
}
