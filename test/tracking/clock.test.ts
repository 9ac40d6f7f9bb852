// The database's clock goes back, for example after a failover to another machine. A test cannot move that clock, so it
// moves all stored dates the other way.

import { expect, test } from 'vitest';
import { createPlatformClock } from '../../src/runtime/clock.ts';
import { createClockWatch } from '../../src/tracking/clock.ts';
import type { Context } from '../../src/tracking/context.ts';
import { onEachDatabase } from '../support/on-each-database.ts';
import { collect, collectFrom, createWorld, openTracker, startWorker, until } from './world.ts';

const minute = 60_000;
const hour = 60 * minute;
const jumps: readonly [name: string, ms: number][] = [
  ['ten minutes', 10 * minute],
  ['an hour', hour],
  ['a day', 24 * hour],
];
const rateLimited = { kind: 'status', status: 429, retryAfter: '7200' } as const;

test.each([
  ['goes back by two seconds', -2_000, 1],
  ['goes back by half a second', -500, 0],
  ['goes on', 500, 0],
])('in a process that only waits, a clock that %s is noticed accordingly', async (_, ms, times) => {
  const ran: string[] = [];
  const watch = createClockWatch({
    database: {
      async run(text: string) {
        ran.push(text);
        return [];
      },
    },
    statements: { correctDues: 'correctDues', acceptClock: 'acceptClock' },
    log() {},
    clock: createPlatformClock(),
  } as unknown as Context);
  // No claim has stored the time for a minute.
  const at = Date.UTC(2026, 0, 1);
  const stored = (at - minute) * 1_000;

  watch.observe({ now_ms: at, clock_us: stored });
  watch.observe({ now_ms: at + ms, clock_us: stored });

  await watch.stop();
  expect(ran.filter((text) => text === 'correctDues')).toHaveLength(times);
});

onEachDatabase((database) => {
  test('a pause of hours is kept for all processes, and ends when the clock goes back', async () => {
    const world = createWorld(database);
    const trackers = [await world.open(), await world.open()];
    const { completions, handler } = collect();
    const job = world.service.jobs.start();
    await trackers[0]?.track(job);
    world.fail(rateLimited);
    for (const tracker of trackers) await tracker.onCompletion(handler);
    const pause = async () => {
      const [row] = await world.rows('select extract(epoch from asked_until - now()) as seconds from FLEET');
      return Number(row?.seconds);
    };
    await until(async () => (await pause()) > 0);
    expect(await pause()).toBeGreaterThan(7_100);
    expect(await pause()).toBeLessThanOrEqual(7_200);

    // The service is asked again, and requests the same pause once more.
    const asked = world.service.requests.length;
    await world.moveDates(hour);
    await until(async () => world.service.requests.length > asked && (await pause()) <= 7_200);
    expect(await pause()).toBeGreaterThan(7_100);
    // Two requests of each process may have been on their way.
    const again = world.service.requests.length;
    await until(async () => {
      await trackers[1]?.track(world.service.jobs.start());
      return (await world.rows('select 1 from TRACKED where polls = 0')).length > 20;
    });
    expect(world.service.requests.length - again).toBeLessThanOrEqual(4);

    world.fail(null);
    world.service.jobs.complete(job, 'approved');
    await world.moveDates(-2 * hour);
    await until(() => completions.length === 1);
  });

  test.each(jumps)('a clock that goes back by %s during a problem ends no wait later', async (_, ms) => {
    const { world, tracker } = await openTracker(createWorld(database));
    const job = world.completeJob('approved');
    await tracker.track(job);
    world.fail({ kind: 'status', status: 401 });
    const completions = await collectFrom(tracker);
    await until(async () => (await tracker.stats()).problem !== null);

    await world.rows(`update FLEET set hold_until = now() + interval '1 minute'`);
    await world.moveDates(ms);
    world.fail(null);

    await until(() => completions.length === 1);
    expect((await tracker.stats()).problem).toBe(null);
  });

  test.each(jumps)('after a clock goes back by %s, a callback makes the tracker poll its job soon', async (_, ms) => {
    const world = createWorld(database);
    const waits = { minDelayMs: 5_000, maxDelayMs: 900_000 };
    const tracker = await world.open(waits);
    const job = world.service.jobs.start();
    await tracker.track(job);
    world.service.jobs.complete(job, 'approved');
    const body = await (await world.service.jobs.callback(job)).text();
    await world.rows("update TRACKED set due = now() + interval '10 minutes', polls = 9");
    await tracker.receive(body);
    await world.rows("update TRACKED set due = now() + interval '10 minutes', polls = 10");

    await world.moveDates(ms);
    await tracker.receive(body);

    const [row] = await world.rows('select extract(epoch from due - now()) as seconds from TRACKED');
    expect(Number(row?.seconds)).toBeLessThanOrEqual(5);
  });

  test('after the clock goes back, the housekeeping goes on', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { retentionMs: 1 });
    const job = world.completeJob('approved');
    await tracker.track(job);
    const first = await world.open({ retentionMs: 1 });
    await first.onCompletion(() => {});
    await until(async () => (await tracker.get(job))?.state === 'done');
    await first.stop();

    await world.rows("update FLEET set kept_at = now() + interval '1 hour'");
    const second = await world.open({ retentionMs: 1 });
    await second.onCompletion(() => {});

    await until(async () => (await tracker.get(job)) === null);
  });

  test.each(jumps)('a clock that goes back by %s makes no job wait longer than usual', async (_, ms) => {
    const world = createWorld(database);
    const waits = { minDelayMs: 5_000, maxDelayMs: 900_000 };
    const { tracker, completions } = await startWorker(world, waits);
    const jobs = Array.from({ length: 12 }, () => world.service.jobs.start());
    await tracker.track(jobs);
    await until(async () => (await world.rows('select 1 from TRACKED where polls = 0')).length === 0);
    // As after many polls: the job of step n waits 5 s * 1.5 ^ (n - 1), but not more than a quarter of an hour.
    await world.rows(`update TRACKED t set step = n.step,
      due = now() + least(900, 5 * 1.5 ^ (n.step - 1)) * interval '1 second'
      from (select key, row_number() over () * 2 as step from TRACKED) n where n.key = t.key`);
    const tooLong = () =>
      world.rows(
        `select step from TRACKED where due > now() + least(901, 5 * 1.5 ^ (step - 1) + 1) * interval '1 second'`,
      );
    expect(await tooLong()).toEqual([]);

    await world.moveDates(ms);

    await until(async () => (await tooLong()).length === 0);
    expect(world.lines.filter((line) => line.includes('clock'))).toEqual([expect.stringMatching(/^warn .*gone back/)]);
    // What is due in a moment is polled in a moment.
    for (const job of jobs) world.service.jobs.complete(job, 'approved');
    await world.moveDates(-900_000);
    await until(() => completions.length === jobs.length);
  });

  test('jobs that were tracked while no worker was running are polled, though the clock went back', async () => {
    const world = createWorld(database);
    const web = await world.open();
    const job = world.completeJob('approved');
    await web.track(job);
    // The last worker stopped three hours ago, the job was tracked an hour later, and then the clock went back an hour.
    await world.rows("update TRACKED set due = now() + interval '1 hour'");
    await world.rows("update FLEET set clock_at = now() - interval '1 hour', kept_at = now() - interval '1 hour'");

    const { completions } = await startWorker(world);

    await until(() => completions.length === 1);
  });

  test('after the clock goes back, thousands of dates are corrected in batches', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { minDelayMs: 5_000, maxDelayMs: 900_000 });
    // Half of them are due at one date, as many that were tracked at once.
    await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, due, deadline, step)
      select gen_random_uuid(), 0, 1, 'user', 'job-' || n, now() + case when n % 2 = 0 then interval '10 minutes'
        else n * interval '0.2 second' end, now() + interval '1 day', 30 from generate_series(1, 5000) n`);
    await world.moveDates(10 * minute);

    await tracker.onCompletion(() => {});

    await until(async () => {
      const [row] = await world.rows('select clock_at <= now() as is_right from FLEET');
      return row?.is_right === true;
    });
    expect(await world.rows("select 1 from TRACKED where due > now() + interval '901 seconds'")).toEqual([]);
  });

  if (database.name === 'PostgreSQL')
    test('a row that was locked is corrected later', async () => {
      const { world, tracker } = await openTracker(createWorld(database), { minDelayMs: 5_000, maxDelayMs: 900_000 });
      const job = world.completeJob('approved');
      await tracker.track(job);
      await world.moveDates(hour);
      const connection = await world.pool.connect();
      await connection.query('begin');
      await connection.query(`select 1 from ${world.schema}.tracked for update`);
      const completions = await collectFrom(tracker);
      await until(() => world.lines.some((line) => line.includes('gone back')));

      await connection.query('commit');
      connection.release();

      await until(() => completions.length === 1);
    });

  test('after the clock goes back, messages and the leases of dead workers wait no longer than usual', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const jobs = [1, 2].map(() => world.completeJob('approved'));
    await tracker.track(jobs);
    const worker = await world.open({ minRetryMs: 1_000, maxRetryMs: 1_000 });
    let calls = 0;
    await worker.onCompletion(({ job }) => {
      calls += 1;
      if (job?.jobId === jobs[0]?.jobId) throw new Error('not yet');
      return new Promise(() => {});
    });
    const messages = (state: string) =>
      world.rows(`select start_after <= now() + interval '1.1 seconds' as is_near, started_on <= now() as is_past
        from ${world.schema}_boss.job where name = 'completions' and state = '${state}'`);
    await until(async () => (await messages('retry')).length === 1 && (await messages('active')).length === 1);
    const before = calls;

    await world.moveDates(hour);

    await until(() => calls > before);
    await until(async () => (await messages('active')).every(({ is_past }) => is_past === true));
    const late = `select 1 from ${world.schema}_boss.queue where monitor_claim_on > now() or maintain_on > now()`;
    await until(async () => (await world.rows(late)).length === 0);
  });

  test('a clock that goes forward, and back again, loses nothing', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { minDelayMs: 5_000, maxDelayMs: 900_000 });
    const jobs = Array.from({ length: 10 }, () => world.service.jobs.start());
    await tracker.track(jobs);
    const completions = await collectFrom(tracker);
    await until(async () => (await world.rows('select 1 from TRACKED where polls = 0')).length === 0);

    await world.moveDates(-24 * hour);
    await until(async () => (await world.rows('select 1 from TRACKED where polls < 2')).length === 0);
    for (const job of jobs) world.service.jobs.complete(job, 'approved');
    await world.moveDates(24 * hour);

    await until(() => completions.length === jobs.length);
    expect(new Set(completions.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
  });

  test('failed polls after the deadline are counted again after the clock went back', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const job = { userId: 'nobody', jobId: 'nothing' };
    await tracker.track(job);
    await world.rows(`update TRACKED set deadline = now() - interval '1 hour', late_looks = 10,
      late_since = now() + interval '30 minutes'`);
    const completions = await collectFrom(tracker);

    await until(async () => ((await tracker.get(job))?.polls ?? 0) >= 4);

    expect(completions).toEqual([]);
    expect(await world.rows('select late_since <= now() as is_past from TRACKED')).toEqual([{ is_past: true }]);
  });
});
