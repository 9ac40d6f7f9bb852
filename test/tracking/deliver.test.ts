import { stat } from 'node:fs/promises';
import type { SqlPool } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { letOthersRun } from '../../src/tracking/pause.ts';
import { deferred } from '../support/fake-fetch.js';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, openTracker, until } from './world.ts';

onOneDatabase((database) => {
  test.each([1, 3])(
    'a handler that succeeds after its time is not called again, with maxAttempts %d',
    async (maxAttempts) => {
      const { world, tracker } = await openTracker(createWorld(database), {
        handlerTimeoutMs: 60,
        maxAttempts,
        minRetryMs: 600_000,
      });
      let succeed = () => {};
      const { completions, handler } = collect(() => new Promise<void>((resolve) => (succeed = resolve)));
      await tracker.onCompletion(handler);
      const job = world.completeJob('approved');
      await tracker.track(job);
      await until(() => world.events.some(({ type }) => type === 'delivery'));
      await until(async () => (await world.rows('select 1 from TRACKED where lease_id is null')).length === 1);
      expect(await tracker.deadLetters()).toHaveLength(maxAttempts === 1 ? 1 : 0);

      succeed();

      await until(async () => (await tracker.get(job))?.state === 'done');
      expect(await tracker.deadLetters()).toEqual([]);
      // The next delivery would begin now.
      expect(await world.rows('select deliver_at, lease_id from TRACKED')).toEqual([
        { deliver_at: null, lease_id: null },
      ]);
      expect(completions).toHaveLength(1);
    },
  );

  test('a success is stored with the statement that would begin the next handler, which then does not begin', async () => {
    const { world } = await openTracker(createWorld(database));
    const [key, end_id, lease_id] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    await world.rows(`insert into TRACKED (key, kind, state, outcome, revision, attempts, end_id, lease_id, deliver_at)
      values ('${key}', 0, 2, 2, 1, 1, '${end_id}', '${lease_id}', now() + interval '1 hour')`);
    const { storeProgress } = world.statements();
    const keys = JSON.stringify([key]);
    const done = JSON.stringify([{ key, end_id, revision: 1 }]);
    const begins = JSON.stringify([{ key, lease_id, attempt: 2, revision: 1, end_key: key }]);

    const begun = await database.pool.query(storeProgress, [done, keys, begins, keys]);

    expect(begun.rows).toEqual([]);
    expect(await world.rows('select state, attempts from TRACKED')).toEqual([{ state: 3, attempts: 1 }]);
  });

  test('a handler that succeeds after its time and after stop() lets the process end', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { handlerTimeoutMs: 60, minRetryMs: 600_000 });
    const countTimers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length;
    let succeed = () => {};
    await tracker.onCompletion(() => new Promise<void>((resolve) => (succeed = resolve)));
    await tracker.track(world.completeJob('approved'));
    await until(() => world.events.some(({ type }) => type === 'delivery'));
    await tracker.stop();
    const timers = countTimers();

    succeed();
    await letOthersRun();

    expect(countTimers()).toBeLessThanOrEqual(timers);
    expect(world.events).toContainEqual(expect.objectContaining({ type: 'delivery', result: 'timed_out' }));
  });

  test('a handler that has succeeded while its process was paused has not timed out', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { handlerTimeoutMs: 100, maxAttempts: 1 });
    const aborted: boolean[] = [];
    const { handler } = collect(async ({ signal }) => {
      const effect = stat('.');
      // The process stands still. The effect is there before it goes on.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      await effect;
      aborted.push(signal.aborted);
    });
    await tracker.onCompletion(handler);
    const job = world.completeJob('approved');
    await tracker.track(job);

    await until(() => world.events.some(({ type }) => type === 'delivery'));

    expect(world.events).toContainEqual(expect.objectContaining({ type: 'delivery', result: 'resolved' }));
    expect(aborted).toEqual([false]);
    await until(async () => (await tracker.get(job))?.state === 'done');
  });

  test('a handler that has resolved is not called again because the database is away when it ends', async () => {
    const world = createWorld(database);
    const line = world.createLine();
    const tracker = await world.open({ pool: line.pool });
    const { completions, handler } = collect(() => {
      line.isCut = true;
    });
    await tracker.onCompletion(handler);
    const job = world.completeJob('approved');
    await tracker.track(job);
    await until(() => completions.length === 1 && line.refused > 2);

    line.isCut = false;

    await until(async () => (await tracker.get(job))?.state === 'done');
    expect(completions).toHaveLength(1);
  });

  test('other completions do not wait for a row that somebody has locked', async () => {
    const world = createWorld(database);
    let locked: string | undefined;
    let waiting = 0;
    let destroyed = 0;
    const unlocked = deferred();
    const connect = async () => {
      const connection = await database.pool.connect();
      const query: SqlPool['query'] = async (text, values) => {
        if (locked !== undefined && String(values).includes(locked)) {
          waiting += 1;
          if (waiting === 1) throw Object.assign(new Error('canceling statement'), { code: '57014' });
          await unlocked.promise;
        }
        return connection.query(text, values);
      };
      const release = (isBroken?: boolean) => {
        if (isBroken) destroyed += 1;
        connection.release(isBroken);
      };
      return { query, release };
    };
    const tracker = await world.open({ pool: { query: (...given) => database.pool.query(...given), connect } });
    const [job, other] = [world.completeJob('approved'), world.completeJob('approved')];
    const [key] = await tracker.track(job);
    const { completions, handler } = collect(() => {
      locked = key;
    });
    await tracker.onCompletion(handler);
    await until(() => waiting === 2);

    await tracker.track(other);

    await until(async () => (await tracker.get(other))?.state === 'done');
    expect(destroyed).toBe(1);
    locked = undefined;
    unlocked.resolve();
    await until(async () => (await tracker.get(job))?.state === 'done');
    expect(completions).toHaveLength(2);
  });
});
