// The database's clock goes back, for example after a failover to another machine. A test cannot move that clock, so it
// moves all stored dates the other way.

import { expect, test } from 'vitest';
import { readOptions } from '../../src/tracking/options.ts';
import { createStatements } from '../../src/tracking/statements.ts';
import { onEachDatabase } from '../support/on-each-database.ts';
import { collect, collectFrom, createWorld, openTracker, until } from './world.ts';

const minute = 60_000;
const hour = 60 * minute;
const jumps: readonly [name: string, ms: number][] = [
  ['ten minutes', 10 * minute],
  ['an hour', hour],
  ['a day', 24 * hour],
];
const rateLimited = { kind: 'status', status: 429, retryAfter: '7200' } as const;

onEachDatabase((database) => {
  test('a pause applies to all processes for at most 15 minutes, and ends when the clock goes back', async () => {
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
    expect(await pause()).toBeGreaterThan(880);
    expect(await pause()).toBeLessThanOrEqual(900);

    // The service is asked again, and requests the same pause once more.
    const asked = world.service.requests.length;
    await world.moveDates(hour);
    await until(async () => world.service.requests.length > asked && (await pause()) <= 900);
    expect(await pause()).toBeGreaterThan(880);
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

  test.each(jumps.slice(1))(
    'a clock that goes back by %s makes no job and no completion wait longer than the longest wait',
    async (_, ms) => {
      const { world, tracker } = await openTracker(createWorld(database), { minDelayMs: 5_000, maxDelayMs: 900_000 });
      await world.rows(`insert into TRACKED (key, kind, state, user_id, job_id, due, deadline, step)
      select gen_random_uuid(), 0, 1, 'user', 'job-' || n, now() + n * interval '0.3 second', now() + interval '1 day', 30
      from generate_series(1, 3000) n`);
      const followed = { state: '1', due: "now() + interval '1 second'", deadline: "now() + interval '1 day'" };
      await world.insertMentioned(10, 'mentioned', followed);
      await world.rows(`insert into TRACKED (key, kind, state, outcome, ended_at, end_id, deliver_at, lease_id)
      select gen_random_uuid(), 2, 2, 3, now(), gen_random_uuid(), now() + n * interval '1 second',
        case when n % 2 = 0 then gen_random_uuid() end from generate_series(1, 80) n`);
      await world.moveDates(ms);

      await tracker.onCompletion(() => {});

      const tooLong = () =>
        world.rows(`select 1 from TRACKED where greatest(due, deliver_at) > now() + interval '901 seconds'`);
      await until(async () => (await tooLong()).length === 0);
    },
  );

  test('no process takes the lease of another, which is longer than its own, for one of a clock that went back', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { handlerTimeoutMs: hour });
    await tracker.track(world.completeJob('approved'));
    await tracker.onCompletion(() => new Promise(() => {}));
    await until(async () => (await world.rows('select 1 from TRACKED where lease_id is not null')).length === 1);

    const other = createStatements(readOptions({ client: world.client, pool: world.pool, schema: world.schema }));

    expect(await world.rows(other.pullDeliveries)).toEqual([]);
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
    // The next turn of the housekeeping, which is a minute later at most.
    await world.rows("update FLEET set kept_at = now() - interval '2 minutes'");
    await (await world.open()).onCompletion((completion) => void (completions as unknown[]).push(completion));

    await until(() => completions.length === jobs.length);
    expect(new Set(completions.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
  });

  test('failed polls after the deadline are counted again after the clock went back', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const job = { userId: 'nobody', jobId: 'nothing' };
    await tracker.track(job);
    await world.rows(`update TRACKED set deadline = now() - interval '1 hour', late_polls = 10,
      late_since = now() + interval '30 minutes'`);
    const completions = await collectFrom(tracker);

    await until(async () => ((await tracker.get(job))?.polls ?? 0) >= 4);

    expect(completions).toEqual([]);
    expect(await world.rows('select late_since <= now() as is_past from TRACKED')).toEqual([{ is_past: true }]);
  });
});
