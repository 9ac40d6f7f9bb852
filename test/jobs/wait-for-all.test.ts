// Waiting for many jobs at once: order and identity of results, and one job that fails.

import { getEventListeners } from 'node:events';
import {
  HostedAuthenticationError,
  HostedNotFoundError,
  HostedPollTimeoutError,
  HostedResponseError,
  HostedValidationError,
  type JobRef,
} from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { deferred } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { collect, collectFor, start, steady } from './many-jobs.js';

failWhenClockIsIdle();

failOnStrayRejections();

// What comes ---------------------------------------------------------------------

test('waitForAll() gives results in order of completion, with the caller’s own job objects', async () => {
  const { client, clock, job } = start();
  const slow = { ...job('slow', { completeAt: 60_000 }), row: 1 };
  const quick = { ...job('quick', { completeAt: 1_000, success: false }), row: 2 };
  const middling = { ...job('middling', { completeAt: 20_000 }), row: 3 };

  const { seen } = await collectFor(clock, 120_000, client.jobs.waitForAll([slow, quick, middling], steady));

  expect(seen.map((entry) => entry.job)).toEqual([quick, middling, slow]);
  expect([quick, middling, slow].map((own, index) => seen[index]?.job === own)).toEqual([true, true, true]);
  expect(seen.map(({ status }) => status?.state)).toEqual(['failed', 'succeeded', 'succeeded']);
  expect(seen.every(({ error }) => error === undefined)).toBe(true);
});

test('the last result of waitForAll() comes, though its job ended while the result before it was read', async () => {
  const { client, clock, job } = start();
  const jobs = [job('soon', { completeAt: 1_000 }), job('last', { completeAt: 20_000 })];

  const entries = client.jobs.waitForAll(jobs, steady)[Symbol.asyncIterator]();
  const first = entries.next();
  await clock.advance(2_000);
  expect((await first).value?.job.jobId).toBe('soon');
  await clock.advance(60_000);

  expect((await entries.next()).value?.job.jobId).toBe('last');
  expect((await entries.next()).done).toBe(true);
});

test.each<[string, () => Iterable<JobRef> | AsyncIterable<JobRef>]>([
  ['an empty list', () => []],
  ['an empty set', () => new Set<JobRef>()],
  ['an empty generator', () => (function* (): Generator<JobRef> {})()],
  ['an empty async generator', () => (async function* (): AsyncGenerator<JobRef> {})()],
])('waitForAll() of %s ends at once', async (_what, jobs) => {
  const { client, clock, polls, asleep } = start();

  const { seen, outcome } = collect(client.jobs.waitForAll(jobs()));
  await clock.advance(0);

  expect([seen, outcome.state]).toEqual([[], 'done']);
  expect(polls).toEqual([]);
  expect(asleep()).toBe(0);
});

test.each<[string, (jobs: readonly JobRef[]) => Iterable<JobRef> | AsyncIterable<JobRef>]>([
  ['a list', (jobs) => jobs],
  ['a set', (jobs) => new Set(jobs)],
  ['the values of a map', (jobs) => new Map(jobs.map((job) => [job.jobId, job])).values()],
  [
    'a generator',
    function* (jobs) {
      yield* jobs;
    },
  ],
  [
    'an async generator',
    async function* (jobs) {
      yield* jobs;
    },
  ],
])('waitForAll() takes jobs from %s', async (_what, from) => {
  const { client, clock, job } = start();
  const jobs = [3_000, 1_000, 2_500, 9_000].map((completeAt, index) => job(`job-${index}`, { completeAt }));

  const { seen } = await collectFor(clock, 60_000, client.jobs.waitForAll(from(jobs), { ...steady, concurrency: 2 }));

  expect(new Set(seen.map((entry) => entry.job))).toEqual(new Set(jobs));
  expect(seen).toHaveLength(4);
});

test('waitForAll() waits for jobs that a slow source gives one by one, each from when it came', async () => {
  const { client, clock, job, polledAt } = start();
  const jobs = ['one', 'two', 'three'].map((name) => job(name, { completeAt: 25_000 }));
  async function* slowly() {
    for (const each of jobs) {
      yield each;
      await clock.sleep?.(10_000);
    }
  }

  const { seen } = await collectFor(clock, 120_000, client.jobs.waitForAll(slowly(), steady));

  expect(seen).toHaveLength(3);
  expect(polledAt('one').slice(0, 4)).toEqual([0, 2_000, 5_000, 9_500]);
  expect(polledAt('two').slice(0, 3)).toEqual([10_000, 12_000, 15_000]);
  expect(polledAt('three')).toEqual([20_000, 22_000, 25_000]);
});

test('waitForAll() of a source that stays open ends when that does', async () => {
  const { client, clock, job } = start();
  const closed = deferred();
  async function* open() {
    yield job('one', { completeAt: 0 });
    await closed.promise;
  }

  const { seen, outcome } = collect(client.jobs.waitForAll(open(), steady));
  await clock.advance(3_600_000);
  const whileOpen = [seen.length, outcome.state];
  closed.resolve();
  await clock.advance(0);

  expect(whileOpen).toEqual([1, 'pending']);
  expect(outcome.state).toBe('done');
});

test('waitForAll() can be iterated again, and waits anew', async () => {
  const { client, clock, job, polls } = start();
  const waiting = client.jobs.waitForAll([job('one', { completeAt: 0 })]);

  const first = collect(waiting);
  await clock.advance(0);
  const second = collect(waiting);
  await clock.advance(0);

  expect([first.seen.length, second.seen.length]).toEqual([1, 1]);
  expect(polls).toHaveLength(2);
});

test('the same job, given twice, has two results', async () => {
  const { client, clock, job } = start();
  const one = job('one', { completeAt: 4_000 });

  const { seen } = await collectFor(clock, 60_000, client.jobs.waitForAll([one, one], steady));

  expect(seen.map((entry) => entry.job === one)).toEqual([true, true]);
});

test('every job of waitForAll() has the initial delay, counted from its admission', async () => {
  const { client, clock, job, polledAt } = start();
  const jobs = [job('one', { completeAt: 0 }), job('two', { completeAt: 0 })];
  async function* slowly() {
    yield jobs[0] as JobRef;
    await clock.sleep?.(3_000);
    yield jobs[1] as JobRef;
  }

  const { seen } = await collectFor(
    clock,
    60_000,
    client.jobs.waitForAll(slowly(), { ...steady, initialDelayMs: 7_000 }),
  );

  expect(seen.map((entry) => entry.job)).toEqual(jobs);
  expect([polledAt('one'), polledAt('two')]).toEqual([[7_000], [10_000]]);
});

test('waitForAll() asks for what it is to ask for, calls onPoll, and gives each job poll events of its own', async () => {
  const { client, clock, job, events } = start();
  const told: number[] = [];
  const jobs = [job('one', { completeAt: 1_000 }), job('two', { completeAt: 1_000 })];

  const options = { ...steady, onPoll: ({ attempt }: { attempt: number }) => told.push(attempt) };
  await collectFor(clock, 2_000, client.jobs.waitForAll(jobs, options));

  expect(told.toSorted()).toEqual([1, 1, 2, 2]);
  const polls = events.filter((event) => event.type === 'poll');
  const callIds = [...new Set(polls.map(({ callId }) => callId))];
  const toldOf = (id: number) =>
    polls.filter(({ callId }) => callId === id).map(({ attempt, state }) => [attempt, state]);
  expect(callIds.map(toldOf)).toEqual(
    Array(2).fill([
      [1, 'pending'],
      [2, 'succeeded'],
    ]),
  );
  expect(JSON.stringify(events)).not.toMatch(/one|two/);
});

// One job's failure ----------------------------------------------------------------

test('the failure of one job is its own entry, and the others go on', async () => {
  const { client, clock, job } = start();
  const good = job('good', { completeAt: 3_000 });
  const unknown = { userId: 'user-1', jobId: 'unknown' };
  const misshapen = job('misshapen', { answer: () => ({ code: '2302' }) });
  const another = job('another', {
    answer: () => ({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'other' }),
  });
  const refused = job('refused', { answer: () => Response.json({ code: '2305' }, { status: 401 }) });
  const never = job('never');
  const blank = { userId: ' ', jobId: 'job-1' };
  const numeric = { userId: 1, jobId: 2 } as never;
  const nothing = null as never;
  const text = 'job-1' as never;
  const hostile: JobRef = {
    jobId: 'job-1',
    get userId(): string {
      throw new Error('hands off');
    },
  };
  const jobs: JobRef[] = [unknown, misshapen, another, refused, never, blank, numeric, nothing, text, hostile, good];

  const options = { ...steady, notFoundGraceMs: 4_000, deadlineMs: 20_000 };
  const { seen, outcome } = await collectFor(clock, 60_000, client.jobs.waitForAll(jobs, options));

  expect(outcome.state).toBe('done');
  expect(seen).toHaveLength(jobs.length);
  const endOf = (own: unknown) => seen.find((entry) => Object.is(entry.job, own));
  expect(endOf(good)?.status?.state).toBe('succeeded');
  expect(endOf(unknown)?.error).toBeInstanceOf(HostedNotFoundError);
  expect(endOf(misshapen)?.error).toBeInstanceOf(HostedResponseError);
  expect(endOf(misshapen)?.error).toMatchObject({ reason: 'shape' });
  expect(endOf(another)?.error).toMatchObject({ code: 'response', reason: 'mismatch' });
  expect(endOf(refused)?.error).toBeInstanceOf(HostedAuthenticationError);
  expect(endOf(never)?.error).toBeInstanceOf(HostedPollTimeoutError);
  expect(endOf(never)?.error).toMatchObject({ elapsedMs: 20_000, lastStatus: { state: 'pending' }, job: never });
  for (const bad of [blank, numeric, nothing, text, hostile]) {
    expect(endOf(bad)?.error).toBeInstanceOf(HostedValidationError);
    expect(endOf(bad)?.status).toBeUndefined();
  }
});

test('the error of an entry names where the caller waits', async () => {
  const { client, clock } = start();
  const waiting = async function whereItWaits() {
    for await (const entry of client.jobs.waitForAll([{ userId: 'user-1', jobId: 'unknown' }], steady)) return entry;
    return null;
  };

  const entry = waiting();
  await clock.advance(120_000);

  expect((await entry)?.error?.stack).toContain('whereItWaits');
});

test('where requests are scarce, new jobs and polls that are due take turns', async () => {
  const { client, clock, job, polls } = start({ latencyMs: 20_000 });
  const jobs = ['one', 'two', 'three', 'four'].map((jobId) => job(jobId));

  await collectFor(clock, 600_000, client.jobs.waitForAll(jobs, { ...steady, concurrency: 1, deadlineMs: 300_000 }));

  // The first poll of "one" is not yet due again when its request ends.
  const asked = polls.map(({ jobId }) => jobId).slice(0, 7);
  expect(asked.map((jobId, at) => asked.indexOf(jobId) === at)).toEqual([true, true, false, true, false, true, false]);
});

test('a job that waits for a free request has not begun its deadline', async () => {
  const { client, clock, job, polledAt } = start({ latencyMs: 20_000 });
  const jobs = [job('one', { completeAt: 0 }), job('two', { completeAt: 0 }), job('three', { completeAt: 0 })];

  const options = { ...steady, concurrency: 1, deadlineMs: 21_000 };
  const { seen } = await collectFor(clock, 120_000, client.jobs.waitForAll(jobs, options));

  expect(seen.map(({ status }) => status?.state)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(['one', 'two', 'three'].map((name) => polledAt(name))).toEqual([[0], [20_000], [40_000]]);
});

test('what the caller’s own clock throws during a poll ends the wait for many, and is no job’s entry', async () => {
  const { client, clock, job, asleep } = start();
  const ofTheClock = new Error('of the clock');
  const answer = () => {
    vi.spyOn(clock, 'now').mockImplementationOnce(() => {
      throw ofTheClock;
    });
    return Response.json({}, { status: 503 });
  };

  const { seen, outcome } = collect(client.jobs.waitForAll([job('one', { answer })], steady));
  await clock.advance(0);

  expect(seen).toEqual([]);
  expect(outcome).toEqual({ state: 'failed', error: ofTheClock });
  expect(asleep()).toBe(0);
});

test('what the caller’s own clock throws as a poll falls due ends the wait for many', async () => {
  const { client, clock, job, asleep } = start();
  const ofTheClock = new Error('of the clock');

  const { outcome } = collect(client.jobs.waitForAll([job('one')], steady));
  await clock.advance(1_999);
  void clock.sleep?.(1).then(() => {
    vi.spyOn(clock, 'now').mockImplementationOnce(() => {
      throw ofTheClock;
    });
  });
  await clock.advance(1);

  expect(outcome).toEqual({ state: 'failed', error: ofTheClock });
  expect(asleep()).toBe(0);
});

test('what the caller’s own clock throws as a job is admitted ends the wait for many, and the requests in flight', async () => {
  const { client, clock, job, polls, inFlight, asleep } = start();
  const { signal } = new AbortController();
  const ofTheClock = new Error('of the clock');
  function* planting() {
    yield job('one');
    vi.spyOn(clock, 'now').mockImplementationOnce(() => {
      throw ofTheClock;
    });
    yield job('two');
  }

  const { outcome } = collect(client.jobs.waitForAll(planting(), { ...steady, signal }));
  await clock.advance(0);
  const sent = polls.length;
  await clock.advance(60_000);

  expect(outcome).toEqual({ state: 'failed', error: ofTheClock });
  expect(polls).toHaveLength(sent);
  expect([inFlight(), asleep(), getEventListeners(signal, 'abort').length]).toEqual([0, 0, 0]);
});
