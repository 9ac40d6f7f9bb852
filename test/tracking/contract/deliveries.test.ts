// What every tracker promises about completions that are handed over, and about its work.

import { expect, test } from 'vitest';
import { onEachPlace } from '../../support/on-each-place.ts';
import { collect, collectFrom, isIdle, newLink, openTracker } from '../world.ts';

onEachPlace((createWorld) => {
  test('a completion whose handler rejects is handed over again under its key', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const { completions, handler } = collect(({ attempt }) => {
      if (attempt === 1) throw new Error('not today');
    });
    await tracker.onCompletion(handler);
    const job = world.completeJob('rejected');
    await tracker.track({ ...job, context: ['mine'] });

    await world.until(async () => (await tracker.get(job))?.state === 'done');

    const key = completions[0]?.key;
    expect(completions.map((completion) => [completion.key, completion.attempt, completion.context])).toEqual([
      [key, 1, ['mine']],
      [key, 2, ['mine']],
    ]);
    expect(completions[1]).toMatchObject({ outcome: 'completed', status: { state: 'failed' } });
    const deliveries = world.events.filter((event) => event.type === 'delivery');
    expect(deliveries.map(({ attempt, result }) => [attempt, result])).toEqual([
      [1, 'rejected'],
      [2, 'resolved'],
    ]);
  });

  test('a handler that takes too long sees its signal abort, and gets the completion again', async () => {
    const { world, tracker } = await openTracker(createWorld(), { handlerTimeoutMs: 60 });
    const aborted: number[] = [];
    const { completions, handler } = collect(
      ({ attempt, signal }) =>
        new Promise<void>((resolve) => {
          if (attempt > 1) resolve();
          signal.addEventListener('abort', () => aborted.push(attempt));
        }),
    );
    await tracker.onCompletion(handler);
    const job = world.completeJob('approved');
    await tracker.track(job);

    await world.until(async () => (await tracker.get(job))?.state === 'done');

    expect(aborted).toEqual([1]);
    expect(completions).toHaveLength(2);
    expect(world.events).toContainEqual(expect.objectContaining({ type: 'delivery', attempt: 1, result: 'timed_out' }));
  });

  test('a handler that always throws ends in dead letters, and retry() hands them over under their keys', async () => {
    const { world, tracker } = await openTracker(createWorld(), { maxAttempts: 2 });
    let isBroken = true;
    const { completions, handler } = collect(() => {
      if (isBroken) throw Object.assign(new TypeError('Erika Mustermann, 1984-01-26'), { code: 'E_BROKEN' });
    });
    await tracker.onCompletion(handler);
    const jobs = [1, 2, 3].map(() => world.completeJob('approved'));
    await tracker.track(jobs.map((job, n) => ({ ...job, context: n })));
    await world.until(async () => (await tracker.stats()).dead === 3);
    const keys = [...new Set(completions.map(({ key }) => key))];

    const letters = await tracker.deadLetters();
    expect(letters.map(({ key }) => key).sort()).toEqual([...keys].sort());
    expect(letters[0]).toMatchObject({
      attempts: 2,
      failedAt: expect.any(Date),
      error: { name: 'TypeError', code: 'E_BROKEN' },
      job: { userId: expect.any(String) },
    });
    const first = letters[0]?.key ?? '';
    expect((await tracker.deadLetters({ after: first })).map(({ key }) => key)).toEqual(
      letters.slice(1).map(({ key }) => key),
    );
    expect(await tracker.deadLetters({ limit: 1 })).toHaveLength(1);
    expect(completions).toHaveLength(6);

    isBroken = false;
    expect(await tracker.retry([first])).toBe(1);
    await world.until(() => isIdle(tracker));
    expect(await tracker.retry('all')).toBe(2);
    await world.until(() => completions.length === 9);

    expect(
      completions
        .slice(6)
        .map(({ key }) => key)
        .sort(),
    ).toEqual([...keys].sort());
    expect(completions[6]).toMatchObject({ key: first, attempt: 1, outcome: 'completed' });
    await world.until(async () => (await tracker.stats()).handingOver === 0);
    expect(await tracker.deadLetters()).toEqual([]);
    expect(await tracker.retry('all')).toBe(0);
    expect(await world.dump()).not.toMatch(/Mustermann|1984-01-26/);
  });

  test('a completion whose fresh status cannot be had is followed again, at no cost of attempts', async () => {
    const { world, tracker } = await openTracker(createWorld(), { maxAttempts: 1 });
    const job = world.completeJob('approved');
    await tracker.track({ ...job, context: 'kept' });
    // Only deliveries ask for the history. The requests of the first two fail.
    let deliveries = 0;
    const { status } = world.client.jobs;
    world.client.jobs.status = (query, ...rest) => {
      if (query.history) deliveries += 1;
      const asked = query.history && deliveries <= 2 ? { ...query, jobId: 'unknown to the service' } : query;
      return status.call(world.client.jobs, asked, ...rest);
    };
    const completions = await collectFrom(tracker);

    await world.until(() => completions.length > 0);

    expect(completions).toMatchObject([{ attempt: 1, context: 'kept', outcome: 'completed' }]);
    expect(deliveries).toBe(3);
    await world.until(async () => (await tracker.get(job))?.state === 'done');
  });

  test('a completion of a job that was untracked in the meantime is not handed over', async () => {
    const { world, tracker } = await openTracker(createWorld(), { handlerConcurrency: 1 });
    const { completions, handler } = collect(async ({ job }) => {
      if (completions.length === 1)
        for (const other of jobs) if (other.jobId !== job?.jobId) await tracker.untrack(other);
    });
    const jobs = [1, 2, 3].map(() => world.completeJob('approved'));
    await tracker.track(jobs);
    await tracker.onCompletion(handler);

    await world.until(async () => (await tracker.stats()).handingOver === 0 && completions.length > 0);

    expect(completions).toHaveLength(1);
  });

  test('onCompletion() is called once, with a function', async () => {
    const { tracker } = await openTracker(createWorld());

    await expect(tracker.onCompletion('x' as never)).rejects.toMatchObject({ code: 'config' });
    await tracker.onCompletion(() => {});
    await expect(tracker.onCompletion(() => {})).rejects.toMatchObject({ code: 'config' });
  });

  test('dead letters can be listed and retried page by page', async () => {
    const { world, tracker } = await openTracker(createWorld(), { maxAttempts: 1 });
    let isBroken = true;
    const { completions, handler } = collect(() => {
      if (isBroken) throw new Error('not today');
    });
    await tracker.onCompletion(handler);
    await tracker.track(Array.from({ length: 5 }, () => world.completeJob('approved')));
    await world.until(async () => (await tracker.stats()).dead === 5);
    const keys = completions.map(({ key }) => key);
    isBroken = false;
    const seen: string[] = [];

    let after: string | undefined;
    for (;;) {
      const page = await tracker.deadLetters({ limit: 2, ...(after !== undefined && { after }) });
      if (page.length === 0) break;
      seen.push(...page.map(({ key }) => key));
      await tracker.retry(page.map(({ key }) => key));
      after = page.at(-1)?.key;
    }

    expect(seen.sort()).toEqual([...keys].sort());
    await world.until(async () => (await tracker.stats()).handingOver === 0);
    expect(
      completions
        .slice(5)
        .map(({ key }) => key)
        .sort(),
    ).toEqual(seen);
  });

  test('what a handler throws is stored as a name and a code, and neither may be a number of a person', async () => {
    const { world, tracker } = await openTracker(createWorld(), { maxAttempts: 1 });
    const thrown = [
      Object.assign(new Error('Test Person'), { code: '19840126001' }),
      Object.assign(new Error('Test Person'), { name: 'Test Person', code: 'T00000000-1' }),
      Object.assign(new Error('Test Person'), { code: '23505' }),
      'Test Person',
    ];
    const jobs = thrown.map(() => world.completeJob('approved'));
    await tracker.track(jobs.map((job, n) => ({ ...job, context: n })));
    await tracker.onCompletion(({ context }) => {
      throw thrown[Number(context)];
    });

    await world.until(async () => (await tracker.stats()).dead === 4);

    const letters = [...(await tracker.deadLetters())].sort((a, b) => Number(a.context) - Number(b.context));
    expect(letters.map(({ error }) => error)).toEqual([
      { name: 'Error', code: null },
      { name: 'Error', code: null },
      { name: 'Error', code: '23505' },
      { name: 'Error', code: null },
    ]);
    expect(await world.dump()).not.toMatch(/Test Person|19840126001|T00000000/);
  });

  test('stop() takes no new work, and waits for handlers that run', async () => {
    const { world, tracker } = await openTracker(createWorld(), { handlerConcurrency: 1 });
    let finish = () => {};
    const completions = await collectFrom(tracker, () => new Promise<void>((resolve) => (finish = resolve)));
    const jobs = [1, 2, 3].map(() => world.completeJob('approved'));
    await tracker.track(jobs);
    await world.until(() => completions.length === 1);

    const stopping = tracker.stop();
    await world.wait(50);
    expect(completions[0]?.signal.aborted).toBe(false);
    finish();
    await world.finish(stopping);

    expect(completions).toHaveLength(1);
    expect(world.events).toContainEqual(expect.objectContaining({ type: 'delivery', result: 'resolved' }));
    const requests = world.service.requests.length;
    await world.wait(200);
    expect(world.service.requests.length).toBe(requests);
  });

  test('after stop(), methods and handler() say that the tracker was stopped', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const job = world.completeJob('approved');
    await world.finish(tracker.stop());

    const stopped = { code: 'storage', retryable: false, message: expect.stringContaining('the tracker was stopped') };
    await expect(tracker.track(job)).rejects.toMatchObject(stopped);
    await expect(tracker.get(job)).rejects.toMatchObject(stopped);
    await expect(tracker.stats()).rejects.toMatchObject(stopped);
    await expect(tracker.retry('all')).rejects.toMatchObject(stopped);
    const response = await world.service.jobs.deliverCallback(job, { to: tracker.handler() });
    expect(response.status).toBe(503);
  });

  test('work() polls and hands over, and says how much it did', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const jobs = [world.completeJob('approved'), world.completeJob('rejected')];
    const link = await world.client.links.create(newLink);
    await tracker.trackLink(link.refId);
    await tracker.track(jobs);
    const ending = new AbortController();
    const { completions, handler } = collect(() => {
      if (completions.length === 2) ending.abort();
    });

    const done = await world.finish(tracker.work({ handler, forMs: 60_000, signal: ending.signal }));

    expect(completions.map(({ job }) => job?.jobId).sort()).toEqual(jobs.map(({ jobId }) => jobId).sort());
    expect(done.deliveries).toBe(2);
    expect(done.polls).toBe(world.events.reduce((sum, event) => sum + (event.type === 'batch' ? event.jobs : 0), 0));
    expect((await tracker.stats()).handingOver).toBe(0);
  });

  test('work() ends by itself, and can be called again, or followed by onCompletion()', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const { completions, handler } = collect();

    const nothing = { polls: 0, deliveries: 0 };
    expect(await world.finish(tracker.work({ handler, forMs: 1 }))).toEqual(nothing);
    const signal = AbortSignal.abort();
    expect(await world.finish(tracker.work({ handler, forMs: 1, signal }))).toEqual(nothing);
    const requests = world.service.requests.length;
    await tracker.track(world.completeJob('approved'));
    expect(world.service.requests).toHaveLength(requests);
    await tracker.onCompletion(handler);

    await world.until(() => completions.length === 1);
  });
});
