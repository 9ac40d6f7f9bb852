// The body of a callback is not signed. In no tracker may one give a completion the context of another person.

import type { Completion } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { onEachPlace } from '../../support/on-each-place.ts';
import { collectFrom, newLink, openAttack, startWorker } from '../world.ts';

onEachPlace((createWorld) => {
  const createAttack = () => openAttack(createWorld());

  test('a second callback that names another link gives a job none of its context', async () => {
    const { world, victim, forge, callbackOf } = await createAttack();
    const tracker = await world.open();
    const mine = await world.client.links.create(newLink);
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    const job = world.completeJob('approved', mine.refId);

    await tracker.receive(await callbackOf(job));
    await tracker.receive(await forge(job, victim.refId));
    const completions = await collectFrom(tracker);
    await world.until(async () => ((await tracker.get(job))?.polls ?? 0) > 0);
    await tracker.trackLink(mine.refId, { context: 'mine' });

    await world.until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine', linkRefId: mine.refId });
  });

  test('a job whose first callback names no link is followed when the link of a later one is tracked', async () => {
    const { world, forge, callbackOf } = await createAttack();
    const tracker = await world.open();
    const mine = await world.client.links.create(newLink);
    const job = world.completeJob('approved', mine.refId);
    const completions = await collectFrom(tracker);

    await tracker.receive(await forge(job));
    await tracker.receive(await callbackOf(job));
    await tracker.trackLink(mine.refId, { context: 'mine' });

    await world.until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ outcome: 'completed', job, context: 'mine', linkRefId: mine.refId });
  });

  test.each([
    ['its own link', true, { context: 'mine', outcome: 'completed' }],
    ['no link', false, { context: null, linkRefId: null, outcome: 'completed' }],
  ])('a job whose forged callback came while it was pending has the context of %s', async (_, hasLink, expected) => {
    const { world, victim, forge } = await createAttack();
    const { tracker, completions } = await startWorker(world);
    const mine = await world.client.links.create(newLink);
    await tracker.trackLink(victim.refId, { context: 'of another person' });
    await tracker.trackLink(mine.refId, { context: 'mine' });
    const job = world.service.jobs.start(hasLink ? { linkRefId: mine.refId } : {});
    await tracker.receive(await forge(job, victim.refId));
    // The verified status names no link.
    await world.until(async () => (await tracker.get(job))?.context === null);
    expect(await tracker.get(job)).toMatchObject({ state: 'tracking' });

    world.service.jobs.complete(job, 'approved');

    // Until the result names the link, the link misses a job.
    const isOfJob = (completion: Completion) => completion.job?.jobId === job.jobId;
    await world.until(() => completions.some(isOfJob));
    expect(completions.find(isOfJob)).toMatchObject({ job, ...expected });
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
    const completions = await collectFrom(tracker);

    await world.until(() => completions.some(({ outcome }) => outcome === 'completed'));
    expect(completions.find(({ outcome }) => outcome === 'completed')).toMatchObject({
      job,
      context: 'mine',
      linkRefId: null,
    });
  });

  test('with unknownJobs "track", track() gives its context to a job that is followed without one', async () => {
    const { world, callbackOf } = await createAttack();
    const { tracker, completions } = await startWorker(world, { unknownJobs: 'track' });
    const job = world.service.jobs.start();
    world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });
    await tracker.receive(await callbackOf(job));
    await world.until(async () => ((await tracker.get(job))?.polls ?? 0) > 1);

    await tracker.track({ ...job, context: 'mine' });
    await tracker.track({ ...job, context: 'too late' });
    world.service.jobs.complete(job, 'approved');

    await world.until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine' });
  });

  test('with unknownJobs "track", a job has the context of a link that is tracked after the callback', async () => {
    const { world, callbackOf } = await createAttack();
    const tracker = await world.open({ unknownJobs: 'track' });
    const mine = await world.client.links.create(newLink);
    const job = world.completeJob('approved', mine.refId);
    await tracker.receive(await callbackOf(job));
    await tracker.trackLink(mine.refId, { context: 'mine' });
    const completions = await collectFrom(tracker);

    await world.until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine', linkRefId: mine.refId });
  });

  test('a job that is tracked after a callback named a link is not said to be of that link', async () => {
    const { world, victim, forge } = await createAttack();
    const tracker = await world.open();
    const job = world.completeJob('approved');
    await tracker.receive(await forge(job, victim.refId));
    await tracker.track({ ...job, context: 'mine' });
    const completions = await collectFrom(tracker);

    await world.until(() => completions.length > 0);
    expect(completions[0]).toMatchObject({ job, context: 'mine', linkRefId: null });
  });

  test('a job that the service does not know makes no completion, and hides none', async () => {
    const { world, victim, forge } = await createAttack();
    const { tracker, completions } = await startWorker(world, { deadlineMs: 1_500 });
    await tracker.trackLink(victim.refId, {
      context: 'of another person',
      deadline: new Date(world.now() + 3_600_000),
    });
    const invented = { userId: 'invented', jobId: 'invented' };
    await tracker.receive(await forge(invented, victim.refId));
    await world.until(async () => (await tracker.get(invented))?.lastError === 'not_found');
    // No callback tells of this one.
    world.completeJob('approved', victim.refId);

    await world.until(() => completions.some(({ outcome }) => outcome === 'unheard'));
    await world.until(async () => (await tracker.get(invented))?.state === 'heard');
    const { polls } = (await tracker.get(invented)) ?? {};
    await world.wait(1_800);

    expect(completions).toMatchObject([{ outcome: 'unheard', missing: 1 }]);
    expect((await tracker.get(invented))?.polls).toBe(polls);
  });
});
