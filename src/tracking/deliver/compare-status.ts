/**
 * Compares the status of a job with the one that was handed over last. The service's own clock orders statuses, and their
 * versions say whether something has changed.
 *
 * @module
 */

import type { JobStatus } from '../../jobs/types.js';
import { versionOf } from '../../jobs/version.js';
import { numberOf, textOf } from '../columns.js';
import type { Row } from '../sql.js';

/** What was handed over last about a job, or is being handed over. */
export type HandedOver = Readonly<ReturnType<typeof readHandedOver>>;

/** Reads the columns of a row. */
export function readHandedOver(row: Row) {
  return {
    /** How many ends of the job have been handed over, or begun. */
    revision: numberOf(row, 'revision'),
    /** The version of the status. Null if the job has expired. */
    version: textOf(row, 'version'),
    /** When this status was signed, in ms. */
    signedMs: row.signed_ms === null || row.signed_ms === undefined ? null : numberOf(row, 'signed_ms'),
  };
}

/** How a status compares with the one that was handed over. */
export type Compared = Awaited<ReturnType<typeof compareStatus>>;

/**
 * Compares a status. Null stands for a job that has expired. `'older'` means that another version was not signed later,
 * so that it says nothing.
 */
export async function compareStatus(known: HandedOver, status: JobStatus | null) {
  const version = status === null ? null : await versionOf(status);
  const signedMs = status?.signedAt?.getTime() ?? known.signedMs;
  const isSame = known.revision > 0 && version === known.version;
  const isOlder = version !== null && signedMs !== null && known.signedMs !== null && signedMs <= known.signedMs;
  return { is: isSame ? 'same' : isOlder ? 'older' : 'changed', version, signedMs } as const;
}
