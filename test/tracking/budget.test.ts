// Deliveries ask for fresh statuses: these requests share the budget with the looks, and neither may starve the other.

import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, openTracker, startWorker, until } from './world.ts';

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
