/**
 * Confirms a callback with the status of its job. `onEvent` gets an event whose result comes from the verified
 * response, and whose ids are the requested ids. The callback only selects one of the job's results (docs/protocol.md
 * §6).
 *
 * @module
 */

import { HostedPollTimeoutError } from '../errors/errors.js';
import type { HistoryEntry, JobStatus } from '../jobs/types.js';
import { assumedInterimCodes, assumedSettlingMs } from '../protocol/assumptions.js';
import type { WaitingClock } from '../runtime/clock.js';
import { callbackFacts } from './callback-errors.js';
import { digestOf, resultId } from './read-callback.js';
import type { CallbackEvent, ConfirmedEvent } from './types.js';

/**
 * Fetches the status of a callback's job. Job status may lag behind the callback: if the callback is final but the
 * status is pending, the status is fetched once more.
 *
 * @throws {HostedPollTimeoutError} when the status is still pending.
 */
export async function fetchStatus(
  event: CallbackEvent,
  fetchOnce: () => Promise<JobStatus>,
  { sleep }: Pick<WaitingClock, 'sleep'>,
): Promise<JobStatus> {
  const first = await fetchOnce();
  if (first.complete || isInterim(event)) return first;
  await sleep(assumedSettlingMs);
  const second = await fetchOnce();
  if (second.complete) return second;
  throw new HostedPollTimeoutError(
    'it is marked as final, but the job is still pending',
    { job: { userId: event.userId, jobId: event.jobId }, lastStatus: second, elapsedMs: assumedSettlingMs },
    { ...callbackFacts, operation: 'jobs.status', attempts: 2, retryable: true },
  );
}

/** Creates the event that `onEvent` gets in place of the callback. */
export async function createConfirmedEvent(event: CallbackEvent, status: JobStatus): Promise<ConfirmedEvent> {
  // These are the requested ids: even in genuine responses, entries of the history can have other ids.
  const { userId, jobId, signedAt } = event;
  const entry = await findEntry(event, status.history ?? []);
  // The id of an event without a result depends on the job and its state only.
  const id = entry ? await resultId(event, entry) : await digestOf([userId, jobId, status.state]);
  return { id, repeat: false, userId, jobId, linkId: entry?.partnerParams?.linkId ?? null, entry, signedAt };
}

function isInterim({ entry: { isFinal, resultCode } }: CallbackEvent): boolean {
  return isFinal === false || assumedInterimCodes.has(resultCode ?? '');
}

async function findEntry(event: CallbackEvent, history: readonly HistoryEntry[]): Promise<HistoryEntry | null> {
  const { hostedJobId, resultCode } = event.entry;
  // The event's id covers `hostedJobId` and `resultCode`, so an entry with other values cannot have this id.
  const similar = history.filter((entry) => entry.hostedJobId === hostedJobId && entry.resultCode === resultCode);
  const ids = await Promise.all(similar.map((entry) => resultId(event, entry)));
  // Takes the last entry if a result is in the history twice.
  const same = similar[ids.lastIndexOf(event.id)];
  return same ?? (similar.length === 1 ? (similar[0] ?? null) : null);
}
