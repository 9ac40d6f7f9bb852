/**
 * Polls one job or link once. The request is signed, and its response is verified. The result says what changes in the
 * row.
 *
 * @module
 */

import { type AnyHostedError, type HostedErrorCode, HostedSignatureError } from '../../errors/client-errors.js';
import type { JobStatus } from '../../jobs/types.js';
import { linkIdOf, namesJob, resultsOf } from '../../jobs/version.js';
import type { Context } from '../context.js';
import { compareStatus } from '../deliver/compare-status.js';
import type { TakenRow } from '../rows.js';
import { maxUnknownPolls, requestMs } from '../rules.js';
import { isOver, readFailure } from './failed-poll.js';
import { concernsAllJobs, type Health } from './health.js';

/** The result of a poll. */
export type Found =
  | {
      readonly is: 'ended';
      readonly outcome: 'completed' | 'expired';
      readonly error: HostedErrorCode | null;
      readonly status: JobStatus | null;
    }
  /** The verdict of a job that has ended is another one than before (`endedAgain`). */
  | { readonly is: 'endedAgain' | 'linkEnded' | 'unknown' | 'nothing' }
  /** The verdict of a job that has ended is the same as before, or is not known any more. */
  | { readonly is: 'kept'; readonly isSame: boolean; readonly signedMs: number | null }
  | { readonly is: 'missing'; readonly missing: number; readonly mentioned: number }
  | { readonly is: 'noted'; readonly status: JobStatus | null; readonly changes: Changes };

/** What a poll changes in a row that is still followed, in the parameters of a statement. */
export interface Changes {
  readonly last_error: HostedErrorCode | null;
  /** The new counts of a link. Null for a job, and after an error. */
  readonly missing_seen: number | null;
  readonly missing_mentioned: number | null;
  /** The longest wait, in ms, until the next poll. Null if the wait does not change. */
  readonly soon_ms: number | null;
  /** True if the poll has failed after the deadline. */
  readonly is_late: boolean;
  /** How many polls have shown that the service does not know the job, before one of them was stored. */
  readonly first_answers: number;
}

/**
 * Polls a job or link once. `known` is the number of the link's known jobs.
 *
 * @throws the signal's reason when the signal aborts.
 */
export async function pollOnce(
  row: TakenRow,
  known: number,
  context: Context,
  { health, signal }: { readonly health: Health; readonly signal: AbortSignal },
): Promise<Found> {
  const { client, minDelayMs } = context.settings;
  const options = { signal, maxRetries: 0, totalTimeoutMs: requestMs };
  try {
    return await poll();
  } catch (thrown) {
    const error = readFailure(thrown, health, signal);
    if (row.hasEnded) return concernsAllJobs(error) ? { is: 'nothing' } : { is: 'kept', isSame: false, signedMs: null };
    return afterError(row, error, health);
  }

  async function poll(): Promise<Found> {
    if (row.isLink) {
      const { jobs } = await client.links.get(row.linkRefId ?? '', options);
      health.succeeded();
      return compare(row, Math.max(0, jobs.failed + jobs.successful - known), minDelayMs);
    }
    // If only callbacks have named the job's link, it is not certain. So the history is fetched, too: it contains the
    // right link.
    // And versions compare only with it.
    const { userId, jobId } = row;
    const needsHistory = !row.isLinkProven || row.revision > 0;
    const status = await client.jobs.status({ userId, jobId, ...(needsHistory && { history: true }) }, options);
    health.succeeded();
    if (row.revision > 0 && status.complete) {
      const { is, signedMs } = await compareStatus(row, status);
      if (is === 'older') return row.hasEnded ? { is: 'nothing' } : afterError(row, createOlderError(), health);
      if (row.hasEnded) return is === 'same' ? { is: 'kept', isSame: true, signedMs } : { is: 'endedAgain' };
    }
    if (row.hasEnded) return { is: 'kept', isSame: false, signedMs: status.signedAt?.getTime() ?? null };
    // Only a status that names the job shows that the service knows it.
    if (!row.isProven && !isProof(status)) {
      if (row.isLate) return { is: 'unknown' };
      return row.lastError === null && row.linkRefId === null ? { is: 'nothing' } : note(status);
    }
    if (status.complete) return { is: 'ended', outcome: 'completed', error: null, status };
    if (row.isLate) return { is: 'ended', outcome: 'expired', error: null, status };
    const isNew = !row.isProven || (!row.isLinkProven && linkIdOf(status) !== null);
    return row.lastError === null && !isNew ? { is: 'nothing' } : note(status);
  }
}

/** Whether a status shows that the service knows its job. A succeeded status always names the job. */
export function isProof(status: JobStatus): boolean {
  return status.success || resultsOf(status).some((result) => namesJob(result, status));
}

/** A status that says nothing about the job counts as a failed poll. */
function createOlderError(): HostedSignatureError {
  const facts = { operation: 'jobs.status', outcome: 'answered' } as const;
  return new HostedSignatureError('stale', facts, 'it was signed before the status that was handed over');
}

const unchanged = { last_error: null, missing_seen: null, missing_mentioned: null, soon_ms: null } as const;

function note(status: JobStatus | null, changes: Partial<Changes> = {}): Found {
  return { is: 'noted', status, changes: { ...unchanged, is_late: false, first_answers: 0, ...changes } };
}

function afterError(row: TakenRow, error: AnyHostedError, health: Health): Found {
  const isLast = isOver(row, error, health);
  const mayBeInvented = !row.isLink && !row.isProven;
  const isUnknown = error.code === 'not_found' && row.mentionedPolls >= maxUnknownPolls;
  if (mayBeInvented && (isLast || isUnknown)) return { is: 'unknown' };
  if (isLast)
    return row.isLink ? { is: 'linkEnded' } : { is: 'ended', outcome: 'expired', error: error.code, status: null };
  // A failure that may concern all jobs says nothing about the job, so the job still waits for its first poll.
  const isFirstAnswer = !row.isProven && row.mentionedPolls === 0 && !concernsAllJobs(error);
  if (!row.isLate && !isFirstAnswer && row.lastError === error.code) return { is: 'nothing' };
  return note(null, { last_error: error.code, is_late: row.isLate, first_answers: isFirstAnswer ? 1 : 0 });
}

/**
 * Compares the number of missing jobs with the numbers of earlier polls. Jobs are missing if the link counts more
 * finished jobs than are known. A callback may still be on its way. So a job counts as missing only if it is missing at
 * two consecutive polls, or at the last poll. The reported number never decreases: a reported job is still counted after
 * a later callback has mentioned it.
 */
function compare(row: TakenRow, missing: number, minDelayMs: number): Found {
  const mentioned = Math.max(row.missingMentioned, row.missingReported - missing);
  const certain = (row.isLate ? missing : Math.min(missing, row.missingSeen)) + mentioned;
  if (certain > row.missingReported) return { is: 'missing', missing: certain, mentioned };
  if (row.isLate) return { is: 'linkEnded' };
  if (missing === row.missingSeen && mentioned === row.missingMentioned && row.lastError === null)
    return { is: 'nothing' };
  const soon_ms = missing > row.missingSeen ? minDelayMs : null;
  return note(null, { missing_seen: missing, missing_mentioned: mentioned, soon_ms });
}
