/**
 * Plans and makes changes of the tables.
 *
 * @module
 */

import { createPlatformClock } from '../../runtime/clock.js';
import { readMigrateOptions } from '../options.js';
import { type Database, openDatabase } from '../places/database.js';
import { codeOf, HostedStorageError, runTask } from '../storage-error.js';
import type { SqlPool } from '../types.js';
import { changeTables, lockMs, newestVersion, planTables, quote, readVersion } from './schema.js';
import { createMismatchError } from './versions.js';

/** What a change of version does to the tables. */
export interface MigrationPlan {
  /** The version of the tables that are there. Null means that there are none. */
  readonly from: number | null;
  /** The version that this package creates. */
  readonly to: number;
  /** The scripts that lead there, in their order. It is empty if there is nothing to do. */
  readonly sql: readonly string[];
}

/** How many times a step waits for a lock before the migration gives up. */
const maxTries = 30;

/**
 * Plans what a new version changes in the tables, and does it with `apply`. No step waits for a lock for more than two
 * seconds at a time, so no other process waits longer. If the migration breaks off, the next one goes on from there.
 * Processes go on working meanwhile.
 *
 * @param options - The database, and whether the plan is carried out.
 * @returns The plan, as it was before.
 * @throws {HostedConfigError} when options are invalid. The error lists every problem.
 * @throws {HostedStorageError} when the database cannot be used, the role may not change the tables, another transaction
 *   keeps a lock, or the tables are newer than this package.
 *
 * @example Create or change the tables before a deploy
 * ```ts
 * await migrateTracking({ connectionString, apply: true });
 * ```
 */
export async function migrateTracking(options: {
  /** The connection string of the database. */
  connectionString?: string;
  /** Your own pool of at least two connections, in place of `connectionString`. */
  pool?: SqlPool;
  /** The schema of the tables. Default `'hosted_tracking'`. */
  schema?: string;
  /** Whether the plan is carried out. Default `false`. */
  apply?: boolean;
}): Promise<MigrationPlan> {
  const { place, schema, apply } = readMigrateOptions(options);
  return runTask('migrate the tables', async () => {
    const database = await openDatabase(place);
    try {
      const plan = await readPlan(database, schema);
      if (apply) while (await waitForLocks(() => changeTables(database, schema)));
      return plan;
    } finally {
      await database.close();
    }
  });
}

async function readPlan(database: Database, schema: string): Promise<MigrationPlan> {
  const from = await readVersion(database, schema);
  if (from !== null && from > newestVersion) throw createMismatchError('newer');
  const steps = await planTables(database, schema, from);
  const start = from === null ? [`create schema if not exists ${quote(schema)}`] : [];
  const sql = steps.map((step) =>
    ['begin', `set local lock_timeout = ${lockMs}`, ...start, ...step, 'commit'].map((line) => `${line};`).join('\n'),
  );
  return { from, to: newestVersion, sql };
}

/** Tries again after a timeout of a lock. Between two tries, the statements that waited behind it can run. */
async function waitForLocks<T>(step: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await step();
    } catch (error) {
      const isLocked = error instanceof HostedStorageError && codeOf(error.cause) === '55P03';
      if (!isLocked) throw error;
      if (tries === maxTries) {
        const why = 'another transaction keeps a lock (55P03): end it, and migrate again, which goes on from here';
        throw new HostedStorageError('unreachable', why, { cause: error.cause });
      }
      await createPlatformClock().sleep(lockMs / 2);
    }
  }
}
