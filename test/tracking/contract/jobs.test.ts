// What every tracker promises about jobs that are tracked.

import { expect, test } from 'vitest';
import { onEachPlace } from '../../support/on-each-place.ts';
import { collectFrom, openTracker, startWorker } from '../world.ts';

onEachPlace((createWorld) => {
  test('track() gives keys in the order of the jobs, and get() tells where a job stands', async () => {
    const { tracker } = await openTracker(createWorld());
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
    const { world, tracker, completions } = await startWorker(createWorld());
    const job = world.service.jobs.start();
    const [key] = await tracker.track({ ...job, context: { customer: 7 } });
    await world.until(async () => ((await tracker.get(job))?.polls ?? 0) > 1);
    world.service.jobs.complete(job, 'approved');

    await world.until(async () => (await tracker.get(job))?.state === 'done');

    expect(completions).toHaveLength(1);
    expect(completions[0]?.key).not.toBe(key);
    expect(completions[0]).toMatchObject({
      revision: 1,
      outcome: 'completed',
      job,
      context: { customer: 7 },
      linkRefId: null,
      attempt: 1,
      status: { state: 'succeeded', ...job },
    });
  });

  test('a job that is already known stays as it is', async () => {
    const { tracker } = await openTracker(createWorld());
    const job = { userId: 'u-1', jobId: 'j-1' };
    await tracker.track({ ...job, context: 'first', deadline: new Date('2040-01-01T00:00:00Z') });

    await tracker.track({ ...job, context: 'second' });

    expect(await tracker.get(job)).toMatchObject({ context: 'first', deadline: new Date('2040-01-01T00:00:00Z') });
  });

  test('a context comes back as it was given', async () => {
    const { tracker } = await openTracker(createWorld());
    const context = { z: [1, 0.1, -1e-7, null, true], a: 'ü \u0001 " \\ 😀', __proto__x: {}, big: 2 ** 53 };

    await tracker.track({ userId: 'u', jobId: 'j', context });

    expect((await tracker.get({ userId: 'u', jobId: 'j' }))?.context).toEqual(context);
  });

  test('a deadline is stored as it was checked, whatever its class', async () => {
    class ShiftyDate extends Date {
      override getTime = () => Date.now() + 1e9 * Math.random();
      override valueOf = this.getTime;
    }
    const { tracker } = await openTracker(createWorld());

    await tracker.track({ userId: 'u', jobId: 'j', deadline: new ShiftyDate('2040-01-01T00:00:00Z') });
    const past = tracker.track({ userId: 'u', jobId: 'past', deadline: new ShiftyDate('2020-01-01T00:00:00Z') });

    await expect(past).rejects.toMatchObject({ issues: [{ path: 'deadline' }] });
    const stored = await tracker.get({ userId: 'u', jobId: 'j' });
    expect(stored?.deadline).toEqual(new Date('2040-01-01T00:00:00Z'));
  });

  test('track() names everything that is wrong, and stores nothing', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const jobs = [
      { userId: 'u', jobId: 'good' },
      { userId: '', jobId: 'j\u0000' },
      { userId: 'u', jobId: 'j', context: 'x'.repeat(16_384) },
      { userId: 'u', jobId: 'j', context: circle },
      { userId: 'u', jobId: 'j', context: { at: new Date() } },
      { userId: 'u', jobId: 'j', context: Number.NaN },
      { userId: 'u', jobId: 'j', context: new Array(1) },
      { userId: 'u', jobId: 'j', deadline: new Date(world.now() - 1_000) },
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
      'jobs[6].context',
      'jobs[7].deadline',
      'jobs[8].linkRefId',
      'jobs[9].userId',
      'jobs[9].jobId',
    ]);
    const ofLink = await tracker
      .trackLink('../x', { deadline: new Date(0), db: {} as never })
      .catch((thrown) => thrown);
    expect(ofLink).toMatchObject({ code: 'validation' });
    expect(ofLink.issues.map(({ path }: { path: string }) => path)).toEqual(['refId', 'deadline', 'db']);
    expect(await tracker.stats()).toMatchObject({ tracking: 0, links: 0 });
  });

  test('untrack() forgets a job until it is tracked again', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const job = world.service.jobs.start();
    await tracker.track({ ...job, context: 1 });

    expect(await tracker.untrack(job)).toBe(true);
    expect(await tracker.untrack(job)).toBe(false);
    expect(await tracker.get(job)).toBe(null);
    await tracker.track({ ...job, context: 2 });

    expect(await tracker.get(job)).toMatchObject({ state: 'tracking', context: 2 });
  });

  test('a job that is still pending at its deadline expires after a last look', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const job = world.service.jobs.start();
    const deadline = world.now() + 300;
    await tracker.track({ ...job, context: 'mine', deadline: new Date(deadline) });
    const completions = await collectFrom(tracker);

    await world.until(() => completions.length > 0);

    expect(completions[0]).toMatchObject({ outcome: 'expired', job, context: 'mine', lastError: null, attempt: 1 });
    const lastLook = world.service.requests.at(-1)?.at ?? 0;
    expect(lastLook).toBeGreaterThanOrEqual(deadline - 1);
  });

  test('an error that is over is forgotten', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const job = world.service.jobs.start();
    const release = world.holdAfter(1);
    world.service.failNext('jobs.status', { kind: 'html' });
    await tracker.track(job);
    await tracker.onCompletion(() => {});

    await world.until(async () => (await tracker.get(job))?.lastError === 'response');
    release();
    await world.until(async () => (await tracker.get(job))?.lastError === null);
  });

  test('Retry-After holds every job', async () => {
    const { world, tracker } = await openTracker(createWorld());
    world.service.failNext('jobs.status', { kind: 'status', status: 429, retryAfter: '1' });
    const first = world.service.jobs.start();
    await tracker.track(first);
    await tracker.onCompletion(() => {});
    await world.until(async () => (await tracker.get(first))?.lastError === 'rate_limit');
    const heldAt = world.service.requests.at(-1)?.at ?? 0;

    await tracker.track(Array.from({ length: 20 }, () => world.service.jobs.start()));
    await world.until(() => world.service.requests.length > 20);

    const next = world.service.requests.find(({ at, status }) => at > heldAt && status !== 429);
    expect((next?.at ?? 0) - heldAt).toBeGreaterThanOrEqual(950);
  });

  test.each([
    ['a wrong key', { kind: 'status', status: 401 } as const, 'authentication'],
    ['responses that do not verify', { kind: 'bad-signature' } as const, 'signature'],
  ])('%s is one problem of the tracker, and not of its jobs', async (_, fault, code) => {
    const { world, tracker } = await openTracker(createWorld());
    const jobs = Array.from({ length: 40 }, () => world.service.jobs.start());
    for (const job of jobs) world.service.jobs.complete(job, 'approved');
    world.fail(fault);
    await tracker.track(jobs);
    const completions = await collectFrom(tracker);

    await world.until(async () => (await tracker.stats()).problem !== null);
    const { problem, tracking } = await tracker.stats();
    expect(problem).toEqual({ code, since: expect.any(Date) });
    expect(tracking).toBe(40);
    // The requests that were under way, those that were until the database knew, and then one at a time.
    expect(world.service.requests.length).toBeLessThan(jobs.length);
    expect(world.events.filter(({ type }) => type === 'problem')).toEqual([{ type: 'problem', code }]);
    expect(world.lines.filter((line) => line.startsWith('warn'))).toHaveLength(1);

    world.fail(null);
    await world.until(() => completions.length === 40);
    expect((await tracker.stats()).problem).toBe(null);
  });

  test('at most maxRequestsPerSecond are sent, by polls and deliveries together', async () => {
    const { world, tracker } = await openTracker(createWorld(), { maxRequestsPerSecond: 10 });
    await tracker.track(Array.from({ length: 12 }, () => world.completeJob('approved')));
    const startedAt = world.now();
    const completions = await collectFrom(tracker);

    await world.until(() => completions.length === 12);

    expect(world.listEarly({ startedAt, rate: 10 })).toEqual([]);
  });
});
