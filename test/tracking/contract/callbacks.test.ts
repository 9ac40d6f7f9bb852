// What every tracker promises at its intake for callbacks.

import { expect, test } from 'vitest';
import { onEachPlace } from '../../support/on-each-place.ts';
import { openTracker, startWorker } from '../world.ts';

const never = 3_600_000;

onEachPlace((createWorld) => {
  test('a callback brings the next look forward, and sends no request', async () => {
    const { world, tracker, completions } = await startWorker(createWorld(), { minDelayMs: never, maxDelayMs: never });
    const job = world.service.jobs.start();
    await tracker.track(job);
    await world.until(() => world.service.requests[0]?.status === 200);
    world.service.jobs.complete(job, 'approved');
    const requests = world.service.requests.length;

    const event = await tracker.receive(await (await world.service.jobs.callback(job)).text());

    expect(event).toMatchObject(job);
    await world.until(() => completions.length === 1);
    // One look, and one before the delivery.
    expect(world.service.requests.length).toBe(requests + 2);
    await world.until(async () => (await tracker.get(job))?.state === 'done');
    expect(await tracker.receive(await (await world.service.jobs.callback(job)).text())).toMatchObject(job);
  });

  test('a burst of callbacks about one job costs one look within minDelayMs', async () => {
    const { world, tracker } = await openTracker(createWorld(), { minDelayMs: never, maxDelayMs: never });
    await tracker.onCompletion(() => {});
    const job = world.service.jobs.start();
    await tracker.track(job);
    await world.until(async () => (await tracker.get(job))?.polls === 1);
    world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });
    const body = await (await world.service.jobs.callback(job)).text();

    await Promise.all(Array.from({ length: 30 }, () => tracker.receive(body)));
    await world.until(async () => (await tracker.get(job))?.polls === 2);
    await tracker.receive(body);
    await tracker.receive(body);

    const { nextPollAt, polls } = (await tracker.get(job)) ?? {};
    expect(polls).toBe(2);
    expect(nextPollAt?.getTime()).toBeGreaterThan(world.now() + never / 4);
  });

  test('a callback that comes before track() is kept until then', async () => {
    const { world, tracker, completions } = await startWorker(createWorld());
    const job = world.completeJob('approved');
    const response = await world.service.jobs.deliverCallback(job, { to: tracker.handler() });
    expect(response.status).toBe(200);
    expect(await tracker.get(job)).toMatchObject({ state: 'heard', nextPollAt: null });
    expect(await tracker.stats()).toMatchObject({ heard: 1, tracking: 0 });
    expect(world.service.requests).toEqual([]);

    await tracker.track({ ...job, context: 'at last' });

    await world.until(() => completions.length === 1);
    expect(completions[0]).toMatchObject({ job, context: 'at last' });
    expect((await tracker.stats()).heard).toBe(0);
  });

  test('with unknownJobs "track", the job of any callback is followed', async () => {
    const { world, tracker, completions } = await startWorker(createWorld(), { unknownJobs: 'track' });
    const job = world.completeJob('approved');

    await world.service.jobs.deliverCallback(job, { to: tracker.handler() });

    await world.until(() => completions.length === 1);
    expect(completions[0]).toMatchObject({ job, context: null, outcome: 'completed' });
  });

  test('handler() responds as the client does to what is no callback', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const handle = tracker.handler({ maxBytes: 10_000 });
    const job = world.completeJob('approved');
    const send = async (options: object) =>
      (await world.service.jobs.deliverCallback(job, { to: handle, ...options })).status;

    expect(await send({ variant: 'forged' })).toBe(401);
    expect(await send({ variant: 'unsigned' })).toBe(401);
    expect(await send({ padBytes: 20_000 })).toBe(413);
    expect((await handle(new Request('http://x.test/', { method: 'POST', body: '{' }))).status).toBe(400);
    expect((await handle(new Request('http://x.test/'))).status).toBe(405);
    expect(await tracker.stats()).toMatchObject({ heard: 0, tracking: 0 });
    // An hour late, and with another body: hints.
    expect(await send({ variant: 'stale' })).toBe(200);
    expect(await send({ variant: 'altered' })).toBe(200);
    expect(await send({})).toBe(200);
    await expect(tracker.receive('{}')).rejects.toMatchObject({ code: 'signature' });
  });

  test.each([
    ['NUL', 'job\0'],
    ['an unpaired surrogate', 'job\ud800'],
    ['U+FEFF at the start', '\ufeffjob'],
  ])(
    'a callback whose job id has %s is of no job: handler() responds with 200, and nothing is stored',
    async (_, jobId) => {
      const { world, tracker } = await openTracker(createWorld());
      const body = world.write({ timestamp: new Date(world.now()).toISOString(), jobId });

      const response = await tracker.handler()(new Request('http://x.test/', { method: 'POST', body }));

      expect(response.status).toBe(200);
      await expect(tracker.receive(body)).rejects.toMatchObject({
        code: 'response',
        reason: 'shape',
        issues: [{ path: 'PartnerParams' }],
      });
      expect(await tracker.stats()).toMatchObject({ heard: 0, tracking: 0 });
    },
  );

  test.each([
    ['with milliseconds', 8, (now: number) => new Date(now - 3_600_000).toISOString()],
    ['in whole seconds', 1_000, (now: number) => `${new Date(now - 3_600_000).toISOString().slice(0, 19)}Z`],
  ])('one signed time that is written %s may name %d jobs, and one more gets 503', async (_, most, timeOf) => {
    const { world, tracker } = await openTracker(createWorld());
    const handle = tracker.handler();
    const timestamp = timeOf(world.now() + 7);
    const bodyOf = (n: number) => world.write({ timestamp, jobId: `job-${n}` });
    const send = (n: number) => handle(new Request('http://x.test/', { method: 'POST', body: bodyOf(n) }));

    for (let n = 0; n < most; n++) expect((await send(n)).status).toBe(200);
    const refused = await send(most);

    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    await expect(tracker.receive(bodyOf(most + 1))).rejects.toMatchObject({
      code: 'signature',
      reason: 'mismatch',
      retryable: true,
    });
    expect((await tracker.stats()).heard).toBe(most);
    // A job that was named before may be named again.
    expect((await send(0)).status).toBe(200);
    await tracker.receive(bodyOf(1));
  });
});
