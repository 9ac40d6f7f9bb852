/**
 * Runs statements and transactions with a pool of `pg`.
 *
 * @module
 */

import { hasMethods } from '../runtime/untrusted-objects.js';
import { createPause } from './pause.js';
import { createSql, type Transaction, type TransactionalSql, toBossDatabase } from './sql.js';
import { codeOf, HostedStorageError, toStorageError } from './storage-error.js';
import type { SqlPool } from './types.js';

/**
 * SQLSTATEs of transactions that failed because of another transaction. Such a transaction can succeed when it is tried
 * again.
 */
const conflicts: ReadonlySet<string | null> = new Set(['40001', '40P01']);
const maxTries = 20;

/**
 * Runs `work` again if it failed because of another transaction. One cause is a deadlock. Another cause is a row that
 * another transaction has changed. The second cause occurs only if the default isolation level of the database or role
 * is repeatable read or serializable.
 */
async function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      const code = codeOf(error instanceof HostedStorageError ? error.cause : error);
      if (!conflicts.has(code) || tries === maxTries) throw error;
      await createPause().sleep(Math.random() * 5 * tries);
    }
  }
}

/** Runs statements and transactions with a pool. */
export function createPoolSql(pool: SqlPool): TransactionalSql {
  const { run } = createSql(pool);
  const boss = toBossDatabase(pool);
  return {
    run: (text, values) => retryConflicts(() => run(text, values)),
    transaction: (work) => retryConflicts(() => runTransaction(pool, work)),
    boss: { executeSql: (text, values) => retryConflicts(() => boss.executeSql(text, values)) },
  };
}

async function runTransaction<T>(pool: SqlPool, work: (inside: Transaction) => Promise<T>): Promise<T> {
  const connection = await pool.connect().catch((error: unknown) => {
    throw toStorageError(error);
  });
  const sql = createSql(connection);
  // A connection that was taken out of its pool has no listener. Without a listener, a broken connection would end the
  // process.
  const removeListener = ignoreBreaking(connection);
  let isBroken = true;
  try {
    await sql.run('begin isolation level read committed');
    const result = await work({ ...sql, boss: toBossDatabase(connection) });
    await sql.run('commit');
    isBroken = false;
    return result;
  } catch (error) {
    await sql.run('rollback').then(
      () => {
        isBroken = false;
      },
      () => {},
    );
    // If a statement of pg-boss fails, `error` is the driver's own error.
    throw toStorageError(error);
  } finally {
    removeListener();
    connection.release(isBroken);
  }
}

interface Emitter {
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
}

function ignoreBreaking(connection: object): () => void {
  if (!hasMethods(connection, 'on', 'removeListener')) return () => {};
  const emitter = connection as Emitter;
  const ignore = () => {};
  emitter.on('error', ignore);
  return () => void emitter.removeListener('error', ignore);
}
