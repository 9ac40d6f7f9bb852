/**
 * Implements the methods of a tracker whose database is ready.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import type { JobRef } from '../jobs/types.js';
import { withSignals, withTimeout } from '../runtime/clock.js';
import { instruments } from '../runtime/tracing-channel.js';
import { createCallbackIntake } from './callbacks/callbacks.js';
import type { Context } from './context.js';
import { createDeliveries } from './deliver/deliver.js';
import type { Handling } from './deliver/run-handler.js';
import { createHousekeeping } from './housekeeping.js';
import {
  createTrackInput,
  readJobRef,
  readKeys,
  readLetterOptions,
  readReceiveOptions,
  readStopOptions,
  readWorkOptions,
} from './input.js';
import { type Instruments, readTrace } from './instruments.js';
import { createPause, letOthersRun, mapInSlices } from './pause.js';
import { createFollower } from './poll/follow.js';
import { createHealth } from './poll/health.js';
import { toDeadLetter, toGauges, toStats, toTrackedJob, toTrackRow } from './rows.js';
import { batchSize, requestMs } from './rules.js';
import { assertFits, assertThere } from './schema/versions.js';
import { longStatementMs, type Sql } from './sql.js';
import { toStorageError } from './storage-error.js';
import type { Tracker } from './tracker.js';
import type { Json, SqlRunner } from './types.js';

/**
 * How long, in ms, each of the three steps of `stop()` waits for the database. In the first step, this time begins
 * after `timeoutMs`.
 */
const graceMs = 2_000;

/** How often, in ms, a process that only tracks and receives compares the version of the tables. */
const compareMs = 60_000;

/** Creates a tracker on a database that is ready. */
export function createWorkingTracker<C extends Json>(context: Context): Tracker<C> {
  const { database, statements, storage, clock } = context;
  const { readTrack, readLink } = createTrackInput(clock.now);
  const ending = new AbortController();
  /** Ends a call of `work()` that runs. */
  let endShift: (() => void) | null = null;
  let beginning: Promise<void> | null = null;
  /** The loops that run after `onCompletion` was called, or during `work()`. */
  let work: ReturnType<typeof begin> | null = null;
  let stopping: Promise<void> | null = null;
  let comparedAt = clock.elapsed();
  const wake = () => work?.poll();
  const run: Sql['run'] = (...given) => sqlOf().run(...given);
  const own: Instruments = {
    async readGauges() {
      const [row] = await database.run(statements.gauges);
      return toGauges(row ?? {});
    },
    findTrace: null,
  };
  const intake = createCallbackIntake({ ...context, database: { ...database, run } }, wake, () => readTrace(own));
  const tracker: Tracker<C> & { readonly [instruments]: Instruments } = {
    [instruments]: own,
    async track(given, options) {
      const { list, db, readJob, assertValid } = readTrack(given, options);
      const keyed = await mapInSlices(list, async (one, at) => {
        const job = readJob(one, at);
        if (job === null) return { key: '', row: '' };
        const key = await context.keyOf(['job', job.userId, job.jobId]);
        return { key, row: JSON.stringify(toTrackRow(key, job)) };
      });
      assertValid();
      // If a job is listed twice, its first entry is used, because one statement cannot write a row twice.
      const rows = new Map(keyed.toReversed().map(({ key, row }) => [key, row]));
      if (rows.size > 0) {
        const values = [`[${[...rows.values()].join()}]`, readTrace(own), JSON.stringify([...rows.keys()])];
        await sqlOf(db).run(statements.track, values, rows.size > batchSize ? longStatementMs : undefined);
        wake();
      }
      return keyed.map(({ key }) => key);
    },
    async trackLink(given, options) {
      const { refId, context: linkContext, deadline = null, db } = readLink(given, options);
      const key = await context.keyOf(['link', refId]);
      await sqlOf(db).run(statements.trackLink, [key, refId, linkContext, deadline, readTrace(own)]);
      wake();
    },
    async untrack(job) {
      const rows = await database.run(statements.untrack, [await keyOf(job)]);
      return rows.length > 0;
    },
    async get(job) {
      const [row] = await database.run(statements.get, [await keyOf(job)]);
      return row ? toTrackedJob<C>(row) : null;
    },
    receive: async (body, options) => intake.receive(body, readReceiveOptions(options)),
    handler: (options) => intake.handler(readReceiveOptions(options)),
    async onCompletion(handler) {
      const mayBegin = beginning === null && stopping === null;
      const message = typeof handler === 'function' ? 'must be given once, and before stop()' : 'must be a function';
      if (typeof handler !== 'function' || !mayBegin) throw createBusyError(message);
      beginning = prepareWork().then(() => {
        work = begin(context, { handler, signal: ending.signal });
      });
      try {
        await beginning;
      } catch (error) {
        beginning = null;
        throw toStorageError(error);
      }
    },
    async work(options) {
      const { forMs, signal, ...checked } = readWorkOptions(options);
      const handler = checked.handler as Handling<C>['handler'];
      if (beginning !== null || stopping !== null)
        throw createBusyError('must be given once at a time, and before stop()');
      const pause = createPause(clock);
      const endsAt = clock.elapsed() + forMs;
      const done = { polls: 0, deliveries: 0 };
      const counting: Context = {
        ...context,
        report(event) {
          if (event.type === 'batch') done.polls += event.jobs;
          if (event.type === 'delivery') done.deliveries += 1;
          context.report(event);
        },
      };
      // After the time of the call, requests may take as long as one may, and then handlers are not waited for either.
      const overtime = new AbortController();
      const ended = withSignals([signal, ending.signal, overtime.signal], async (own) => {
        if (own.aborted) return;
        own.addEventListener('abort', pause.wake);
        await prepareWork();
        work = begin(counting, { handler, signal: own });
        await pause.sleep(Math.max(0, endsAt - clock.elapsed()));
        const cancel = clock.setTimer(requestMs, () => overtime.abort(new Error('the time of work() is over')));
        await work.drain().finally(cancel);
        await database.rest();
      });
      // `onCompletion()` and another `work()` see that this process works. A failure is thrown below.
      beginning = ended.catch(() => undefined);
      endShift = pause.wake;
      try {
        await ended;
        return done;
      } catch (error) {
        throw toStorageError(error);
      } finally {
        work = null;
        beginning = null;
        endShift = null;
      }
    },
    async deadLetters(options) {
      const { limit = 100, after = null } = readLetterOptions(options);
      const rows = await database.run(statements.deadLetters, [limit, after], longStatementMs);
      return rows.map((row) => toDeadLetter<C>(row));
    },
    async retry(given) {
      const keys = readKeys(given);
      const dead =
        keys === 'all'
          ? (await database.run(statements.deadKeys, [], longStatementMs)).map(({ key }) => String(key))
          : keys;
      let revived = 0;
      for (let at = 0; at < dead.length; at += batchSize) {
        const rows = await database.run(statements.revive, [JSON.stringify(dead.slice(at, at + batchSize))]);
        revived += rows.length;
        // An expired job is polled again.
        work?.wake();
        await letOthersRun();
      }
      return revived;
    },
    async stats() {
      const [row] = await database.run(statements.stats, [], longStatementMs);
      assertThere(row);
      return toStats(row, storage.newerSince());
    },
    async stop(options) {
      const { timeoutMs = 20_000 } = readStopOptions(options);
      stopping ??= stop(timeoutMs);
      await stopping;
    },
  };
  return tracker;

  function begin(context: Context, { handler, signal }: Handling<C>) {
    const health = createHealth(context);
    const deliveries = createDeliveries<C>(context, health, { handler, signal });
    const housekeeping = createHousekeeping(context);
    const follower = createFollower(context, {
      ended: deliveries.wake,
      isImpossible: housekeeping.wake,
      health,
      signal,
    });
    const loops = [follower, deliveries, housekeeping];
    const wakeBoth = () => {
      follower.wake();
      deliveries.wake();
    };
    database.watch?.({
      wake: wakeBoth,
      isWorking: () => work !== null && stopping === null,
      isIdle: () => loops.every((loop) => loop.isIdle()),
    });
    return {
      wake: wakeBoth,
      /** Checks for polls at once. */
      poll: follower.wake,
      drain: () => Promise.all(loops.map((loop) => loop.drain())),
    };
  }

  async function stop(timeoutMs: number): Promise<void> {
    const cancel = clock.setTimer(timeoutMs, () => ending.abort(new Error('the tracker stops')));
    // A running statement cannot be aborted, and never ends if the database does not respond. So `stop()` waits for a
    // limited time.
    await resolveWithin(timeoutMs + graceMs, drain());
    cancel();
    storage.stop();
    await resolveWithin(graceMs, database.close());
  }

  async function drain(): Promise<void> {
    endShift?.();
    await beginning?.catch(() => undefined);
    await work?.drain();
  }

  function createBusyError(message: string): HostedConfigError {
    return new HostedConfigError([{ path: 'handler', message }], { task: 'use the tracker' });
  }

  /** Resolves when `work` has resolved or rejected, or after `ms`. */
  async function resolveWithin(ms: number, work: Promise<unknown>): Promise<void> {
    await withTimeout({ clock, ms, timedOut: () => new Error('it takes too long') }, () => work).catch(() => undefined);
  }

  function sqlOf(db?: SqlRunner): Sql {
    void noticeNewer().catch(() => undefined);
    return db ? database.within(db) : database;
  }

  async function prepareWork(): Promise<void> {
    await checkTables();
    // The next statement would wait for a lock that a vanished machine keeps.
    await database.run(statements.endSilent).catch(() => undefined);
    await database.run(statements.declare);
  }

  async function checkTables(): Promise<void> {
    const [row] = await database.run(statements.compare);
    assertFits(row);
  }

  /** Logs and reports tables that are newer. A process that works finds them with each batch of polls. */
  async function noticeNewer(): Promise<void> {
    if (work !== null || database.watch || clock.elapsed() - comparedAt < compareMs) return;
    comparedAt = clock.elapsed();
    const effect = 'what is tracked and received here may not fit the tables';
    try {
      await checkTables();
      storage.worked(effect);
    } catch (error) {
      storage.failed(effect, error);
    }
  }

  async function keyOf(given: JobRef): Promise<string> {
    const { userId, jobId } = readJobRef(given);
    return context.keyOf(['job', userId, jobId]);
  }
}
