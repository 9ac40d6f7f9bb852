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

/** How long, in ms, a statement may take. */
export const statementMs = 10_000;
/** How long, in ms, a statement may take that reads or writes very many rows. */
export const longStatementMs = 30_000;

/** Runs statements. */
export interface Sql {
  /**
   * Runs a statement. With a pool, it may take `limitMs`, by default `statementMs`.
   *
   * @throws {HostedStorageError} for every error of the database or its driver, and if the statement takes too long.
   */
  run(text: string, values?: readonly unknown[], limitMs?: number): Promise<readonly Row[]>;
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

/** Runs statements with the caller's transaction, or with PGlite. */
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
