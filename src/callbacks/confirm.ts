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
import type { JobEvent } from './types.js';

type Signed = Pick<JobEvent, 'signedAt'>;

/** The digest of a job's ids, its partner and its environment, and of what else is given. */
export function digestOfJob({ userId, jobId }: JobRef, { environment, partnerId }: Settings, ...others: string[]) {
  return digestOf([environment, partnerId, userId, jobId, ...others]);
}

/**
 * Creates the event of a status.
 *
 * @throws {HostedSignatureError} when the status has no readable signed time.
 */
export async function createEvent(status: JobStatus, settings: Settings): Promise<JobEvent> {
  const { userId, jobId, signedAt } = status;
  if (signedAt === null) throw new HostedSignatureError('malformed', confirmFacts, 'the status of its job has no date');
  const id = await digestOfJob(status, settings, await versionOf(status));
  return { id, userId, jobId, linkId: linkIdOf(status), signedAt };
}

/** Whether a status was signed too long before a hint to answer it. */
export function isTooOld({ signedAt }: Signed, hint: Signed, { wire }: Settings): boolean {
  // If the service repeats our own timestamp, both times are from different clocks.
  return !wire.echoesTimestamp && signedAt.getTime() < hint.signedAt.getTime() - assumedMaxHintLeadMs;
}

/**
 * How long after the signed time of a hint, in ms, a status shows all that it is a hint of. The service may cut its times
 * off at the second, and the content of a status may lag behind its signature.
 */
export function settlingMs({ signedAt }: Signed): number {
  return assumedSettlingMs + (signedAt.getTime() % 1_000 === 0 ? 999 : 0);
}

/** Whether a status that was handed over before answers a hint. */
export function answersHint({ signedAt }: Signed, hint: Signed, { wire }: Settings): boolean {
  return !wire.echoesTimestamp && signedAt.getTime() >= hint.signedAt.getTime() + settlingMs(hint);
}

/**
 * Fetches the status of a hint's job; once more, if it was signed too long before the hint.
 *
 * @throws {HostedSignatureError} when the second one, too, is too old.
 */
export async function confirmHint(
  hint: Signed,
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
