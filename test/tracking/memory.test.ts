import { createTestClock, createTestTracker } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { createWaitingClock } from '../../src/runtime/clock.ts';
import { createMemoryStorage } from '../../src/tracking/memory/storage.ts';
import { readTestOptions } from '../../src/tracking/options.ts';
import { collect, createServiceWorld } from './world.ts';

test('in memory, no job is followed for a link whose row has gone', async () => {
  const clock = createTestClock();
  const { client } = createServiceWorld({ clock });
  const { settings } = readTestOptions({ client, clock });
  const { database, statements } = createMemoryStorage(settings, createWaitingClock(clock), () => 0.5);
  await database.run(statements.storeCallback, ['key of a job', 'user', 'job', null, null, clock.now(), 8]);

  await database.run(statements.adopt, ['key of a link']);

  expect(await database.run(statements.get, ['key of a job'])).toMatchObject([{ state: 0, due: null }]);
});

/** A tracker that works on a clock of its own, and the function that measures by this clock how long something takes. */
function createTimed() {
  const clock = createTestClock();
  const world = createServiceWorld({ clock });
  const tracker = createTestTracker({ client: world.client, clock, maxAttempts: 1 });
  async function measure(work: Promise<unknown>): Promise<number> {
    const startedAt = clock.now();
    let isOver = false;
    void work.finally(() => {
      isOver = true;
    });
    while (!isOver && clock.now() < startedAt + 600_000) await clock.advance(100);
    return clock.now() - startedAt;
  }
  return { world, tracker, clock, measure };
}

const never = () => new Promise<void>(() => {});

test.each([
  ['a handler that ignores its signal', Number.POSITIVE_INFINITY],
  ['a request that gets no response', 0],
])('work() with %s ends within its time and that of one request, also after retry()', async (_, free) => {
  const { world, tracker, measure } = createTimed();
  await tracker.track(world.completeJob('approved'));
  const failing = collect(() => Promise.reject(new Error('not today')));
  await measure(tracker.work({ handler: failing.handler, forMs: 5_000 }));
  expect(await tracker.retry('all')).toBe(1);
  world.holdAfter(free);

  const took = await measure(tracker.work({ handler: never, forMs: 5_000 }));

  expect(took).toBeGreaterThanOrEqual(5_000);
  expect(took).toBeLessThanOrEqual(25_200);
});

test.each([
  ['a handler that ignores its signal', Number.POSITIVE_INFINITY],
  ['a request that gets no response', 0],
])('stop() with %s ends within 25 s', async (_, free) => {
  const { world, tracker, clock, measure } = createTimed();
  await tracker.onCompletion(never);
  world.holdAfter(free);
  await tracker.track(world.completeJob('approved'));
  await clock.advance(10);

  const took = await measure(tracker.stop());

  expect(took).toBeGreaterThanOrEqual(20_000);
  expect(took).toBeLessThanOrEqual(25_000);
});
