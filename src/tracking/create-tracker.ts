/**
 * Creates trackers: opens the database, and creates missing tables.
 *
 * @module
 */

import { optionsOf } from '../client.js';
import { createPlatformClock, withTimeout } from '../runtime/clock.js';
import { type Context, createContext, createLog } from './context.js';
import { opensForEver, readOptions, type StoredSettings, type TrackerOptions } from './options.js';
import { type Database, openDatabase } from './places/database.js';
import { openSchema } from './schema/schema.js';
import { createStatements } from './statements.js';
import { HostedStorageError, runTask } from './storage-error.js';
import type { Tracker } from './tracker.js';
import type { Json } from './types.js';
import { createWorkingTracker } from './working-tracker.js';

/**
 * Creates a tracker. The tracker follows jobs. When a tracked job ends, it hands over a completion to your handler, and
 * another one each time the verdict changes after that. A completion is handed over at least once, even if processes are
 * killed, and its key never changes. The jobs are stored in PostgreSQL or in a folder.
 *
 * @param options - The client, the place of the tables, and the settings for following jobs.
 * @returns The tracker. It begins to work when `onCompletion` is called.
 * @throws {HostedConfigError} when options are invalid. The error lists every problem.
 * @throws {HostedStorageError} when the database cannot be reached, the role may not create the tables, the folder is
 *   in use, damaged or open to other users of the machine, or a package is missing.
 *
 * @example With PostgreSQL
 * ```ts
 * const tracker = await createTracker<{ customer: number }>({ client, connectionString });
 * ```
 */
export async function createTracker<C extends Json = Json>(options: TrackerOptions): Promise<Tracker<C>> {
  const settings = readOptions(options);
  const log = createLog(settings.logger ?? optionsOf(settings.client).logger);
  if ('folder' in settings.place) log('info', 'PGlite opens the folder, which takes a few seconds');
  return runTask('create a tracker', async () => {
    const database = await openDatabase(settings.place);
    const statements = createStatements(settings);
    const clock = createPlatformClock();
    const prepared = () => prepare(database, settings, log);
    try {
      // PGlite runs in this process. It always responds in the end, even on a busy machine, so it needs no timeout. But a
      // caller's pool can wait for a connection for ever.
      const limits = { clock, ms: 9_000, timedOut };
      const partnerId = await (database.backend === 'pglite' ? prepared() : withTimeout(limits, prepared));
      return createWorkingTracker<C>(createContext({ settings, database, statements, log, clock }, partnerId));
    } catch (error) {
      const closing = database.close().catch(() => undefined);
      // PostgreSQL may not respond, so its connections are closed in the background. A folder is closed before the error
      // is thrown, so that the caller can open the folder again at once.
      if (database.backend === 'pglite') await closing;
      throw error;
    }
  });
}

const timedOut = () => new HostedStorageError('unreachable', 'the database did not respond within nine seconds');

/** Resolves with the partner id of the keys. */
async function prepare(database: Database, settings: StoredSettings, log: Context['log']): Promise<string> {
  const { rate, rateBefore, partnerId } = await openSchema(database, settings);
  if (rate !== rateBefore) {
    const change = `was ${rateBefore}, and is ${rate} from now on, for all processes`;
    log('warn', `"maxRequestsPerSecond" of the schema ${change}`);
  }
  if ('pool' in settings.place && opensForEver(settings.place.pool)) {
    log('warn', 'the pool has no "connectionTimeoutMillis": a connection that it opens may stay in the pool for ever');
  }
  return partnerId;
}
