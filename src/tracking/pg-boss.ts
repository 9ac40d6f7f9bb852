/**
 * Starts pg-boss, and creates its tables and its queue.
 *
 * @module
 */

import { createPlatformClock } from '../runtime/clock.js';
import type { StoredContext } from './context.js';
import type { Database } from './database.js';
import { beforeHandlerMs } from './hand-over.js';
import type { Boss, BossDatabase } from './peers.js';
import { queue } from './rules.js';
import { isTableThere, lockMs, notMigrated, quote } from './schema.js';
import { longStatementMs, type Sql } from './sql.js';
import { codeOf, toStorageError } from './storage-error.js';
import { assertFits, bossVersionOf, createMisfitError, misfitOf } from './versions.js';

/**
 * How long, in seconds, pg-boss keeps a message: ten years. A message must never be removed before its delivery, but
 * pg-boss requires a limit.
 */
const foreverSeconds = 315_360_000;

/** SQLSTATEs that occur when two processes create the same object at the same time. */
const madeByAnother: ReadonlySet<string | null> = new Set([
  '23505',
  '42P06',
  '42P07',
  '42710',
  '42723',
  '40P01',
  'XX000',
]);

/** What does not happen if the work of pg-boss in the background fails. */
const bossEffect = 'pg-boss does not redeliver the messages of dead workers';

/** The parts of a context that pg-boss needs. */
interface BossContext extends Pick<StoredContext, 'database' | 'clock' | 'random'> {
  readonly settings: Pick<StoredContext['settings'], 'schema' | 'migrate'>;
  readonly storage: Pick<StoredContext['storage'], 'failed' | 'worked'>;
}

interface StartOptions {
  /** True in a process that delivers completions. There, pg-boss gives the messages of dead workers to other workers. */
  readonly supervises: boolean;
  /** Whether older tables are changed. */
  readonly upgrades?: boolean;
}

/**
 * Starts pg-boss. pg-boss takes no lock when it creates its schema. Therefore a process tries again if another process
 * creates the schema at the same time. While its tables do not fit, pg-boss runs no statement in the background, and
 * fetches no message.
 */
async function startBoss(context: BossContext, options: StartOptions, triesLeft = 5): Promise<Boss> {
  const { settings, database, storage, clock, random } = context;
  const { supervises, upgrades = false } = options;
  const version = await readBossVersion(database, settings.schema);
  const own = bossVersionOf(database.bossModule);
  if (version !== null && (version > own || (version < own && !upgrades))) {
    throw createMisfitError(version > own ? 'queue_newer' : 'queue_older');
  }
  let fromDriver: unknown;
  let misfit: unknown = null;
  /** The statements of pg-boss that have failed, and have not succeeded since. */
  const failing = new Set<string>();
  const db: BossDatabase = {
    async executeSql(text, values) {
      try {
        if (misfit !== null) throw misfit;
        const result = await database.boss.executeSql(withLockLimit(text), values, longStatementMs);
        if (failing.delete(text) && failing.size === 0) storage.worked(bossEffect);
        return result;
      } catch (error) {
        failing.add(text);
        fromDriver = error;
        throw error;
      }
    },
  };
  const boss = new database.bossModule.PgBoss({
    schema: `${settings.schema}_boss`,
    db,
    backend: database.backend,
    migrate: settings.migrate,
    createSchema: true,
    schedule: false,
    supervise: supervises,
    superviseIntervalSeconds: 5,
    monitorIntervalSeconds: 5,
    flowIntervalSeconds: 3_600,
    maintenanceIntervalSeconds: 60,
    // How often indexes of a new version are built in the background, if `migrate` is true.
    bamIntervalSeconds: 10,
    registerInstance: false,
    openTelemetry: { enabled: false },
  });
  // Without a listener, one failed statement would end the process. pg-boss tries the statement again.
  boss.on('error', (error) => storage.failed(bossEffect, error));
  try {
    await boss.start();
  } catch (error) {
    await boss.stop({ graceful: false, close: false }).catch(() => undefined);
    const code = codeOf(error);
    if (madeByAnother.has(code) && triesLeft > 0) {
      await clock.sleep(50 + random() * 200);
      return startBoss(context, options, triesLeft - 1);
    }
    // `toStorageError` describes the errors of the driver. Two other kinds of errors get the message below: 42501 (the
    // role may not create the tables), and errors of pg-boss itself (its tables are missing).
    if (error === fromDriver && code !== '42501') throw toStorageError(error);
    throw notMigrated(
      `the tables of pg-boss in schema "${settings.schema}_boss" are missing, or this role may not change them`,
    );
  }
  const fetch = boss.fetch.bind(boss);
  const check = `select ${misfitOf('f', settings.schema, own)} as misfit from ${quote(settings.schema)}.fleet f`;
  return Object.assign(boss, {
    async fetch(...given: Parameters<Boss['fetch']>) {
      const [row] = await database.run(check);
      try {
        assertFits(row);
        misfit = null;
      } catch (error) {
        misfit = error;
        throw error;
      }
      return fetch(...given);
    },
  });
}

/** Shortens the time for which the statements of pg-boss wait for locks when they change its tables. */
function withLockLimit(text: string): string {
  return text.replace(/SET LOCAL lock_timeout = \d+/g, `SET LOCAL lock_timeout = ${lockMs}`);
}

/** Reads the version of the tables of pg-boss. Null if they are missing. */
async function readBossVersion(sql: Sql, schema: string): Promise<number | null> {
  if (!(await isTableThere(sql, `${schema}_boss`, 'version'))) return null;
  const [row] = await sql.run(`select max(version) as version from ${schema}_boss.version`);
  return row?.version === null || row === undefined ? null : Number(row.version);
}

/** What a change of the tables of pg-boss would do. */
export interface BossPlan {
  readonly from: number | null;
  readonly to: number;
  readonly sql: readonly string[];
}

/** Plans the change of the tables of pg-boss to those of the installed version. */
export async function planBoss(database: Database, schema: string): Promise<BossPlan> {
  const { getConstructionPlans, getMigrationPlans } = database.bossModule;
  const name = `${schema}_boss`;
  const from = await readBossVersion(database, schema);
  const to = bossVersionOf(database.bossModule);
  const sql: string[] = [];
  if (from === null) sql.push(getConstructionPlans(name));
  else if (from < to) sql.push(getMigrationPlans(name, from));
  // Indexes of an earlier change that were not built yet. The SQL above builds its own.
  else if (from === to) sql.push(...(await readUnbuilt(database, schema)));
  if (!(await isQueueThere(database, schema))) {
    const options = JSON.stringify({ policy: 'standard', ...queueOptions(60_000) });
    sql.push(`select ${name}.create_queue('${queue}', '${options}'::jsonb)`);
  }
  return { from, to, sql: sql.map((text) => withLockLimit(text).trim()) };
}

async function readUnbuilt(sql: Sql, schema: string): Promise<readonly string[]> {
  const text = `select command from ${schema}_boss.bam where status <> 'completed' order by created_on`;
  return (await sql.run(text)).map(({ command }) => String(command));
}

/** Changes the tables of pg-boss to those of the installed version, and creates the queue. */
export async function changeBoss(database: Database, schema: string): Promise<void> {
  let failure: unknown = null;
  const note = (_: string, error: unknown) => {
    failure = error;
  };
  const storage = { failed: note, worked: () => {} };
  const clock = createPlatformClock();
  const settings = { schema, migrate: true };
  const context = { database, settings, storage, clock, random: Math.random };
  await runBoss(context, { supervises: false, upgrades: true }, async (boss) => {
    if ((await boss.getQueue(queue)) === null) await boss.createQueue(queue, queueOptions(60_000));
    // pg-boss builds new indexes in the background, without a lock.
    for (let tries = 0; (await readUnbuilt(database, schema)).length > 0; tries++) {
      if (failure !== null || tries === maxIndexTries) throw toStorageError(failure);
      await clock.sleep(indexMs);
    }
  });
}

/** How often, in ms, and how many times the process looks whether the indexes of pg-boss are built: for ten minutes. */
const indexMs = 200;
const maxIndexTries = 3_000;

/** Creates the missing tables and the queue of pg-boss, and then stops pg-boss. */
export async function installBoss(context: StoredContext): Promise<void> {
  if (await isQueueThere(context.database, context.settings.schema)) return;
  await runBoss(context, { supervises: false }, (boss) => prepareQueue(context, boss, false));
}

/** Starts pg-boss for some work, and then stops it. */
async function runBoss(context: BossContext, options: StartOptions, work: (boss: Boss) => Promise<void>) {
  const boss = await startBoss(context, options);
  try {
    await work(boss);
  } finally {
    await boss.stop({ graceful: false, close: false }).catch(() => undefined);
  }
}

/**
 * Checks whether the queue exists. The check does not start pg-boss, because starting pg-boss takes longer. It does not
 * compare the version of pg-boss's tables either, because a process that only tracks jobs does not need them.
 */
async function isQueueThere(sql: Sql, schema: string): Promise<boolean> {
  const name = `${schema}_boss`;
  if (!(await isTableThere(sql, name, 'queue'))) return false;
  return (await sql.run(`select name from ${name}.queue where name = $1`, [queue])).length > 0;
}

function queueOptions(handlerTimeoutMs: number) {
  // pg-boss counts how many times it delivers a message, and a delivery may end before its handler begins. So the
  // tracker counts the attempts, and pg-boss delivers without a limit, at once after the end of a lease.
  return {
    // The lease of a message. After it, another worker gets the message.
    expireInSeconds: Math.ceil((handlerTimeoutMs + beforeHandlerMs) / 1_000),
    retryLimit: 2 ** 31 - 1,
    retryDelay: 0,
    retryBackoff: false,
    retentionSeconds: foreverSeconds,
    deleteAfterSeconds: 3_600,
  };
}

async function prepareQueue({ settings }: StoredContext, boss: Boss, updates: boolean): Promise<void> {
  const { handlerTimeoutMs, migrate } = settings;
  const options = queueOptions(handlerTimeoutMs);
  const isThere = (await boss.getQueue(queue)) !== null;
  if (!isThere && !migrate) {
    throw notMigrated('the queue of pg-boss is missing');
  }
  if (!isThere) await boss.createQueue(queue, options);
  // All processes use the queue options of the process that called `onCompletion()` last.
  else if (updates) await boss.updateQueue(queue, options);
}

/** Starts pg-boss for handing over completions. `works` is true in a process that delivers completions. */
export async function openBoss(context: StoredContext, { works }: { readonly works: boolean }): Promise<Boss> {
  const boss = await startBoss(context, { supervises: works });
  try {
    if (works) await prepareQueue(context, boss, true);
    // Before its first insert into a queue, pg-boss reads the queue, and it does so outside of any transaction. PGlite
    // has only one connection, so this read would never end while a transaction is open. This empty insert makes
    // pg-boss read the queue now.
    await boss.insert(queue, [], {});
    // pg-boss does this in the background, but for the first time after five seconds.
    if (works) void context.storage.watch(bossEffect, () => boss.supervise(queue)).catch(() => undefined);
    return boss;
  } catch (error) {
    await boss.stop({ graceful: false, close: false }).catch(() => undefined);
    throw error;
  }
}
