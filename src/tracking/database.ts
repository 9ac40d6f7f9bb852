/**
 * The connection to the database. It is a pool of the tracker, a pool of the caller, or PGlite.
 *
 * @module
 */

import { openLite } from './folder-files.js';
import { lockFolder } from './folder-lock.js';
import type { Place } from './options.js';
import { type BossDatabase, type BossModule, loadBoss, loadLite, loadPg, type OwnPool } from './peers.js';
import { createPoolSql, ignoreBreakingAtOnce } from './pool-sql.js';
import { createSql, rejectAfterClose, type Storage } from './sql.js';
import { toStorageError } from './storage-error.js';
import type { SqlPool } from './types.js';

/** The database of a tracker. */
export interface Database extends Storage {
  readonly bossModule: BossModule;
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
  const bossModule = await loadBoss();
  if ('pool' in place) return openPool(place.pool, bossModule, async () => {});
  if ('folder' in place) return openFolder(place.folder, bossModule);
  return openOwnPool(place.connectionString, bossModule);
}

/** Opens a pool of `pg`, and another one if a statement needs a connection after `rest()`. */
async function openOwnPool(connectionString: string, bossModule: BossModule): Promise<Database> {
  const { Pool } = await loadPg();
  let pool: OwnPool | null = null;
  function use(): OwnPool {
    if (pool) return pool;
    pool = new Pool({
      connectionString,
      connectionTimeoutMillis: connectMs,
      keepAlive: true,
      application_name: 'hosted-client',
    });
    // The pool replaces an idle connection that breaks. Without a listener, the broken connection would end the process.
    pool.on('error', () => {});
    ignoreBreakingAtOnce(pool);
    return pool;
  }
  const own: SqlPool = { query: (...given) => use().query(...given), connect: () => use().connect() };
  return openPool(own, bossModule, async () => {
    const open = pool;
    pool = null;
    await open?.end();
  });
}

function openPool(pool: SqlPool, bossModule: BossModule, end: () => Promise<void>): Database {
  const sql = createPoolSql(pool);
  return {
    ...sql,
    ...shared,
    bossModule,
    backend: 'postgres',
    async rest() {
      await sql.settle();
      await end();
    },
    async close() {
      await sql.close();
      await end();
    },
  };
}

async function openFolder(folder: string, bossModule: BossModule): Promise<Database> {
  const module = await loadLite();
  const isInMemory = folder.startsWith('memory://');
  const { path, unlock } = isInMemory ? { path: folder, unlock: () => {} } : lockFolder(folder);
  try {
    const lite = await openLite(module, path);
    const { run } = createSql(lite);
    return {
      run,
      ...shared,
      bossModule,
      boss: bossModule.fromPglite(lite),
      backend: 'pglite',
      rest: async () => {},
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
    throw toStorageError(error);
  }
}
