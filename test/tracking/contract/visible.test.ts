// What an operator sees: nothing fails in silence.

import { expect, test } from 'vitest';
import { onEachPlace } from '../../support/on-each-place.ts';
import { openTracker, startWorker } from '../world.ts';

onEachPlace((createWorld) => {
  test('a handler that fails is a line with its name, code and attempt, and stats() counts its completion', async () => {
    const world = createWorld();
    const { tracker, completions } = await startWorker(world, {
      minRetryMs: 20,
      maxRetryMs: 20,
      handle() {
        throw Object.assign(new TypeError('Test Person'), { code: 'E_BROKEN' });
      },
    });
    await tracker.track(world.completeJob('approved'));
    await world.until(() => completions.length > 2);
    const { failing, oldestFailingMs, lastPollAt } = await tracker.stats();

    expect(failing).toBe(1);
    expect(oldestFailingMs).toBeGreaterThan(0);
    expect(lastPollAt?.getTime()).toBeLessThanOrEqual(world.now());
    const lines = world.lines.filter((line) => line.includes('handler'));
    expect(lines).toEqual([
      'warn hosted-client: tracking: a handler failed in attempt 1 of 20 (TypeError, E_BROKEN): see stats().failing',
    ]);
  });

  test('one response that asks for a pause of a day stops the requests for 15 minutes, and is logged once', async () => {
    const { world, tracker } = await openTracker(createWorld());
    world.service.failNext('jobs.status', { kind: 'status', status: 503, retryAfter: '86400' });
    await tracker.track(Array.from({ length: 5 }, () => world.service.jobs.start()));
    await tracker.onCompletion(() => {});

    await world.until(async () => (await tracker.stats()).pausedUntil !== null);

    const { problem, pausedUntil } = await tracker.stats();
    expect(problem).toEqual({ code: 'paused', since: expect.any(Date) });
    expect(pausedUntil?.getTime()).toBeLessThanOrEqual(world.now() + 900_000);
    expect(pausedUntil?.getTime()).toBeGreaterThan(world.now() + 880_000);
    expect(world.lines).toEqual(['warn hosted-client: tracking: the service asks for a pause: no request for 900 s']);
  });

  test('a completion that no process takes is overdue', async () => {
    const { world, tracker, completions } = await startWorker(createWorld(), { handle: () => new Promise(() => {}) });
    await tracker.track(Array.from({ length: 12 }, () => world.completeJob('approved')));

    await world.until(async () => (await tracker.stats()).handingOver === 12 && completions.length === 10);
    await world.wait(50);

    const { overdue, oldestOverdueMs } = await tracker.stats();
    expect(overdue).toBe(2);
    expect(oldestOverdueMs).toBeGreaterThan(0);
  });

  test('a success counts that comes after its status could not be fetched for another attempt', async () => {
    const world = createWorld();
    let finish = () => {};
    const { tracker, completions } = await startWorker(world, {
      handlerTimeoutMs: 50,
      minRetryMs: 1,
      maxRetryMs: 1,
      maxDelayMs: 600_000,
      minDelayMs: 600_000,
      handle: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    });
    const job = world.completeJob('approved');
    await tracker.track(job);
    await world.until(() => completions.length === 1);
    world.fail({ kind: 'status', status: 404 });
    await world.until(async () => (await tracker.get(job))?.state === 'tracking');

    finish();
    await world.until(async () => (await tracker.get(job))?.state === 'done');

    expect(completions).toHaveLength(1);
  });
});
