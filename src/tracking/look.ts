/**
 * Looks once at one job or link. A look is a signed and verified request. The result says what changes in the row.
 *
 * @module
 */

import { type AnyHostedError, type HostedErrorCode, isHostedError } from '../errors/errors.js';
import type { JobStatus } from '../jobs/types.js';
import { type Context, numberOf, textOf } from './context.js';
import type { Row } from './database.js';
import type { Health } from './health.js';
import { kinds } from './schema.js';

/** A row that was taken to be looked at. */
export interface TakenRow {
  readonly key: string;
  readonly isLink: boolean;
  readonly userId: string;
  readonly jobId: string;
  readonly linkRefId: string | null;
  /** How often the row was looked at, including this look. */
  readonly polls: number;
  readonly lastError: string | null;
  /** True if the caller tracks the job, or the service knows it. False if only a callback has mentioned it. */
  readonly isProven: boolean;
  /** True if the deadline is over. This look is then the last one. */
  readonly isLast: boolean;
  /** For a link: how many of its jobs are known, and how many were missing at the last look. */
  readonly known: number;
  readonly missingSeen: number;
  /** For a link: how many jobs were reported as missing, and how many of these callbacks have mentioned since. */
  readonly missingReported: number;
  readonly missingTold: number;
  /** For a link: whether callbacks mentioned jobs while the link was being tracked. */
  readonly hasHeard: boolean;
}

/** The result of a look. */
export type Found =
  | {
      readonly is: 'ended';
      readonly outcome: 'completed' | 'expired';
      readonly error: HostedErrorCode | null;
      readonly status: JobStatus | null;
    }
  | { readonly is: 'linkEnded' }
  | { readonly is: 'unknown' }
  | { readonly is: 'missing'; readonly missing: number; readonly told: number }
  | {
      readonly is: 'noted';
      readonly error: HostedErrorCode | null;
      /** Only for a link. */
      readonly seen: { readonly missing: number; readonly told: number } | null;
      readonly status: JobStatus | null;
    }
  | { readonly is: 'nothing' };

/** The time, in ms, that one request may take. */
export const requestMs = 20_000;

/**
 * How many times a job is looked at if only a callback has mentioned it and the service does not know it. With the
 * default waits, this takes about five minutes. A callback's body is not signed, and may invent jobs.
 */
const maxUnknownLooks = 10;

/** Reads a row of the statement `claim`. */
export function readTaken(row: Row): TakenRow {
  return {
    key: String(row.key),
    isLink: numberOf(row, 'kind') === kinds.link,
    userId: textOf(row, 'user_id') ?? '',
    jobId: textOf(row, 'job_id') ?? '',
    linkRefId: textOf(row, 'link_ref_id'),
    polls: numberOf(row, 'polls'),
    lastError: textOf(row, 'last_error'),
    isProven: row.is_proven === true,
    isLast: row.is_last === true,
    known: numberOf(row, 'known'),
    missingSeen: numberOf(row, 'missing_seen'),
    missingReported: numberOf(row, 'missing'),
    missingTold: numberOf(row, 'missing_told'),
    hasHeard: row.has_heard === true,
  };
}

/**
 * Looks at a job or link once.
 *
 * @throws the signal's reason when it aborts.
 */
export async function look(
  row: TakenRow,
  { settings: { client } }: Context,
  health: Health,
  signal: AbortSignal,
): Promise<Found> {
  const options = { signal, maxRetries: 0, totalTimeoutMs: requestMs };
  try {
    if (row.isLink) {
      const link = await client.links.get(row.linkRefId ?? '', options);
      health.succeeded();
      return compare(row, link.jobs.failed + link.jobs.successful);
    }
    // If only a callback has mentioned the job, the history says which link it belongs to.
    const status = await client.jobs.status({ userId: row.userId, jobId: row.jobId, history: !row.isProven }, options);
    health.succeeded();
    if (status.complete) return { is: 'ended', outcome: 'completed', error: null, status };
    if (row.isLast) return { is: 'ended', outcome: 'expired', error: null, status };
    return row.lastError === null && row.isProven
      ? { is: 'nothing' }
      : { is: 'noted', error: null, seen: null, status };
  } catch (error) {
    signal.throwIfAborted();
    if (!isHostedError(error)) throw error;
    health.failed(error);
    return afterError(row, error);
  }
}

function afterError(row: TakenRow, error: AnyHostedError): Found {
  const mayBeInvented = !row.isLink && !row.isProven && error.code === 'not_found';
  if (mayBeInvented && (row.isLast || row.polls >= maxUnknownLooks)) return { is: 'unknown' };
  if (row.isLast)
    return row.isLink ? { is: 'linkEnded' } : { is: 'ended', outcome: 'expired', error: error.code, status: null };
  if (row.lastError === error.code) return { is: 'nothing' };
  return { is: 'noted', error: error.code, seen: null, status: null };
}

/**
 * Compares the link's count of finished jobs with the number of known jobs. A callback may still be on its way.
 * Therefore a missing job counts only if it was also missing at the look before. Callbacks may have mentioned some of
 * the reported jobs since. If more jobs are missing than the other reported ones, the additional jobs are new.
 */
function compare(row: TakenRow, finished: number): Found {
  const missing = Math.max(0, finished - row.known);
  const told = Math.max(row.missingTold, row.missingReported - missing);
  const certain = (row.isLast ? missing : Math.min(missing, row.missingSeen)) + told;
  if (certain > row.missingReported) return { is: 'missing', missing: certain, told };
  if (row.isLast) return { is: 'linkEnded' };
  if (missing === row.missingSeen && told === row.missingTold && row.lastError === null) return { is: 'nothing' };
  return { is: 'noted', error: null, seen: { missing, told }, status: null };
}

/**
 * Finds the link that a verified status names, if it differs from the link that the callback named. Otherwise returns
 * null.
 */
export function findOtherLink(row: TakenRow, { result, history }: JobStatus): string | null {
  const named = [result, ...(history ?? [])].flatMap((entry) => entry?.partnerParams?.linkId ?? []);
  return named.includes(row.linkRefId ?? '') ? null : (named[0] ?? null);
}
