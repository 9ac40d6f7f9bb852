import { expect, onTestFinished, test } from 'vitest';
import { onEachDatabase } from '../support/on-each-database.ts';
import { type Cluster, startCluster } from './databases.ts';
import { collect, createWorld, openTracker, until } from './world.ts';

onEachDatabase((database) => {
  test('stop() aborts the signal of a handler that takes longer, whose completion is handed over again', async () => {
    const world = createWorld(database);
    const first = await world.open();
    const job = world.completeJob('approved');
    await first.track(job);
    const { completions, handler } = collect(() => new Promise(() => {}));
    await first.onCompletion(handler);
    await until(() => completions.length === 1);

    await first.stop({ timeoutMs: 20 });

    expect(completions[0]?.signal.aborted).toBe(true);
    const second = await world.open();
    const again = collect();
    await second.onCompletion(again.handler);
    await until(() => again.completions.length === 1);
    expect(again.completions[0]).toMatchObject({ key: completions[0]?.key, attempt: 2 });
  });
});

test('a database that goes away stops polls and makes handler() respond with 503, until it is back', {
  tags: ['postgresql'],
  timeout: 60_000,
}, async () => {
  const cluster: Cluster = await startCluster();
  onTestFinished(() => cluster.close());
  const { world, tracker } = await openTracker(createWorld(cluster), {
    connectionString: cluster.connectionString,
    pool: undefined as never,
  });
  const { completions, handler } = collect();
  await tracker.onCompletion(handler);
  const job = world.service.jobs.start();
  await tracker.track(job);
  await until(() => world.service.requests.length > 1);
  cluster.stop();
  world.service.jobs.complete(job, 'approved');

  const handle = tracker.handler();
  const response = await world.service.jobs.deliverCallback(job, { to: handle });
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  await expect(tracker.track(job)).rejects.toMatchObject({ code: 'storage', reason: 'unreachable' });
  await until(() => world.lines.some((line) => line.includes('database')));
  const requests = world.service.requests.length;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(world.service.requests.length).toBe(requests);

  cluster.start();
  await until(() => completions.length === 1);
  expect((await world.service.jobs.deliverCallback(job, { to: handle })).status).toBe(200);
  // Each thing that did not happen is said once. On a slow machine, more than polls fail before the database is back.
  const effects = world.lines.filter((line) => line.startsWith('warn')).map((line) => line.split(' until ')[0]);
  expect(effects).toContain('warn hosted-client: tracking: no job is polled');
  expect(effects).toEqual([...new Set(effects)]);
});
