/**
 * Runs SQL statements. Every error of the database becomes a `HostedStorageError`.
 *
 * @module
 */

import type { BossDatabase } from './peers.js';
import { toStorageError } from './storage-error.js';
import type { SqlRunner } from './types.js';

/** A row. Each property is a column. */
export type Row = Readonly<Record<string, unknown>>;

/** Runs statements. */
export interface Sql {
  /** @throws {HostedStorageError} for every error of the database or its driver. */
  run(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
}

/** Runs statements inside a transaction. pg-boss can take part in the transaction. */
export interface Transaction extends Sql {
  readonly boss: BossDatabase;
}

/** Runs statements and transactions. pg-boss can use the same database. */
export interface TransactionalSql extends Sql {
  /** Runs `work` in a transaction. If `work` rejects, the transaction is rolled back. */
  transaction<T>(work: (inside: Transaction) => Promise<T>): Promise<T>;
  readonly boss: BossDatabase;
}

/** Runs statements with a `pg` client, pool or transaction, or with PGlite. */
export function createSql(runner: SqlRunner): Sql {
  return {
    async run(text, values = []) {
      try {
        return (await runner.query(text, [...values])).rows as readonly Row[];
      } catch (error) {
        throw toStorageError(error);
      }
    },
  };
}

/** Runs the statements of pg-boss with a `pg` client or pool. Their errors stay the errors of the driver. */
export function toBossDatabase(runner: SqlRunner): BossDatabase {
  // A text without values may contain several statements. The driver runs several statements only if `values` is not
  // passed.
  return { executeSql: (text, values) => (values?.length ? runner.query(text, values) : runner.query(text)) };
}
