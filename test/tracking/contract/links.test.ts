// What every tracker promises about the jobs of a link.

import type { Json, Tracker } from 'hosted-client/tracking';
import { expect, test } from 'vitest';
import { onEachPlace } from '../../support/on-each-place.ts';
import { collectFrom, newLink, openTracker, startWorker } from '../world.ts';

onEachPlace((createWorld) => {
  test('a job of a tracked link is followed with its context from its first callback on', async () => {
    const { world, tracker, completions } = await startWorker(createWorld());
    const { refId } = await world.client.links.create(newLink);
    await tracker.trackLink(refId, { context: { customer: 9 } });
    const job = world.service.jobs.start({ linkRefId: refId });
    world.service.jobs.report(job, { resultCode: '0814', resultText: 'under review' });

    await world.service.jobs.deliverCallback(job, { to: tracker.handler() });
    await world.until(async () => (await tracker.get(job))?.state === 'tracking');
    world.service.jobs.complete(job, 'approved');

    await world.until(() => completions.length === 1);
    expect(completions[0]).toMatchObject({ outcome: 'completed', job, context: { customer: 9 }, linkRefId: refId });
    await world.until(async () => (await tracker.stats()).handingOver === 0);
    expect(completions).toHaveLength(1);
  });

  test('a callback that comes before trackLink() is kept until then', async () => {
    const { world, tracker, completions } = await startWorker(createWorld());
    const { refId } = await world.client.links.create(newLink);
    const job = world.completeJob('approved', refId);
    await world.service.jobs.deliverCallback(job, { to: tracker.handler() });
    expect(await tracker.get(job)).toMatchObject({ state: 'heard' });

    await tracker.trackLink(refId, { context: 'late' });

    await world.until(() => completions.length === 1);
    expect(completions[0]).toMatchObject({ outcome: 'completed', job, context: 'late' });
  });

  test('a link that counts a job which no callback has mentioned says so once', async () => {
    const { world, tracker, completions } = await startWorker(createWorld());
    const { refId } = await world.client.links.create(newLink);
    world.completeJob('approved', refId);

    await tracker.trackLink(refId, { context: 'mine' });
    await world.until(() => completions.length === 1);

    expect(completions[0]).toMatchObject({
      outcome: 'unheard',
      job: null,
      missing: 1,
      context: 'mine',
      linkRefId: refId,
    });
    const asked = world.service.requests.length;
    await world.until(() => world.service.requests.length > asked + 4);
    expect(completions).toHaveLength(1);
    // A second one is another gap.
    world.completeJob('rejected', refId);
    await world.until(() => completions.length === 2);
    expect(completions[1]).toMatchObject({ outcome: 'unheard', missing: 2 });
    expect(completions[1]?.key).not.toBe(completions[0]?.key);
  });

  test('a callback that came late hides no other job from the counters', async () => {
    const { world, tracker, completions } = await startWorker(createWorld());
    const { refId } = await world.client.links.create(newLink);
    const late = world.completeJob('approved', refId);
    await tracker.trackLink(refId, { context: 'mine' });
    await world.until(() => completions.length === 1);
    await world.service.jobs.deliverCallback(late, { to: tracker.handler() });
    await world.until(() => completions.length === 2);
    const asked = world.service.requests.length;
    await world.until(() => world.service.requests.length > asked + 4);

    // No callback tells of this one.
    world.completeJob('approved', refId);

    await world.until(() => completions.length === 3);
    expect(completions).toMatchObject([
      { outcome: 'unheard', missing: 1 },
      { outcome: 'completed', job: late },
      { outcome: 'unheard', missing: 2 },
    ]);
    expect(new Set(completions.map(({ key }) => key)).size).toBe(3);
  });

  test('a job that is tracked by its ids, too, is not missing', async () => {
    const { world, tracker } = await openTracker(createWorld());
    const { refId } = await world.client.links.create(newLink);
    const job = world.completeJob('approved', refId);
    await tracker.track({ ...job, context: 'by its ids' });
    await world.service.jobs.deliverCallback(job, { to: tracker.handler() });
    await tracker.trackLink(refId, { context: 'by its link' });
    const completions = await collectFrom(tracker);

    await world.until(() => completions.length > 0);
    const asked = world.service.requests.length;
    await world.until(() => world.service.requests.length > asked + 4);

    expect(completions).toMatchObject([{ outcome: 'completed', context: 'by its ids' }]);
  });

  /** A job whose callback came before the service knew it, so that it is not followed any more. */
  async function giveUp(world: ReturnType<typeof createWorld>, tracker: Tracker<Json>, linkRefId: string) {
    const ids = { userId: 'user', jobId: 'early' };
    await tracker.receive(world.write({ ...ids, linkRefId, timestamp: new Date(world.now()).toISOString() }));
    await world.until(async () => (await tracker.get(ids))?.state === 'heard');
    return ids;
  }

  test('a link that is tracked again after its end gives its new context to a job that was heard before', async () => {
    const { world, tracker, completions } = await startWorker(createWorld(), { minDelayMs: 5, maxDelayMs: 5 });
    const { refId } = await world.client.links.create(newLink);
    await tracker.trackLink(refId, { context: 'first', deadline: new Date(world.now() + 300) });
    const job = await giveUp(world, tracker, refId);
    await world.until(async () => (await tracker.stats()).links === 0);
    world.service.jobs.start({ ...job, linkRefId: refId });
    world.service.jobs.complete(job, 'approved');

    await tracker.trackLink(refId, { context: 'second' });

    await world.until(() => completions.some(({ outcome }) => outcome === 'completed'));
    expect(completions.find(({ outcome }) => outcome === 'completed')).toMatchObject({ job, context: 'second' });
  });

  test.each([{ context: 'first' }, {}])('a link that is tracked already keeps its context: %j', async (options) => {
    const { world, tracker, completions } = await startWorker(createWorld(), { minDelayMs: 5, maxDelayMs: 5 });
    const { refId } = await world.client.links.create(newLink);
    await tracker.trackLink(refId, options);
    const job = await giveUp(world, tracker, refId);
    world.service.jobs.start({ ...job, linkRefId: refId });

    await tracker.trackLink(refId, { context: 'second' });

    world.service.jobs.complete(job, 'approved');
    // Until the job is polled again, the service is thought not to know it. So two polls of the link may report it first.
    const completed = () => completions.find(({ outcome }) => outcome === 'completed');
    await world.until(() => completed() !== undefined);
    expect(completed()).toMatchObject({ job, context: options.context ?? null });
  });

  test('a link is looked at until its deadline', async () => {
    const { world, tracker } = await openTracker(createWorld());
    await tracker.onCompletion(() => {});
    const { refId } = await world.client.links.create(newLink);

    await tracker.trackLink(refId, { deadline: new Date(world.now() + 300) });

    await world.until(async () => (await tracker.stats()).links === 0);
    expect(world.service.requests.some(({ operation }) => operation === 'links.get')).toBe(true);
    expect(await tracker.stats()).toMatchObject({ tracking: 0, overdue: 0, handingOver: 0 });
  });
});
