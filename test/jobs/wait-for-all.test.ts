// Waiting for many jobs at once: order and identity of results, how busy it keeps service and clock, and how it stops.

import { getEventListeners } from 'node:events';
import {
  HostedAuthenticationError,
  HostedClient,
  type HostedEvent,
  HostedNotFoundError,
  HostedPollTimeoutError,
  HostedResponseError,
  HostedValidationError,
  type JobRef,
  type WaitOptions,
} from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';
import { deferred, partnerId, rejection, sign } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

/** What the service knows of a job: pending until it is due, or an answer of another kind. */
type Course =
  | { readonly completeAt: number; readonly success?: boolean }
  | { readonly answer: () => object | Response };

interface Poll {
  readonly jobId: string;
  /** In ms since the start. */
  readonly at: number;
}

interface Sleeper {
  readonly signal: AbortSignal | undefined;
}

const steady = { jitter: false } as const;
const reason = { why: 'the user left' };
const pendingRecord = { job_complete: false, job_success: false, code: '2314', result: 'No zip uploaded yet' };

/** Time limits that are no delay of any wait, so that the sleeps of requests can be told from others. */
const limits = { timeoutMs: 29_999, totalTimeoutMs: 119_999 } as const;

/** A signer that is done at once: no thread decides what happens when. */
const signer = {
  name: 'immediate',
  sign: ({ timestamp }: { timestamp: string }) => sign(timestamp),
  verify: (signature: string, { timestamp }: { timestamp: string }) => signature === sign(timestamp),
};

/** A service of jobs that end when they are due, after `latencyMs` a request, and a client of it, by one clock. */
function start({ latencyMs = 0 } = {}) {
  const clock = createTestClock();
  const startedAt = clock.now();
  const courses = new Map<string, Course>();
  const polls: Poll[] = [];
  const events: HostedEvent[] = [];
  const asleep = new Set<Sleeper>();
  const alarms = new Set<Sleeper>();
  let inFlight = 0;
  let mostInFlight = 0;
  let mostAlarms = 0;
  let alarmsSet = 0;

  const watchedClock = {
    now: () => clock.now(),
    sleep: async (ms: number, signal?: AbortSignal) => {
      const sleeper = { signal };
      asleep.add(sleeper);
      if (ms !== limits.timeoutMs && ms !== limits.totalTimeoutMs) {
        alarms.add(sleeper);
        alarmsSet += 1;
        mostAlarms = Math.max(mostAlarms, [...alarms].filter((alarm) => !alarm.signal?.aborted).length);
      }
      try {
        await clock.sleep?.(ms, signal);
      } finally {
        asleep.delete(sleeper);
        alarms.delete(sleeper);
      }
    },
  };

  async function answerTo(jobId: string): Promise<Response> {
    const course = courses.get(jobId);
    if (course === undefined) return Response.json({ error: 'Job not found', code: '2304' }, { status: 400 });
    if ('answer' in course) {
      const given = course.answer();
      return given instanceof Response ? given : signedNow(given);
    }
    if (clock.now() - startedAt < course.completeAt) return signedNow(pendingRecord);
    return signedNow({ job_complete: true, job_success: course.success ?? true, code: '2302', job_id: jobId });
  }

  function signedNow(record: object): Response {
    const timestamp = new Date(clock.now() - 1).toISOString();
    return Response.json({ ...record, timestamp, sec_key: sign(timestamp) });
  }

  const fetch = async (_url: unknown, init: RequestInit = {}) => {
    const { job_id: jobId } = JSON.parse(String(init.body)) as { job_id: string };
    polls.push({ jobId, at: clock.now() - startedAt });
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    try {
      if (latencyMs > 0) await clock.sleep?.(latencyMs, init.signal ?? undefined);
      return await answerTo(jobId);
    } finally {
      inFlight -= 1;
    }
  };
  const client = new HostedClient({
    partnerId,
    signer,
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: fetch as typeof globalThis.fetch,
    clock: watchedClock,
    onEvent: (event) => events.push(event),
    ...limits,
  });

  return {
    client,
    clock,
    polls,
    events,
    courses,
    /** Makes a job that takes this course. */
    job: (jobId: string, course: Course = { completeAt: Number.POSITIVE_INFINITY }) => {
      courses.set(jobId, course);
      return { userId: `user-of-${jobId}`, jobId };
    },
    inFlight: () => inFlight,
    mostInFlight: () => mostInFlight,
    /** Sleepers of any kind. */
    asleep: () => asleep.size,
    /** The most there ever were at once besides the time limits of requests. */
    mostAlarms: () => mostAlarms,
    /** How many there were in all. */
    alarmsSet: () => alarmsSet,
    polledAt: (jobId: string) => polls.filter((poll) => poll.jobId === jobId).map(({ at }) => at),
  };
}

type Entry<J> = { job: J; status?: { state: string } | undefined; error?: unknown };

/** Reads a wait to its end, as quickly as it comes. */
function collect<J>(entries: AsyncIterable<Entry<J>>) {
  const seen: Entry<J>[] = [];
  const read = async () => {
    for await (const entry of entries) seen.push(entry);
  };
  const outcome: { state: 'pending' | 'done' | 'failed'; error: unknown } = { state: 'pending', error: null };
  const ended = read().then(
    () => Object.assign(outcome, { state: 'done' }),
    (error: unknown) => Object.assign(outcome, { state: 'failed', error }),
  );
  return { seen, outcome, ended };
}

/** An iterator of jobs that notes what is asked of it. */
function source<J>(jobs: readonly J[]) {
  const calls = { taken: 0, returned: 0 };
  const iterable: Iterable<J> = {
    [Symbol.iterator]: () => ({
      next: () => {
        const value = jobs[calls.taken];
        if (calls.taken >= jobs.length) return { done: true, value: undefined };
        calls.taken += 1;
        return { done: false, value: value as J };
      },
      return: () => {
        calls.returned += 1;
        return { done: true, value: undefined };
      },
    }),
  };
  return { iterable, calls };
}

/** The same course of chance for the same seed (a linear congruential generator, by Numerical Recipes). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const drawn = values.map((value) => ({ value, at: random() }));
  return drawn.sort((one, other) => one.at - other.at).map(({ value }) => value);
}

failOnStrayRejections();

// What comes ---------------------------------------------------------------------

test('waitForAll() gives results in order of completion, with the caller’s own job objects', async () => {
  const { client, clock, job } = start();
  const slow = { ...job('slow', { completeAt: 60_000 }), row: 1 };
  const quick = { ...job('quick', { completeAt: 1_000, success: false }), row: 2 };
  const middling = { ...job('middling', { completeAt: 20_000 }), row: 3 };

  const { seen, ended } = collect(client.jobs.waitForAll([slow, quick, middling], steady));
  await clock.advance(120_000);
  await ended;

  expect(seen.map((entry) => entry.job)).toEqual([quick, middling, slow]);
  expect([quick, middling, slow].map((own, index) => seen[index]?.job === own)).toEqual([true, true, true]);
  expect(seen.map(({ status }) => status?.state)).toEqual(['failed', 'succeeded', 'succeeded']);
  expect(seen.every(({ error }) => error === undefined)).toBe(true);
});

test('waitForAll() gives a result as soon as its job is seen complete, not when all are', async () => {
  const { client, clock, job } = start();
  const jobs = [job('never'), job('soon', { completeAt: 1_000 })];

  const { seen, outcome } = collect(client.jobs.waitForAll(jobs, { ...steady, deadlineMs: 60_000 }));
  await clock.advance(2_000);

  expect(seen.map((entry) => entry.job.jobId)).toEqual(['soon']);
  expect(outcome.state).toBe('pending');
  await clock.advance(60_000);
});

test('waitForAll() sends nothing before it is iterated', async () => {
  const { client, clock, job, polls } = start();
  const { iterable, calls } = source([job('one')]);

  const waiting = client.jobs.waitForAll(iterable);
  waiting[Symbol.asyncIterator]();
  await clock.advance(60_000);

  expect(polls).toEqual([]);
  expect(calls).toEqual({ taken: 0, returned: 0 });
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

  const { seen, ended } = collect(client.jobs.waitForAll(from(jobs), { ...steady, concurrency: 2 }));
  await clock.advance(60_000);
  await ended;

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

  const { seen, ended } = collect(client.jobs.waitForAll(slowly(), steady));
  await clock.advance(120_000);
  await ended;

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

  const { seen, ended } = collect(client.jobs.waitForAll([one, one], steady));
  await clock.advance(60_000);
  await ended;

  expect(seen.map((entry) => entry.job === one)).toEqual([true, true]);
});

test('every job of waitForAll() is polled by the schedule of a single wait', async () => {
  const { client, clock, job, polledAt } = start();
  const jobs = ['one', 'two', 'three'].map((name) => job(name));

  const { seen, ended } = collect(client.jobs.waitForAll(jobs, { ...steady, deadlineMs: 60_000 }));
  await clock.advance(60_000);
  await ended;

  for (const { jobId } of jobs) {
    expect(polledAt(jobId).slice(0, 6)).toEqual([0, 2_000, 5_000, 9_500, 16_250, 26_375]);
    expect(polledAt(jobId).at(-1)).toBe(60_000);
  }
  expect(seen.every(({ error }) => error instanceof HostedPollTimeoutError)).toBe(true);
});

test('every job of waitForAll() has the initial delay, counted from its admission', async () => {
  const { client, clock, job, polledAt } = start();
  const jobs = [job('one', { completeAt: 0 }), job('two', { completeAt: 0 })];
  async function* slowly() {
    yield jobs[0] as JobRef;
    await clock.sleep?.(3_000);
    yield jobs[1] as JobRef;
  }

  const { seen, ended } = collect(client.jobs.waitForAll(slowly(), { ...steady, initialDelayMs: 7_000 }));
  await clock.advance(60_000);
  await ended;

  expect(seen.map((entry) => entry.job)).toEqual(jobs);
  expect([polledAt('one'), polledAt('two')]).toEqual([[7_000], [10_000]]);
});

test('waitForAll() asks for what it is to ask for, tells onPoll, and gives each job poll events of its own', async () => {
  const { client, clock, job, events } = start();
  const told: number[] = [];
  const jobs = [job('one', { completeAt: 1_000 }), job('two', { completeAt: 1_000 })];

  const options = { ...steady, onPoll: ({ attempt }: { attempt: number }) => told.push(attempt) };
  const { ended } = collect(client.jobs.waitForAll(jobs, options));
  await clock.advance(2_000);
  await ended;

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

test('waitForAll() works with the whole service', async () => {
  const clock = createTestClock();
  const { fetch, sandbox } = createMockService({ clock, spelling: 'random' });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const jobs = Array.from({ length: 25 }, () => sandbox.jobs.start());

  const { seen, ended } = collect(client.jobs.waitForAll(jobs, { history: true }));
  for (const [index, job] of jobs.entries()) {
    await clock.advance(1_000);
    sandbox.jobs.complete(job, index % 2 === 0 ? 'approved' : 'rejected');
  }
  await clock.advance(60_000);
  await ended;

  expect(new Set(seen.map((entry) => entry.job))).toEqual(new Set(jobs));
  expect(seen.filter(({ status }) => status?.state === 'succeeded')).toHaveLength(13);
  expect(seen.filter(({ status }) => status?.state === 'failed')).toHaveLength(12);
});

// One job's failure ----------------------------------------------------------------

test('the failure of one job is its own entry, and the others go on', async () => {
  const { client, clock, job } = start();
  const good = job('good', { completeAt: 3_000 });
  const unknown = { userId: 'user-1', jobId: 'unknown' };
  const misshapen = job('misshapen', { answer: () => ({ code: '2302' }) });
  const another = job('another', { answer: () => ({ job_complete: true, job_success: true, job_id: 'other' }) });
  const refused = job('refused', { answer: () => Response.json({ code: '2305' }, { status: 401 }) });
  const never = job('never');
  const blank = { userId: ' ', jobId: 'job-1' };
  const numeric = { userId: 1, jobId: 2 } as never;
  const nothing = null as never;
  const text = 'job-1' as never;
  const jobs: JobRef[] = [unknown, misshapen, another, refused, never, blank, numeric, nothing, text, good];

  const options = { ...steady, notFoundGraceMs: 4_000, deadlineMs: 20_000 };
  const { seen, outcome, ended } = collect(client.jobs.waitForAll(jobs, options));
  await clock.advance(60_000);
  await ended;

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
  for (const bad of [blank, numeric, nothing, text]) {
    expect(endOf(bad)?.error).toBeInstanceOf(HostedValidationError);
    expect(endOf(bad)?.status).toBeUndefined();
  }
});

test('a job whose ids cannot even be read is its own entry too', async () => {
  const { client, clock, job } = start();
  const good = job('good', { completeAt: 3_000 });
  const hostile: JobRef = {
    jobId: 'job-1',
    get userId(): string {
      throw new Error('hands off');
    },
  };

  const { seen, outcome } = collect(client.jobs.waitForAll([hostile, good], steady));
  await clock.advance(60_000);

  expect(outcome).toEqual({ state: 'done', error: null });
  expect(seen.map((entry) => entry.job === hostile)).toEqual([true, false]);
  expect(seen[0]?.error).toBeInstanceOf(HostedValidationError);
  expect(seen[1]?.status?.state).toBe('succeeded');
});

test('a job that fails with every poll does not end the others', async () => {
  const { client, clock, job } = start();
  const down = job('down', { answer: () => Response.json({}, { status: 503 }) });
  const good = job('good', { completeAt: 60_000 });

  const { seen, ended } = collect(client.jobs.waitForAll([down, good], steady));
  await clock.advance(120_000);
  await ended;

  expect(seen.map((entry) => entry.job)).toEqual([down, good]);
  expect(seen[0]?.error).toMatchObject({ code: 'server', status: 503 });
});

test('the deadline of a job counts from its admission', async () => {
  const { client, clock, job, polledAt } = start();
  const [early, later] = [job('early'), job('later')];
  async function* slowly() {
    yield early;
    await clock.sleep?.(30_000);
    yield later;
  }

  const { seen, ended } = collect(client.jobs.waitForAll(slowly(), { ...steady, deadlineMs: 10_000 }));
  await clock.advance(120_000);
  await ended;

  expect(seen.map((entry) => entry.job)).toEqual([early, later]);
  expect(seen.map(({ error }) => (error as HostedPollTimeoutError).elapsedMs)).toEqual([10_000, 10_000]);
  expect([polledAt('early').at(-1), polledAt('later').at(-1)]).toEqual([10_000, 40_000]);
});

test('a job that waits for a free request has not begun its deadline', async () => {
  const { client, clock, job, polledAt } = start({ latencyMs: 20_000 });
  const jobs = [job('one', { completeAt: 0 }), job('two', { completeAt: 0 }), job('three', { completeAt: 0 })];

  const options = { ...steady, concurrency: 1, deadlineMs: 21_000 };
  const { seen, ended } = collect(client.jobs.waitForAll(jobs, options));
  await clock.advance(120_000);
  await ended;

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

// A source that fails ----------------------------------------------------------------

const mistake = new Error('of the source');

test.each<[string, (jobs: readonly JobRef[]) => Iterable<JobRef> | AsyncIterable<JobRef>]>([
  [
    'generator',
    function* (jobs) {
      yield* jobs;
      throw mistake;
    },
  ],
  [
    'async generator',
    async function* (jobs) {
      yield* jobs;
      throw mistake;
    },
  ],
])('when a %s throws, the jobs it gave still come, and then its error', async (_what, from) => {
  const { client, clock, job, asleep } = start();
  const jobs = [job('one', { completeAt: 10_000 }), job('two', { completeAt: 30_000 })];

  const { seen, outcome } = collect(client.jobs.waitForAll(from(jobs), steady));
  await clock.advance(0);
  const before = outcome.state;
  await clock.advance(120_000);

  expect(before).toBe('pending');
  expect(seen.map((entry) => entry.job)).toEqual(jobs);
  expect(outcome.error).toBe(mistake);
  expect(asleep()).toBe(0);
});

test('when an async source gives no result of an iterator, the jobs it gave still come, and then a TypeError', async () => {
  const { client, clock, job } = start();
  const one = job('one', { completeAt: 10_000 });
  const results = [{ done: false, value: one }];
  const broken = { [Symbol.asyncIterator]: () => ({ next: async () => results.shift() }) };

  const { seen, outcome } = collect(client.jobs.waitForAll(broken as AsyncIterable<JobRef>, steady));
  await clock.advance(60_000);

  expect(seen.map((entry) => entry.job)).toEqual([one]);
  expect(outcome).toEqual({ state: 'failed', error: expect.any(TypeError) });
});

test('when an async source fails later, the jobs it gave still come, and then its error', async () => {
  const { client, clock, job } = start();
  async function* failing() {
    yield job('one', { completeAt: 40_000 });
    await clock.sleep?.(10_000);
    throw mistake;
  }

  const { seen, outcome } = collect(client.jobs.waitForAll(failing(), steady));
  await clock.advance(20_000);
  const before = outcome.state;
  await clock.advance(120_000);

  expect(before).toBe('pending');
  expect([seen.length, outcome.error]).toEqual([1, mistake]);
});

test('when a source throws before its first job, that is the rejection', async () => {
  const { client, clock, polls } = start();
  const broken: Iterable<JobRef> = {
    [Symbol.iterator]: () => {
      throw mistake;
    },
  };

  const { outcome } = collect(client.jobs.waitForAll(broken));
  await clock.advance(0);

  expect(outcome.error).toBe(mistake);
  expect(polls).toEqual([]);
});

test.each([[5], [null], [undefined], ['a text'], [{}], [{ userId: 'user-1', jobId: 'job-1' }], [true]])(
  'waitForAll(%j) never throws, and rejects',
  async (jobs) => {
    const { client, clock, polls } = start();

    const { outcome } = collect(client.jobs.waitForAll(jobs as never));
    await clock.advance(0);

    expect(outcome.error).toBeInstanceOf(HostedValidationError);
    expect(outcome.error).toMatchObject({ code: 'validation', outcome: 'not_sent' });
    expect(polls).toEqual([]);
  },
);

test.each([0, 1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, '10', null])(
  'waitForAll() with a concurrency of %j rejects, and takes no job',
  async (concurrency) => {
    const { client, clock, job, polls } = start();
    const { iterable, calls } = source([job('one')]);

    const { outcome } = collect(client.jobs.waitForAll(iterable, { concurrency } as never));
    await clock.advance(0);

    expect(outcome.error).toBeInstanceOf(HostedValidationError);
    expect(outcome.error).toMatchObject({ code: 'validation', issues: [{ path: 'concurrency' }] });
    expect(polls).toEqual([]);
    expect(calls.taken).toBe(0);
  },
);

test('waitForAll() names every bad option at once', async () => {
  const { client, job } = start();
  const options = { concurrency: 0, deadlineMs: -1, jitter: 'no', parallel: 5 } as never;

  const error = await rejection(
    client.jobs
      .waitForAll([job('one')], options)
      [Symbol.asyncIterator]()
      .next(),
  );

  expect((error as HostedValidationError).issues.map(({ path }) => path).sort()).toEqual([
    'concurrency',
    'deadlineMs',
    'jitter',
    'parallel',
  ]);
});

// How busy it is -----------------------------------------------------------------------

test.each([1, 3, 10])('at most %d requests are in flight ever, and as many when there is work', async (concurrency) => {
  const { client, clock, job, mostInFlight } = start({ latencyMs: 700 });
  const random = seeded(concurrency);
  const jobs = Array.from({ length: 60 }, (_, index) => job(`job-${index}`, { completeAt: random() * 100_000 }));

  const { seen, ended } = collect(client.jobs.waitForAll(jobs, { ...steady, concurrency }));
  await clock.advance(1_200_000);
  await ended;

  expect(seen).toHaveLength(60);
  expect(mostInFlight()).toBe(concurrency);
});

test('ten requests are in flight at most when nothing is said', async () => {
  const { client, clock, job, mostInFlight } = start({ latencyMs: 700 });
  const jobs = Array.from({ length: 60 }, (_, index) => job(`job-${index}`, { completeAt: 10_000 }));

  const { ended } = collect(client.jobs.waitForAll(jobs));
  await clock.advance(600_000);
  await ended;

  expect(mostInFlight()).toBe(10);
});

test('however many jobs wait, no more than one sleeps on the clock besides requests', async () => {
  const { client, clock, job, mostAlarms, asleep } = start({ latencyMs: 300 });
  const random = seeded(7);
  const jobs = Array.from({ length: 200 }, (_, index) => job(`job-${index}`, { completeAt: random() * 120_000 }));

  const { seen, ended } = collect(client.jobs.waitForAll(jobs));
  await clock.advance(600_000);
  await ended;

  expect(seen).toHaveLength(200);
  expect(mostAlarms()).toBe(1);
  expect(asleep()).toBe(0);
});

test('jobs that are due at one time are polled in the order they came, after one sleep', async () => {
  const { client, clock, job, polls, alarmsSet } = start();
  const jobs = ['one', 'two', 'three', 'four', 'five'].map((name) => job(name, { completeAt: 1_000 }));

  const { ended } = collect(client.jobs.waitForAll(jobs, steady));
  await clock.advance(2_000);
  await ended;

  const order = jobs.map(({ jobId }) => jobId);
  expect(polls.map(({ jobId }) => jobId)).toEqual([...order, ...order]);
  expect(alarmsSet()).toBe(1);
});

test('a job that is due before all others leaves no second sleeper', async () => {
  const { client, clock, job, mostAlarms, asleep } = start();
  async function* slowly() {
    for (let index = 0; index < 10; index++) {
      yield job(`job-${index}`, { completeAt: 600_000 });
      await clock.sleep?.(40_000);
    }
  }

  const { seen, ended } = collect(client.jobs.waitForAll(slowly(), { deadlineMs: 900_000 }));
  await clock.advance(1_200_000);
  await ended;

  expect(seen).toHaveLength(10);
  expect(mostAlarms()).toBe(1);
  expect(asleep()).toBe(0);
});

test('jobs that wait keep no listener each on the signal', async () => {
  const { client, clock, job } = start();
  const { signal } = new AbortController();
  const jobs = Array.from({ length: 200 }, (_, index) => job(`job-${index}`, { completeAt: 30_000 }));

  const { ended } = collect(client.jobs.waitForAll(jobs, { ...steady, signal }));
  await clock.advance(10_000);
  const during = getEventListeners(signal, 'abort').length;
  await clock.advance(60_000);
  await ended;

  expect(during).toBeLessThanOrEqual(1);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a job is taken from its source when a request is free for it, and not before', async () => {
  const { client, clock, job } = start({ latencyMs: 1_000 });
  const { iterable, calls } = source(Array.from({ length: 50 }, (_, index) => job(`job-${index}`)));

  const { ended } = collect(client.jobs.waitForAll(iterable, { ...steady, concurrency: 4, deadlineMs: 1_000 }));
  await clock.advance(999);
  const atFirst = calls.taken;
  await clock.advance(1);
  const afterASecond = calls.taken;
  await clock.advance(60_000);
  await ended;

  expect(atFirst).toBe(4);
  expect(afterASecond).toBe(8);
  expect(calls).toEqual({ taken: 50, returned: 0 });
});

test('new jobs do not starve those that wait, nor those the new ones', async () => {
  const { client, clock, job, polledAt } = start({ latencyMs: 1_000 });
  let made = 0;
  function* endless() {
    for (;;) {
      made += 1;
      yield job(`job-${made}`, { completeAt: 600_000 });
    }
  }
  const waiting = client.jobs.waitForAll(endless(), { ...steady, concurrency: 1 })[Symbol.asyncIterator]();

  const next = waiting.next();
  await clock.advance(60_000);
  const polled = polledAt('job-1').length;
  const taken = made;
  await clock.advance(600_000);
  await next;
  await waiting.return?.();

  expect(polled).toBeGreaterThanOrEqual(3);
  expect(taken).toBeGreaterThan(10);
});

test('polls that are always due leave every other request to new jobs', async () => {
  const { client, clock, job, polls } = start({ latencyMs: 1_000 });
  const jobs = Array.from({ length: 10 }, (_, index) => job(`job-${index}`, { completeAt: 120_000 }));
  const firstAnswers: number[] = [];
  const onPoll: WaitOptions['onPoll'] = ({ attempt, elapsedMs }) => {
    if (attempt === 1) firstAnswers.push(elapsedMs);
  };
  const options = { ...steady, concurrency: 1, minDelayMs: 1, backoffFactor: 1, onPoll };

  const { seen, ended } = collect(client.jobs.waitForAll(jobs, options));
  await clock.advance(22_000);
  const polled = new Set(polls.map(({ jobId }) => jobId));
  await clock.advance(600_000);
  await ended;

  expect(polled.size).toBe(10);
  expect(seen).toHaveLength(10);
  // Each is polled as it is admitted, and answered a second later.
  expect(firstAnswers).toEqual(Array(10).fill(1_000));
});

test('whoever reads results slowly does not stop the polling of others', async () => {
  const { client, clock, job, polledAt } = start();
  const jobs = [
    job('first', { completeAt: 0 }),
    job('second', { completeAt: 16_000 }),
    job('third', { completeAt: 26_000 }),
    job('unread'),
  ];
  const seen: [string, number][] = [];
  const startedAt = clock.now();

  const read = async () => {
    for await (const entry of client.jobs.waitForAll(jobs, { ...steady, deadlineMs: 64_344 })) {
      await clock.sleep?.(100_000);
      seen.push([entry.job.jobId, clock.now() - startedAt]);
    }
  };
  const ended = read();
  await clock.advance(1_000_000);
  await ended;

  expect(polledAt('second')).toEqual([0, 2_000, 5_000, 9_500, 16_250]);
  expect(polledAt('third')).toEqual([0, 2_000, 5_000, 9_500, 16_250, 26_375]);
  expect(polledAt('unread').at(-1)).toBe(64_344);
  expect(seen).toEqual([
    ['first', 100_000],
    ['second', 200_000],
    ['third', 300_000],
    ['unread', 400_000],
  ]);
});

// Far more time than it takes, so that a busy machine does not fail it.
test('2,000 jobs that complete in any order all come, each exactly once, in order of completion', {
  timeout: 60_000,
}, async () => {
  const { client, clock, job, polls, mostInFlight, mostAlarms, asleep } = start();
  const phases = 4;
  const phaseMs = 30_000;
  const jobs = Array.from({ length: 2_000 }, (_, index) => job(`job-${index}`));
  const order = shuffled(jobs, seeded(2_026));
  const phaseOf = new Map(order.map((each, place) => [each, Math.floor((place * phases) / order.length)]));
  for (const [each, phase] of phaseOf) job(each.jobId, { completeAt: phase * phaseMs });

  const options = { ...steady, minDelayMs: phaseMs, backoffFactor: 1 };
  const { seen, ended } = collect(client.jobs.waitForAll(jobs, options));
  const counts: number[] = [];
  for (let phase = 0; phase < phases; phase++) {
    await clock.advance(phase === 0 ? 0 : phaseMs);
    counts.push(seen.length);
  }
  await ended;

  expect(counts).toEqual([500, 1_000, 1_500, 2_000]);
  expect(new Set(seen.map((entry) => entry.job))).toEqual(new Set(jobs));
  expect(seen.every(({ status }) => status?.state === 'succeeded')).toBe(true);
  const phasesSeen = seen.map((entry) => phaseOf.get(entry.job) ?? -1);
  expect(phasesSeen).toEqual(phasesSeen.toSorted((one, other) => one - other));
  expect(polls).toHaveLength(2_000 + 1_500 + 1_000 + 500);
  expect(mostInFlight()).toBe(10);
  expect(mostAlarms()).toBe(1);
  expect(asleep()).toBe(0);
});

// Stopping ------------------------------------------------------------------------------

test('break ends a wait for many: nothing more is sent, nothing sleeps, and the source is told', async () => {
  const { client, clock, job, polls, asleep } = start();
  const { signal } = new AbortController();
  const jobs = [job('first', { completeAt: 0 }), ...Array.from({ length: 30 }, (_, index) => job(`job-${index}`))];
  const { iterable, calls } = source(jobs);

  for await (const _entry of client.jobs.waitForAll(iterable, { ...steady, signal, concurrency: 5 })) break;
  const sent = polls.length;
  const taken = calls.taken;
  await clock.advance(3_600_000);

  expect(polls).toHaveLength(sent);
  expect(calls).toEqual({ taken, returned: 1 });
  expect(taken).toBeLessThan(31);
  expect(asleep()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('break ends the requests that are in flight', async () => {
  const { client, clock, job, polls, inFlight, asleep } = start({ latencyMs: 1_000 });
  const waiting = [job('first', { completeAt: 0 }), job('second'), job('third'), job('fourth')];

  const read = (async () => {
    for await (const _entry of client.jobs.waitForAll(waiting, { ...steady, concurrency: 2 })) break;
  })();
  await clock.advance(1_000);
  await read;
  const sent = polls.length;
  await clock.advance(3_600_000);

  expect(polls).toHaveLength(sent);
  expect(inFlight()).toBe(0);
  expect(asleep()).toBe(0);
});

test('an error of whoever reads ends the wait and passes through', async () => {
  const { client, clock, job, polls, asleep } = start();
  const ofTheReader = new Error('of the reader');
  const { iterable, calls } = source([job('first', { completeAt: 0 }), job('second')]);

  const read = async () => {
    for await (const _entry of client.jobs.waitForAll(iterable, { ...steady, concurrency: 1 })) throw ofTheReader;
  };
  const error = await rejection(read());
  const sent = polls.length;
  await clock.advance(3_600_000);

  expect(error).toBe(ofTheReader);
  expect(polls).toHaveLength(sent);
  expect(calls.returned).toBe(1);
  expect(asleep()).toBe(0);
});

test('a source that has ended is not told to', async () => {
  const { client, clock, job } = start();
  const { iterable, calls } = source([job('first', { completeAt: 0 }), job('second')]);

  for await (const _entry of client.jobs.waitForAll(iterable, steady)) break;
  await clock.advance(0);

  expect(calls).toEqual({ taken: 2, returned: 0 });
});

test('break while an async source is at work: what that does later sends nothing and leaves nothing asleep', async () => {
  const { client, clock, job, polls, asleep } = start();
  let closed = false;
  async function* slowly() {
    try {
      yield job('first', { completeAt: 0 });
      yield job('second');
      await clock.sleep?.(5_000);
      yield job('third');
    } finally {
      closed = true;
    }
  }

  for await (const _entry of client.jobs.waitForAll(slowly(), steady)) {
    await clock.advance(0);
    break;
  }
  const sent = polls.length;
  await clock.advance(5_000);

  expect(sent).toBe(2);
  expect(polls).toHaveLength(sent);
  expect(closed).toBe(true);
  expect(asleep()).toBe(0);
});

test('break while an async source is at work that then ends leaves nothing asleep', async () => {
  const { client, clock, job, polls, asleep } = start();
  async function* slowly() {
    yield job('first', { completeAt: 0 });
    yield job('second');
    await clock.sleep?.(1_000);
  }

  for await (const _entry of client.jobs.waitForAll(slowly(), steady)) {
    await clock.advance(0);
    break;
  }
  const sent = polls.length;
  await clock.advance(1_000);

  expect(asleep()).toBe(0);
  await clock.advance(3_600_000);
  expect(polls).toHaveLength(sent);
});

const ends: readonly [string, () => IteratorResult<JobRef> | Promise<IteratorResult<JobRef>>][] = [
  [
    'throws',
    () => {
      throw mistake;
    },
  ],
  ['rejects', () => Promise.reject(mistake)],
];

test.each(ends)('a source that %s when it is told to end does not disturb a break', async (_what, end) => {
  const { client, job, asleep } = start();
  const jobs = [job('first', { completeAt: 0 }), job('second'), job('third')];
  const values = jobs.values();
  const iterable = {
    [Symbol.iterator]: () => ({ next: () => values.next(), return: end }),
  } as Iterable<JobRef>;
  const seen: string[] = [];

  for await (const entry of client.jobs.waitForAll(iterable, { ...steady, concurrency: 1 })) {
    seen.push(entry.job.jobId);
    break;
  }

  expect(seen).toEqual(['first']);
  expect(asleep()).toBe(0);
});

test.each(ends)('a source that %s when it is told to end does not hide the reason of an abort', async (_what, end) => {
  const { client, clock, job, asleep } = start({ latencyMs: 1_000 });
  const controller = new AbortController();
  const values = [job('first'), job('second')].values();
  const iterable = { [Symbol.iterator]: () => ({ next: () => values.next(), return: end }) } as Iterable<JobRef>;
  const options = { ...steady, concurrency: 1, signal: controller.signal };

  const { outcome, ended } = collect(client.jobs.waitForAll(iterable, options));
  await clock.advance(0);
  controller.abort(reason);
  await ended;

  expect(outcome.error).toBe(reason);
  expect(asleep()).toBe(0);
});

test('return() before the first next() takes no job and sends nothing', async () => {
  const { client, clock, job, polls } = start();
  const { iterable, calls } = source([job('one')]);
  const waiting = client.jobs.waitForAll(iterable)[Symbol.asyncIterator]();

  await waiting.return?.();
  const { done } = await waiting.next();
  await clock.advance(60_000);

  expect(done).toBe(true);
  expect(polls).toEqual([]);
  expect(calls.taken).toBe(0);
});

test('return() between two results ends the wait and tells the source', async () => {
  const { client, clock, job, polls, asleep } = start();
  const { iterable, calls } = source([job('first', { completeAt: 0 }), job('second'), job('third')]);
  const waiting = client.jobs.waitForAll(iterable, { ...steady, concurrency: 1 })[Symbol.asyncIterator]();
  await waiting.next();

  await waiting.return?.();
  const sent = polls.length;
  await clock.advance(3_600_000);

  expect(polls).toHaveLength(sent);
  expect(calls.returned).toBe(1);
  expect(asleep()).toBe(0);
});

test('return() while a result is awaited ends the wait: nothing more is sent, nothing sleeps', async () => {
  const { client, clock, job, polls, asleep } = start();
  const { signal } = new AbortController();
  const waiting = client.jobs.waitForAll([job('one'), job('two')], { ...steady, signal })[Symbol.asyncIterator]();

  const next = waiting.next();
  await clock.advance(500);
  const returned = waiting.return?.();
  await clock.advance(500);
  const during = [asleep(), getEventListeners(signal, 'abort').length];
  const sent = polls.length;
  await clock.advance(3_600_000);
  await Promise.allSettled([next, returned]);

  expect(sent).toBe(2);
  expect(polls).toHaveLength(sent);
  expect(during).toEqual([0, 0]);
});

test('a wait for many whose signal is aborted already rejects with the reason, takes no job and sends nothing', async () => {
  const { client, clock, job, polls, asleep } = start();
  const { iterable, calls } = source([job('one')]);
  const signal = AbortSignal.abort(reason);

  const { outcome, ended } = collect(client.jobs.waitForAll(iterable, { signal }));
  await ended;
  await clock.advance(0);

  expect(outcome.error).toBe(reason);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(polls).toEqual([]);
  expect(calls.taken).toBe(0);
  expect(asleep()).toBe(0);
});

test.each([
  ['while requests are in flight', 500],
  ['between polls', 1_500],
])('an abort %s rejects with the reason itself, in the same turn of the clock', async (_what, at) => {
  const { client, clock, job, polls, inFlight, asleep } = start({ latencyMs: 1_000 });
  const controller = new AbortController();
  const { iterable, calls } = source(Array.from({ length: 30 }, (_, index) => job(`job-${index}`)));
  const options = { ...steady, signal: controller.signal, concurrency: 30 };

  const { outcome, ended } = collect(client.jobs.waitForAll(iterable, options));
  await clock.advance(at);
  controller.abort(reason);
  await ended;

  expect(outcome.error).toBe(reason);
  expect(inFlight()).toBe(0);
  expect(asleep()).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  const sent = polls.length;
  await clock.advance(3_600_000);
  expect(polls).toHaveLength(sent);
  expect(calls.taken).toBe(30);
});

test('an abort tells the source, and waits for nothing it does', async () => {
  const { client, clock, job, polls } = start();
  const controller = new AbortController();
  const { iterable, calls } = source([job('one'), job('two'), job('three')]);
  const stuck: AsyncIterable<JobRef> = {
    [Symbol.asyncIterator]: () => {
      const values = iterable[Symbol.iterator]();
      const never = new Promise<never>(() => undefined);
      return {
        next: () => (calls.taken < 2 ? Promise.resolve(values.next()) : never),
        return: () => {
          calls.returned += 1;
          return never;
        },
      };
    },
  };

  const { outcome, ended } = collect(client.jobs.waitForAll(stuck, { ...steady, signal: controller.signal }));
  await clock.advance(100);
  controller.abort(reason);
  await ended;

  expect(outcome.error).toBe(reason);
  expect(calls).toEqual({ taken: 2, returned: 1 });
  expect(polls).toHaveLength(2);
});

test('an abort ends the requests in flight though nobody waits for a result', async () => {
  const { client, clock, job, polls, inFlight, asleep } = start({ latencyMs: 1_000 });
  const controller = new AbortController();
  const jobs = [job('first', { completeAt: 0 }), ...Array.from({ length: 9 }, (_, index) => job(`job-${index}`))];
  const options = { ...steady, concurrency: 1, signal: controller.signal };
  const waiting = client.jobs.waitForAll(jobs, options)[Symbol.asyncIterator]();
  const first = waiting.next();
  await clock.advance(1_500);
  await first;

  const before = inFlight();
  controller.abort(reason);
  await clock.advance(0);

  expect([before, inFlight(), asleep()]).toEqual([1, 0, 0]);
  await clock.advance(60_000);
  expect(polls).toHaveLength(2);
  expect(await rejection(waiting.next())).toBe(reason);
});

test('an abort between polls ends all sleep though nobody waits for a result', async () => {
  const { client, clock, job, asleep } = start();
  const controller = new AbortController();
  const { signal } = controller;
  const jobs = [job('first', { completeAt: 0 }), job('second')];
  const waiting = client.jobs.waitForAll(jobs, { ...steady, signal })[Symbol.asyncIterator]();
  await waiting.next();
  await clock.advance(0);

  const before = asleep();
  controller.abort(reason);
  await clock.advance(0);

  expect([before, asleep(), getEventListeners(signal, 'abort').length]).toEqual([1, 0, 0]);
  expect(await rejection(waiting.next())).toBe(reason);
});

test('an abort at the very moment a poll falls due rejects with the reason itself, and sends nothing more', async () => {
  const { client, clock, job, polls, asleep } = start();
  const controller = new AbortController();
  const { outcome } = collect(client.jobs.waitForAll([job('one')], { ...steady, signal: controller.signal }));
  await clock.advance(0);

  const aborted = clock.sleep?.(2_000).then(() => controller.abort(reason));
  await clock.advance(2_000);
  await aborted;

  expect(outcome).toEqual({ state: 'failed', error: reason });
  expect([polls.length, asleep()]).toEqual([1, 0]);
});

test('once all jobs have ended the signal is let go, though nobody reads on', async () => {
  const { client, clock, job } = start();
  const { signal } = new AbortController();
  const jobs = [job('one', { completeAt: 0 }), job('two', { completeAt: 0 })];
  const waiting = client.jobs.waitForAll(jobs, { ...steady, signal })[Symbol.asyncIterator]();

  await waiting.next();
  await clock.advance(0);

  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('an abort rejects the next step though results are ready', async () => {
  const { client, clock, job } = start();
  const controller = new AbortController();
  const jobs = [job('one', { completeAt: 0 }), job('two', { completeAt: 0 }), job('three')];
  const waiting = client.jobs.waitForAll(jobs, { ...steady, signal: controller.signal })[Symbol.asyncIterator]();
  await waiting.next();
  await clock.advance(0);

  controller.abort(reason);

  expect(await rejection(waiting.next())).toBe(reason);
});

test('100 waits for many on one signal, however they end, leave no listener and no sleeper', async () => {
  const { client, clock, job, asleep } = start();
  const { signal } = new AbortController();
  const jobs = [job('soon', { completeAt: 5_000 }), job('late', { completeAt: 20_000 }), job('never')];

  const waits = Array.from({ length: 100 }, async (_, index) => {
    const options = { ...steady, signal, deadlineMs: 30_000 };
    for await (const { job } of client.jobs.waitForAll(jobs, options)) if (index % 2 === 0 && job === jobs[1]) break;
  });
  await clock.advance(10_000);
  const during = [getEventListeners(signal, 'abort').length, asleep()];
  await clock.advance(60_000);
  await Promise.all(waits);

  expect(Math.min(...during)).toBeGreaterThan(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(asleep()).toBe(0);
});

test('a source without end, whose jobs are not to be polled yet, does not hold the process', async () => {
  const { client, clock } = start();
  const controller = new AbortController();
  const reason = new Error('enough');
  function* endless() {
    for (let index = 0; ; index++) yield { userId: `user-${index}`, jobId: `job-${index}` };
  }

  const waited = rejection(
    client.jobs
      .waitForAll(endless(), { initialDelayMs: 60_000, signal: controller.signal })
      [Symbol.asyncIterator]()
      .next(),
  );
  await clock.advance(0);
  controller.abort(reason);

  expect(await waited).toBe(reason);
});

test('jobs that are not to be polled yet are taken a thousand at a time, and none waits for another’s poll', async () => {
  const { client, clock, job } = start();
  const { iterable, calls } = source(Array.from({ length: 1_500 }, (_, index) => job(`job-${index}`)));
  const waiting = client.jobs.waitForAll(iterable, { initialDelayMs: 60_000 })[Symbol.asyncIterator]();

  const next = waiting.next();
  await clock.advance(0);
  const atOnce = calls.taken;
  await clock.advance(1);
  const soonAfter = calls.taken;
  await waiting.return?.();
  await next;

  expect([atOnce, soonAfter]).toEqual([1_000, 1_500]);
});
