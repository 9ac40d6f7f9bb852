/**
 * The connection to the database. It is a pool of the tracker, a pool of the caller, or PGlite.
 *
 * @module
 */

import { hasMethods } from '../runtime/untrusted-objects.js';
import { lockFolder } from './folder-lock.js';
import type { Place } from './options.js';
import { createPause } from './pause.js';
import { type BossDatabase, type BossModule, loadBoss, loadLite, loadPg, type OwnPool } from './peers.js';
import { codeOf, HostedStorageError, toStorageError } from './storage-error.js';
import type { SqlPool, SqlRunner } from './types.js';

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

/** The database of a tracker. */
export interface Database extends Sql {
  /** Runs `work` in a transaction. If `work` rejects, the transaction is rolled back. */
  transaction<T>(work: (inside: Transaction) => Promise<T>): Promise<T>;
  readonly bossModule: BossModule;
  readonly boss: BossDatabase;
  readonly backend: 'postgres' | 'pglite';
  /** Closes the connections that the tracker opened. */
  close(): Promise<void>;
}

/**
 * How long, in ms, opening a connection may take. With this limit, `createTracker` rejects within ten seconds if the
 * database cannot be reached.
 */
const connectMs = 5_000;
/** How long, in ms, a statement may take. */
const statementMs = 30_000;

/**
 * Opens the database.
 *
 * @throws {HostedStorageError} when a package is missing, or the folder is locked.
 */
export async function openDatabase(place: Place): Promise<Database> {
  const bossModule = await loadBoss();
  if ('pool' in place) return createPoolDatabase(place.pool, bossModule, async () => {});
  if ('folder' in place) return openFolder(place.folder, bossModule);
  const { Pool } = await loadPg();
  const pool: OwnPool = new Pool({
    connectionString: place.connectionString,
    connectionTimeoutMillis: connectMs,
    // The machine of the database can fail without closing its connections. A statement would then wait for ever.
    query_timeout: statementMs,
    keepAlive: true,
    application_name: 'hosted-client',
  });
  // The pool replaces an idle connection that breaks. Without a listener, the broken connection would end the process.
  pool.on('error', () => {});
  return createPoolDatabase(pool, bossModule, () => pool.end());
}

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

function toBossDatabase(runner: SqlRunner): BossDatabase {
  // A text without values may contain several statements. The driver runs several statements only if `values` is not
  // passed.
  return { executeSql: (text, values) => (values?.length ? runner.query(text, values) : runner.query(text)) };
}

function createPoolDatabase(pool: SqlPool, bossModule: BossModule, close: () => Promise<void>): Database {
  const { run } = createSql(pool);
  const boss = toBossDatabase(pool);
  return {
    run: (text, values) => retryConflicts(() => run(text, values)),
    transaction: (work) => retryConflicts(() => runTransaction(pool, work)),
    bossModule,
    boss: { executeSql: (text, values) => retryConflicts(() => boss.executeSql(text, values)) },
    backend: 'postgres',
    close,
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

async function openFolder(folder: string, bossModule: BossModule): Promise<Database> {
  const { PGlite } = await loadLite();
  const unlock = folder.startsWith('memory://') ? () => {} : lockFolder(folder);
  try {
    const lite = new PGlite(folder);
    await lite.waitReady;
    const { run } = createSql(lite);
    return {
      run,
      bossModule,
      boss: bossModule.fromPglite(lite),
      backend: 'pglite',
      async transaction(work) {
        try {
          return await lite.transaction((inside) => {
            const boss: BossDatabase = {
              executeSql: (text, values) => inside.query(text, values?.length ? values : undefined),
            };
            return work({ ...createSql(inside), boss });
          });
        } catch (error) {
          throw toStorageError(error);
        }
      },
      async close() {
        try {
          await lite.close();
        } finally {
          unlock();
        }
      },
    };
  } catch (error) {
    unlock();
    throw toStorageError(error, 'create a tracker');
  }
}
