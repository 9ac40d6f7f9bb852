/** What tracking costs: what it writes and reads, how fast it polls, and what many trackers take in one process. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { stdout } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { PGlite } from '@electric-sql/pglite';
import { createTracker, type SqlPool, type TrackerOptions } from 'hosted-client/tracking';
import pg from 'pg';
import type { Cluster } from '../../tracking/databases.ts';
import { readCounters } from './database.ts';
import { feed } from './feed.ts';
import type { Feed } from './scenario.ts';
import { openWorld, type World } from './world.ts';

/** What a measure has: the server, whether the run is a long one, and how it reports what is too much. */
interface Measure {
  readonly cluster: Cluster;
  readonly isFull: boolean;
  fail(problem: string): void;
}

let runs = 1_000;

/** Opens a world whose service responds at once, and tracks its jobs. */
async function openFed(cluster: Cluster, jobs: number, options: Partial<TrackerOptions>, given: Partial<Feed> = {}) {
  runs += 1;
  const fed = { overMs: 0, endless: jobs, ...given };
  const scenario = { jobs, workers: 0, instant: true, options: { concurrency: 100, ...options }, feed: fed };
  const world = await openWorld(scenario, cluster, 'directly', runs);
  await feed(world);
  return world;
}

const unlimited = { maxRequestsPerSecond: 100_000, minDelayMs: 1, maxDelayMs: 1 };
const medianOf = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const trackerOf = (world: World) => {
  if (!world.tracker) throw new Error('there is no tracker');
  return world.tracker;
};

/** The statements, row writes and WAL of some work. */
async function watch({ ask, service }: World, work: () => Promise<unknown>) {
  if (!ask) throw new Error('there is no server');
  const before = { ...(await readCounters(ask)), requests: service.requests, at: performance.now() };
  await work();
  const after = { ...(await readCounters(ask)), requests: service.requests, at: performance.now() };
  return {
    ...{ requests: after.requests - before.requests, statements: after.statements - before.statements },
    ...{ rows: after.rows - before.rows, wal: after.wal - before.wal, seconds: (after.at - before.at) / 1_000 },
  };
}

export const measures: Readonly<Record<string, (measure: Measure) => Promise<void>>> = {
  /** Polls at a rate, and without a limit: as many with a million due jobs as with ten thousand. */
  async polls({ cluster, isFull, fail }) {
    for (const trackers of [1, 4]) {
      const world = await openFed(cluster, 10_000, { maxRequestsPerSecond: 500 });
      await world.startWork(trackers);
      await sleep(1_000);
      const { requests, statements, rows, wal, seconds } = await watch(world, () => sleep(8_000));
      const per = (value: number) => Math.round((value / requests) * 1_000);
      stdout.write(
        `500 a second, ${trackers} workers, 10,000 due: ${Math.round(requests / seconds)} polls a second; for 1,000 polls ${per(statements)} statements, ` +
          `${per(rows)} row writes, ${Math.round(wal / requests)} bytes of WAL a poll\n`,
      );
      await world.close();
    }
    const worlds: { readonly size: number; readonly world: World; readonly rates: number[] }[] = [];
    for (const size of isFull ? [10_000, 1_000_000] : [10_000]) {
      worlds.push({ size, world: await openFed(cluster, size, unlimited), rates: [] });
    }
    // In turns, so that what else the machine does slows each alike. Each turn begins without dead rows.
    for (let turn = 0; turn < (isFull ? 7 : 1); turn++) {
      for (const { size, world, rates } of worlds) {
        await world.base?.pool.query('vacuum analyze');
        await world.base?.pool.query('checkpoint');
        const startedAt = performance.now();
        const { polls } = await trackerOf(world).work({ handler() {}, forMs: 3_000 });
        rates.push((polls * 1_000) / (performance.now() - startedAt));
        stdout.write(`unlimited, ${size} due: ${Math.round(rates.at(-1) ?? 0)} polls a second\n`);
      }
    }
    const [few = 0, many = few] = worlds.map(({ rates }) => medianOf(rates));
    stdout.write(
      `medians: ${worlds.map(({ size, rates }) => `${size} due, ${Math.round(medianOf(rates))}`).join('; ')}\n`,
    );
    if (many < 0.9 * few) fail(`with a million due, ${(many / few).toFixed(2)} of the polls with ten thousand`);
    for (const { size, world } of worlds) {
      const { rows } = (await world.base?.pool.query(
        `select pg_size_pretty(pg_table_size(relid)) as table_size, pg_size_pretty(pg_indexes_size(relid)) as index_size,
           n_dead_tup, autovacuum_count from pg_stat_user_tables where relname = 'tracked'`,
      )) ?? { rows: [] };
      stdout.write(`${size} due, after those polls: ${JSON.stringify(rows[0])}\n`);
      await world.close();
    }
  },

  /** What jobs cost from `track()` to their hand-over, with contexts of three sizes. */
  async completions({ cluster, fail }) {
    const jobs = 5_000;
    for (const contextBytes of [10, 2_048, 8_192]) {
      const options = { maxRequestsPerSecond: 100_000, handlerConcurrency: 100 };
      const world = await openFed(cluster, jobs, options, { endless: 0, contextBytes });
      const { counts } = world;
      const finish = async () => {
        await world.startWork();
        for (let tries = 0; counts.handed < jobs && tries < 1_200; tries++) await sleep(100);
      };
      const { statements, rows, wal } = await watch(world, finish);
      const each = (value: number) => (value / jobs).toFixed(2);
      stdout.write(
        `contexts of ${contextBytes} B: ${counts.handed} of ${jobs} handed over; each took ${each(statements)} statements, ${each(rows)} row writes, ${Math.round(wal / jobs)} bytes of WAL\n`,
      );
      if (counts.handed < jobs) fail('not all jobs were handed over');
      if (statements / jobs > 0.35) fail(`${each(statements)} statements a job`);
      await world.close();
    }
  },

  /** What a worker with nothing to do asks the database. */
  async idle({ cluster, fail }) {
    const world = await openFed(cluster, 0, {});
    await world.startWork();
    await sleep(5_000);
    const { statements, seconds } = await watch(world, () => sleep(30_000));
    stdout.write(`nothing to do: ${(statements / seconds).toFixed(1)} statements a second\n`);
    if (statements / seconds > 3.5) fail(`${(statements / seconds).toFixed(1)} statements a second while idle`);
    await world.close();
  },

  /** What gauges and `stats()` take at a thousand rows and at a million. In ten, six are followed, three done, one dead. */
  async gauges({ cluster, isFull }) {
    const measured = [];
    for (const size of [1_000, isFull ? 1_000_000 : 20_000]) {
      const options = { ...unlimited, maxAttempts: 1, handlerConcurrency: 200 };
      const shares = { endless: size * 0.6, failing: size * 0.1 };
      const world = await openFed(cluster, size, options, shares);
      const tracker = trackerOf(world);
      const done = async () => (await tracker.stats()).dead + world.counts.handed;
      await world.startWork();
      while ((await done()) < size * 0.4) await sleep(1_000);
      await world.base?.pool.query('vacuum analyze');
      await sleep(2_000);
      measured.push({ size, world, tracker, gauges: [] as number[], stats: [] as number[] });
    }
    const time = async (act: () => Promise<unknown>) => {
      const startedAt = performance.now();
      await act();
      return performance.now() - startedAt;
    };
    const readGauges = (tracker: object) =>
      (Reflect.get(tracker, Symbol.for('hosted-client:instruments')) as { readGauges(): Promise<object> }).readGauges();
    for (let turn = 0; turn < 300; turn++) {
      for (const { tracker, gauges, stats } of measured) {
        gauges.push(await time(() => readGauges(tracker)));
        if (turn % 60 === 0) stats.push(await time(() => tracker.stats()));
      }
    }
    for (const { size, world, gauges, stats } of measured) {
      stdout.write(
        `${size} rows: gauges ${medianOf(gauges).toFixed(2)} ms, stats() ${medianOf(stats).toFixed(1)} ms\n`,
      );
      await world.close();
    }
  },

  /** Twenty partners in one process, each with a schema of its own, over one pool. */
  async partners({ cluster }) {
    const world = await openFed(cluster, 1_000, {}, { endless: 0 });
    const { base, client, service } = world;
    const pool = new pg.Pool({ connectionString: base?.connectionString, max: 10, connectionTimeoutMillis: 10_000 });
    pool.on('error', () => {});
    const rss = process.memoryUsage().rss;
    let handled = 0;
    const trackers = [];
    for (let n = 0; n < 20; n++) {
      const given = { client, pool: pool as SqlPool, schema: `partner_${n}`, minDelayMs: 1_000 };
      const tracker = await createTracker(given);
      await tracker.onCompletion(() => {
        handled += 1;
      });
      trackers.push(tracker);
    }
    const megabytes = (process.memoryUsage().rss - rss) / 2 ** 20;
    await sleep(10_000);
    const cpu = process.cpuUsage();
    const { statements, seconds } = await watch(world, () => sleep(20_000));
    const { user, system } = process.cpuUsage(cpu);
    stdout.write(
      `20 partners with nothing to do: ${(statements / seconds).toFixed(0)} statements a second (${(statements / seconds / 20).toFixed(1)} each), ` +
        `${pool.totalCount} connections, ${megabytes.toFixed(0)} MB, ${((user + system) / seconds / 10_000).toFixed(1)} % of a core\n`,
    );
    const startedAt = performance.now();
    const jobsOf = (at: number) =>
      Array.from({ length: 50 }, (_, n) => ({ userId: `user-${at * 50 + n}`, jobId: `job-${at * 50 + n}` }));
    await Promise.all(trackers.map((tracker, at) => tracker.track(jobsOf(at))));
    while (handled < 1_000 && performance.now() - startedAt < 120_000) await sleep(50);
    stdout.write(
      `${handled} completions of 1000 jobs after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s (10 requests a second for each partner), ` +
        `${service.requests} requests, ${pool.totalCount} connections\n`,
    );
    await Promise.all(trackers.map((tracker) => tracker.stop()));
    await pool.end();
    await world.close();
  },

  /** What a first start in a folder takes, beside PGlite's own. */
  async 'first-start'({ cluster }) {
    const folder = mkdtempSync(join(tmpdir(), 'tracked-'));
    const world = await openFed(cluster, 0, {});
    const own: number[] = [];
    const ours: number[] = [];
    const time = async (times: number[], open: () => Promise<() => Promise<void>>) => {
      const startedAt = performance.now();
      const close = await open();
      times.push(performance.now() - startedAt);
      await close();
    };
    for (let n = 0; n < 3; n++) {
      await time(own, async () => {
        const lite = await PGlite.create(join(folder, `own-${n}`));
        return () => lite.close();
      });
      await time(ours, async () => {
        const tracker = await createTracker({ client: world.client, folder: join(folder, `ours-${n}`) });
        return () => tracker.stop();
      });
    }
    await world.close();
    rmSync(folder, { recursive: true, force: true });
    stdout.write(
      `a first start in a folder: ${Math.round(medianOf(ours))} ms, PGlite alone ${Math.round(medianOf(own))} ms\n`,
    );
  },
};
