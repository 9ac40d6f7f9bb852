/**
 * The options of a tracker: as the caller gives them, and after the check.
 *
 * @module
 */

import * as z from 'zod/mini';
import type { HostedClient } from '../client.js';
import { HostedConfigError } from '../errors/client-errors.js';
import type { Issue } from '../errors/hosted-error.js';
import type { Logger } from '../events.js';
import { environments } from '../options.js';
import type { Clock } from '../runtime/clock.js';
import { hasMethods, readProperty } from '../runtime/untrusted-objects.js';
import { check, copyOf, inputObject } from '../validation/check.js';
import { choice, duration, flag, functionOf, integer, loggerObject, stringOf } from '../validation/input.js';
import type { SqlPool, TrackerEvent } from './types.js';

/** Options of {@link createTracker}. Exactly one of `connectionString`, `pool` and `folder` is required. */
export interface TrackerOptions {
  /**
   * The client that fetches statuses and links, and that verifies callbacks. Its environment is part of every
   * completion's key.
   */
  client: HostedClient;
  /**
   * The connection string of a PostgreSQL database (13 or later). The database role does not have to be a superuser.
   * Any number of processes on any number of machines can use the database.
   */
  connectionString?: string;
  /**
   * Your own pool of at least two connections. Give a `pg` pool a `connectionTimeoutMillis`, because only the pool itself
   * can give up a connection that it opens while the network is silent. `stop()` does not close the pool.
   */
  pool?: SqlPool;
  /**
   * A folder for the files of PGlite. A process locks the folder, so only one process at a time can use it. Other users
   * of the machine must not be able to use it: a new or empty folder gets the mode 700. Use `'memory://'` for tests.
   */
  folder?: string;
  /**
   * The schema of the tables. Default `'hosted_tracking'`.
   */
  schema?: string;
  /**
   * Whether the tracker may create and change tables. With `false`, missing or outdated tables cause a
   * `HostedStorageError`. Default `true`.
   */
  migrate?: boolean;
  /**
   * The limit of requests per second, for all processes on this schema together. The limit includes the requests that
   * fetch a status for a delivery. The tracker that was created last with this option sets the value for all processes.
   * A tracker that does not set this option keeps the stored value. Default 10.
   */
  maxRequestsPerSecond?: number;
  /** How many requests this process may send at the same time. Default 10. */
  concurrency?: number;
  /** The wait between the first two polls of a job, in milliseconds. Default 5,000. */
  minDelayMs?: number;
  /** The longest wait between two polls of a job, in milliseconds. Default 900,000. */
  maxDelayMs?: number;
  /** Each wait is the previous wait multiplied by this factor. Default 1.5. */
  backoffFactor?: number;
  /** How long a job is followed before it expires, in milliseconds. Default 7 days. */
  deadlineMs?: number;
  /**
   * What happens when a callback mentions a job that is not tracked and that does not belong to a tracked link. With
   * `'keep'`, the job is stored for a later `track()`. With `'track'`, the job is followed at once, without a context.
   * Default `'keep'`.
   */
  unknownJobs?: 'keep' | 'track';
  /**
   * How long a handler may take, in milliseconds. After this time, the completion's `signal` aborts, and the completion
   * is handed over again. Default 60,000.
   */
  handlerTimeoutMs?: number;
  /** How many completions this process may hand over at the same time. Default 10. */
  handlerConcurrency?: number;
  /**
   * The handler is called at most this many times for a completion. If it fails every time, or its process dies, the
   * completion becomes a dead letter. Default 20.
   */
  maxAttempts?: number;
  /**
   * The shortest wait between the first and the second delivery of a completion, in milliseconds. The wait is random: at
   * most twice as long as this value. Both limits double after each delivery, up to `maxRetryMs`. Default 1,000.
   */
  minRetryMs?: number;
  /** The longest wait before a completion is handed over again, in milliseconds. Default 900,000. */
  maxRetryMs?: number;
  /**
   * How long the tracker keeps jobs and links that have ended, in milliseconds. During this time, it recognises
   * repeated callbacks about these jobs. Default 30 days.
   */
  retentionMs?: number;
  /** Receives log lines. They contain no ids of people, jobs or links. Default: the client's logger. */
  logger?: Logger;
  /**
   * Receives the events of the tracker, for metrics. If it throws an error, the error is ignored.
   *
   * @param event - The event.
   */
  onEvent?: (event: TrackerEvent) => void;
}

/** Options of {@link createTestTracker}. */
export interface TestTrackerOptions
  extends Omit<TrackerOptions, 'connectionString' | 'pool' | 'folder' | 'schema' | 'migrate'> {
  /** The clock that `createTestClock()` has created. The client and the mock service must have the same clock. */
  clock: Clock & {
    /**
     * Moves time on.
     *
     * @param ms - How far time moves on, in milliseconds.
     */
    advance(ms: number): Promise<void>;
  };
}

/** The database or the folder that contains the tables. */
export type Place = { readonly connectionString: string } | { readonly pool: SqlPool } | { readonly folder: string };

type Unset = 'maxRequestsPerSecond' | 'logger' | 'onEvent';

/**
 * The options after the check, with their defaults. Without `maxRequestsPerSecond`, the stored rate applies, or 10 if no
 * rate is stored. The type is not read from the schemas: it would lead the declarations, and so users, to zod.
 */
export type TrackerSettings = Readonly<Required<Omit<TestTrackerOptions, 'clock' | Unset>>> & {
  readonly [Name in Unset]?: TestTrackerOptions[Name] | undefined;
};

/** The options after the check, with the place of the tables. */
export interface StoredSettings extends TrackerSettings {
  readonly place: Place;
  readonly schema: string;
  readonly migrate: boolean;
}

const dayMs = 86_400_000;
/**
 * The longest `deadlineMs` and `retentionMs`: ten years. No timer can run this long. But no timer is needed, because
 * the database stores these times as dates.
 */
const maxAgeMs = 3_650 * dayMs;

const age = integer(1, maxAgeMs);

/** The name of a schema. PostgreSQL cuts names after 63 characters. */
const schemaName = stringOf(
  /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/,
  'must be 1 to 40 lower-case letters, digits or "_", and must not begin with a digit or "pg_"',
);

// If a folder could also be given as a URL, the same folder could have two locks.
const folder = stringOf(/^(?=\s*\S)(?:memory:\/\/|(?![a-z-]+:\/\/))/, 'must be a path, or begin with "memory://"');

/** `pg` reads URLs, and the folder of a socket. It takes other forms for the name of a database. */
const connection = stringOf(
  /^(?:postgres(?:ql)?:\/\/|socket:|\/)/,
  'must be a URL, such as "postgresql://USER:PASSWORD@HOST:PORT/DATABASE", or the path of a socket',
);

const factor = z.custom<number>((value) => typeof value === 'number' && value >= 1 && value <= 10, {
  error: 'must be a number from 1 to 10',
});

/** A pool of `pg`, or an object with the same methods. */
const sqlPool = z.custom<SqlPool>((value) => hasMethods(value, 'query', 'connect'), 'must have query() and connect()');

/** Where the tables stand, and whether they may be created. */
const tables = { schema: z._default(schemaName, 'hosted_tracking'), migrate: z._default(flag, true) };

const placeShape = {
  connectionString: z.optional(connection),
  pool: z.optional(
    sqlPool.check(z.refine(hasTwoConnections, 'must have at least two connections: set its "max" to 2 or more')),
  ),
  folder: z.optional(folder),
  ...tables,
};

const settingShape = {
  client: z.custom<HostedClient>(isClient, 'must be a HostedClient'),
  maxRequestsPerSecond: z.optional(integer(1, 100_000)),
  concurrency: z._default(integer(1, 10_000), 10),
  minDelayMs: z._default(duration, 5_000),
  maxDelayMs: z.optional(duration),
  backoffFactor: z._default(factor, 1.5),
  deadlineMs: z._default(age, 7 * dayMs),
  unknownJobs: z._default(choice(['keep', 'track'], 'must be "keep" or "track"'), 'keep'),
  handlerTimeoutMs: z._default(integer(1, dayMs / 2), 60_000),
  handlerConcurrency: z._default(integer(1, 10_000), 10),
  maxAttempts: z._default(integer(1, 10_000), 20),
  minRetryMs: z._default(integer(1, dayMs), 1_000),
  maxRetryMs: z.optional(integer(1, 30 * dayMs)),
  retentionMs: z._default(age, 30 * dayMs),
  logger: z.optional(loggerObject),
  onEvent: z.optional(functionOf<(event: TrackerEvent) => void>()),
};

const trackerShape = { ...settingShape, ...placeShape };
const testShape = {
  ...settingShape,
  clock: z.custom<TestTrackerOptions['clock']>(
    (value) => hasMethods(value, 'now', 'sleep', 'advance'),
    'must be a clock that createTestClock() has created',
  ),
};
const places = ['connectionString', 'pool', 'folder'] as const;
type Given = { readonly [Name in (typeof places)[number]]?: TrackerOptions[Name] | undefined };

/**
 * Checks the options of a tracker.
 *
 * @throws {HostedConfigError} when options are invalid. The error lists every problem, and contains no part of a
 *   connection string.
 */
export function readOptions(options: unknown): StoredSettings {
  const given = readGiven(trackerShape, options, findPlaceConflicts);
  const { connectionString, pool, folder, schema, migrate, ...settings } = given;
  return Object.freeze({ ...fillWaits(settings), place: placeOf({ connectionString, pool, folder }), schema, migrate });
}

/**
 * Checks the options of a tracker for tests.
 *
 * @throws {HostedConfigError} when options are invalid. The error lists every problem.
 */
export function readTestOptions(options: unknown) {
  const { clock, ...settings } = readGiven(testShape, options);
  return { settings: Object.freeze(fillWaits(settings)), clock };
}

function readGiven<Shape extends z.core.$ZodShape>(
  shape: Shape,
  options: unknown,
  findConflicts: typeof findPlaceConflicts = () => [],
) {
  const copied = check(copyOf(Object.keys(shape)), options);
  const checked = check(inputObject(shape), copied.data);
  const together = [...findConflicts(Object(copied.data)), ...findWaitConflicts(Object(copied.data))];
  const issues = copied.issues.length > 0 ? copied.issues : [...checked.issues, ...together];
  if (!checked.data || issues.length > 0) throw new HostedConfigError(issues, { task: 'create a tracker' });
  return checked.data;
}

type LongestWaits = 'maxDelayMs' | 'maxRetryMs';

/** By default, the longest waits are 15 minutes, or the shortest ones if these are longer. */
function fillWaits(
  given: Omit<TrackerSettings, LongestWaits> & { readonly [Name in LongestWaits]?: number | undefined },
): TrackerSettings {
  const { minDelayMs, minRetryMs } = given;
  const { maxDelayMs = Math.max(900_000, minDelayMs), maxRetryMs = Math.max(900_000, minRetryMs) } = given;
  return { ...given, maxDelayMs, maxRetryMs };
}

const guardOptions = inputObject({
  pool: sqlPool,
  ...tables,
  leaseMs: z.optional(z.never('is an option of callbacks.handler: give it there')),
  retentionMs: z.optional(z.never('is not an option: a job is remembered for as long as the handler asks for')),
});

/** Checks the options of a replay guard. */
export function readGuardOptions(options: unknown) {
  const { data, issues } = check(guardOptions, options);
  if (!data) throw new HostedConfigError(issues, { task: 'create a replay guard' });
  return data;
}

const migrateOptions = inputObject({
  connectionString: z.optional(connection),
  pool: z.optional(sqlPool),
  schema: tables.schema,
  apply: z._default(flag, false),
});

/** Checks the options of a migration. */
export function readMigrateOptions(options: unknown) {
  const { data, issues } = check(migrateOptions, options);
  const message = 'must be given, or "pool", and not both';
  const hasPlace = data === undefined || (data.connectionString === undefined) !== (data.pool === undefined);
  const all = hasPlace ? issues : [{ path: 'connectionString', message }];
  if (!data || all.length > 0) throw new HostedConfigError(all, { task: 'migrate the tables' });
  const { schema, apply, ...place } = data;
  return { place: placeOf(place), schema, apply };
}

function placeOf({ connectionString, pool, folder }: Given): Place {
  if (connectionString !== undefined) return { connectionString };
  return pool === undefined ? { folder: folder ?? '' } : { pool };
}

/** Finds conflicts between options. The options are not checked yet, so each one may have the wrong type. */
function findPlaceConflicts(given: Readonly<Record<string, unknown>>): readonly Issue[] {
  const named = places.filter((name) => given[name] !== undefined);
  const message = 'must be given alone: only one of "connectionString", "pool" and "folder" is allowed';
  if (named.length > 0) return named.length === 1 ? [] : named.map((path) => ({ path, message }));
  return [{ path: 'connectionString', message: 'must be given if neither "pool" nor "folder" is given' }];
}

function findWaitConflicts(given: Readonly<Record<string, unknown>>): readonly Issue[] {
  const pairs = { minDelayMs: 'maxDelayMs', minRetryMs: 'maxRetryMs' };
  return Object.entries(pairs).flatMap(([path, most]) =>
    Number(given[path]) > Number(given[most]) ? [{ path, message: `must not be above "${most}"` }] : [],
  );
}

function isClient(value: unknown): boolean {
  return (
    hasMethods(readPart(value, 'jobs'), 'status') &&
    hasMethods(readPart(value, 'links'), 'get') &&
    hasMethods(readPart(value, 'callbacks'), 'receive', 'handler') &&
    (environments as readonly unknown[]).includes(readPart(value, 'environment'))
  );
}

/**
 * Checks the size of a pool. With a single connection, one statement that hangs would stop all work. Other pools than
 * those of `pg` may not say their size.
 */
function hasTwoConnections(pool: unknown): boolean {
  const max = maxOf(pool);
  return max === null || max >= 2;
}

/**
 * Whether a pool waits for ever for a connection that is being opened. Only the pool itself can give up such a
 * connection.
 */
export function opensForEver(pool: unknown): boolean {
  return maxOf(pool) !== null && !readPart(readPart(pool, 'options'), 'connectionTimeoutMillis');
}

function maxOf(pool: unknown): number | null {
  const max = readPart(readPart(pool, 'options'), 'max');
  return typeof max === 'number' || typeof max === 'string' ? Number(max) : null;
}

function readPart(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? readProperty(value, name) : undefined;
}
