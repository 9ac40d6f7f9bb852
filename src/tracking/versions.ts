/**
 * Compares the versions of the tables with those that this process can use. While they do not fit, the process takes no
 * work.
 *
 * @module
 */

import type { BossModule } from './peers.js';
import type { Row } from './sql.js';
import { HostedStorageError } from './storage-error.js';
import { neededVersion } from './table-changes.js';

const run = 'run "npx hosted-client tracking migrate"';

/** What does not fit, with the reason of the error and its text. */
const misfits = {
  tables_newer: ['newer', 'the tables belong to a newer version of this package: update the package here too'],
  tables_older: ['not_migrated', `the tables belong to an older version of this package: ${run}`],
  queue_newer: ['newer', 'the tables of pg-boss are newer than the installed pg-boss: update pg-boss here too'],
  queue_older: ['not_migrated', `the tables of pg-boss are older than the installed pg-boss: ${run}`],
} as const;

/** Creates the error of tables that do not fit. */
export function createMisfitError(misfit: keyof typeof misfits): HostedStorageError {
  const [reason, why] = misfits[misfit];
  return new HostedStorageError(reason, why);
}

/**
 * Reads the column `misfit` of a row.
 *
 * @throws {HostedStorageError} when the tables do not fit.
 */
export function assertFits(row: Row | undefined): void {
  const { misfit } = row ?? {};
  if (typeof misfit === 'string' && Object.hasOwn(misfits, misfit)) {
    throw createMisfitError(misfit as keyof typeof misfits);
  }
}

/** Writes the SQL of the column `misfit`, for the row `fleet` of the table `fleet`. It is null if the tables fit. */
export function misfitOf(fleet: string, schema: string, bossVersion: number | null): string {
  const queue = `(select max(v.version) from ${schema}_boss.version v)`;
  const ofQueue = `when ${queue} > ${bossVersion} then 'queue_newer' when ${queue} < ${bossVersion} then 'queue_older'`;
  return `case when ${fleet}.version > ${neededVersion + 1} then 'tables_newer'
    when ${fleet}.version < ${neededVersion} then 'tables_older' ${bossVersion === null ? '' : ofQueue} end`;
}

/** Reads the version of the tables that the installed pg-boss needs. pg-boss shows it only in its SQL. */
export function bossVersionOf({ getConstructionPlans }: BossModule): number {
  return Number(/INSERT INTO \S*version\(version\) VALUES \('(\d+)'\)/i.exec(getConstructionPlans('pgboss'))?.[1]);
}
