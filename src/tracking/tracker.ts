/**
 * The tracker: the public face of tracking.
 *
 * @module
 */

import type { CallbackEvent } from '../callbacks/types.js';
import { loggerOf } from '../client.js';
import { HostedConfigError, type HostedErrorCode } from '../errors/errors.js';
import type { JobRef } from '../jobs/types.js';
import { lazy } from '../runtime/lazy.js';
import { createCallbackDoor } from './callbacks.js';
import { type Context, contextOf, createContext, dateOf, numberOf, textOf } from './context.js';
import { createDeliveries, type Deliveries } from './deliver.js';
import { createFollower, type Follower } from './follow.js';
import { type HandOver, installBoss, openHandOver, queues } from './hand-over.js';
import { createHealth } from './health.js';
import { createHousekeeping } from './housekeeping.js';
import {
  type CheckedJob,
  readJobRef,
  readKeys,
  readLetterOptions,
  readLink,
  readReceiveOptions,
  readStopOptions,
  readTrack,
} from './input.js';
import { createKey } from './keys.js';
import { readOptions, type TrackerOptions } from './options.js';
import { kinds, openSchema, states } from './schema.js';
import { createStatements } from './statements.js';
import { HostedStorageError, toStorageError } from './storage-error.js';
import { createSql, openStore, type Row, type Sql } from './store.js';
import type { Completion, DeadLetter, JobToTrack, Json, SqlRunner, TrackedJob, TrackerStats } from './types.js';

/** Follows jobs until each has ended, and hands every end over at least once. */
export interface Tracker<C extends Json = Json> {
  /**
   * Tracks one job or many, in one statement. A job that is already known stays as it is.
   *
   * @param jobs - The jobs, each with a context of your own.
   * @param options - Whether it is part of a transaction of yours.
   * @returns The keys of their completions, in their order.
   * @throws {HostedValidationError} when a job is invalid, with every problem; nothing is then stored.
   * @throws {HostedStorageError} when the database cannot be used.
   *
   * @example Together with a row of your own
   * ```ts
   * await tracker.track({ userId, jobId, context: { customer: 17 } }, { db: transaction });
   * ```
   */
  track(
    jobs: JobToTrack<C> | readonly JobToTrack<C>[],
    options?: {
      /** Your transaction: the statement runs in it. Default: a connection of the tracker's. */
      db?: SqlRunner;
    },
  ): Promise<readonly string[]>;
  /**
   * Tracks the jobs of a link: those that callbacks tell of get its context, and the link's own counters tell of
   * jobs that no callback told of. A link that is already tracked stays as it is.
   *
   * @param refId - The reference id of the link.
   * @param options - The context of its jobs, until when it is looked at, and a transaction of yours.
   * @throws {HostedValidationError} when something is invalid, with every problem; nothing is then stored.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  trackLink(
    refId: string,
    options?: {
      /** What its jobs are handed over with. JSON of at most 16 KiB. Default: null. */
      context?: C;
      /** Until when the link is looked at. Default: `deadlineMs` from now. */
      deadline?: Date;
      /** Your transaction: the statement runs in it. Default: a connection of the tracker's. */
      db?: SqlRunner;
    },
  ): Promise<void>;
  /**
   * Forgets a job: no completion of it is handed over any more, unless its handler already runs.
   *
   * @param job - Both ids.
   * @returns Whether there was one whose completion was not handled yet.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  untrack(job: JobRef): Promise<boolean>;
  /**
   * Tells where a job stands; nothing is asked of the service.
   *
   * @param job - Both ids.
   * @returns The job; null where nothing is known of it.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  get(job: JobRef): Promise<TrackedJob<C> | null>;
  /**
   * Verifies a callback and brings its job's next look forward: one write, no request. One that is up to two days
   * late counts too. `repeat` says whether its job had ended before.
   *
   * @param body - The raw body of the request.
   * @param options - How large it may be.
   * @returns What the callback says. Its body is not signed: a hint.
   * @throws {HostedError} when `callbacks.receive` would, for the same reasons, but never on a repeat.
   * @throws {HostedStorageError} when it could not be stored: respond with 503, so that it is redelivered.
   *
   * @see §6 of docs/protocol.md
   */
  receive(
    body: string | Uint8Array,
    options?: {
      /** The largest accepted body, in bytes. Default 8 MiB. */
      maxBytes?: number;
    },
  ): Promise<CallbackEvent>;
  /**
   * Creates the same as a web-standard handler: 200 once it is stored; 400, 401, 405, 408, 413 as
   * `callbacks.handler`; 503 with `Retry-After` when it could not be stored.
   *
   * @param options - How large a callback may be.
   * @returns A function from request to response. It never rejects.
   *
   * @see §6 of docs/protocol.md
   */
  handler(options?: {
    /** The largest accepted body, in bytes. Default 8 MiB. */
    maxBytes?: number;
  }): (request: Request) => Promise<Response>;
  /**
   * Begins to work in this process: looks at due jobs, and hands completions over. Once; a process that never calls
   * it tracks and receives.
   *
   * @param handler - Handles a completion. When it rejects or takes too long, the completion is handed over again,
   *   under the same key, perhaps by another process.
   * @throws {HostedConfigError} when it is called twice, or without a function.
   * @throws {HostedStorageError} when the database cannot be used.
   *
   * @example Act on what is handed over
   * ```ts
   * await tracker.onCompletion(async (completion) => {
   *   if (completion.outcome === 'completed') console.log(completion.key, completion.status.state);
   * });
   * ```
   */
  onCompletion(handler: (completion: Completion<C>) => void | Promise<void>): Promise<void>;
  /**
   * Lists completions that were handed over `maxAttempts` times in vain, oldest first.
   *
   * @param options - How many, and after which.
   * @returns The dead letters.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  deadLetters(options?: {
    /** How many at most. Default 100. */
    limit?: number;
    /** The last key seen: those after it are listed. Default: from the oldest. */
    after?: string;
  }): Promise<readonly DeadLetter<C>[]>;
  /**
   * Hands dead letters over again, each under its old key, with all attempts before it.
   *
   * @param keys - Which, or `'all'`.
   * @returns How many.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  retry(keys: readonly string[] | 'all'): Promise<number>;
  /**
   * Counts, over all processes. It reads the whole table.
   *
   * @returns The counts.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  stats(): Promise<TrackerStats>;
  /**
   * Takes no more, lets what is under way end, and closes what it opened.
   *
   * @param options - How long it waits.
   */
  stop(options?: {
    /** Milliseconds until the signals of requests and handlers abort. Default 30,000. */
    timeoutMs?: number;
  }): Promise<void>;
}

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
  const store = await openStore(settings.place);
  const context = createContext({ settings, store, statements: createStatements(settings) }, logger);
  try {
    // PGlite is this process: it answers, however busy the machine is.
    await (store.backend === 'pglite' ? prepare(context) : withinTenSeconds(prepare(context)));
  } catch (error) {
    const closing = store.close().catch(() => undefined);
    // A database that does not answer is not waited for; a folder may be opened again at once.
    if (store.backend === 'pglite') await closing;
    throw error;
  }
  return createWorkingTracker<C>(context);
}

async function prepare(context: Context): Promise<void> {
  const { settings, store, log } = context;
  const fleet = await openSchema(store, settings);
  if (fleet.rateBefore !== null) {
    log(
      'warn',
      `"maxRequestsPerSecond" of the schema was ${fleet.rateBefore}, and is ${fleet.rate} from now on, for all processes`,
    );
  }
  await installBoss(context);
}

/** A pool of the caller's may wait for ever. */
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

/** What runs once `onCompletion` was called. */
interface Work {
  readonly follower: Follower;
  readonly deliveries: Deliveries;
  readonly handOver: HandOver;
  readonly housekeeping: { stop(): Promise<void> };
}

/** Creates the tracker over a database that is ready. */
function createWorkingTracker<C extends Json>(context: Context): Tracker<C> {
  const { settings, store, statements } = context;
  const { environment } = settings.client;
  const ending = new AbortController();
  // For those that never work, and ask for dead letters to be handed over.
  const loadHandOver = lazy(() => openHandOver(context, { works: false }));
  let beginning: Promise<void> | null = null;
  let work: Work | null = null;
  let stopping: Promise<void> | null = null;
  const door = createCallbackDoor(context, wake);

  return {
    track,
    trackLink,
    untrack,
    get,
    receive: async (body, options) => door.receive(body, readReceiveOptions(options)),
    handler: (options) => door.handler(readReceiveOptions(options)),
    onCompletion,
    deadLetters,
    retry,
    stats,
    async stop(options) {
      const { timeoutMs = 30_000 } = readStopOptions(options);
      stopping ??= stop(timeoutMs);
      await stopping;
    },
  };

  function wake(): void {
    work?.follower.wake();
  }

  async function track(
    given: JobToTrack<C> | readonly JobToTrack<C>[],
    options?: { db?: SqlRunner },
  ): Promise<readonly string[]> {
    const { jobs, db } = readTrack(given, options);
    const keyed = await Promise.all(
      jobs.map(async (job) => ({ job, key: await createKey(environment, ['job', job.userId, job.jobId]) })),
    );
    // The first of each counts: one statement cannot write a row twice.
    const rows = new Map(keyed.toReversed().map(({ key, job }) => [key, toTrackRow(key, job)]));
    if (rows.size > 0) {
      await sqlOf(db).run(statements.track, [JSON.stringify([...rows.values()])]);
      wake();
    }
    return keyed.map(({ key }) => key);
  }

  async function trackLink(given: string, options?: { context?: C; deadline?: Date; db?: SqlRunner }): Promise<void> {
    const { refId, context: linkContext, deadline = null, db } = readLink(given, options);
    const key = await createKey(environment, ['link', refId]);
    await sqlOf(db).run(statements.trackLink, [key, refId, linkContext, deadline]);
    wake();
  }

  async function untrack(job: JobRef): Promise<boolean> {
    const rows = await store.run(statements.untrack, [await keyOf(job)]);
    return rows.length > 0;
  }

  async function get(job: JobRef): Promise<TrackedJob<C> | null> {
    const [row] = await store.run(statements.get, [await keyOf(job)]);
    return row ? toTrackedJob<C>(row) : null;
  }

  async function onCompletion(handler: (completion: Completion<C>) => void | Promise<void>): Promise<void> {
    const mayBegin = beginning === null && stopping === null;
    const message = typeof handler === 'function' ? 'must be given once, and before stop()' : 'must be a function';
    if (typeof handler !== 'function' || !mayBegin) {
      throw new HostedConfigError([{ path: 'handler', message }], { task: 'use the tracker' });
    }
    beginning = openHandOver(context, { works: true }).then((handOver) => {
      work = begin(handOver, handler);
    });
    try {
      await beginning;
    } catch (error) {
      beginning = null;
      throw toStorageError(error);
    }
  }

  function begin(handOver: HandOver, handler: (completion: Completion<C>) => void | Promise<void>): Work {
    const { signal } = ending;
    const health = createHealth(context);
    const deliveries = createDeliveries<C>(context, handOver, health, { handler, signal });
    const waking: HandOver = {
      ...handOver,
      async end(end) {
        await handOver.end(end);
        deliveries.wake();
      },
      async endGap(gap) {
        await handOver.endGap(gap);
        deliveries.wake();
      },
    };
    const follower = createFollower(context, waking, health, signal);
    return { follower, deliveries, handOver, housekeeping: createHousekeeping(context) };
  }

  async function deadLetters(options?: { limit?: number; after?: string }): Promise<readonly DeadLetter<C>[]> {
    const { limit = 100, after = null } = readLetterOptions(options);
    await store.run(statements.findBuried, [queues.dead]);
    const rows = await store.run(statements.deadLetters, [limit, after]);
    return rows.map((row) => toDeadLetter<C>(row));
  }

  async function retry(given: readonly string[] | 'all'): Promise<number> {
    const keys = readKeys(given);
    const { boss } = work?.handOver ?? (await loadHandOver());
    await store.run(statements.findBuried, [queues.dead]);
    const revived = await store.transaction(async (inside) => {
      const rows = await inside.run(statements.revive, [keys === 'all' ? null : JSON.stringify(keys)]);
      const within = { db: inside.boss };
      if (keys === 'all' && rows.length > 0) await boss.redrive(queues.dead, { ...within, limit: 1_000_000_000 });
      else for (const { key } of rows) await boss.redrive(queues.dead, { ...within, limit: 1, data: { key } });
      return rows.length;
    });
    work?.deliveries.wake();
    return revived;
  }

  async function stats(): Promise<TrackerStats> {
    await store.run(statements.findBuried, [queues.dead]);
    const [row] = await store.run(statements.stats);
    if (!row) throw new HostedStorageError('not_migrated', 'its tables are empty');
    return toStats(row);
  }

  async function stop(timeoutMs: number): Promise<void> {
    const idle = loadHandOver.value;
    await beginning?.catch(() => undefined);
    if (work) {
      const timer = setTimeout(() => ending.abort(new Error('the tracker stops')), timeoutMs);
      try {
        await Promise.all([work.follower.drain(), work.deliveries.drain(), work.housekeeping.stop()]);
      } finally {
        clearTimeout(timer);
      }
      await work.handOver.stop();
    }
    if (idle) await idle.stop();
    await store.close().catch(() => undefined);
  }

  function sqlOf(db: SqlRunner | undefined): Sql {
    return db ? createSql(db) : store;
  }

  async function keyOf(given: JobRef): Promise<string> {
    const { userId, jobId } = readJobRef(given);
    return createKey(environment, ['job', userId, jobId]);
  }
}

function toTrackRow(key: string, { userId, jobId, context, linkRefId, deadline }: CheckedJob) {
  return {
    key,
    user_id: userId,
    job_id: jobId,
    link_ref_id: linkRefId ?? null,
    context,
    deadline: deadline ?? null,
  };
}

function toStats(row: Row): TrackerStats {
  const code = textOf(row, 'problem_code') as HostedErrorCode | null;
  const since = dateOf(row, 'problem_since');
  return {
    heard: numberOf(row, 'heard'),
    tracking: numberOf(row, 'tracking'),
    overdue: numberOf(row, 'overdue'),
    oldestOverdueMs: Math.max(0, Math.round(numberOf(row, 'oldest_ms'))),
    handingOver: numberOf(row, 'handing_over'),
    dead: numberOf(row, 'dead'),
    requestsSent: numberOf(row, 'requests_sent'),
    problem: code === null || since === null ? null : { code, since },
  };
}

const stateNames: Readonly<Record<number, TrackedJob['state']>> = {
  [states.heard]: 'heard',
  [states.tracking]: 'tracking',
  [states.handingOver]: 'handing_over',
  [states.done]: 'done',
  [states.dead]: 'dead',
};

function toTrackedJob<C extends Json>(row: Row): TrackedJob<C> {
  const state = stateNames[numberOf(row, 'state')] ?? 'done';
  const isFollowed = state === 'tracking';
  return {
    key: String(row.key),
    ...jobOf(row),
    state,
    context: contextOf<C>(row),
    polls: numberOf(row, 'polls'),
    nextPollAt: isFollowed ? dateOf(row, 'due') : null,
    deadline: isFollowed ? dateOf(row, 'deadline') : null,
    lastError: textOf(row, 'last_error') as HostedErrorCode | null,
  };
}

function toDeadLetter<C extends Json>(row: Row): DeadLetter<C> {
  return {
    key: String(row.key),
    job: numberOf(row, 'kind') === kinds.job ? jobOf(row) : null,
    context: contextOf<C>(row),
    attempts: numberOf(row, 'attempts'),
    failedAt: dateOf(row, 'failed_at') ?? new Date(0),
    error: { name: textOf(row, 'failure_name') ?? 'Error', code: textOf(row, 'failure_code') },
  };
}

function jobOf(row: Row): JobRef {
  return { userId: textOf(row, 'user_id') ?? '', jobId: textOf(row, 'job_id') ?? '' };
}
