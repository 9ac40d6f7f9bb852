// The body of a callback is not signed: whoever has seen one can write others. None of them may give a completion the
// context of another person, make one of a job that does not exist, or hide one.

import type { JobRef } from 'hosted-client';
import type { MockFault } from 'hosted-client/testing';
import type { Completion } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, createWorld, newLink, openAttack, startWorker, until } from './world.ts';

onOneDatabase((database) => {
  const createAttack = () => openAttack(createWorld(database));

  test('the same callback, sent again and again, gives it neither', async () => {
    const { world, victim, forge } = await createAttack();
    const { tracker, completions } = await startWorker(world, { minDelayMs: 300, maxDelayMs: 300 });
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

  /** Waits until a pending job has been polled so often that its status is stored. */
  async function pollTwice(world: ReturnType<typeof createWorld>, job: JobRef): Promise<void> {
    await until(async () => {
      const [row] = await world.rows(`select polls from TRACKED where job_id = '${job.jobId}'`);
      return Number(row?.polls) >= 3;
    });
  }

  test('a job of a link has its context although its first status named no link', async () => {
    const { world, victim, callbackOf } = await createAttack();
    const { tracker, completions } = await startWorker(world);
    await tracker.trackLink(victim.refId, { context: 'of this person' });
    const job = world.service.jobs.start({ linkRefId: victim.refId });
    const other = world.completeJob('approved', victim.refId);
    await tracker.receive(
      (await callbackOf(other)).replaceAll(other.jobId, job.jobId).replaceAll(other.userId, job.userId),
    );
    await pollTwice(world, job);

    world.service.jobs.complete(job, 'approved');

    await until(() => completions.some((completion) => completion.job?.jobId === job.jobId));
    const completion = completions.find((one) => one.job?.jobId === job.jobId);
    expect(completion).toMatchObject({ context: 'of this person', linkRefId: victim.refId });
  });

  test('a further completion has no link if the first one had none, although its status names one', async () => {
    const { world, victim, callbackOf } = await createAttack();
    const { tracker, completions } = await startWorker(world);
    await tracker.trackLink(victim.refId, { context: 'of this person' });
    const job = world.completeJob('rejected', victim.refId);
    world.rewrite((body) => JSON.parse(JSON.stringify(body).replaceAll(`"link_id":"${victim.refId}"`, '"link_id":""')));
    await tracker.receive(await callbackOf(job));
    await until(async () => (await tracker.get(job))?.state === 'done');

    world.rewrite(null);
    world.service.jobs.complete(job, 'approved');
    await tracker.receive(await callbackOf(job));

    const isFurther = ({ revision }: Completion) => revision === 2;
    await until(() => completions.some(isFurther));
    expect(completions.find(isFurther)).toMatchObject({ job, context: null, linkRefId: null });
  });

  test('a status that names a link which its job has lost since is stored, and proves nothing', async () => {
    const hour = 3_600_000;
    const { world, victim, callbackOf } = await createAttack();
    const tracker = await world.open({ minDelayMs: hour, maxDelayMs: hour });
    await tracker.trackLink(victim.refId);
    const job = world.service.jobs.start({ linkRefId: victim.refId });
    const other = world.completeJob('approved', victim.refId);
    const body = (await callbackOf(other)).replaceAll(other.jobId, job.jobId).replaceAll(other.userId, job.userId);
    await tracker.receive(body);
    world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });
    const release = world.holdAfter(0);
    await tracker.onCompletion(() => {});
    await until(async () => (await tracker.get(job))?.polls === 1);

    await world.rows(`update TRACKED set link_ref_id = null, last_error = 'server' where job_id = '${job.jobId}'`);
    release();

    const isLogged = () => world.lines.some((line) => line.startsWith('warn'));
    await until(async () => isLogged() || (await tracker.get(job))?.lastError === null);
    expect(world.lines).toEqual([]);
    expect(await world.rows(`select is_proven, link_ref_id from TRACKED where job_id = '${job.jobId}'`)).toEqual([
      { is_proven: false, link_ref_id: null },
    ]);
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
    world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });
    await tracker.receive(await forge(job, victim.refId));
    await tracker.onCompletion(handler);
    const isProven = `select 1 from TRACKED where job_id = '${job.jobId}' and is_proven`;
    await until(async () => (await world.rows(isProven)).length === 1);
    world.fail(fault, (_, body) => body.includes(job.jobId));
    await world.rows(`update TRACKED set due = now(), deadline = now() - interval '2 days', late_polls = 10,
      late_since = now() - interval '25 hours', last_error = ${lastError === null ? 'null' : `'${lastError}'`}
      where job_id = '${job.jobId}'`);

    await until(() => completions.some(({ outcome }) => outcome === 'expired'));
    const completion = completions.find(({ outcome }) => outcome === 'expired');
    expect(completion).toMatchObject({ job, context: null, linkRefId: null, lastError });
  });

  test('a job that the service does not know is polled ten times, also if its first polls overlap', async () => {
    const { world, forge } = await createAttack();
    // All first polls are stored long before the tenth is due.
    const options = { unknownJobs: 'track', backoffFactor: 2, maxDelayMs: 1_000 } as const;
    const trackers = await Promise.all([1, 2].map(() => world.open(options)));
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
