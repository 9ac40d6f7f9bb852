// Deliveries ask for fresh statuses: these requests share the budget with the looks, and neither may starve the other.

import { createTestClock, createTestTracker } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createServiceWorld, createWorld, openTracker, startWorker, until } from './world.ts';

test.each([50, 300, 900, 1_000, 1_300, 5_000])(
  'completions whose handler always fails leave polls half of the requests, with minRetryMs %d',
  async (minRetryMs) => {
    const clock = createTestClock();
    const world = createServiceWorld({ clock });
    const { client } = world;
    const waits = { minDelayMs: 5_000, maxDelayMs: 5_000, minRetryMs, maxRetryMs: minRetryMs, maxAttempts: 10_000 };
    const tracker = createTestTracker({ client, clock, maxRequestsPerSecond: 10, ...waits });
    await tracker.onCompletion(() => {
      throw new Error('not today');
    });
    await tracker.track(Array.from({ length: 60 }, () => world.completeJob('approved')));
    await clock.advance(30_000);
    const others = Array.from({ length: 60 }, () => world.service.jobs.start());
    await tracker.track(others);
    const before = await tracker.stats();

    await clock.advance(20_000);

    const polls = await Promise.all(others.map(async (job) => (await tracker.get(job))?.polls ?? 0));
    expect(Math.min(...polls)).toBeGreaterThan(0);
    const asked = (await tracker.stats()).requestsSent - before.requestsSent;
    expect(asked).toBeGreaterThan(170);
    expect(asked).toBeLessThanOrEqual(210);
    expect(polls.reduce((sum, count) => sum + count)).toBeGreaterThan(85);
  },
);

test('a new completion does not wait for those whose handler fails', async () => {
  const clock = createTestClock();
  const world = createServiceWorld({ clock });
  const handled: string[] = [];
  const options = { client: world.client, clock, maxRequestsPerSecond: 10, minRetryMs: 1, maxRetryMs: 1 };
  const tracker = createTestTracker({ ...options, maxAttempts: 10_000 });
  const good = world.service.jobs.start();
  await tracker.onCompletion(({ job }) => {
    if (job?.jobId !== good.jobId) throw new Error('not today');
    handled.push(good.jobId);
  });
  await tracker.track(Array.from({ length: 100 }, () => world.completeJob('approved')));
  await clock.advance(60_000);

  world.service.jobs.complete(good, 'approved');
  await tracker.track(good);
  await clock.advance(2_000);

  expect(handled).toHaveLength(1);
});

onOneDatabase((database) => {
  /** A world with completions that nobody took yet. */
  async function createBacklog(completions: number) {
    const { world, tracker } = await openTracker(createWorld(database));
    const jobs = Array.from({ length: completions }, () => world.completeJob('approved'));
    await tracker.track(jobs);
    await world.bury(completions);
    await tracker.retry('all');
    return { world, tracker, jobs, asked: world.service.requests.length };
  }

  test('no request is paid for that is not sent', async () => {
    const { world, tracker, asked } = await createBacklog(40);
    const before = await tracker.stats();
    const workers = [1, 2].map(() => world.open({ maxRequestsPerSecond: 2, handlerConcurrency: 100 }));
    const { completions, handler } = collect();
    for (const worker of await Promise.all(workers)) await worker.onCompletion(handler);

    await until(() => completions.length >= 4);

    const paid = (await tracker.stats()).requestsSent - before.requestsSent;
    // What is on its way: one request a worker, or a second's.
    expect(paid - (world.service.requests.length - asked)).toBeLessThanOrEqual(4);
    const [fleet] = await world.rows('select tokens from FLEET');
    expect(Number(fleet?.tokens)).toBeGreaterThan(-10);
    expect((await tracker.stats()).handingOver).toBeGreaterThan(30);
  });

  test('completions that wait do not stop jobs from being looked at', async () => {
    const { world, tracker } = await createBacklog(60);
    const others = Array.from({ length: 5 }, () => world.service.jobs.start());
    await tracker.track(others);
    const { completions } = await startWorker(world, { maxRequestsPerSecond: 20 });

    await until(async () => {
      const seen = await Promise.all(others.map(async (job) => ((await tracker.get(job))?.polls ?? 0) > 0));
      return seen.every(Boolean);
    });

    expect(completions.length).toBeLessThan(40);
    await until(() => completions.length === 60);
  });

  test('a lease is as long as a delivery may take', async () => {
    const { world } = await createBacklog(1);
    const worker = await world.open({ handlerTimeoutMs: 1_000 });
    await worker.onCompletion(() => new Promise(() => {}));
    const leased = 'select extract(epoch from deliver_at - now()) as seconds from TRACKED where lease_id is not null';
    await until(async () => (await world.rows(leased)).length === 1);

    const rows = await world.rows(leased);
    // The wait for the budget, a slow request, and the handler.
    expect(Number(rows[0]?.seconds)).toBeGreaterThanOrEqual(5 + 20 + 1);
  });
});
