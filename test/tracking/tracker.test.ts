import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, until } from './world.ts';

onOneDatabase((database) => {
  test('track() gives keys in the order of the jobs, and get() tells where a job stands', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const jobs = [
      { userId: 'u-1', jobId: 'j-1', context: { customer: 1 } },
      { userId: 'u-2', jobId: 'j-2' },
      { userId: 'u-1', jobId: 'j-1', context: { customer: 3 } },
    ];

    const keys = await tracker.track(jobs);

    expect(keys).toHaveLength(3);
    expect(keys[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(keys[2]).toBe(keys[0]);
    expect(keys[1]).not.toBe(keys[0]);
    expect(await tracker.get({ userId: 'u-1', jobId: 'j-1' })).toMatchObject({
      key: keys[0],
      userId: 'u-1',
      jobId: 'j-1',
      state: 'tracking',
      context: { customer: 1 },
      polls: 0,
      lastError: null,
    });
    expect(await tracker.get({ userId: 'u-1', jobId: 'j-2' })).toBe(null);
  });

  test('a job that completes is handed over once, with its context and a fresh status', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    const job = world.service.jobs.start();
    const [key] = await tracker.track({ ...job, context: { customer: 7 } });
    await until(async () => ((await tracker.get(job))?.polls ?? 0) > 1);
    world.service.jobs.complete(job, 'approved');

    await until(async () => (await tracker.get(job))?.state === 'done');

    expect(completions).toHaveLength(1);
    expect(completions[0]).toMatchObject({
      key,
      outcome: 'completed',
      job,
      context: { customer: 7 },
      linkRefId: null,
      attempt: 1,
      status: { state: 'succeeded', ...job },
    });
  });

  test('track() inside a transaction of the caller is undone with it', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const connection = await world.pool.connect();
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
    const world = createWorld(database);
    const tracker = await world.open();
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

  test('a job that is already known stays as it is', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const job = { userId: 'u-1', jobId: 'j-1' };
    await tracker.track({ ...job, context: 'first', deadline: new Date('2040-01-01T00:00:00Z') });

    await tracker.track({ ...job, context: 'second' });

    expect(await tracker.get(job)).toMatchObject({ context: 'first', deadline: new Date('2040-01-01T00:00:00Z') });
  });

  test('a context comes back as it was given', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const context = { z: [1, 0.1, -1e-7, null, true], a: 'ü \u0001 " \\ 😀', __proto__x: {}, big: 2 ** 53 };

    await tracker.track({ userId: 'u', jobId: 'j', context });

    expect((await tracker.get({ userId: 'u', jobId: 'j' }))?.context).toEqual(context);
  });

  test('a deadline is stored as it was checked, whatever its class', async () => {
    class ShiftyDate extends Date {
      override getTime = () => Date.now() + Math.random() * 1e9;
      override valueOf = this.getTime;
    }
    const world = createWorld(database);
    const tracker = await world.open();

    await tracker.track({ userId: 'u', jobId: 'j', deadline: new ShiftyDate('2040-01-01T00:00:00Z') });
    const past = tracker.track({ userId: 'u', jobId: 'past', deadline: new ShiftyDate('2020-01-01T00:00:00Z') });

    await expect(past).rejects.toMatchObject({ issues: [{ path: 'deadline' }] });
    const stored = await tracker.get({ userId: 'u', jobId: 'j' });
    expect(stored?.deadline).toEqual(new Date('2040-01-01T00:00:00Z'));
  });

  test('track() names everything that is wrong, and stores nothing', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const jobs = [
      { userId: 'u', jobId: 'good' },
      { userId: '', jobId: 'j\u0000' },
      { userId: 'u', jobId: 'j', context: 'x'.repeat(16_384) },
      { userId: 'u', jobId: 'j', context: circle },
      { userId: 'u', jobId: 'j', context: { at: new Date() } },
      { userId: 'u', jobId: 'j', context: Number.NaN },
      { userId: 'u', jobId: 'j', deadline: new Date(Date.now() - 1_000) },
      { userId: 'u', jobId: 'j', linkRefId: ' ' },
      { userId: '\ufeffu', jobId: '\ufeffj' },
    ];

    const error = await tracker.track(jobs as never).catch((thrown) => thrown);

    expect(error).toMatchObject({ name: 'HostedValidationError' });
    expect(error.issues.map(({ path }: { path: string }) => path)).toEqual([
      'jobs[1].userId',
      'jobs[1].jobId',
      'jobs[2].context',
      'jobs[3].context',
      'jobs[4].context',
      'jobs[5].context',
      'jobs[6].deadline',
      'jobs[7].linkRefId',
      'jobs[8].userId',
      'jobs[8].jobId',
    ]);
    const ofLink = await tracker
      .trackLink('../x', { deadline: new Date(0), db: {} as never })
      .catch((thrown) => thrown);
    expect(ofLink).toMatchObject({ code: 'validation' });
    expect(ofLink.issues.map(({ path }: { path: string }) => path)).toEqual(['refId', 'deadline', 'db']);
    expect(await world.rows('select 1 from TRACKED')).toEqual([]);
  });

  test('untrack() forgets a job until it is tracked again', async () => {
    const world = createWorld(database);
    const tracker = await world.open();
    const job = world.service.jobs.start();
    await tracker.track({ ...job, context: 1 });

    expect(await tracker.untrack(job)).toBe(true);
    expect(await tracker.untrack(job)).toBe(false);
    expect(await tracker.get(job)).toBe(null);
    await tracker.track({ ...job, context: 2 });

    expect(await tracker.get(job)).toMatchObject({ state: 'tracking', context: 2 });
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

  test('a schema is of one partner', async () => {
    const world = createWorld(database);
    await world.open();
    const other = world.client.withOptions({ partnerId: '999' });

    await expect(world.open({ client: other })).rejects.toMatchObject({ code: 'config', issues: [{ path: 'schema' }] });
    // A key that is replaced changes nothing.
    await world.open({ client: world.client.withOptions({ apiKey: 'another key, of the same partner' }) });
  });

  test('a schema is of one environment', async () => {
    const world = createWorld(database);
    await world.open();
    const production = world.client.withOptions({ ...createMockService().production.clientOptions });

    await expect(world.open({ client: production })).rejects.toMatchObject({
      code: 'config',
      issues: [{ path: 'schema' }],
    });
  });
});
