/** Work for a limited time: what it does, and that it leaves nothing behind. */

import { HostedConfigError, HostedValidationError } from 'hosted-client';
import { expect, onTestFinished, test } from 'vitest';
import { onEachDatabase, onOneDatabase } from '../support/on-each-database.ts';
import { openDatabase } from './databases.ts';
import { collect, createWorld, openTracker, startWorker, until } from './world.ts';

onEachDatabase((database) => {
  test('a poll that is broken off is due at once, for any process', async () => {
    const world = createWorld(database);
    const slow = { minDelayMs: 600_000, maxDelayMs: 600_000 };
    const tracker = await world.open(slow);
    await tracker.track(world.completeJob('approved'));
    const release = world.holdAfter(0);
    const ending = new AbortController();
    const first = tracker.work({ handler: () => {}, forMs: 60_000, signal: ending.signal });
    await until(async () => (await world.rows('select 1 as one from TRACKED where polls > 0')).length === 1);
    ending.abort();
    expect(await first).toMatchObject({ deliveries: 0 });
    release();
    world.holdAfter(Number.POSITIVE_INFINITY);

    const { completions } = await startWorker(world, slow);

    await until(() => completions.length === 1);
  });

  test('a message whose delivery is broken off before its handler can be taken at once', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    await tracker.track(world.completeJob('approved'));
    const release = world.holdAfter(1);
    const ending = new AbortController();
    const first = tracker.work({ handler: () => {}, forMs: 60_000, signal: ending.signal });
    const completions = async (condition: string) =>
      (await world.rows(`select 1 as one from TRACKED where state = 2 and ${condition}`)).length;
    await until(async () => (await completions('lease_id is not null')) === 1);

    ending.abort();
    await first;

    expect(await completions('lease_id is null and deliver_at <= now()')).toBe(1);
    expect(await world.rows('select attempts, state from TRACKED')).toEqual([{ attempts: 0, state: 2 }]);
    release();
    world.holdAfter(Number.POSITIVE_INFINITY);
    const { completions: handed, handler } = collect();
    await (await world.open()).onCompletion(handler);
    await until(() => handed.length === 1);
    expect(handed[0]?.attempt).toBe(1);
  });
});

onOneDatabase((database) => {
  test('stop() ends work(), and waits for it', async () => {
    const { tracker } = await openTracker(createWorld(database));
    const working = tracker.work({ handler: () => {}, forMs: 600_000 });

    await tracker.stop();

    expect(await working).toEqual({ polls: 0, deliveries: 0 });
  });

  test('work() refuses what onCompletion() or another work() would run into', async () => {
    const { tracker } = await openTracker(createWorld(database));
    const ending = new AbortController();
    const working = tracker.work({ handler: () => {}, forMs: 60_000, signal: ending.signal });

    await expect(tracker.work({ handler: () => {}, forMs: 1 })).rejects.toThrow(HostedConfigError);
    await expect(tracker.onCompletion(() => {})).rejects.toThrow(HostedConfigError);
    ending.abort();
    await working;
    await tracker.onCompletion(() => {});
    await expect(tracker.work({ handler: () => {}, forMs: 1 })).rejects.toThrow(HostedConfigError);
    await expect(tracker.work({ handler: 1, forMs: 0, signal: {} } as never)).rejects.toThrow(HostedValidationError);
  });
});

test('after work(), no connection is open, and the tracker opens one where it is needed', {
  tags: ['postgresql'],
}, async () => {
  const database = await openDatabase();
  onTestFinished(() => database.close());
  const { tracker } = await openTracker(createWorld(database), {
    connectionString: database.connectionString,
    pool: undefined as never,
  });
  const open = async () =>
    (await database.pool.query("select 1 from pg_stat_activity where application_name = 'hosted-client'")).rows.length;

  await tracker.work({ handler: () => {}, forMs: 1 });

  // The server notices the end of a connection a little later.
  await until(async () => (await open()) === 0);
  await tracker.track({ userId: 'u', jobId: 'j' });
  expect(await tracker.get({ userId: 'u', jobId: 'j' })).toMatchObject({ state: 'tracking' });
  expect(await open()).toBeGreaterThan(0);

  // More callers than connections: many wait for one when work() ends.
  let isOver = false;
  const callers = Array.from({ length: 60 }, async () => {
    while (!isOver) await tracker.get({ userId: 'u', jobId: 'j' });
  });
  await tracker.work({ handler: () => {}, forMs: 1 });
  isOver = true;
  await expect(Promise.all(callers)).resolves.toBeDefined();
});
