// A job can end more than once, and a message can be delivered more than once: each result counts for its own end.

import { expect, onTestFinished, test, vi } from 'vitest';
import { onEachDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, openTracker, until, wrapPool } from './world.ts';

onEachDatabase((database) => {
  type World = ReturnType<typeof createWorld>;

  /** A world with one job that has its result, and that no process follows yet. */
  async function trackOne() {
    const { world, tracker } = await openTracker(createWorld(database));
    const job = world.completeJob('approved');
    await tracker.track(job);
    return { world, tracker, job };
  }

  /** A worker whose handlers end when the test says so. */
  async function openWorker(world: World, options: Parameters<World['open']>[0] = {}) {
    const ends: (() => void)[] = [];
    const { completions, handler } = collect(() => new Promise<void>((resolve) => ends.push(resolve)));
    const tracker = await world.open(options);
    await tracker.onCompletion(handler);
    return { tracker, completions, finish: (n: number) => ends[n]?.() };
  }

  /** A worker whose process dies in its first handler. */
  async function die(world: World, options: Parameters<World['open']>[0] = {}): Promise<void> {
    const line = world.createLine();
    const worker = await openWorker(world, { ...options, pool: line.pool });
    await until(() => worker.completions.length === 1, 'the first handler');
    line.isCut = true;
    await worker.tracker.stop({ timeoutMs: 0 });
  }

  test('a process that dies in its handler has made an attempt', async () => {
    const { world, tracker } = await trackOne();
    await die(world, { maxAttempts: 2 });
    await world.endLeases();
    await die(world, { maxAttempts: 2 });

    await world.endLeases();

    const last = await world.open({ maxAttempts: 2 });
    const { completions, handler } = collect();
    await last.onCompletion(handler);
    await until(async () => (await tracker.stats()).dead === 1, 'the dead letter');
    expect(await tracker.deadLetters()).toMatchObject([{ attempts: 2, error: { name: 'TimeoutError' } }]);
    expect(completions).toEqual([]);
    expect(await tracker.retry('all')).toBe(1);
    await until(() => completions.length === 1);
    expect(completions[0]).toMatchObject({ attempt: 1 });
  });

  test.each([
    ['', false],
    [', even if the response is lost when it is given back', true],
  ])('a handler does not begin if storing this took too long, and has made no attempt%s', async (_, isLost) => {
    const { world } = await trackOne();
    const now = performance.now.bind(performance);
    let begins = 0;
    let lost = 0;
    // It never goes back: what waits by this clock would wait for half a minute.
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + (begins < 2 ? 0 : 31_000));
    onTestFinished(() => clock.mockRestore());
    const worker = await world.open({
      maxAttempts: 2,
      minRetryMs: 1,
      pool: wrapPool(database.pool, () => async (text, run) => {
        const result = await run();
        const isBegun = /set attempts = least/.test(text) && result.rows.length > 0;
        if (isBegun) begins += 1;
        if (begins < 2 || lost > 0 || !isLost || !/set deliver_at = now\(\) \+ \(n\.wait_ms/.test(text)) return result;
        lost += 1;
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      }),
    });
    const { completions, handler } = collect(() => {
      throw new TypeError('not today');
    });

    await worker.onCompletion(handler);

    await until(() => begins >= 2, 'the handler that is too late');
    if (isLost) await until(() => lost > 0, 'the lost response');
    await until(async () => (await worker.stats()).dead === 1, 'the dead letter');
    expect(completions.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(begins).toBe(3);
  });

  test('a handler that did not begin uses up no revision', async () => {
    const { world } = await openTracker(createWorld(database));
    const job = world.completeJob('rejected');
    const now = performance.now.bind(performance);
    let isLate = false;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + (isLate ? 31_000 : 0));
    onTestFinished(() => clock.mockRestore());
    const worker = await world.open({
      pool: wrapPool(database.pool, () => async (text, run) => {
        const result = await run();
        if (!isLate && /set attempts = least/.test(text) && result.rows.length > 0) {
          isLate = true;
          world.service.jobs.complete(job, 'approved');
        }
        return result;
      }),
    });
    const { completions, handler } = collect();
    await worker.track(job);
    await worker.onCompletion(handler);

    await until(async () => (await worker.get(job))?.state === 'done');

    expect(completions).toMatchObject([{ revision: 1, attempt: 1, status: { state: 'succeeded' } }]);
  });

  test('track() asks about a done job only once each maxDelayMs if a callback has moved its date ahead', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { maxDelayMs: 3_600_000 });
    const job = world.completeJob('approved');
    await tracker.track(job);
    await world.rows(
      `update TRACKED set state = 3, due = null, ended_at = now(), forced_at = now() + interval '10 minutes'`,
    );

    await tracker.track(job);

    expect(await world.rows('select due from TRACKED')).toEqual([{ due: null }]);
  });

  test('a callback about a done job causes a poll unless it is more than two seconds older than the status', async () => {
    const { world, tracker, job } = await trackOne();
    const signedAt = Date.now() - 60_000;
    await world.rows(
      `update TRACKED set state = 3, due = null, revision = 1, ended_at = now(), signed_at = to_timestamp(${signedAt / 1_000})`,
    );
    const receive = async (atMs: number) => {
      await tracker.receive(world.write({ ...job, timestamp: new Date(atMs).toISOString() }));
      const [row] = await world.rows('select (due is not null)::text as is_due from TRACKED');
      return row?.is_due;
    };

    expect(await receive(signedAt - 2_001)).toBe('false');
    expect(await receive(signedAt - 2_000)).toBe('true');
  });

  test('after a backup of the tables was restored, a completion is handed over again with its key', async () => {
    const { world, tracker, job } = await trackOne();
    await world.rows(`create table ${world.schema}.backup as select * from TRACKED`);
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    await until(async () => (await tracker.get(job))?.state === 'done');

    await world.rows(`delete from TRACKED; insert into TRACKED select * from ${world.schema}.backup`);

    await until(() => completions.length === 2);
    expect(completions[1]).toMatchObject({ revision: 1, key: completions[0]?.key });
  });

  test('a handler does not begin if that cannot be stored', async () => {
    const { world } = await trackOne();
    let refused = 0;
    const worker = await world.open({
      pool: wrapPool(database.pool, () => async (text, run) => {
        if (!/set attempts = least/.test(text)) return run();
        refused += 1;
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
      }),
    });
    const { completions, handler } = collect();
    await worker.onCompletion(handler);
    await until(() => refused > 2, 'several tries');
    await worker.stop({ timeoutMs: 0 });

    expect(completions).toEqual([]);
    expect(await world.rows('select attempts from TRACKED')).toEqual([{ attempts: 0 }]);
  });

  test('maxAttempts is the number of times that a handler begins, whatever ends its attempts', async () => {
    const { world, tracker } = await trackOne();
    const options = { maxAttempts: 3, minRetryMs: 1, handlerTimeoutMs: 50 };
    await die(world, { ...options, handlerTimeoutMs: 60_000 });
    await world.endLeases();

    const { completions, handler } = collect(({ attempt }) => {
      if (attempt === 2) return new Promise(() => {});
      throw new TypeError('not today');
    });
    await (await world.open(options)).onCompletion(handler);

    await until(async () => (await tracker.stats()).dead === 1, 'the dead letter');
    expect(completions.map(({ attempt }) => attempt)).toEqual([2, 3]);
    expect(await tracker.deadLetters()).toMatchObject([{ attempts: 3, error: { name: 'TypeError' } }]);
  });
});
