/**
 * What the verified status of a job says about a hint (docs/protocol.md §6): whether the status is new enough to answer
 * it, and which event it makes.
 *
 * @module
 */

import { HostedSignatureError } from '../errors/client-errors.js';
import type { JobRef, JobStatus } from '../jobs/types.js';
import { linkIdOf, versionOf } from '../jobs/version.js';
import { assumedMaxHintLeadMs, assumedSettlingMs } from '../protocol/assumptions.js';
import { digestOf } from '../runtime/sha256.js';
import type { Settings } from '../settings.js';
import { callbackFacts } from './callback-errors.js';
import type { CallbackHint, JobEvent } from './types.js';

/** The digest of a job's ids, its partner and its environment. */
export function digestOfJob({ userId, jobId }: JobRef, { environment, partnerId }: Settings): Promise<string> {
  return digestOf([environment, partnerId, userId, jobId]);
}

/**
 * Creates the event of a status.
 *
 * @throws {HostedSignatureError} when the status has no readable signed time.
 */
export async function createEvent(status: JobStatus, { environment, partnerId }: Settings): Promise<JobEvent> {
  const { userId, jobId, signedAt } = status;
  if (signedAt === null) throw new HostedSignatureError('malformed', confirmFacts, 'the status of its job has no date');
  const id = await digestOf([environment, partnerId, userId, jobId, await versionOf(status)]);
  return { id, userId, jobId, linkId: linkIdOf(status), signedAt };
}

/** Whether a status was signed too long before a hint to answer it. */
export function isTooOld(
  { signedAt }: Pick<JobEvent, 'signedAt'>,
  { signedAt: hintedAt }: Pick<CallbackHint, 'signedAt'>,
  { wire }: Settings,
): boolean {
  // If the service repeats our own timestamp, both times are from different clocks.
  return !wire.echoesTimestamp && signedAt.getTime() < hintedAt.getTime() - assumedMaxHintLeadMs;
}

/** How much later than its signed time a hint may have been signed: the service may cut its times off at the second. */
function cutOffMs({ signedAt }: CallbackHint): number {
  return signedAt.getTime() % 1_000 === 0 ? 999 : 0;
}

/**
 * How long to wait, in ms, before the status is asked for again: so long that a change between the two was signed more than
 * two seconds after the first.
 */
export function againAfterMs(hint: CallbackHint): number {
  return assumedSettlingMs + cutOffMs(hint) + 1;
}

/**
 * Whether a status that was handed over before answers a hint. Its content may lag behind its signature, so it does only
 * if it was signed some time after the hint.
 */
export function answersHint({ signedAt }: Pick<JobEvent, 'signedAt'>, hint: CallbackHint, { wire }: Settings): boolean {
  const latest = hint.signedAt.getTime() + cutOffMs(hint);
  return !wire.echoesTimestamp && signedAt.getTime() >= latest + assumedSettlingMs;
}

/**
 * Fetches the status of a hint's job; once more, if it was signed too long before the hint.
 *
 * @throws {HostedSignatureError} when the second one, too, is too old.
 */
export async function confirmHint(
  hint: Pick<CallbackHint, 'signedAt'>,
  ask: () => Promise<JobStatus>,
  settings: Settings,
  signal: AbortSignal | undefined,
): Promise<{ readonly event: JobEvent; readonly status: JobStatus }> {
  for (const isLast of [false, true]) {
    const status = await ask();
    const event = await createEvent(status, settings);
    if (!isTooOld(event, hint, settings)) return { event, status };
    if (!isLast) await settings.clock.sleep(assumedSettlingMs, signal);
  }
  throw createOldError();
}

/** The facts of errors about the status that confirms a callback. */
const confirmFacts = { ...callbackFacts, operation: 'jobs.status', retryable: true } as const;

/** Creates the error about a status that is older than it may be. */
export function createOldError(why = 'it was signed more than ten seconds before the callback'): HostedSignatureError {
  return new HostedSignatureError('stale', confirmFacts, why);
}
