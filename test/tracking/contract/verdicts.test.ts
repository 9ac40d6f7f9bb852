// A verdict that changes after it was handed over, and statuses that say nothing about the job that was asked for.

import type { JobRef } from 'hosted-client';
import type { Completion } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { onEachPlace } from '../../support/on-each-place.ts';
import { openAttack, startWorker } from '../world.ts';

const describe = (completions: readonly Completion[]) =>
  completions.map((one) => [one.revision, one.attempt, one.outcome === 'completed' ? one.status.state : one.outcome]);

onEachPlace((createWorld) => {
  const start = async (options: object = {}) => {
    const started = await startWorker(createWorld(), options);
    const { world, tracker } = started;
    const job = world.completeJob('rejected');
    await tracker.track({ ...job, context: 'mine' });
    return { ...started, job };
  };

  test('a verdict that is overturned after a callback is a second completion, with a key and a revision of its own', async () => {
    const { world, tracker, completions, job } = await start();
    await world.until(async () => (await tracker.get(job))?.state === 'done');

    world.service.jobs.complete(job, 'approved');
    await tracker.receive(await (await world.service.jobs.callback(job)).text());
    await world.until(async () => completions.length === 2 && (await tracker.get(job))?.state === 'done');

    expect(describe(completions)).toEqual([
      [1, 1, 'failed'],
      [2, 1, 'succeeded'],
    ]);
    expect(completions[1]).toMatchObject({ job, context: 'mine' });
    expect(completions[1]?.key).not.toBe(completions[0]?.key);
  });

  test('a verdict that is overturned without a callback is found when the job is tracked again', async () => {
    const { world, tracker, completions, job } = await start();
    await world.until(async () => (await tracker.get(job))?.state === 'done');
    world.service.jobs.complete(job, 'approved');

    await world.until(async () => {
      await tracker.track({ ...job, context: 'another' });
      return completions.length === 2;
    });

    expect(describe(completions)).toEqual([
      [1, 1, 'failed'],
      [2, 1, 'succeeded'],
    ]);
    expect(completions[1]).toMatchObject({ job, context: 'mine' });
  });

  test('track() asks about a done job at most once each maxDelayMs', async () => {
    const { world, tracker, completions, job } = await start({ maxDelayMs: 3_600_000 });
    await world.until(async () => (await tracker.get(job))?.state === 'done');
    const { polls } = (await tracker.get(job)) ?? {};
    world.service.jobs.complete(job, 'approved');

    for (let call = 0; call < 3; call++) await tracker.track(job);
    await world.wait(1_500);

    expect(await tracker.get(job)).toMatchObject({ state: 'done', polls });
    expect(completions).toHaveLength(1);
  });

  test('a callback that comes while the handler runs is not forgotten', async () => {
    let finish = () => {};
    const { world, tracker, completions, job } = await start({
      handle: ({ revision }: Completion) =>
        revision > 1
          ? undefined
          : new Promise<void>((resolve) => {
              finish = resolve;
            }),
    });
    await world.until(() => completions.length === 1);

    world.service.jobs.complete(job, 'approved');
    await tracker.receive(await (await world.service.jobs.callback(job)).text());
    finish();
    await world.until(async () => completions.length === 2 && (await tracker.get(job))?.state === 'done');

    expect(describe(completions)).toEqual([
      [1, 1, 'failed'],
      [2, 1, 'succeeded'],
    ]);
  });

  test('a callback that comes while a look at a done job fails is not forgotten', async () => {
    const { world, tracker, completions, job } = await start();
    await world.until(async () => (await tracker.get(job))?.state === 'done');
    const { polls = 0 } = (await tracker.get(job)) ?? {};
    const release = world.holdAfter(0);
    await tracker.receive(await (await world.service.jobs.callback(job)).text());
    await world.until(async () => ((await tracker.get(job))?.polls ?? 0) > polls);

    world.service.jobs.complete(job, 'approved');
    await tracker.receive(await (await world.service.jobs.callback(job)).text());
    let responses = 0;
    world.fail({ kind: 'status', status: 404 }, () => responses++ === 0);
    release();

    await world.until(() => completions.length === 2);
    expect(describe(completions)[1]).toEqual([2, 1, 'succeeded']);
  });

  test('a done job is polled once more only if its status was signed less than two seconds after the callback', async () => {
    // A slow poll is not repeated meanwhile.
    const { world, tracker, job } = await start({ minDelayMs: 60_000, maxDelayMs: 60_000 });
    const other = world.completeJob('rejected');
    await tracker.track(other);
    const isDone = async (one: JobRef) => (await tracker.get(one))?.state === 'done';
    await world.until(async () => (await isDone(job)) && (await isDone(other)));
    const before = await Promise.all([tracker.get(job), tracker.get(other)]);
    const signedAt = world.now() + 60_000;
    world.rewrite((body) => {
      const isOther = JSON.stringify(body).includes(other.jobId);
      return { ...body, ...world.signed(signedAt + (isOther ? 1_999 : 2_000)) };
    });

    for (const one of [job, other]) {
      await tracker.receive(world.write({ ...one, timestamp: new Date(signedAt).toISOString() }));
    }
    await world.until(async () => (await tracker.get(other))?.polls === (before[1]?.polls ?? 0) + 2);

    expect((await tracker.get(job))?.polls).toBe((before[0]?.polls ?? 0) + 1);
  });

  test('a look at a done job is repeated if the service does not know the job for a while', async () => {
    const { world, tracker, completions, job } = await start();
    await world.until(async () => (await tracker.get(job))?.state === 'done');

    world.service.jobs.complete(job, 'approved');
    let responses = 0;
    world.fail({ kind: 'status', status: 404 }, () => responses++ < 2);
    await tracker.receive(await (await world.service.jobs.callback(job)).text());

    await world.until(() => completions.length === 2);
    expect(describe(completions)[1]).toEqual([2, 1, 'succeeded']);
  });

  test('a further completion whose handler has not begun does not count as failing', async () => {
    const { world, tracker, job } = await start();
    await world.until(async () => (await tracker.get(job))?.state === 'done');
    world.service.jobs.complete(job, 'approved');
    const release = world.holdAfter(1);
    await tracker.receive(await (await world.service.jobs.callback(job)).text());
    await world.until(async () => (await tracker.get(job))?.state === 'handing_over');

    expect(await tracker.stats()).toMatchObject({ handingOver: 1, failing: 0 });
    release();
    await world.until(async () => (await tracker.get(job))?.state === 'done');
  });

  test('a verdict that changes before a further attempt is the next revision, and no dead letter is left', async () => {
    const world = createWorld();
    const job = world.completeJob('rejected');
    const { tracker, completions } = await startWorker(world, {
      maxAttempts: 2,
      handle({ revision }: Completion) {
        if (revision === 2) return;
        world.service.jobs.complete(job, 'approved');
        throw new Error('not today');
      },
    });

    await tracker.track(job);
    await world.until(async () => (await tracker.get(job))?.state === 'done');

    expect(describe(completions)).toEqual([
      [1, 1, 'failed'],
      [2, 1, 'succeeded'],
    ]);
    expect(await tracker.deadLetters()).toEqual([]);
  });

  test('an expired job whose result comes later is handed over as the next revision', async () => {
    const world = createWorld();
    const { tracker, completions } = await startWorker(world);
    const job = world.service.jobs.start();
    await tracker.track({ ...job, deadline: new Date(world.now() + 200) });
    await world.until(async () => (await tracker.get(job))?.state === 'done');

    world.service.jobs.complete(job, 'approved');
    await tracker.receive(await (await world.service.jobs.callback(job)).text());
    await world.until(() => completions.length === 2);

    expect(describe(completions)).toEqual([
      [1, 1, 'expired'],
      [2, 1, 'succeeded'],
    ]);
  });

  test.each([
    ['that has ended since is handed over with its verdict', true],
    ['that is still pending is handed over under its key', false],
  ])('an expired dead letter %s by retry()', async (_, hasEnded) => {
    const world = createWorld();
    let isBroken = true;
    const { tracker, completions } = await startWorker(world, {
      maxAttempts: 1,
      handle() {
        if (isBroken) throw new Error('not today');
      },
    });
    const job = world.service.jobs.start();
    await tracker.track({ ...job, context: 'mine', deadline: new Date(world.now() + 200) });
    await world.until(async () => (await tracker.stats()).dead === 1);
    if (hasEnded) world.service.jobs.complete(job, 'approved');

    isBroken = false;
    expect(await tracker.retry('all')).toBe(1);
    await world.until(async () => (await tracker.get(job))?.state === 'done');

    expect(describe(completions)).toEqual([[1, 1, 'expired'], hasEnded ? [2, 1, 'succeeded'] : [1, 1, 'expired']]);
    expect(completions[1]?.key === completions[0]?.key).toBe(!hasEnded);
    expect(completions[1]).toMatchObject({ context: 'mine' });
  });

  test('a status of another version that was not signed later is not handed over', async () => {
    const { world, tracker, completions, job } = await start();
    await world.until(async () => (await tracker.get(job))?.state === 'done');
    world.service.jobs.complete(job, 'approved');
    world.rewrite((body) => ({ ...body, ...world.signed(world.now() - 60_000) }));

    await world.until(async () => {
      await tracker.track(job);
      return ((await tracker.get(job))?.polls ?? 0) > 3;
    });

    expect(completions).toHaveLength(1);
    expect(await tracker.get(job)).toMatchObject({ state: 'done' });
    world.rewrite(null);
    await world.until(() => completions.length === 2);
  });

  test('a poll that overlaps a later one does not take back when the status was signed', async () => {
    const world = createWorld();
    const signAt = (secondsAgo: number) =>
      world.rewrite((body) => ({ ...body, ...world.signed(startedAt - secondsAgo * 1_000) }));
    const startedAt = world.now();
    signAt(100);
    const { tracker, completions } = await startWorker(world);
    const job = world.completeJob('rejected');
    await tracker.track(job);
    await world.until(async () => (await tracker.get(job))?.state === 'done');
    const requests = world.service.requests.length;
    const release = world.holdAfter(0);
    await tracker.receive(await (await world.service.jobs.callback(job)).text());
    const { polls = 0 } = (await tracker.get(job)) ?? {};
    await world.until(async () => ((await tracker.get(job))?.polls ?? 0) > polls);
    world.holdAfter(Number.POSITIVE_INFINITY);
    signAt(40);
    await world.until(() => world.service.requests.length > requests);
    await world.wait(200);
    signAt(90);
    release();
    await world.wait(200);

    world.service.jobs.complete(job, 'approved');
    signAt(70);
    const trackUntil = (isTrue: () => boolean) =>
      world.until(async () => {
        await tracker.track(job);
        return isTrue();
      });
    const asked = world.service.requests.length;
    await trackUntil(() => world.service.requests.length > asked + 2 || completions.length > 1);

    expect(completions).toHaveLength(1);
    signAt(10);
    await trackUntil(() => completions.length === 2);
  });

  test('a history with entries of others names the link of the job, or none', async () => {
    const { world, victim, callbackOf } = await openAttack(createWorld());
    const { tracker, completions } = await startWorker(world, { unknownJobs: 'track' });
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    const job = world.completeJob('approved');
    const foreign = { user_id: 'another', job_id: 'another', job_type: '1', link_id: victim.refId };
    world.rewrite((body) => {
      const history = Array.isArray(body.history) ? body.history : [];
      return { ...body, history: [...history, { ResultCode: '0810', PartnerParams: foreign }] };
    });

    await tracker.receive(await callbackOf(job));

    const isOfJob = (completion: Completion) => completion.job?.jobId === job.jobId;
    await world.until(() => completions.some(isOfJob));
    expect(completions.find(isOfJob)).toMatchObject({ context: null, linkRefId: null });
  });

  test('a status that names nobody proves no job that only a callback named', async () => {
    const { world, victim, forge } = await openAttack(createWorld());
    const { tracker, completions } = await startWorker(world, { deadlineMs: 400 });
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    const invented = { userId: 'invented', jobId: 'invented' };
    world.rewrite((body, url) =>
      url.includes('job_status')
        ? { job_complete: true, job_success: false, result: {}, ...world.signed(world.now() - 1_000) }
        : body,
    );

    await tracker.receive(await forge(invented, victim.refId));
    await world.until(async () => ((await tracker.get(invented))?.polls ?? 0) > 1);
    await world.until(async () => (await tracker.get(invented))?.state !== 'tracking');

    expect(completions.filter(({ job }) => job?.jobId === 'invented')).toEqual([]);
  });
});
