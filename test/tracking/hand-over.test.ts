import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, newLink, openTracker, startWorker, until } from './world.ts';

onOneDatabase((database) => {
  /** A world with jobs whose completions are dead letters; the worker that failed has stopped. */
  async function createDeadLetters(count: number) {
    const { world, tracker } = await openTracker(createWorld(database));
    const jobs = Array.from({ length: count }, () => world.completeJob('approved'));
    await tracker.track(jobs.map((job) => ({ ...job, context: 'first' })));
    await world.bury(count);
    return { world, tracker, jobs };
  }

  test('a dead letter of a job that was untracked does not bury its next completion', async () => {
    const { world, tracker, jobs } = await createDeadLetters(1);
    const [job] = jobs;
    if (!job) throw new Error('no job');
    expect(await tracker.untrack(job)).toBe(true);
    await tracker.track({ ...job, context: 'second' });
    // The look; the request of the delivery waits.
    const release = world.holdAfter(1);
    const { completions } = await startWorker(world);
    await until(async () => (await tracker.get(job))?.state === 'handing_over');

    expect(await tracker.stats()).toMatchObject({ dead: 0, handingOver: 1 });
    expect(await tracker.deadLetters()).toEqual([]);

    release();
    await until(async () => (await tracker.get(job))?.state === 'done');
    expect(completions).toMatchObject([{ context: 'second', attempt: 1 }]);
  });

  test('missing jobs that are a dead letter are not reported again after their link was removed and tracked again', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { maxAttempts: 1 });
    const { refId } = await world.client.links.create(newLink);
    world.completeJob('approved', refId);
    await tracker.trackLink(refId);
    const { completions, handler } = collect(() => {
      throw new Error('not today');
    });
    await tracker.onCompletion(handler);
    await until(async () => (await tracker.stats()).dead === 1);
    // Links are removed some time after their end, and dead letters are not.
    await world.rows('delete from TRACKED where kind = 1');

    await tracker.trackLink(refId);
    await until(async () => (await world.rows('select 1 from TRACKED where kind = 1 and missing = 1')).length === 1);
    await tracker.stop();

    expect(completions).toMatchObject([{ outcome: 'unheard', missing: 1 }]);
    expect(world.events.filter(({ type }) => type === 'ended')).toEqual([{ type: 'ended', outcome: 'unheard' }]);
    expect(await world.rows('select state, missing from TRACKED where kind = 2')).toEqual([{ state: 4, missing: 1 }]);
  });

  test('retry() while deliveries run hands each completion over under its own key, and loses none', async () => {
    const { world, tracker } = await createDeadLetters(30);
    const keys = (await tracker.deadLetters()).map(({ key }) => key);
    const { completions, handler } = collect();
    const workers = await Promise.all([world.open(), world.open()]);
    for (const worker of workers) await worker.onCompletion(handler);

    const counts = await Promise.all([
      tracker.retry('all'),
      tracker.retry('all'),
      tracker.retry(keys.slice(0, 10)),
      tracker.stats(),
    ]);

    expect(counts[0] + counts[1] + counts[2]).toBe(30);
    await until(async () => (await tracker.stats()).handingOver === 0);
    expect(await tracker.stats()).toMatchObject({ dead: 0 });
    expect([...new Set(completions.map(({ key }) => key))].sort()).toEqual([...keys].sort());
    expect(completions).toHaveLength(30);
  });

  test('retry() shows nothing of the database where it cannot be used', async () => {
    const { world } = await createDeadLetters(1);
    const line = world.createLine(Object.assign(new Error('Test Person'), { code: '', detail: 'Test Person' }));
    const away = await world.open({ pool: line.pool });
    line.isCut = true;

    const error = await away.retry('all').catch((thrown) => thrown);

    expect(error).toMatchObject({ name: 'HostedStorageError', reason: 'unreachable' });
    expect(`${error} ${JSON.stringify(error)} ${error.cause}`).not.toContain('Person');
    line.isCut = false;
    expect(await away.retry('all')).toBe(1);
  });
});
