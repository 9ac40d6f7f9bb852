/**
 * Creates trackers: opens the database, and makes what is missing in it.
 *
 * @module
 */

import { loggerOf } from '../client.js';
import { HostedConfigError } from '../errors/errors.js';
import { type Context, createContext } from './context.js';
import { openDatabase } from './database.js';
import { installBoss } from './hand-over.js';
import { readOptions, type TrackerOptions } from './options.js';
import { openSchema } from './schema.js';
import { createStatements } from './statements.js';
import { HostedStorageError, toStorageError } from './storage-error.js';
import type { Tracker } from './tracker.js';
import type { Json } from './types.js';
import { createWorkingTracker } from './working-tracker.js';

/**
 * Creates a tracker: every job that is tracked ends in one completion, which is handed over at least once, under a key
 * that never changes, whatever is killed in between. Jobs are kept in PostgreSQL, or in a folder; pg-boss hands over.
 *
 * @param options - The client, where the tables stand, and how jobs are followed.
 * @returns The tracker. It begins to work with `onCompletion`.
 * @throws {HostedConfigError} when options are invalid, with every problem.
 * @throws {HostedStorageError} when the database cannot be reached, its tables may not be made, the folder is in use, or
 *   a package is missing.
 *
 * @example On a PostgreSQL
 * ```ts
 * const tracker = await createTracker<{ customer: number }>({ client, connectionString });
 * ```
 */
export async function createTracker<C extends Json = Json>(options: TrackerOptions): Promise<Tracker<C>> {
  const settings = readOptions(options);
  const logger = settings.logger ?? loggerOf(settings.client);
  const database = await openDatabase(settings.place);
  const context = createContext({ settings, database, statements: createStatements(settings) }, logger);
  try {
    // PGlite runs in this process: it responds, however busy the machine is.
    await (database.backend === 'pglite' ? prepare(context) : withinTenSeconds(prepare(context)));
  } catch (error) {
    const closing = database.close().catch(() => undefined);
    // A database that does not answer is not waited for; a folder may be opened again at once.
    if (database.backend === 'pglite') await closing;
    throw error;
  }
  return createWorkingTracker<C>(context);
}

async function prepare(context: Context): Promise<void> {
  const { settings, database, log } = context;
  const fleet = await openSchema(database, settings);
  if (fleet.rateBefore !== null) {
    log(
      'warn',
      `"maxRequestsPerSecond" of the schema was ${fleet.rateBefore}, and is ${fleet.rate} from now on, for all processes`,
    );
  }
  await installBoss(context);
}

/** Rejects after nine seconds: a caller's pool may wait for ever. */
async function withinTenSeconds<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const why = 'the database did not answer within nine seconds';
      reject(new HostedStorageError('unreachable', why, { task: 'create a tracker' }));
    }, 9_000);
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    if (error instanceof HostedConfigError) throw error;
    throw toStorageError(error, 'create a tracker');
  } finally {
    clearTimeout(timer);
  }
}
