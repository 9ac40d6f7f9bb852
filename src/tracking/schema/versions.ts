/**
 * Compares the version of the tables with the one that this process can use, and checks that it can see all rows. While
 * the tables do not fit, the process takes no work.
 *
 * @module
 */

import type { Row } from '../sql.js';
import { HostedStorageError } from '../storage-error.js';
import { neededVersion } from './table-changes.js';

/** What does not fit, with the reason of the error and its text. */
const mismatches = {
  newer: ['newer', 'the tables belong to a newer version of this package: update the package here too'],
  older: [
    'not_migrated',
    'the tables belong to an older version of this package: run "npx hosted-client tracking migrate"',
  ],
  hidden: [
    'not_migrated',
    'row level security hides rows of the table "tracked" from this role: give it "bypassrls", or switch it off',
  ],
} as const;

/** Creates the error of tables that do not fit. */
export function createMismatchError(mismatch: keyof typeof mismatches): HostedStorageError {
  const [reason, why] = mismatches[mismatch];
  return new HostedStorageError(reason, why);
}

/**
 * Reads the column `mismatch` of a row.
 *
 * @throws {HostedStorageError} when the tables do not fit, or the row is missing.
 */
export function assertFits(row: Row | undefined): asserts row is Row {
  assertThere(row);
  const { mismatch } = row;
  if (mismatch === 'newer' || mismatch === 'older' || mismatch === 'hidden') throw createMismatchError(mismatch);
}

/**
 * Checks that the row of the table `fleet` was found.
 *
 * @throws {HostedStorageError} when there is none.
 */
export function assertThere(row: Row | undefined): asserts row is Row {
  if (row) return;
  const why =
    'the row of the table "fleet" is missing, or hidden by row level security: do not empty this table, and give the role a policy for all rows';
  throw new HostedStorageError('not_migrated', why);
}

/**
 * Writes the SQL of the column `mismatch`, for the row `fleet` of the table `fleet`. It is null if the tables fit.
 *
 * @param tracked - The table of the jobs, with its schema.
 */
export function mismatchOf(fleet: string, tracked: string): string {
  return `case when ${fleet}.version > ${neededVersion + 1} then 'newer'
    when ${fleet}.version < ${neededVersion} then 'older' when row_security_active('${tracked}') then 'hidden' end`;
}
