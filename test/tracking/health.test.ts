import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { createWorld, openTracker, until } from './world.ts';

onOneDatabase((database) => {
  test('Retry-After holds the fleet, though a request that was under way succeeds', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { concurrency: 6 });
    await tracker.track(Array.from({ length: 6 }, () => world.service.jobs.start()));
    world.fail({ kind: 'status', status: 429, retryAfter: '2' });
    const release = world.holdAfter(4);
    await tracker.onCompletion(() => {});
    await until(async () => (await tracker.stats()).problem?.code === 'rate_limit');

    world.fail(null);
    release();
    await until(() => world.service.requests.length > 6);

    const { requests } = world.service;
    expect(requests.slice(0, 6).map(({ status }) => status)).toEqual([429, 429, 429, 429, 200, 200]);
    expect((requests[6]?.at ?? 0) - (requests[3]?.at ?? 0)).toBeGreaterThanOrEqual(1_900);
    await until(async () => (await tracker.stats()).problem === null);
  });

  test('a process whose key is wrong waits alone, and does not hold the others', async () => {
    const world = createWorld(database);
    const healthy = await world.open();
    await healthy.track(Array.from({ length: 30 }, () => world.service.jobs.start()));
    await healthy.onCompletion(() => {});
    await until(async () => (await world.rows('select 1 from FLEET where well_at is not null')).length > 0);
    const client = new HostedClient({
      ...world.service.clientOptions,
      apiKey: 'wrong',
      fetch: world.fetch,
    } as HostedClientOptions);
    const wrong = await world.open({ client });
    await wrong.onCompletion(() => {});

    await until(() => world.events.some(({ type }) => type === 'problem'));
    const requests = world.service.requests.length;
    await until(() => world.service.requests.length > requests + 60);

    expect((await healthy.stats()).problem).toBe(null);
    expect(world.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);
  });

  test('a worker says that the row of fleet is gone', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    await tracker.onCompletion(() => {});

    await world.rows('delete from FLEET');

    await until(() => world.lines.some((line) => line.includes('the row of the table "fleet" is missing, or hidden')));
    await until(() => world.events.some((event) => event.type === 'problem' && event.code === 'storage'));
    await expect(tracker.stats()).rejects.toMatchObject({ code: 'storage', reason: 'not_migrated' });
  });
});
