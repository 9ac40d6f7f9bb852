// Two things at once: whichever comes first, one completion comes of it, with one context.

import { expect, test } from 'vitest';
import { deferred } from '../support/fake-fetch.js';
import { onEachDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, newLink, openTracker, startWorker, takeConnection, until } from './world.ts';

onEachDatabase((database) => {
  test('two processes that track one job with two contexts agree on one', async () => {
    const world = createWorld(database);
    const trackers = await Promise.all([world.open(), world.open()]);
    const { completions, handler } = collect();
    const jobs = Array.from({ length: 20 }, () => world.completeJob('approved'));

    const keys = await Promise.all(
      trackers.map((tracker, n) =>
        Promise.all(jobs.map(async (job) => (await tracker.track({ ...job, context: n }))[0])),
      ),
    );
    const contexts = await Promise.all(jobs.map(async (job) => (await trackers[0]?.get(job))?.context));
    await trackers[1]?.onCompletion(handler);
    await until(() => completions.length === 20);

    expect(keys[0]).toEqual(keys[1]);
    const handled = new Map(completions.map(({ job, context }) => [job?.jobId, context]));
    expect(jobs.map(({ jobId }) => handled.get(jobId))).toEqual(contexts);
  });

  if (database.name === 'PostgreSQL')
    test.each([
      ['commits', 'commit', 'completed'],
      ['is rolled back', 'rollback', undefined],
    ])('a callback that comes while the transaction of track() is open, which then %s', async (_, end, outcome) => {
      const { world, tracker, completions } = await startWorker(createWorld(database));
      const job = world.completeJob('approved');
      const connection = await takeConnection(world.pool);
      await connection.query('begin');
      await tracker.track({ ...job, context: 'mine' }, { db: connection });

      const receiving = world.service.jobs.deliverCallback(job, { to: tracker.handler() });
      await connection.query(end);

      expect((await receiving).status).toBe(200);
      if (outcome === undefined) {
        expect(await tracker.get(job)).toMatchObject({ state: 'heard' });
        await tracker.track({ ...job, context: 'mine' });
      }
      await until(() => completions.length === 1);
      expect(completions[0]).toMatchObject({ outcome: 'completed', context: 'mine' });
    });

  if (database.name === 'PostgreSQL')
    test('a transaction that tracks what is tracked already holds up nothing', async () => {
      const handling = deferred();
      const { world, tracker, completions } = await startWorker(createWorld(database), {
        handle: () => handling.promise,
      });
      const job = world.completeJob('approved');
      const pending = world.service.jobs.start();
      const link = await world.client.links.create(newLink);
      await tracker.track([job, pending]);
      await tracker.trackLink(link.refId);
      await until(() => completions.length === 1);
      const connection = await takeConnection(world.pool);
      await connection.query('begin');
      await tracker.track([job, pending], { db: connection });
      await tracker.trackLink(link.refId, { db: connection });

      handling.resolve();

      await until(async () => (await tracker.get(job))?.state === 'done');
      // A poll of the worker holds a row for a moment, the transaction until it ends.
      const free = 'select from TRACKED for update skip locked';
      await until(async () => (await world.rows(free)).length === 3);
    });

  test('stop() ends what is being started', async () => {
    const world = createWorld(database);
    const never = await world.open();
    await never.stop();
    await never.stop();
    await expect(never.onCompletion(() => {})).rejects.toMatchObject({ code: 'config' });

    const starting = await world.open();
    const started = starting.onCompletion(() => {});
    await starting.stop();
    await started;
    const retrying = await world.open();
    const retried = retrying.retry('all');
    await retrying.stop();
    expect(await retried).toBe(0);

    const requests = world.service.requests.length;
    const other = await world.open();
    await other.track(world.service.jobs.start());
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(world.service.requests.length).toBe(requests);
  });

  test('ids that look alike are not one job', async () => {
    const { tracker } = await openTracker(createWorld(database));
    const ids = ['a', 'a","b', 'a\u0301', '\u00e1', 'a\u200b', '\\u0061', 'A', '["a"]', 'a|b', `${'a'.repeat(1_024)}`];
    const jobs = ids.flatMap((userId) => ids.map((jobId) => ({ userId, jobId })));

    const keys = await tracker.track(jobs.map((job, n) => ({ ...job, context: n })));

    expect(new Set(keys).size).toBe(jobs.length);
    const found = await Promise.all(jobs.map((job) => tracker.get(job)));
    expect(found.map((job) => job?.context)).toEqual(jobs.map((_, n) => n));
    expect(found.map((job) => ({ userId: job?.userId, jobId: job?.jobId }))).toEqual(jobs);
  });

  test('a callback of 2 MiB is stored, and one byte more is refused', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const job = world.completeJob('approved');
    const body = await (await world.service.jobs.callback(job, { padBytes: 1 })).text();
    const largest = body.replace('"A"', `"${'A'.repeat(2 * 2 ** 20 - body.length + 1)}"`);
    const send = (text: string) => tracker.handler()(new Request('http://x.test/', { method: 'POST', body: text }));
    expect(new TextEncoder().encode(largest).length).toBe(2 * 2 ** 20);

    expect((await send(`${largest} `)).status).toBe(413);
    expect(await tracker.get(job)).toBe(null);
    expect((await send(largest)).status).toBe(200);
    expect(await tracker.get(job)).toMatchObject({ state: 'heard' });
  });
});
