/**
 * Runs SQL statements. Every error of the database becomes a `HostedStorageError`.
 *
 * @module
 */

import { HostedStorageError, toStorageError } from './storage-error.js';
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

/** Runs statements and transactions. */
export interface TransactionalSql extends Sql {
  /** Runs `work` in a transaction. If `work` rejects, the transaction is rolled back. */
  transaction<T>(work: (inside: Sql) => Promise<T>): Promise<T>;
}

/** The loops that work in this process. */
export interface Loops {
  /** Checks for polls and completions at once. */
  wake(): void;
  /** Says whether they have begun, and do not stop. */
  isWorking(): boolean;
  /** Says whether all of them wait for the clock. */
  isIdle(): boolean;
}

/** The place where a tracker stores its rows. */
export interface Storage extends Sql {
  /** Runs statements in a caller's transaction. */
  within(db: SqlRunner): Sql;
  /**
   * Wakes the loops when work may have become due. Null if other processes may write, so that only reading the rows
   * shows it.
   */
  readonly watch: ((loops: Loops) => void) | null;
  /** Closes the connections that the tracker opened. The next statement opens a new one. */
  rest(): Promise<void>;
  /** Closes the connections that the tracker opened. No connection of a caller's pool stays checked out. */
  close(): Promise<void>;
}

/** Begins the text of each statement, so that the statements of trackers can be distinguished from others. */
export const mark = '/* hosted-client */ ';

/** Runs statements with the caller's transaction, or with PGlite. */
export function createSql(runner: SqlRunner): Sql {
  return {
    async run(text, values = []) {
      try {
        return (await runner.query(mark + text, [...values])).rows as readonly Row[];
      } catch (error) {
        throw toStorageError(error);
      }
    },
  };
}

/** Rejects what runs after `close()`, because the pool of a caller would still run it. */
export function rejectAfterClose<T extends Storage>(database: T): T {
  let isClosed = false;
  return {
    ...database,
    async run(...given) {
      if (isClosed) throw new HostedStorageError('unreachable', 'the tracker was stopped', { retryable: false });
      return database.run(...given);
    },
    close() {
      isClosed = true;
      return database.close();
    },
  };
}
