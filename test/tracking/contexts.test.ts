// The body of a callback is not signed: whoever has seen one can write others. None of them may give a completion the
// context of another person, make one of a job that does not exist, or hide one.

import type { JobRef } from 'hosted-client';
import type { MockFault } from 'hosted-client/testing';
import type { Completion } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, newLink, until } from './world.ts';

onOneDatabase((database) => {
  /** A world with a link of another person, which is tracked, and ways to write callbacks. */
  async function createAttack() {
    const world = createWorld(database);
    const victim = await world.client.links.create(newLink);
    const seen = world.completeJob('approved');
    return {
      world,
      victim,
      /** A callback with the signature of another one. */
      async forge(job: JobRef, linkId?: string): Promise<string> {
        const body = JSON.parse(await (await world.service.jobs.callback(seen)).text());
        const ids = { user_id: job.userId, job_id: job.jobId, ...(linkId !== undefined && { link_id: linkId }) };
        return JSON.stringify({ ...body, PartnerParams: { ...body.PartnerParams, ...ids } });
      },
      callbackOf: async (job: JobRef) => (await world.service.jobs.callback(job)).text(),
    };
  }

  test('a second callback that names another link gives a job none of its context', async () => {
    const { world, victim, forge, callbackOf } = await createAttack();
    const tracker = await world.open();
    const mine = await world.client.links.create(newLink);
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    const job = world.completeJob('approved', mine.refId);

    await tracker.receive(await callbackOf(job));
    await tracker.receive(await forge(job, victim.refId));
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    await until(async () => ((await tracker.get(job))?.polls ?? 0) > 0);
    await tracker.trackLink(mine.refId, { context: 'mine' });

    await until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine', linkRefId: mine.refId });
  });

  test('a job whose first callback names no link is followed when the link of a later one is tracked', async () => {
    const { world, forge, callbackOf } = await createAttack();
    const tracker = await world.open();
    const mine = await world.client.links.create(newLink);
    const job = world.completeJob('approved', mine.refId);
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);

    await tracker.receive(await forge(job));
    await tracker.receive(await callbackOf(job));
    await tracker.trackLink(mine.refId, { context: 'mine' });

    await until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ outcome: 'completed', job, context: 'mine', linkRefId: mine.refId });
  });

  test('the same callback, sent again and again, gives it neither', async () => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open({ minDelayMs: 300, maxDelayMs: 300 });
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    const mine = await world.client.links.create(newLink);
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    const job = world.completeJob('approved', mine.refId);
    const forged = await forge(job, victim.refId);
    const startedAt = performance.now();

    for (let round = 0; round < 10; round++) {
      await tracker.receive(forged);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }

    const looks = world.service.requests.filter(({ operation }) => operation === 'jobs.status').length;
    expect(looks).toBeLessThanOrEqual(2 + (performance.now() - startedAt) / 300);
    await until(async () => (await tracker.get(job))?.state === 'heard');
    expect(completions.filter(({ outcome }) => outcome === 'completed')).toEqual([]);
    await tracker.trackLink(mine.refId, { context: 'mine' });
    await until(() => completions.some(({ outcome }) => outcome === 'completed'));
    expect(completions.find(({ outcome }) => outcome === 'completed')).toMatchObject({ context: 'mine' });
  });

  /** A job that is pending, and has been polled often enough for its status to be stored. */
  async function pollTwice(world: ReturnType<typeof createWorld>, job: JobRef): Promise<void> {
    await until(async () => {
      const [row] = await world.rows(`select polls, is_proven from TRACKED where job_id = '${job.jobId}'`);
      return Number(row?.polls) >= 3 && row?.is_proven === true;
    });
  }

  test.each([
    ['its own link', true, { context: 'mine', outcome: 'completed' }],
    ['no link', false, { context: null, linkRefId: null, outcome: 'completed' }],
  ])('a job whose forged callback came while it was pending has the context of %s', async (_, hasLink, expected) => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open();
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    const mine = await world.client.links.create(newLink);
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    await tracker.trackLink(mine.refId, { context: 'mine' });
    const job = world.service.jobs.start(hasLink ? { linkRefId: mine.refId } : {});
    await tracker.receive(await forge(job, victim.refId));
    await pollTwice(world, job);
    expect(await tracker.get(job)).toMatchObject({ state: 'tracking', context: null });

    world.service.jobs.complete(job, 'approved');

    // Until the result names the link, the link misses a job.
    const isOfJob = (completion: Completion) => completion.job?.jobId === job.jobId;
    await until(() => completions.some(isOfJob));
    expect(completions.find(isOfJob)).toMatchObject({ job, ...expected });
  });

  test('a job of a link has its context although its first status named no link', async () => {
    const { world, victim, callbackOf } = await createAttack();
    const tracker = await world.open();
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    await tracker.trackLink(victim.refId, { context: 'of this person' });
    const job = world.service.jobs.start({ linkRefId: victim.refId });
    const told = world.completeJob('approved', victim.refId);
    await tracker.receive(
      (await callbackOf(told)).replaceAll(told.jobId, job.jobId).replaceAll(told.userId, job.userId),
    );
    await pollTwice(world, job);

    world.service.jobs.complete(job, 'approved');

    await until(() => completions.some((completion) => completion.job?.jobId === job.jobId));
    const completion = completions.find((one) => one.job?.jobId === job.jobId);
    expect(completion).toMatchObject({ context: 'of this person', linkRefId: victim.refId });
  });

  test.each<[string, MockFault | null, string | null]>([
    ['pending', null, null],
    ['broken', { kind: 'status', status: 503 }, 'server'],
  ])('a %s job that expires before a status has named its link has no context', async (_, fault, lastError) => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open();
    const { completions, handler } = collect();
    const worker = await world.open();
    await tracker.track(world.completeJob('approved'));
    await worker.onCompletion(handler);
    await until(async () => (await world.rows('select 1 from TRACKED where state = 3')).length === 1);
    await worker.stop();
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    const job = world.service.jobs.start();
    await tracker.receive(await forge(job, victim.refId));
    await world.rows(`update TRACKED set due = now(), deadline = now() - interval '1 hour', late_looks = 10,
      late_since = now() - interval '11 minutes' where job_id = '${job.jobId}'`);
    world.fail(fault, job);

    await tracker.onCompletion(handler);

    await until(() => completions.some(({ outcome }) => outcome === 'expired'));
    const completion = completions.find(({ outcome }) => outcome === 'expired');
    expect(completion).toMatchObject({ job, context: null, linkRefId: null, lastError });
  });

  test('track() decides the context of a job that a callback made followed', async () => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open();
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    const job = world.service.jobs.start();
    await tracker.receive(await forge(job, victim.refId));
    expect(await tracker.get(job)).toMatchObject({ state: 'tracking' });

    await tracker.track({ ...job, context: 'mine' });
    world.service.jobs.complete(job, 'approved');
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);

    await until(() => completions.some(({ outcome }) => outcome === 'completed'));
    expect(completions.find(({ outcome }) => outcome === 'completed')).toMatchObject({
      job,
      context: 'mine',
      linkRefId: null,
    });
  });

  test('with unknownJobs "track", track() gives its context to a job that is followed without one', async () => {
    const { world, callbackOf } = await createAttack();
    const tracker = await world.open({ unknownJobs: 'track' });
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    const job = world.service.jobs.start();
    world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });
    await tracker.receive(await callbackOf(job));
    await until(async () => ((await tracker.get(job))?.polls ?? 0) > 1);

    await tracker.track({ ...job, context: 'mine' });
    await tracker.track({ ...job, context: 'too late' });
    world.service.jobs.complete(job, 'approved');

    await until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine' });
  });

  test('with unknownJobs "track", a job has the context of a link that is tracked after the callback', async () => {
    const { world, callbackOf } = await createAttack();
    const tracker = await world.open({ unknownJobs: 'track' });
    const mine = await world.client.links.create(newLink);
    const job = world.completeJob('approved', mine.refId);
    await tracker.receive(await callbackOf(job));
    await tracker.trackLink(mine.refId, { context: 'mine' });
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);

    await until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine', linkRefId: mine.refId });
  });

  test('a job that is tracked after a callback named a link is not said to be of that link', async () => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open();
    const job = world.completeJob('approved');
    await tracker.receive(await forge(job, victim.refId));
    await tracker.track({ ...job, context: 'mine' });
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);

    await until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine', linkRefId: null });
  });

  test('a job that the service does not know makes no completion, and hides none', async () => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open({ deadlineMs: 1_500 });
    const { completions, handler } = collect();
    await tracker.onCompletion(handler);
    await tracker.trackLink(victim.refId, {
      context: 'of another person',
      deadline: new Date(Date.now() + 3_600_000),
    });
    const invented = { userId: 'invented', jobId: 'invented' };
    await tracker.receive(await forge(invented, victim.refId));
    await until(async () => (await tracker.get(invented))?.lastError === 'not_found');
    // No callback tells of this one.
    world.completeJob('approved', victim.refId);

    await until(() => completions.some(({ outcome }) => outcome === 'unheard'));
    await until(async () => (await tracker.get(invented))?.state === 'heard');
    const { polls } = (await tracker.get(invented)) ?? {};
    await new Promise((resolve) => setTimeout(resolve, 1_800));

    expect(completions).toMatchObject([{ outcome: 'unheard', missing: 1 }]);
    expect((await tracker.get(invented))?.polls).toBe(polls);
  });

  test('a job that the service does not know is polled ten times, also if its first polls overlap', async () => {
    const { world, forge } = await createAttack();
    const trackers = await Promise.all([1, 2].map(() => world.open({ unknownJobs: 'track' })));
    const invented = { userId: 'invented', jobId: 'invented' };
    await trackers[0]?.receive(await forge(invented));
    const release = world.holdAfter(0);
    for (const tracker of trackers) await tracker.onCompletion(() => {});
    await until(async () => ((await trackers[0]?.get(invented))?.polls ?? 0) >= 3);

    release();

    await until(async () => (await trackers[0]?.get(invented))?.state === 'heard');
    expect((await trackers[0]?.get(invented))?.polls).toBe(10);
  });

  test('a link that no link can be gives a job no context', async () => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open({ unknownJobs: 'track' });
    const job = world.completeJob('approved');
    // Incompressible, so that no index could hold it.
    const long = Array.from({ length: 1_024 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7_919) % 20_000))).join(
      '',
    );

    expect(await tracker.receive(await forge(job, long))).toMatchObject({ linkId: long });

    expect(await tracker.get(job)).toMatchObject({ state: 'tracking' });
    await expect(tracker.track({ userId: 'u', jobId: 'j', linkRefId: long })).rejects.toMatchObject({
      code: 'validation',
      issues: [{ path: 'linkRefId' }],
    });
    expect(victim.refId).toMatch(/^[A-Za-z0-9_-]{1,128}$/);
  });
});
