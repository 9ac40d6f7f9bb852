import type { HostedEvent } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { letOthersRun } from '../../src/tracking/pause.ts';
import { onOneDatabase } from '../support/on-each-database.ts';
import { createWorld, openTracker, takeConnection, wrapPool } from './world.ts';

onOneDatabase((database) => {
  test('track() inside a transaction of the caller is undone with it', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const connection = await takeConnection(world.pool);
    await connection.query('begin');
    await tracker.track({ userId: 'u-1', jobId: 'kept' }, { db: connection });
    await connection.query('commit');
    await connection.query('begin');
    await tracker.track({ userId: 'u-1', jobId: 'undone' }, { db: connection });
    await tracker.trackLink('link-1', { db: connection });
    await connection.query('rollback');
    connection.release();

    expect(await world.rows('select job_id from TRACKED')).toEqual([{ job_id: 'kept' }]);
  });

  test('track() is one statement for any number of jobs', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const texts: string[] = [];
    const counting = {
      query(text: string, values?: unknown[]) {
        texts.push(text);
        return world.pool.query(text, values);
      },
    };
    const jobs = Array.from({ length: 1_000 }, (_, n) => ({ userId: `u-${n}`, jobId: `j-${n}`, context: n }));

    const keys = await tracker.track(jobs, { db: counting });

    expect(texts).toHaveLength(1);
    expect(new Set(keys).size).toBe(1_000);
    expect(await tracker.get({ userId: 'u-999', jobId: 'j-999' })).toMatchObject({ key: keys[999], context: 999 });
  });

  test('track() of many jobs lets the process do something else after every 200 of them', async () => {
    const { tracker } = await openTracker(createWorld(database));
    const readIn = new Map<number, number>();
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn += 1;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const jobs = Array.from({ length: 2_000 }, (_, n) => ({
      userId: `u-${n}`,
      get jobId() {
        readIn.set(turn, (readIn.get(turn) ?? 0) + 1);
        return `j-${n}`;
      },
    }));

    expect(new Set(await tracker.track(jobs)).size).toBe(2_000);
    isOver = true;

    const readsOfOne = [...readIn.values()].reduce((sum, reads) => sum + reads, 0) / jobs.length;
    expect(Math.max(...readIn.values())).toBeLessThanOrEqual(200 * readsOfOne);
  });

  test('track() has ten seconds, and thirty for many jobs', async () => {
    const world = createWorld(database);
    let hanging: number | null = null;
    const pool = wrapPool(database.pool, () => (_, run) => {
      if (hanging === null) return run();
      hanging += 1;
      return new Promise(() => {});
    });
    const tracker = await world.open({ pool });
    hanging = 0;
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const rejected: number[] = [];
    const calls = [1, 1_000].map(async (count) => {
      const jobs = Array.from({ length: count }, (_, n) => ({ userId: 'u', jobId: `${n}` }));
      await tracker.track(jobs).catch(() => rejected.push(count));
    });
    while (hanging < 2) await letOthersRun();

    await vi.advanceTimersByTimeAsync(10_000);
    expect(rejected).toEqual([1]);

    await vi.advanceTimersByTimeAsync(20_000);
    await Promise.all(calls);
    expect(rejected).toEqual([1, 1_000]);
  });

  test('the key of a job is the same in every process, and another in the other environment', async () => {
    const world = createWorld(database);
    const other = createWorld(database);
    const job = { userId: 'u-1', jobId: 'j-1' };

    const [first] = await (await world.open()).track(job);
    const [second] = await (await other.open()).track(job);
    const production = other.client.withOptions({ ...createMockService().production.clientOptions });
    const [live] = await (await createWorld(database).open({ client: production })).track(job);

    expect(second).toBe(first);
    expect(live).not.toBe(first);
  });

  test('handler() reports the status that it responds with when a callback could not be stored', async () => {
    const events: HostedEvent[] = [];
    const world = createWorld(database, { onEvent: (event) => void events.push(event) });
    const line = world.createLine();
    const tracker = await world.open({ pool: line.pool });
    line.isCut = true;

    const response = await world.service.jobs.deliverCallback(world.completeJob('approved'), { to: tracker.handler() });

    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'callback', result: 'failed', status: 503, reason: 'storage' }),
    );
  });

  test('a schema is of one partner and of one environment', async () => {
    const world = createWorld(database);
    await world.open();
    const other = world.client.withOptions({ partnerId: '999' });

    const production = world.client.withOptions({ ...createMockService().production.clientOptions });

    for (const client of [other, production]) {
      await expect(world.open({ client })).rejects.toMatchObject({ code: 'config', issues: [{ path: 'schema' }] });
    }
    // A key that is replaced changes nothing.
    await world.open({ client: world.client.withOptions({ apiKey: 'another key, of the same partner' }) });
  });
});
