/**
 * The connection to the database. It is a pool of the tracker, a pool of the caller, or PGlite.
 *
 * @module
 */

import type { Place } from '../options.js';
import { createSql, rejectAfterClose, type Storage, type TransactionalSql } from '../sql.js';
import { toStorageError } from '../storage-error.js';
import type { SqlPool } from '../types.js';
import { openLite } from './folder-files.js';
import { lockFolder } from './folder-lock.js';
import { loadLite, loadPg, type OwnPool } from './peers.js';
import { createPoolSql, ignoreBreakingAtOnce } from './pool-sql.js';

/** The database of a tracker. */
export interface Database extends Storage, TransactionalSql {
  readonly backend: 'postgres' | 'pglite';
}

/**
 * How long, in ms, opening a connection may take. With this limit, `createTracker` rejects within ten seconds if the
 * database cannot be reached.
 */
const connectMs = 5_000;

/** Other processes, or callers with their own transactions, may write. */
const shared = { within: createSql, watch: null };

/**
 * Opens the database.
 *
 * @throws {HostedStorageError} when a package is missing, or the folder is locked.
 */
export async function openDatabase(place: Place): Promise<Database> {
  return rejectAfterClose(await open(place));
}

async function open(place: Place): Promise<Database> {
  if ('pool' in place) return openPool(place.pool, () => async () => {});
  if ('folder' in place) return openFolder(place.folder);
  return openOwnPool(place.connectionString);
}

/** Opens a pool of `pg`, and another one if a statement needs a connection after `rest()`. */
async function openOwnPool(connectionString: string): Promise<Database> {
  const { Pool } = await loadPg();
  let pool: OwnPool | null = null;
  function use(): OwnPool {
    if (pool) return pool;
    pool = new Pool({
      connectionString,
      connectionTimeoutMillis: connectMs,
      // The application may have set other parsers for all connections of `pg`.
      types: { getTypeParser: () => String },
      keepAlive: true,
      // An idle connection does not keep the process running.
      allowExitOnIdle: true,
      application_name: 'hosted-client',
    });
    // The pool replaces an idle connection that breaks. Without a listener, the broken connection would end the process.
    pool.on('error', () => {});
    ignoreBreakingAtOnce(pool);
    return pool;
  }
  const own: SqlPool = { query: (...given) => use().query(...given), connect: () => use().connect() };
  return openPool(own, () => {
    const open = pool;
    pool = null;
    return async () => open?.end();
  });
}

/** `detach` makes later statements use another pool, and returns the function that closes the one that was used before. */
function openPool(pool: SqlPool, detach: () => () => Promise<void>): Database {
  const sql = createPoolSql(pool);
  return {
    ...sql,
    ...shared,
    backend: 'postgres',
    // Callers may go on meanwhile, and a pool that closes forgets those who wait for a connection.
    async rest() {
      const end = detach();
      await sql.finish();
      await end();
    },
    async close() {
      await sql.close();
      await detach()();
    },
  };
}

async function openFolder(folder: string): Promise<Database> {
  const module = await loadLite();
  const isInMemory = folder.startsWith('memory://');
  const { path, unlock } = isInMemory ? { path: folder, unlock: () => {} } : lockFolder(folder);
  try {
    const lite = await openLite(module, path);
    const { run } = createSql(lite);
    return {
      run,
      ...shared,
      backend: 'pglite',
      rest: async () => {},
      async transaction(work) {
        try {
          return await lite.transaction((inside) => work(createSql(inside)));
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
    throw toStorageError(error);
  }
}
