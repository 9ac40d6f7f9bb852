// What happens to a job or link whose status cannot be fetched at its deadline.

import { HostedClient, type JobRef } from 'hosted-client';
import type { MockFault } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { onOneDatabase } from '../support/on-each-database.ts';
import { collect, collectFrom, createWorld, newLink, openTracker, until } from './world.ts';

type World = ReturnType<typeof createWorld>;

const serverError: MockFault = { kind: 'status', status: 503 };
const notFound: MockFault = { kind: 'status', status: 404 };
const isAboutLinks = (url: string) => url.includes('_links');

/** Every job and link is due, and its deadline was two days ago. So many polls have failed since, for so many hours. */
async function makeLate(
  world: World,
  failedPolls: number,
  {
    only,
    hours = 25,
    error = 'not_found',
  }: { readonly only?: JobRef; readonly hours?: number; readonly error?: string } = {},
): Promise<void> {
  await world.rows(`update TRACKED set due = now(), deadline = now() - interval '2 days', late_polls = ${failedPolls},
    late_since = case when ${failedPolls} > 0 then now() - interval '${hours} hours' end,
    last_error = case when ${failedPolls} > 0 then '${error}' end
    where due is not null ${only ? `and job_id = '${only.jobId}'` : ''}`);
}

onOneDatabase((database) => {
  const open = async () => ({ ...(await openTracker(createWorld(database))), ...collect() });

  test.each<[what: string, fault: MockFault, code: string]>([
    ['an outage', serverError, 'server'],
    ['broken connections', { kind: 'network' }, 'connection'],
    ['a wrong key', { kind: 'status', status: 401 }, 'authentication'],
    ['responses that do not verify', { kind: 'bad-signature' }, 'signature'],
    ['pages of a proxy', { kind: 'html' }, 'response'],
  ])('%s at the deadline expires no job', async (_, fault, code) => {
    const { world, tracker, completions, handler } = await open();
    const jobs = Array.from({ length: 20 }, () => world.completeJob('approved'));
    await tracker.track(jobs);
    await makeLate(world, 10);
    world.fail(fault);
    await tracker.onCompletion(handler);

    await until(async () => (await tracker.stats()).problem !== null);
    const asked = world.service.requests.length;
    await until(() => world.service.requests.length > asked + 1);
    await until(async () => (await world.rows(`select 1 from TRACKED where last_error = '${code}'`)).length > 0);
    expect(completions).toEqual([]);
    const waiting = (await Promise.all(jobs.map((job) => tracker.get(job)))).filter((job) => job?.lastError === code);
    expect(waiting.length).toBeGreaterThan(0);
    // This is how get() says that a job waits past its deadline.
    for (const job of waiting) {
      expect(job).toMatchObject({ state: 'tracking', nextPollAt: expect.any(Date) });
      expect(job?.deadline?.getTime()).toBeLessThan(Date.now());
    }

    world.fail(null);
    await until(() => completions.length === jobs.length);
    expect(new Set(completions.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
  });

  test('a job whose own error lasts expires after a day, and three failed polls, while other requests succeed', async () => {
    const { world, tracker, completions, handler } = await open();
    const [early, second, late] = ['early', 'second', 'late'].map((jobId) => ({ userId: 'nobody', jobId }));
    if (!early || !second || !late) throw new Error('no jobs');
    await tracker.track([early, second, late]);
    await makeLate(world, 10, { only: early, hours: 23 });
    await makeLate(world, 2, { only: second });
    await makeLate(world, 2, { only: late });
    await tracker.onCompletion(handler);
    await until(async () => ((await tracker.get(late))?.polls ?? 0) >= 3);
    expect(completions).toEqual([]);

    await tracker.track(world.service.jobs.start());

    await until(() => completions.length === 2);
    expect(completions.map(({ job }) => job?.jobId).sort()).toEqual(['late', 'second']);
    expect(completions).toMatchObject([{ lastError: 'not_found' }, { lastError: 'not_found' }]);
    expect(await tracker.get(early)).toMatchObject({ state: 'tracking', lastError: 'not_found' });
    expect((await tracker.stats()).problem).toBe(null);
  });

  test('a job whose own error has lasted for a day does not expire at the second failed poll', async () => {
    const waits = { minDelayMs: 3_600_000, maxDelayMs: 3_600_000 };
    const { world, tracker } = await openTracker(createWorld(database), waits);
    const { completions, handler } = collect();
    const job = { userId: 'nobody', jobId: 'nothing' };
    await tracker.track([world.service.jobs.start(), job]);
    await tracker.onCompletion(handler);
    await until(async () => (await tracker.get(job))?.lastError === 'not_found');
    await until(async () => (await world.rows('select 1 from TRACKED where polls = 1')).length === 2);

    await makeLate(world, 1, { only: job });
    await tracker.track(world.service.jobs.start());

    await until(async () => (await world.rows('select 1 from TRACKED where late_polls = 2')).length === 1);
    expect(completions).toEqual([]);
  });

  test('a job that is pending again after its deadline expires at once', async () => {
    const { world, tracker, completions, handler } = await open();
    const job = world.service.jobs.start();
    await tracker.track(job);
    await makeLate(world, 0);
    world.service.failNext('jobs.status', serverError);
    await tracker.onCompletion(handler);

    await until(() => completions.length > 0);

    expect(completions).toMatchObject([{ outcome: 'expired', job, lastError: null }]);
    expect(world.service.requests.length).toBe(2);
  });

  test('a job that alone gets server errors expires only if other jobs get responses', async () => {
    const { world, tracker, completions, handler } = await open();
    const broken = world.service.jobs.start();
    await tracker.track(broken);
    await makeLate(world, 10, { error: 'server' });
    world.fail(serverError, (_, body) => body.includes(broken.jobId));
    await tracker.onCompletion(handler);

    await until(async () => ((await tracker.get(broken))?.polls ?? 0) >= 3);
    expect(await tracker.get(broken)).toMatchObject({ state: 'tracking', lastError: 'server' });
    const other = world.service.jobs.start();
    await tracker.track(other);

    await until(() => completions.length > 0);
    expect(completions).toMatchObject([{ outcome: 'expired', job: broken, lastError: 'server' }]);
    await until(async () => (await tracker.stats()).problem === null);
    expect(await tracker.get(other)).toMatchObject({ state: 'tracking', lastError: null });
  });

  test('a process with a wrong key expires no job, though another process gets responses', async () => {
    const world = createWorld(database);
    const right = await world.open();
    const { completions, handler } = collect();
    const others = Array.from({ length: 5 }, () => world.completeJob('approved'));
    await right.track(others);
    await right.onCompletion(handler);
    await until(() => completions.length === others.length);
    await right.stop();
    const client = new HostedClient({
      ...world.service.clientOptions,
      apiKey: `${world.service.clientOptions.apiKey}x`,
      fetch: (url, init) => world.fetch(url, init),
    });
    const wrong = await world.open({ client });
    const job = world.completeJob('approved');
    await wrong.track(job);
    await makeLate(world, 10);

    await wrong.onCompletion(handler);

    await until(
      async () => (await world.rows("select 1 from TRACKED where last_error = 'authentication'")).length === 1,
    );
    const { polls = 0 } = (await wrong.get(job)) ?? {};
    await until(async () => ((await wrong.get(job))?.polls ?? 0) > polls);
    expect(await wrong.get(job)).toMatchObject({ state: 'tracking', lastError: 'authentication' });
    // Either process may take a poll, so only one of them goes on.
    await wrong.stop();
    await world.rows('update FLEET set hold_until = null');
    await world.rows('update TRACKED set due = now() where due is not null');
    const again = await world.open();
    await again.onCompletion(handler);
    await until(() => completions.length > others.length);
    expect(completions.at(-1)).toMatchObject({ outcome: 'completed', job });
  });

  test('an outage at its deadline ends no link', async () => {
    const { world, tracker, completions, handler } = await open();
    const { refId } = await world.client.links.create(newLink);
    world.completeJob('approved', refId);
    await tracker.trackLink(refId, { context: 'mine' });
    await makeLate(world, 10);
    world.fail(serverError, isAboutLinks);
    await tracker.onCompletion(handler);

    await until(async () => (await world.rows(`select 1 from TRACKED where polls >= 3 and state = 1`)).length === 1);
    world.fail(null);

    await until(() => completions.length === 1);
    expect(completions[0]).toMatchObject({ outcome: 'unheard', missing: 1, context: 'mine' });
    await until(async () => (await world.rows('select 1 from TRACKED where due is not null')).length === 0);
  });

  test('a link whose own error lasts ends after a day, and three failed polls', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const { refId } = await world.client.links.create(newLink);
    await tracker.trackLink(refId);
    await makeLate(world, 0);
    world.fail(notFound, isAboutLinks);
    await tracker.onCompletion(() => {});

    await until(async () => (await world.rows('select 1 from TRACKED where polls >= 4')).length === 1);
    expect(await world.rows('select state from TRACKED')).toEqual([{ state: 1 }]);
    await makeLate(world, 2);
    await tracker.track(world.service.jobs.start());

    await until(async () => (await world.rows('select 1 from TRACKED where due is null and state = 3')).length === 1);
  });

  test('a job that only a callback has mentioned is given up by the same rule', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { unknownJobs: 'track' });
    const body = await (await world.service.jobs.callback(world.completeJob('approved'))).text();
    const [{ job_id: jobId } = { job_id: '' }] = [JSON.parse(body).PartnerParams ?? JSON.parse(body).partner_params];
    for (const name of ['invented-1', 'invented-2']) await tracker.receive(body.replaceAll(jobId, name));
    const [lasting, recent] = await world.rows('select key, job_id from TRACKED order by job_id');
    expect([lasting?.job_id, recent?.job_id]).toEqual(['invented-1', 'invented-2']);
    await makeLate(world, 0);
    await makeLate(world, 2, { only: { userId: '', jobId: 'invented-1' } });
    await tracker.track(world.service.jobs.start());

    await tracker.onCompletion(() => {});

    const polls = (n: number) => world.rows(`select 1 from TRACKED where job_id = 'invented-${n}' and state = 0`);
    await until(async () => (await polls(1)).length === 1 && (await polls(2)).length === 1);
    expect(
      await world.rows(
        "select job_id, polls = 10 as is_tenth from TRACKED where job_id like 'invented%' order by job_id",
      ),
    ).toEqual([
      { job_id: 'invented-1', is_tenth: false },
      { job_id: 'invented-2', is_tenth: true },
    ]);
  });

  test('a job whose status stays older than the one that was handed over expires by the same rule', async () => {
    const { world, tracker } = await openTracker(createWorld(database), { minRetryMs: 1 });
    const job = world.completeJob('approved');
    const signedAt = Date.now() - 60_000;
    await tracker.track(job);
    const completions = await collectFrom(tracker, ({ outcome }) => {
      if (outcome === 'expired') return;
      world.rewrite((body) => ({ ...body, job_success: false, result: {}, history: [], ...world.signed(signedAt) }));
      throw new Error('not today');
    });
    await until(async () => (await tracker.get(job))?.lastError === 'signature');
    expect(await tracker.get(job)).toMatchObject({ state: 'tracking' });

    await makeLate(world, 2, { error: 'signature' });

    await until(() => completions.length === 2);
    expect(completions[1]).toMatchObject({ outcome: 'expired', revision: 2, lastError: 'signature' });
  });

  test('a poll that stop() aborts does not count', async () => {
    const { world, tracker } = await openTracker(createWorld(database));
    const job = world.completeJob('approved');
    await tracker.track(job);
    await makeLate(world, 0);
    world.fail({ kind: 'stall' });
    await tracker.onCompletion(() => {});
    await until(async () => ((await tracker.get(job))?.polls ?? 0) === 1);

    await tracker.stop({ timeoutMs: 0 });

    expect(await world.rows('select state, late_polls, late_since, last_error from TRACKED')).toEqual([
      { state: 1, late_polls: 0, late_since: null, last_error: null },
    ]);
  });

  test('polls before a new deadline do not count', async () => {
    const { world, tracker, completions, handler } = await open();
    const job = world.completeJob('approved');
    await tracker.track(job);
    await makeLate(world, 10);
    // The status of the delivery cannot be fetched, so the job is followed again.
    const release = world.holdAfter(1);
    await tracker.onCompletion(handler);
    await until(() => world.service.requests.length === 1);
    world.fail(notFound);
    release();

    await until(async () => ((await tracker.get(job))?.polls ?? 0) >= 5);
    expect(completions).toEqual([]);
    expect((await tracker.get(job))?.deadline?.getTime()).toBeGreaterThan(Date.now());
    world.fail(null);
    await until(() => completions.length === 1);
    expect(completions[0]).toMatchObject({ outcome: 'completed', job });
  });
});
