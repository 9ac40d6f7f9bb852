import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, databases } from './databases.ts';
import { collect, createWorld, until } from './world.ts';

describe.each(databases)('on $name', ({ open }) => {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  }, 60_000);
  afterAll(() => database.close());

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
});
