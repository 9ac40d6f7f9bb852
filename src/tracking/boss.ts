/**
 * Starts pg-boss, and creates its tables and its queue.
 *
 * @module
 */

import type { StoredContext } from './context.js';
import { beforeHandlerMs } from './hand-over.js';
import type { Boss, BossDatabase } from './peers.js';
import { queue } from './rules.js';
import { isTableThere } from './schema.js';
import { longStatementMs } from './sql.js';
import { codeOf, HostedStorageError, toStorageError } from './storage-error.js';

/**
 * How long, in seconds, pg-boss keeps a message: ten years. A message must never be removed before its delivery, but
 * pg-boss requires a limit.
 */
const foreverSeconds = 315_360_000;

/** Calculates the lease of a message, in seconds. After the lease, another worker gets the message. */
function leaseSeconds(handlerTimeoutMs: number): number {
  return Math.ceil((handlerTimeoutMs + beforeHandlerMs) / 1_000);
}

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

/**
 * Starts pg-boss. `supervises` is true in a process that delivers completions. In such a process, pg-boss gives the
 * messages of dead workers to other workers. pg-boss takes no lock when it creates its schema. Therefore a process
 * tries again if another process creates the schema at the same time.
 */
async function startBoss(context: StoredContext, supervises: boolean, triesLeft = 5): Promise<Boss> {
  const { settings, database, storage, clock, random } = context;
  let fromDriver: unknown;
  /** The statements of pg-boss that have failed, and have not succeeded since. */
  const failing = new Set<string>();
  const db: BossDatabase = {
    async executeSql(text, values) {
      try {
        const result = await database.boss.executeSql(text, values, longStatementMs);
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
  });
  // Without a listener, one failed statement would end the process. pg-boss tries the statement again.
  boss.on('error', (error) => storage.failed(bossEffect, error));
  try {
    await boss.start();
    return boss;
  } catch (error) {
    await boss.stop({ graceful: false, close: false }).catch(() => undefined);
    const code = codeOf(error);
    if (madeByAnother.has(code) && triesLeft > 0) {
      await clock.sleep(50 + random() * 200);
      return startBoss(context, supervises, triesLeft - 1);
    }
    // `toStorageError` describes the errors of the driver. Two other kinds of errors get the message below: 42501 (the
    // role may not create the tables), and errors of pg-boss itself (its tables are missing or older).
    if (error === fromDriver && code !== '42501') throw toStorageError(error, 'create a tracker');
    const why = `the tables of pg-boss in schema "${settings.schema}_boss" are missing, or belong to an older version: set "migrate" to true and use a role that may create them, or run the SQL of docs/tracking.md`;
    throw new HostedStorageError('not_migrated', why, { task: 'create a tracker' });
  }
}

/** Creates the missing tables and the queue of pg-boss, and then stops pg-boss. */
export async function installBoss(context: StoredContext): Promise<void> {
  if (context.settings.migrate && (await isQueueThere(context))) return;
  const boss = await startBoss(context, false);
  try {
    await prepareQueue(context, boss, false);
  } catch (error) {
    throw toStorageError(error, 'create a tracker');
  } finally {
    await boss.stop({ graceful: false, close: false }).catch(() => undefined);
  }
}

/**
 * Checks whether the queue exists. The check does not start pg-boss, because starting pg-boss takes longer. Older
 * tables of pg-boss are updated later, when a process calls `onCompletion()`.
 */
async function isQueueThere({ settings, database }: StoredContext): Promise<boolean> {
  const schema = `${settings.schema}_boss`;
  if (!(await isTableThere(database, schema, 'queue'))) return false;
  return (await database.run(`select name from ${schema}.queue where name = $1`, [queue])).length > 0;
}

async function prepareQueue({ settings }: StoredContext, boss: Boss, updates: boolean): Promise<void> {
  const { handlerTimeoutMs, migrate } = settings;
  // pg-boss counts how many times it delivers a message, and a delivery may end before its handler begins. So the
  // tracker counts the attempts, and pg-boss delivers without a limit, at once after the end of a lease.
  const options = {
    expireInSeconds: leaseSeconds(handlerTimeoutMs),
    retryLimit: 2 ** 31 - 1,
    retryDelay: 0,
    retryBackoff: false,
    retentionSeconds: foreverSeconds,
    deleteAfterSeconds: 3_600,
  };
  const isThere = (await boss.getQueue(queue)) !== null;
  if (!isThere && !migrate) {
    const why = 'the queue of pg-boss is missing: set "migrate" to true, or create it as in docs/tracking.md';
    throw new HostedStorageError('not_migrated', why, { task: 'create a tracker' });
  }
  if (!isThere) await boss.createQueue(queue, options);
  // All processes use the queue options of the process that called `onCompletion()` last.
  else if (updates) await boss.updateQueue(queue, options);
}

/** Starts pg-boss for handing over completions. `works` is true in a process that delivers completions. */
export async function openBoss(context: StoredContext, { works }: { readonly works: boolean }): Promise<Boss> {
  const boss = await startBoss(context, works);
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
