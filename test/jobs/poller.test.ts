// Waiting for one job: when it is polled, what ends the wait, what is told meanwhile, and what is left behind.

import { getEventListeners } from 'node:events';
import {
  type CompletedJob,
  HostedApiError,
  HostedAuthenticationError,
  HostedClient,
  type HostedClientOptions,
  HostedConnectionError,
  type HostedEvent,
  HostedNotFoundError,
  HostedPollTimeoutError,
  HostedRateLimitError,
  HostedResponseError,
  HostedServerError,
  HostedSignatureError,
  HostedTimeoutError,
  HostedValidationError,
  type JobStatus,
  type WaitOptions,
} from 'hosted-client';
import { createMockService, createTestClock, type MockFault } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { deferred, partnerId, rejection, sign } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

type TestClock = ReturnType<typeof createTestClock>;
type OnPoll = NonNullable<WaitOptions['onPoll']>;
type Poll = Parameters<OnPoll>[0];

const steady = { jitter: false } as const;
const reason = { why: 'the user left' };
const pendingRecord = { job_complete: false, job_success: false, code: '2314', result: 'No zip uploaded yet' };

/** What is done at once, so that no thread decides what happens when. */
function signerOf(apiKey: string) {
  return {
    name: 'immediate',
    sign: ({ timestamp }: { timestamp: string }) => sign(timestamp, apiKey, partnerId),
    verify: (signature: string, { timestamp }: { timestamp: string }) =>
      signature === sign(timestamp, apiKey, partnerId),
  };
}

/** A clock that tells how many sleep on it. */
function countingSleepers(clock: TestClock) {
  const sleeping = new Set<object>();
  const sleep = async (ms: number, signal?: AbortSignal) => {
    const sleeper = {};
    sleeping.add(sleeper);
    try {
      await clock.sleep?.(ms, signal);
    } finally {
      sleeping.delete(sleeper);
    }
  };
  return { now: () => clock.now(), sleep, sleeping: () => sleeping.size };
}

/** A service and a client of it, both on a clock that moves only when told; and one job, started. */
function start(options: Partial<HostedClientOptions> = {}) {
  const clock = createTestClock();
  const startedAt = clock.now();
  const { fetch, sandbox } = createMockService({ clock });
  const counting = countingSleepers(clock);
  const events: HostedEvent[] = [];
  const { apiKey = '', ...settings } = sandbox.clientOptions;
  const client = new HostedClient({
    ...settings,
    signer: signerOf(apiKey),
    fetch,
    clock: counting,
    onEvent: (event) => events.push(event),
    ...options,
  });
  const job = sandbox.jobs.start({ userId: 'user-4711', jobId: 'job-0815' });
  return {
    client,
    clock,
    sandbox,
    fetch,
    job,
    events,
    sleeping: counting.sleeping,
    fail: (fault: MockFault, times = 1) => sandbox.failNext('jobs.status', fault, times),
    complete: (outcome: 'approved' | 'rejected' = 'approved') => sandbox.jobs.complete(job, outcome),
    /** When polls arrived, in ms since the start. */
    polledAt: () => sandbox.requests.map(({ at }) => at - startedAt),
  };
}

/** The answer to a poll that `clock` times: signed, though not at the very moment of the request. */
function signedNow(clock: TestClock, record: object): Record<string, unknown> {
  const timestamp = new Date(clock.now() - 1).toISOString();
  return { ...record, timestamp, sec_key: sign(timestamp) };
}

/** A client of a service that answers every poll with what `answer` makes of the number of polls before it. */
function answering(answer: (before: number) => object | Response) {
  const clock = createTestClock();
  const polls: number[] = [];
  const fetch = async () => {
    const given = answer(polls.length);
    polls.push(clock.now());
    return given instanceof Response ? given : Response.json(signedNow(clock, given));
  };
  const client = new HostedClient({
    partnerId,
    signer: signerOf('test-key'),
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: fetch as typeof globalThis.fetch,
    clock,
  });
  return { client, clock, polls, job: { userId: 'user-4711', jobId: 'job-0815' } };
}

/** How a promise stands, without waiting for it. */
function outcomeOf(promise: Promise<unknown>) {
  const outcome: { state: 'pending' | 'resolved' | 'rejected'; value: unknown } = {
    state: 'pending',
    value: undefined,
  };
  promise.then(
    (value) => Object.assign(outcome, { state: 'resolved', value }),
    (error: unknown) => Object.assign(outcome, { state: 'rejected', value: error }),
  );
  return outcome;
}

afterEach(() => {
  vi.restoreAllMocks();
});

failOnStrayRejections();

// What a wait gives -----------------------------------------------------------

test('waitForCompletion() gives the final status, with the polls it took', async () => {
  const { client, clock, job, complete, polledAt } = start();

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(4_000);
  complete();
  await clock.advance(1_000);

  expect(await waited).toMatchObject({ ...job, state: 'succeeded', complete: true, success: true, code: '2302' });
  expect(polledAt()).toEqual([0, 2_000, 5_000]);
});

test('waitForCompletion() of a job that is complete takes one poll, at once', async () => {
  const { client, clock, job, complete, polledAt } = start();
  complete();

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(0);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0]);
});

test('waitForCompletion() gives a person who was not verified as a value', async () => {
  const { client, clock, job, complete } = start();
  complete('rejected');

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(0);

  const status: CompletedJob = await waited;
  expect(status).toMatchObject({ state: 'failed', complete: true, success: false });
});

test('watch() gives every status once and ends after the completed one', async () => {
  const { client, clock, sandbox, job, complete, polledAt } = start();
  const states: string[] = [];

  const watched = (async () => {
    for await (const { state } of client.jobs.watch(job, steady)) states.push(state);
  })();
  await clock.advance(2_500);
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });
  await clock.advance(3_000);
  complete();
  await clock.advance(60_000);
  await watched;

  expect(states).toEqual(['pending', 'pending', 'pending', 'succeeded']);
  expect(polledAt()).toEqual([0, 2_000, 5_000, 9_500]);
});

test('watch() sends nothing before it is iterated', async () => {
  const { client, clock, job, polledAt } = start();

  const watching = client.jobs.watch(job);
  watching[Symbol.asyncIterator]();
  await clock.advance(60_000);

  expect(polledAt()).toEqual([]);
});

test('watch() can be iterated again, as a wait of its own', async () => {
  const { client, clock, job, complete, polledAt } = start();
  complete();
  const watching = client.jobs.watch(job);
  const states: string[] = [];

  for await (const { state } of watching) states.push(state);
  await clock.advance(60_000);
  for await (const { state } of watching) states.push(state);

  expect(states).toEqual(['succeeded', 'succeeded']);
  expect(polledAt()).toEqual([0, 60_000]);
});

test('watch() gives the statuses before an error, and then the error', async () => {
  const { client, clock, job, fail } = start();
  const states: string[] = [];

  const watched = (async () => {
    for await (const { state } of client.jobs.watch(job, steady)) states.push(state);
  })();
  const failed = rejection(watched);
  await clock.advance(0);
  fail({ kind: 'status', status: 403 });
  await clock.advance(2_000);

  expect(await failed).toBeInstanceOf(HostedAuthenticationError);
  expect(states).toEqual(['pending']);
});

test('every poll asks for what the wait is to ask for, and for the same job', async () => {
  const { client, clock, sandbox, job, complete } = start();

  const waited = client.jobs.waitForCompletion(job, { ...steady, imageLinks: true, history: true });
  await clock.advance(2_000);
  complete();
  await clock.advance(3_000);

  const status = await waited;
  const bodies = sandbox.requests.map(({ body }) => body);
  expect(bodies).toHaveLength(3);
  for (const body of bodies) {
    expect(body).toMatchObject({ user_id: job.userId, job_id: job.jobId, image_links: true, history: true });
  }
  expect(status.history).toHaveLength(1);
  expect(status.imageLinks?.selfieImage).toMatch(/^https:/);
});

test('every poll is signed anew, over a time of its own', async () => {
  const { client, clock, sandbox, job } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 20_000 }));
  await clock.advance(20_000);
  await failed;

  const bodies = sandbox.requests.map(({ body }) => body as { timestamp: string; sec_key: string });
  expect(bodies.length).toBeGreaterThan(4);
  expect(new Set(bodies.map(({ timestamp }) => timestamp)).size).toBe(bodies.length);
  expect(new Set(bodies.map(({ sec_key }) => sec_key)).size).toBe(bodies.length);
});

// When it polls -----------------------------------------------------------------

/** The delays after the polls at these times. */
function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((at, index) => at - (times[index] ?? 0));
}

test('the delay between polls grows by half each time, up to 30 seconds', async () => {
  const { client, clock, job, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 300_000 }));
  await clock.advance(300_000);
  await failed;

  // The last one is cut short by the deadline.
  const delays = gaps(polledAt()).slice(0, -1);
  expect(delays.slice(0, 5)).toEqual([2_000, 3_000, 4_500, 6_750, 10_125]);
  expect(Math.abs((delays[5] ?? 0) - 15_187.5)).toBeLessThanOrEqual(1);
  expect(Math.abs((delays[6] ?? 0) - 22_781.25)).toBeLessThanOrEqual(1);
  expect(delays.slice(7)).toEqual(Array(delays.length - 7).fill(30_000));
  expect(delays.length).toBeGreaterThan(12);
});

test.each<[string, WaitOptions, number[]]>([
  ['minDelayMs', { minDelayMs: 1_000 }, [1_000, 1_500, 2_250]],
  ['maxDelayMs', { maxDelayMs: 2_500 }, [2_000, 2_500, 2_500, 2_500]],
  ['backoffFactor', { backoffFactor: 3 }, [2_000, 6_000, 18_000, 30_000]],
  ['a backoffFactor of 1', { backoffFactor: 1 }, [2_000, 2_000, 2_000, 2_000]],
  ['all three', { minDelayMs: 100, backoffFactor: 2, maxDelayMs: 500 }, [100, 200, 400, 500, 500]],
])('the delay between polls obeys %s', async (_what, options, expected) => {
  const { client, clock, job, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 100_000, ...options }));
  await clock.advance(100_000);
  await failed;

  expect(gaps(polledAt()).slice(0, expected.length)).toEqual(expected);
});

test('initialDelayMs is waited before the first poll', async () => {
  const { client, clock, job, polledAt, complete } = start();

  const waited = client.jobs.waitForCompletion(job, { ...steady, initialDelayMs: 7_000 });
  await clock.advance(6_999);
  const before = polledAt();
  complete();
  await clock.advance(1);

  expect((await waited).state).toBe('succeeded');
  expect(before).toEqual([]);
  expect(polledAt()).toEqual([7_000]);
});

test('an initialDelayMs beyond the deadline is cut short by it, for the one poll there', async () => {
  const { client, clock, job, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { initialDelayMs: 60_000, deadlineMs: 5_000 }));
  await clock.advance(100_000);

  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: 5_000 });
  expect(polledAt()).toEqual([5_000]);
});

test.each([0, 0.5, 1 - Number.EPSILON])(
  'with jitter and chance at %d no delay is longer than without, nor less than half of that',
  async (chance) => {
    vi.spyOn(Math, 'random').mockReturnValue(chance);
    const { client, clock, job, polledAt } = start();
    const full = [2_000, 3_000, 4_500, 6_750, 10_125, 15_187.5, 22_781.25, 30_000, 30_000];

    const failed = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 300_000 }));
    await clock.advance(300_000);
    await failed;

    const delays = gaps(polledAt());
    for (const [index, most] of full.entries()) {
      expect(delays[index]).toBeLessThanOrEqual(most + 1);
      expect(delays[index]).toBeGreaterThanOrEqual(most / 2 - 1);
    }
  },
);

test('jitter is on unless it is turned off, and differs by chance', async () => {
  const delaysAt = async (chance: number) => {
    vi.spyOn(Math, 'random').mockReturnValue(chance);
    const { client, clock, job, polledAt } = start();
    const failed = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 60_000 }));
    await clock.advance(60_000);
    await failed;
    return gaps(polledAt()).slice(0, 3);
  };

  const low = await delaysAt(0);
  const high = await delaysAt(1 - Number.EPSILON);

  for (const [index, delay] of low.entries()) expect(delay).toBeLessThan(high[index] ?? 0);
});

test.each([
  [503, '20', 20_000],
  [503, '1', 2_000],
  [503, '0', 2_000],
  [429, '20', 20_000],
  [429, '2', 2_000],
  [500, 'soon', 2_000],
])('after %d with Retry-After %s the next poll is not before %d ms', async (status, retryAfter, expected) => {
  const { client, clock, job, complete, fail, polledAt } = start();
  complete();
  fail({ kind: 'status', status, retryAfter });

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(60_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, expected]);
});

test('with jitter too, Retry-After is never undercut', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { client, clock, job, complete, fail, polledAt } = start();
  complete();
  fail({ kind: 'status', status: 503, retryAfter: '3' });

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(60_000);
  await waited;

  expect(polledAt()).toEqual([0, 3_000]);
});

test('a Retry-After beyond the deadline is cut short by it, for one more poll there', async () => {
  const { client, clock, job, complete, fail, polledAt } = start();
  complete();
  fail({ kind: 'status', status: 503, retryAfter: '50' });

  const waited = client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 });
  await clock.advance(10_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, 10_000]);
});

test.each([0, 2, 5])('a poll is never repeated by itself, whatever maxRetries says (%d)', async (maxRetries) => {
  const { client, clock, job, complete, fail, polledAt, events } = start({ maxRetries: 4 });
  complete();
  fail({ kind: 'status', status: 503 }, 2);

  const waited = client.jobs.waitForCompletion(job, { ...steady, maxRetries });
  await clock.advance(60_000);
  await waited;

  expect(polledAt()).toEqual([0, 2_000, 5_000]);
  expect(events.filter(({ type }) => type === 'retry')).toEqual([]);
});

test('a slow answer does not shorten the delay after it', async () => {
  const clock = createTestClock();
  const startedAt = clock.now();
  const { fetch, sandbox } = createMockService({ clock, latencyMs: 1_000 });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 16_000 }));
  await clock.advance(20_000);

  expect(await failed).toBeInstanceOf(HostedPollTimeoutError);
  // The last one begins two answers' time before the deadline.
  expect(sandbox.requests.map(({ at }) => at - startedAt)).toEqual([0, 3_000, 7_000, 12_500, 14_000]);
});

test('whoever reads a watch slowly does not shift its schedule', async () => {
  const { client, clock, job, polledAt } = start();

  const watched = rejection(
    (async () => {
      for await (const _status of client.jobs.watch(job, { ...steady, deadlineMs: 16_250 })) await clock.sleep?.(1_500);
    })(),
  );
  await clock.advance(60_000);

  expect(await watched).toBeInstanceOf(HostedPollTimeoutError);
  expect(polledAt()).toEqual([0, 2_000, 5_000, 9_500, 16_250]);
});

test('whoever reads a watch more slowly than it polls gets the next status at once, and no burst after it', async () => {
  const { client, clock, job, polledAt } = start();
  const sleep = vi.spyOn(clock, 'sleep');
  const watch = client.jobs.watch(job, { ...steady, minDelayMs: 1_000, backoffFactor: 1 })[Symbol.asyncIterator]();

  await watch.next();
  await clock.advance(60_000);
  await watch.next();
  const third = watch.next();
  await clock.advance(1_000);
  await third;

  expect(polledAt()).toEqual([0, 60_000, 61_000]);
  // What is due is not slept for.
  expect(Math.min(...sleep.mock.calls.map(([ms]) => ms))).toBe(1_000);
});

// What ends it at once ------------------------------------------------------------

const ending: readonly [string, MockFault, new (...given: never[]) => Error, object][] = [
  ['status 401', { kind: 'status', status: 401 }, HostedAuthenticationError, { code: 'authentication' }],
  ['status 403', { kind: 'status', status: 403 }, HostedAuthenticationError, { code: 'authentication' }],
  ['code 2305', answer(400, '2305'), HostedAuthenticationError, { code: 'authentication', serviceCode: '2305' }],
  ['code 2305 with status 200', answer(200, '2305'), HostedAuthenticationError, { code: 'authentication' }],
  ['code 2205', answer(400, '2205'), HostedAuthenticationError, { code: 'authentication' }],
  ['code 2204', answer(400, '2204'), HostedAuthenticationError, { code: 'authentication' }],
  ['code 2303', answer(400, '2303'), HostedApiError, { code: 'api' }],
  ['code 2313', answer(200, '2313'), HostedApiError, { code: 'api' }],
  ['status 400', answer(400, '2215'), HostedApiError, { code: 'api' }],
  ['status 422', { kind: 'status', status: 422 }, HostedApiError, { code: 'api' }],
  ['an error with status 200', { kind: 'status', status: 200, body: { error: 'no' } }, HostedApiError, { code: 'api' }],
  ['a blocked ID number', answer(429, '2222', '1'), HostedRateLimitError, { code: 'rate_limit', serviceCode: '2222' }],
  ['a forged signature', { kind: 'bad-signature' }, HostedSignatureError, { code: 'signature', reason: 'mismatch' }],
  ['no signature', { kind: 'missing-signature' }, HostedSignatureError, { code: 'signature', reason: 'missing' }],
  ['an unsigned completion', unsigned(), HostedSignatureError, { code: 'signature', reason: 'missing' }],
  ['a redirect', { kind: 'status', status: 307 }, HostedResponseError, { code: 'response', reason: 'redirect' }],
  ['a list', { kind: 'status', status: 200, body: [] }, HostedResponseError, { code: 'response', reason: 'shape' }],
];

function answer(status: number, code: string, retryAfter?: string): MockFault {
  return { kind: 'status', status, body: { error: 'refused', code }, ...(retryAfter && { retryAfter }) };
}

function unsigned(): MockFault {
  return { kind: 'status', status: 200, body: { job_complete: true, job_success: true, code: '2302' } };
}

test.each(ending)('%s ends a wait at once', async (_what, fault, kind, members) => {
  const { client, clock, job, complete, fail, polledAt, sleeping } = start();
  complete();
  fail(fault);

  const failed = rejection(client.jobs.waitForCompletion(job));
  await clock.advance(0);

  const error = await failed;
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject({ ...members, operation: 'jobs.status', attempts: 1 });
  expect(polledAt()).toEqual([0]);
  expect(sleeping()).toBe(0);
});

test.each(ending)('%s ends a wait at once, though the job was seen before', async (_what, fault, kind) => {
  const { client, clock, job, fail, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, steady));
  await clock.advance(0);
  fail(fault);
  await clock.advance(2_000);

  expect(await failed).toBeInstanceOf(kind);
  expect(polledAt()).toEqual([0, 2_000]);
});

test.each<[string, object, string]>([
  ['that says nothing of completion', { code: '2302' }, 'shape'],
  ['whose completion is 1', { job_complete: 1, job_success: true }, 'shape'],
  ['whose completion is text', { job_complete: 'yes', job_success: true }, 'shape'],
  ['that is complete without a verdict', { job_complete: true, code: '2302' }, 'shape'],
  ['of another job', { job_complete: true, job_success: true, job_id: 'another' }, 'mismatch'],
])('a signed answer %s ends a wait at once, and never makes a status', async (_what, record, expected) => {
  const { client, clock, polls, job } = answering(() => record);

  const failed = rejection(client.jobs.waitForCompletion(job));
  await clock.advance(0);

  const error = await failed;
  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ code: 'response', reason: expected });
  expect(polls).toHaveLength(1);
});

test('an answer that is too large ends a wait at once', async () => {
  const { client, clock, job, polledAt } = start({ maxResponseBytes: 10 });

  const failed = rejection(client.jobs.waitForCompletion(job));
  await clock.advance(0);

  expect(await failed).toMatchObject({ code: 'response', reason: 'too_large' });
  expect(polledAt()).toHaveLength(1);
});

test.each([
  ['null', null],
  ['nothing', undefined],
  ['a text', 'job-0815'],
  ['a blank user id', { userId: ' ', jobId: 'job-0815' }],
  ['an empty job id', { userId: 'user-4711', jobId: '' }],
  ['a job id that is a number', { userId: 'user-4711', jobId: 815 }],
  ['no job id', { userId: 'user-4711' }],
])('a job that is %s ends a wait at once, with nothing sent', async (_what, job) => {
  const { client, clock, polledAt, sleeping } = start();

  const waited = rejection(client.jobs.waitForCompletion(job as never));
  const watched = rejection(
    client.jobs
      .watch(job as never)
      [Symbol.asyncIterator]()
      .next() as Promise<unknown>,
  );
  await clock.advance(0);

  for (const error of [await waited, await watched]) {
    expect(error).toBeInstanceOf(HostedValidationError);
    expect(error).toMatchObject({ code: 'validation' });
  }
  expect(polledAt()).toEqual([]);
  expect(sleeping()).toBe(0);
});

// What it rides out ---------------------------------------------------------------

const transient: readonly [string, MockFault, new (...given: never[]) => Error][] = [
  ['a reset connection', { kind: 'network' }, HostedConnectionError],
  ['an answer that breaks off', { kind: 'truncate' }, HostedConnectionError],
  ['no answer in time', { kind: 'stall' }, HostedTimeoutError],
  ['status 408', { kind: 'status', status: 408 }, HostedTimeoutError],
  ['status 429', { kind: 'status', status: 429 }, HostedRateLimitError],
  ['status 500', { kind: 'status', status: 500 }, HostedServerError],
  ['status 502 in HTML', { kind: 'status', status: 502, body: '<h1>Bad Gateway</h1>' }, HostedServerError],
  ['status 503', { kind: 'status', status: 503 }, HostedServerError],
  ['status 504', { kind: 'status', status: 504 }, HostedServerError],
  ['code 2301', answer(400, '2301'), HostedServerError],
  ['code 2301 with status 200', answer(200, '2301'), HostedServerError],
];

test.each(transient)('%s is ridden out three times in a row', async (_what, fault) => {
  const { client, clock, job, complete, fail, polledAt } = start();
  complete();
  fail(fault, 3);

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(120_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toHaveLength(4);
});

test.each(transient)('%s, four times in a row, ends a wait with that error', async (_what, fault, kind) => {
  const { client, clock, job, complete, fail, polledAt, sleeping } = start();
  complete();
  fail(fault, 4);

  const failed = rejection(client.jobs.waitForCompletion(job, steady));
  await clock.advance(180_000);

  const error = await failed;
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject({ operation: 'jobs.status', attempts: 1, retryable: true });
  expect(polledAt()).toHaveLength(4);
  expect(sleeping()).toBe(0);
});

test('of four different transient errors in a row the fourth ends a wait', async () => {
  const { client, clock, job, fail } = start();
  for (const [, fault] of transient.slice(0, 3)) fail(fault);
  fail({ kind: 'status', status: 504 });

  const failed = rejection(client.jobs.waitForCompletion(job, steady));
  await clock.advance(120_000);

  expect(await failed).toMatchObject({ code: 'server', status: 504 });
});

test('an answer in between begins the count of transient errors anew', async () => {
  const { client, clock, job, complete, fail, polledAt } = start();

  const waited = client.jobs.waitForCompletion(job, { ...steady, backoffFactor: 1 });
  for (let round = 0; round < 3; round++) {
    fail({ kind: 'status', status: 503 }, 3);
    await clock.advance(8_000);
  }
  complete();
  await clock.advance(2_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual(Array.from({ length: 14 }, (_, index) => index * 2_000));
});

test.each([
  [0, 1],
  [1, 2],
  [5, 6],
])('maxConsecutiveErrors of %d ends a wait with transient error number %d', async (maxConsecutiveErrors, polls) => {
  const { client, clock, job, fail, polledAt } = start();
  fail({ kind: 'status', status: 503 }, 20);

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, maxConsecutiveErrors }));
  await clock.advance(200_000);

  expect(await failed).toBeInstanceOf(HostedServerError);
  expect(polledAt()).toHaveLength(polls);
});

test('the time limits of a wait are those of each poll', async () => {
  const { client, clock, job, complete, fail, polledAt } = start();
  complete();
  fail({ kind: 'stall' }, 2);

  const waited = client.jobs.waitForCompletion(job, { ...steady, timeoutMs: 1_000, totalTimeoutMs: 900 });
  await clock.advance(60_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, 2_900, 6_800]);
});

// A job that is not known yet -----------------------------------------------------

const late = { userId: 'user-late', jobId: 'job-late' };

test('a job that is not known yet is waited for', async () => {
  const { client, clock, sandbox } = start();

  const waited = client.jobs.waitForCompletion(late, steady);
  await clock.advance(12_000);
  sandbox.jobs.start(late);
  await clock.advance(10_000);
  sandbox.jobs.complete(late, 'approved');
  await clock.advance(30_000);

  expect(await waited).toMatchObject({ ...late, state: 'succeeded' });
});

test('a job that is never known ends a wait once its grace is over', async () => {
  const { client, clock, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(late, steady));
  const outcome = outcomeOf(failed);
  await clock.advance(29_999);
  const withinGrace = outcome.state;
  await clock.advance(30_000);

  const error = await failed;
  expect(withinGrace).toBe('pending');
  expect(error).toBeInstanceOf(HostedNotFoundError);
  expect(error).toMatchObject({ code: 'not_found', serviceCode: '2304' });
  expect(polledAt().filter((at) => at >= 30_000)).toHaveLength(1);
});

test('notFoundGraceMs sets how long a job may be unknown', async () => {
  const { client, clock, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(late, { ...steady, notFoundGraceMs: 5_000 }));
  await clock.advance(60_000);

  expect(await failed).toBeInstanceOf(HostedNotFoundError);
  expect(polledAt()).toEqual([0, 2_000, 5_000]);
});

test('notFoundGraceMs of 0 ends a wait for an unknown job at once', async () => {
  const { client, clock, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(late, { notFoundGraceMs: 0 }));
  await clock.advance(0);

  expect(await failed).toBeInstanceOf(HostedNotFoundError);
  expect(polledAt()).toEqual([0]);
});

test('code 2304 ends a wait at once when the job was seen before, though the grace is not over', async () => {
  const { client, clock, job, fail, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, steady));
  await clock.advance(0);
  fail(answer(400, '2304'));
  await clock.advance(2_000);

  expect(await failed).toBeInstanceOf(HostedNotFoundError);
  expect(polledAt()).toEqual([0, 2_000]);
});

test('code 2304 is borne within the grace however often it comes, and among transient errors', async () => {
  const { client, clock, sandbox, fail, polledAt } = start();
  const options = { ...steady, minDelayMs: 1_000, backoffFactor: 1, maxConsecutiveErrors: 1 };

  const waited = client.jobs.waitForCompletion(late, options);
  await clock.advance(9_000);
  fail({ kind: 'network' });
  await clock.advance(2_000);
  fail({ kind: 'network' });
  await clock.advance(2_000);
  sandbox.jobs.start(late);
  sandbox.jobs.complete(late, 'rejected');
  await clock.advance(1_000);

  expect((await waited).state).toBe('failed');
  expect(polledAt()).toHaveLength(15);
});

test('a deadline within the grace of an unknown job is a timeout without a last status', async () => {
  const { client, clock, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(late, { ...steady, deadlineMs: 6_000 }));
  await clock.advance(6_000);

  const error = await failed;
  expect(error).toBeInstanceOf(HostedPollTimeoutError);
  expect((error as HostedPollTimeoutError).lastStatus).toBeNull();
  expect(polledAt()).toEqual([0, 2_000, 5_000, 6_000]);
});

// The deadline --------------------------------------------------------------------

test('the last poll is made at the deadline, and then the wait ends with job and last status', async () => {
  const { client, clock, job, polledAt, sleeping } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 }));
  const outcome = outcomeOf(failed);
  await clock.advance(9_999);
  const before = outcome.state;
  await clock.advance(1);

  const error = await failed;
  expect(before).toBe('pending');
  expect(error).toBeInstanceOf(HostedPollTimeoutError);
  expect(error).toMatchObject({ code: 'poll_timeout', elapsedMs: 10_000, operation: 'jobs.status' });
  expect((error as HostedPollTimeoutError).job).toEqual(job);
  expect((error as HostedPollTimeoutError).lastStatus).toMatchObject({ ...job, state: 'pending', code: '2314' });
  expect(polledAt()).toEqual([0, 2_000, 5_000, 9_500, 10_000]);
  expect(sleeping()).toBe(0);
});

test('a job that completes just before the deadline is found there', async () => {
  const { client, clock, job, complete, polledAt } = start();

  const waited = client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 });
  await clock.advance(9_999);
  complete();
  await clock.advance(1);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt().at(-1)).toBe(10_000);
});

test('the deadline is ten minutes when nothing is said', async () => {
  const { client, clock, job, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(job));
  const outcome = outcomeOf(failed);
  await clock.advance(599_999);
  const before = outcome.state;
  await clock.advance(1);

  expect(before).toBe('pending');
  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: 600_000 });
  expect(polledAt().at(-1)).toBe(600_000);
});

test('a deadline of 0 is one poll', async () => {
  const { client, clock, job, polledAt } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 0 }));
  await clock.advance(0);

  const error = await failed;
  expect(error).toMatchObject({ code: 'poll_timeout', elapsedMs: 0 });
  expect((error as HostedPollTimeoutError).lastStatus?.state).toBe('pending');
  expect(polledAt()).toEqual([0]);
});

test('a deadline of 0 is enough for a job that is complete', async () => {
  const { client, clock, job, complete } = start();
  complete();

  const waited = client.jobs.waitForCompletion(job, { deadlineMs: 0 });
  await clock.advance(0);

  expect((await waited).state).toBe('succeeded');
});

test('an infinite deadline waits for days', async () => {
  const { client, clock, job, complete } = start();

  const waited = client.jobs.waitForCompletion(job, { deadlineMs: Number.POSITIVE_INFINITY, maxDelayMs: 3_600_000 });
  const outcome = outcomeOf(waited);
  await clock.advance(7 * 86_400_000);
  const afterAWeek = outcome.state;
  complete();
  await clock.advance(3_600_000);

  expect(afterAWeek).toBe('pending');
  expect((await waited).state).toBe('succeeded');
});

test('a wait in which no poll was answered has no last status', async () => {
  const { client, clock, job, fail, polledAt } = start();
  fail({ kind: 'network' }, 99);

  const options = { ...steady, deadlineMs: 10_000, maxConsecutiveErrors: 99 };
  const failed = rejection(client.jobs.waitForCompletion(job, options));
  await clock.advance(10_000);

  const error = await failed;
  expect(error).toBeInstanceOf(HostedPollTimeoutError);
  expect((error as HostedPollTimeoutError).lastStatus).toBeNull();
  expect((error as HostedPollTimeoutError).job).toEqual(job);
  expect(polledAt().at(-1)).toBe(10_000);
});

test.each<[string, MockFault | null, string, string]>([
  ['a job that stays pending', null, 'it was pending', 'answered'],
  ['no status at all', { kind: 'network' }, 'no poll was answered with its status', 'unknown'],
])('a timeout after %s says so, and what is left to do', async (_what, fault, last, outcome) => {
  const { client, clock, job, fail } = start();
  if (fault) fail(fault, 99);

  const options = { ...steady, deadlineMs: 6_000, maxConsecutiveErrors: 99 };
  const failed = rejection(client.jobs.waitForCompletion(job, options));
  await clock.advance(6_000);

  expect(await failed).toMatchObject({
    message: `Cannot get the status of a job: "deadlineMs" is over, and ${last}; the job's two ids are all that is needed to go on waiting`,
    outcome,
    // At 0, 2, 5 and 6 seconds.
    attempts: 4,
    // The two ids are all it takes to go on later.
    retryable: true,
  });
});

test('a transient error at the deadline does not lose the last status', async () => {
  const { client, clock, job, fail } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 }));
  await clock.advance(9_999);
  fail({ kind: 'network' });
  await clock.advance(1);

  const error = await failed;
  expect(error).toBeInstanceOf(HostedPollTimeoutError);
  expect((error as HostedPollTimeoutError).lastStatus?.state).toBe('pending');
});

test('a poll on its way at the deadline is the last one', async () => {
  const clock = createTestClock();
  const startedAt = clock.now();
  const { fetch, sandbox } = createMockService({ clock, latencyMs: 4_000 });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 9_000 }));
  await clock.advance(20_000);

  // A third one could not be answered in time.
  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: 9_000 });
  expect(sandbox.requests.map(({ at }) => at - startedAt)).toEqual([0, 4_000]);
});

test('a timeout shows no ids in JSON or in its message', async () => {
  const { client, clock, job } = start();

  const failed = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 0 }));
  await clock.advance(0);

  const error = (await failed) as HostedPollTimeoutError;
  const shown = JSON.stringify(error) + error.message;
  expect(shown).toContain('deadlineMs');
  expect(shown).not.toContain(job.userId);
  expect(shown).not.toContain(job.jobId);
});

test('a wait that another process begins with the job of a timeout finds the completion', async () => {
  const { client, clock, sandbox, fetch, job, complete } = start();
  const another = new HostedClient({ ...sandbox.clientOptions, fetch, clock });

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 }));
  await clock.advance(10_000);
  const { job: token } = (await failed) as HostedPollTimeoutError;
  await clock.advance(86_400_000);
  const resumed = another.jobs.waitForCompletion(JSON.parse(JSON.stringify(token)), steady);
  await clock.advance(5_000);
  complete();
  await clock.advance(5_000);

  expect(await resumed).toMatchObject({ ...job, state: 'succeeded' });
});

// Codes nobody knows ----------------------------------------------------------------

const oddCodes: readonly [string, object][] = [
  ['an unknown code', { code: '9999' }],
  ['a code of words', { code: 'PENDING' }],
  ['an empty code', { code: '' }],
  ['a success code as a number', { code: 2302 }],
  ['a pending code as a number', { code: 2314 }],
  ['the number 0', { code: 0 }],
  ['no code', {}],
  ['null for a code', { code: null }],
  ['an unknown code and a result', { code: '2399', result: { ResultCode: '0810', IsFinalResult: 'true' } }],
  ['an unknown code and a claim of success', { code: '9999', job_success: true }],
];

test.each(oddCodes)('%s of a pending job makes no hot loop and never looks final', async (_what, members) => {
  const { client, clock, polls, job } = answering(() => ({ job_complete: false, ...members }));
  const statuses: JobStatus[] = [];

  const watched = rejection(
    (async () => {
      const options = { ...steady, deadlineMs: 3_600_000 };
      for await (const status of client.jobs.watch(job, options)) statuses.push(status);
    })(),
  );
  await clock.advance(3_600_000);

  expect(await watched).toBeInstanceOf(HostedPollTimeoutError);
  // Seven polls in the first minute, then one in 30 seconds.
  expect(polls.length).toBeGreaterThan(110);
  expect(polls.length).toBeLessThan(130);
  expect(new Set(statuses.map(({ state }) => state))).toEqual(new Set(['pending']));
});

test.each(oddCodes)('%s of a job that is complete does not keep it waiting', async (_what, members) => {
  const { client, clock, polls, job } = answering(() => ({ job_complete: true, ...members, job_success: false }));

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(0);

  expect((await waited).state).toBe('failed');
  expect(polls).toHaveLength(1);
});

test('with jitter too, a job that stays pending is polled no more than a few times a minute', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  const { client, clock, polls, job } = answering(() => ({ job_complete: false, code: '9999' }));

  const failed = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 3_600_000 }));
  await clock.advance(3_600_000);
  await failed;

  expect(polls.length).toBeLessThan(260);
});

test('errors that are ridden out make no hot loop either', async () => {
  const unavailable = () => Response.json({ code: '2301' }, { status: 503, headers: { 'retry-after': '0' } });
  const { client, clock, polls, job } = answering((before) => (before % 2 === 0 ? pendingRecord : unavailable()));

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 3_600_000 }));
  await clock.advance(3_600_000);

  expect(await failed).toBeInstanceOf(HostedPollTimeoutError);
  expect(polls.length).toBeLessThan(130);
});

// What is told --------------------------------------------------------------------

test('onPoll is told of every poll what came of it and when the next one is', async () => {
  const { client, clock, job, complete, fail } = start();
  const told: Poll[] = [];

  const waited = client.jobs.waitForCompletion(job, { ...steady, onPoll: (poll) => told.push(poll) });
  await clock.advance(0);
  fail({ kind: 'status', status: 503, retryAfter: '7' });
  await clock.advance(2_000);
  complete();
  await clock.advance(7_000);
  const status = await waited;

  expect(told).toEqual([
    {
      attempt: 1,
      elapsedMs: 0,
      nextDelayMs: 2_000,
      status: expect.objectContaining({ state: 'pending' }),
      error: null,
    },
    { attempt: 2, elapsedMs: 2_000, nextDelayMs: 7_000, status: null, error: expect.any(HostedServerError) },
    { attempt: 3, elapsedMs: 9_000, nextDelayMs: null, status, error: null },
  ]);
});

test('onPoll is told of the error that ends a wait, with no next poll', async () => {
  const { client, clock, job, fail } = start();
  const told: Poll[] = [];
  fail({ kind: 'bad-signature' });

  const failed = rejection(client.jobs.waitForCompletion(job, { onPoll: (poll) => told.push(poll) }));
  await clock.advance(0);

  expect(told).toEqual([{ attempt: 1, elapsedMs: 0, nextDelayMs: null, status: null, error: await failed }]);
});

test('onPoll is told of the poll at the deadline as the last one', async () => {
  const { client, clock, job } = start();
  const told: Poll[] = [];

  const options = { ...steady, deadlineMs: 3_000, onPoll: (poll: Poll) => told.push(poll) };
  const failed = rejection(client.jobs.waitForCompletion(job, options));
  await clock.advance(3_000);
  await failed;

  expect(told.map(({ elapsedMs, nextDelayMs }) => [elapsedMs, nextDelayMs])).toEqual([
    [0, 2_000],
    [2_000, 1_000],
    [3_000, null],
  ]);
  expect(told.at(-1)?.status?.state).toBe('pending');
});

test.each<[string, OnPoll]>([
  [
    'throws',
    () => {
      throw new Error('of the listener');
    },
  ],
  ['rejects', (async () => Promise.reject(new Error('of the listener'))) as OnPoll],
])('an onPoll that %s changes nothing', async (_what, onPoll) => {
  const { client, clock, job, complete, polledAt } = start();

  const waited = client.jobs.waitForCompletion(job, { ...steady, onPoll });
  await clock.advance(2_000);
  complete();
  await clock.advance(3_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, 2_000, 5_000]);
});

test('poll events tell of every poll of a wait, under one call id', async () => {
  const { client, clock, job, complete, fail, events } = start();

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(0);
  fail({ kind: 'network' });
  await clock.advance(2_000);
  complete('rejected');
  await clock.advance(3_000);
  await waited;

  const polls = events.filter((event) => event.type === 'poll');
  const callId = polls[0]?.callId;
  expect(callId).toEqual(expect.any(Number));
  expect(polls).toEqual([
    { type: 'poll', callId, attempt: 1, elapsedMs: 0, nextDelayMs: 2_000, state: 'pending' },
    { type: 'poll', callId, attempt: 2, elapsedMs: 2_000, nextDelayMs: 3_000, state: 'error' },
    { type: 'poll', callId, attempt: 3, elapsedMs: 5_000, nextDelayMs: null, state: 'failed' },
  ]);
  expect(events.filter((event) => event.type === 'request').some((event) => event.callId === callId)).toBe(false);
});

test('two waits have poll events of different call ids', async () => {
  const { client, clock, job, complete, events } = start();
  complete();

  const waited = [client.jobs.waitForCompletion(job), client.jobs.waitForCompletion(job)];
  await clock.advance(0);
  await Promise.all(waited);

  const ids = events.filter((event) => event.type === 'poll').map(({ callId }) => callId);
  expect(new Set(ids).size).toBe(2);
});

test('events of a wait hold no ids, whatever comes of its polls', async () => {
  const { client, clock, job, complete, fail, events } = start();
  fail({ kind: 'status', status: 503 });
  fail({ kind: 'network' });

  const waited = client.jobs.waitForCompletion(job, { ...steady, history: true });
  await clock.advance(6_000);
  complete();
  await clock.advance(60_000);
  await waited;
  const unknown = rejection(client.jobs.waitForCompletion(late, { notFoundGraceMs: 0 }));
  await clock.advance(0);
  await unknown;

  const told = JSON.stringify(events);
  expect(events.filter(({ type }) => type === 'poll').length).toBeGreaterThan(3);
  for (const id of [job.userId, job.jobId, late.userId, late.jobId]) expect(told).not.toContain(id);
});

test('a listener that throws at poll events changes nothing', async () => {
  const { client, clock, job, complete } = start({
    onEvent: () => {
      throw new Error('of the listener');
    },
  });
  complete();

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(0);

  expect((await waited).state).toBe('succeeded');
});

// Stopping ----------------------------------------------------------------------

test('break ends a watch: nothing more is sent, nothing sleeps', async () => {
  const { client, clock, job, polledAt, sleeping } = start();
  const { signal } = new AbortController();

  for await (const _status of client.jobs.watch(job, { ...steady, signal })) break;
  await clock.advance(3_600_000);

  expect(polledAt()).toEqual([0]);
  expect(sleeping()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('return() of a watch while it waits for the next poll ends it: nothing more is sent, nothing sleeps', async () => {
  const { client, clock, job, polledAt, sleeping } = start();
  const watch = client.jobs.watch(job, steady)[Symbol.asyncIterator]();
  await watch.next();

  const next = outcomeOf(watch.next());
  await clock.advance(500);
  const returned = outcomeOf(watch.return?.() ?? Promise.resolve());
  await clock.advance(500);
  const states = [next.state, returned.state, sleeping()];
  await clock.advance(3_600_000);

  expect(polledAt()).toEqual([0]);
  expect(states).toEqual(['resolved', 'resolved', 0]);
});

test('return() of a watch while a poll is on its way ends it at once', async () => {
  const { client, clock, job, fail, polledAt, sleeping } = start();
  const { signal } = new AbortController();
  const watch = client.jobs.watch(job, { ...steady, signal })[Symbol.asyncIterator]();
  fail({ kind: 'stall' });

  const next = watch.next();
  await clock.advance(10);
  await watch.return?.();

  expect(await next).toEqual({ done: true, value: undefined });
  expect(await watch.next()).toEqual({ done: true, value: undefined });
  expect(sleeping()).toBe(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await clock.advance(3_600_000);
  expect(polledAt()).toEqual([0]);
});

test('a wait whose signal is aborted already rejects with the reason and sends nothing', async () => {
  const { client, polledAt, sleeping, job } = start();
  const signal = AbortSignal.abort(reason);

  const errors = [
    await rejection(client.jobs.waitForCompletion(job, { signal })),
    await rejection(client.jobs.waitForCompletion(job, { signal, initialDelayMs: 5_000 })),
    await rejection(client.jobs.waitForCompletion({ userId: '', jobId: '' }, { signal })),
    await rejection(client.jobs.watch(job, { signal })[Symbol.asyncIterator]().next() as Promise<unknown>),
  ];

  for (const error of errors) expect(error).toBe(reason);
  expect(polledAt()).toEqual([]);
  expect(sleeping()).toBe(0);
});

test('an abort during the fetch of a poll rejects with the reason itself, in the same turn of the clock', async () => {
  const { client, clock, job, fail, polledAt, sleeping } = start();
  const controller = new AbortController();
  fail({ kind: 'stall' });

  const failed = rejection(client.jobs.waitForCompletion(job, { signal: controller.signal }));
  await clock.advance(10);
  controller.abort(reason);

  expect(await failed).toBe(reason);
  expect(polledAt()).toEqual([0]);
  expect(sleeping()).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

test('an abort is no poll: neither onPoll nor a poll event tells of it', async () => {
  const { client, clock, job, fail, events } = start();
  const controller = new AbortController();
  const told: Poll[] = [];
  fail({ kind: 'stall' });

  const options = { signal: controller.signal, onPoll: (poll: Poll) => told.push(poll) };
  const failed = rejection(client.jobs.waitForCompletion(job, options));
  await clock.advance(10);
  controller.abort(reason);

  expect(await failed).toBe(reason);
  expect(told).toEqual([]);
  expect(events.filter(({ type }) => type === 'poll')).toEqual([]);
});

test('an abort during a fetch that does not listen rejects with the reason all the same', async () => {
  const fetching = deferred();
  const deaf = () => {
    fetching.resolve();
    return new Promise<Response>(() => undefined);
  };
  const { client, job, sleeping } = start({ fetch: deaf });
  const controller = new AbortController();

  const failed = rejection(client.jobs.waitForCompletion(job, { signal: controller.signal }));
  await fetching.promise;
  controller.abort(reason);

  expect(await failed).toBe(reason);
  expect(sleeping()).toBe(0);
});

test('an abort during the body of a poll rejects with the reason itself, in the same turn of the clock', async () => {
  const read = deferred();
  const stalling = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(new TextEncoder().encode('{"job_complete":')),
    pull: () => read.resolve(),
  });
  const { client, job, sleeping } = start({ fetch: async () => new Response(stalling) });
  const controller = new AbortController();

  const failed = rejection(client.jobs.waitForCompletion(job, { signal: controller.signal }));
  await read.promise;
  controller.abort(reason);

  expect(await failed).toBe(reason);
  expect(sleeping()).toBe(0);
});

test('an abort between two polls rejects with the reason itself, in the same turn of the clock', async () => {
  const { client, clock, job, polledAt, sleeping } = start();
  const controller = new AbortController();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, signal: controller.signal }));
  await clock.advance(1_000);
  controller.abort(reason);

  expect(await failed).toBe(reason);
  expect(sleeping()).toBe(0);
  await clock.advance(3_600_000);
  expect(polledAt()).toEqual([0]);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

test('an abort during the initial delay rejects with the reason itself, in the same turn of the clock', async () => {
  const { client, clock, job, polledAt, sleeping } = start();
  const controller = new AbortController();

  const options = { initialDelayMs: 5_000, signal: controller.signal };
  const failed = rejection(client.jobs.waitForCompletion(job, options));
  await clock.advance(1_000);
  controller.abort(reason);

  expect(await failed).toBe(reason);
  expect(sleeping()).toBe(0);
  expect(polledAt()).toEqual([]);
});

test('an abort during the wait for Retry-After rejects with the reason itself, in the same turn of the clock', async () => {
  const { client, clock, job, fail, sleeping } = start();
  const controller = new AbortController();
  fail({ kind: 'status', status: 503, retryAfter: '50' });

  const failed = rejection(client.jobs.waitForCompletion(job, { signal: controller.signal }));
  await clock.advance(20_000);
  controller.abort(reason);

  expect(await failed).toBe(reason);
  expect(sleeping()).toBe(0);
});

test('an abort while whoever watches reads a status rejects the next step with the reason itself', async () => {
  const { client, clock, job, polledAt } = start();
  const controller = new AbortController();
  const watch = client.jobs.watch(job, { ...steady, signal: controller.signal })[Symbol.asyncIterator]();
  await watch.next();

  controller.abort(reason);
  const soon = await rejection(watch.next() as Promise<unknown>);
  await clock.advance(60_000);

  expect(soon).toBe(reason);
  expect(polledAt()).toEqual([0]);
});

test('an abort after whoever watches has let the next poll fall due rejects with the reason itself', async () => {
  const { client, clock, job, polledAt } = start();
  const controller = new AbortController();
  const watch = client.jobs.watch(job, { ...steady, signal: controller.signal })[Symbol.asyncIterator]();
  await watch.next();
  await clock.advance(60_000);

  controller.abort(reason);

  expect(await rejection(watch.next() as Promise<unknown>)).toBe(reason);
  expect(polledAt()).toEqual([0]);
});

test('an abort whose reason is an error of another call rejects with that very error', async () => {
  const { client, clock, job, fail } = start();
  const controller = new AbortController();
  fail({ kind: 'status', status: 503 });
  const status = rejection(client.jobs.status(job, { maxRetries: 0 }));
  await clock.advance(0);
  const unavailable = await status;
  fail({ kind: 'stall' });

  const failed = rejection(client.jobs.waitForCompletion(job, { signal: controller.signal }));
  await clock.advance(10);
  controller.abort(unavailable);

  expect(unavailable).toBeInstanceOf(HostedServerError);
  expect(await failed).toBe(unavailable);
});

test('an abort at the deadline by an error of another call rejects with that very error, and is no poll', async () => {
  const { client, clock, job, fail } = start();
  const controller = new AbortController();
  const told: Poll[] = [];
  fail({ kind: 'status', status: 503 });
  const status = rejection(client.jobs.status(job, { maxRetries: 0 }));
  await clock.advance(0);
  const unavailable = await status;
  fail({ kind: 'stall' });

  const options = { deadlineMs: 0, signal: controller.signal, onPoll: (poll: Poll) => told.push(poll) };
  const failed = rejection(client.jobs.waitForCompletion(job, options));
  await clock.advance(10);
  controller.abort(unavailable);

  expect(await failed).toBe(unavailable);
  expect(told).toEqual([]);
});

test('an abort without a reason rejects a wait with the platform’s AbortError itself', async () => {
  const { client, clock, job } = start();
  const controller = new AbortController();

  const failed = rejection(client.jobs.waitForCompletion(job, { signal: controller.signal }));
  await clock.advance(100);
  controller.abort();

  expect(await failed).toBe(controller.signal.reason);
});

test('an abort of one wait leaves another alone', async () => {
  const { client, clock, job, complete } = start();
  const controller = new AbortController();

  const aborted = rejection(client.jobs.waitForCompletion(job, { signal: controller.signal }));
  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(100);
  controller.abort(reason);
  complete();
  await clock.advance(60_000);

  expect(await aborted).toBe(reason);
  expect((await waited).state).toBe('succeeded');
});

test('100 waits on one signal, however they end, leave no listener and no sleeper', async () => {
  const { client, clock, sandbox, job, sleeping } = start();
  const { signal } = new AbortController();
  const refused = { userId: 'user-refused', jobId: '' };

  const waits = Array.from({ length: 100 }, (_, index) => {
    const jobs = [job, sandbox.jobs.start({ jobId: `job-${index}` }), late, refused];
    const options = { signal, deadlineMs: 60_000, notFoundGraceMs: 5_000 };
    return client.jobs.waitForCompletion(jobs[index % 4] ?? job, options);
  });
  const settled = Promise.allSettled(waits);
  await clock.advance(10_000);
  const during = [getEventListeners(signal, 'abort').length, sleeping()];
  sandbox.jobs.complete(job, 'approved');
  await clock.advance(60_000);

  const states = (await settled).map(({ status }) => status);
  expect(states.filter((state) => state === 'fulfilled')).toHaveLength(25);
  expect(Math.min(...during)).toBeGreaterThan(0);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(sleeping()).toBe(0);
});

test('100 waits that one abort ends leave no listener and no sleeper', async () => {
  const { client, clock, job, fail, polledAt, sleeping } = start();
  const controller = new AbortController();
  fail({ kind: 'stall' }, 50);

  const waits = Array.from({ length: 100 }, () => client.jobs.waitForCompletion(job, { signal: controller.signal }));
  const settled = Promise.allSettled(waits);
  await clock.advance(100);
  controller.abort(reason);

  expect((await settled).map((wait) => (wait.status === 'rejected' ? wait.reason : null))).toEqual(
    Array(100).fill(reason),
  );
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  expect(sleeping()).toBe(0);
  await clock.advance(3_600_000);
  expect(polledAt()).toHaveLength(100);
});

// Bad options -------------------------------------------------------------------

test.each<[string, object]>([
  ['deadlineMs', { deadlineMs: -1 }],
  ['deadlineMs', { deadlineMs: Number.NaN }],
  ['deadlineMs', { deadlineMs: 0.5 }],
  ['deadlineMs', { deadlineMs: '600' }],
  ['initialDelayMs', { initialDelayMs: -1 }],
  ['initialDelayMs', { initialDelayMs: Number.POSITIVE_INFINITY }],
  ['minDelayMs', { minDelayMs: 0 }],
  ['minDelayMs', { minDelayMs: Number.NaN }],
  ['maxDelayMs', { maxDelayMs: 0 }],
  ['maxDelayMs', { maxDelayMs: 2 ** 31 }],
  ['backoffFactor', { backoffFactor: 0.5 }],
  ['backoffFactor', { backoffFactor: Number.NaN }],
  ['backoffFactor', { backoffFactor: Number.POSITIVE_INFINITY }],
  ['jitter', { jitter: 'no' }],
  ['notFoundGraceMs', { notFoundGraceMs: -1 }],
  ['maxConsecutiveErrors', { maxConsecutiveErrors: -1 }],
  ['maxConsecutiveErrors', { maxConsecutiveErrors: 1.5 }],
  ['imageLinks', { imageLinks: 1 }],
  ['history', { history: 'true' }],
  ['onPoll', { onPoll: 'log' }],
  ['signal', { signal: {} }],
  ['timeoutMs', { timeoutMs: 0 }],
  ['maxRetries', { maxRetries: -1 }],
  ['headers', { headers: { host: 'elsewhere.test' } }],
  ['intervalMs', { intervalMs: 500 }],
])('a wait with a bad %s rejects, and sends nothing', async (path, options) => {
  const { client, clock, job, polledAt } = start();

  const waited = rejection(client.jobs.waitForCompletion(job, options as never));
  const watched = rejection(
    client.jobs
      .watch(job, options as never)
      [Symbol.asyncIterator]()
      .next() as Promise<unknown>,
  );
  await clock.advance(0);

  for (const error of [await waited, await watched]) {
    expect(error).toBeInstanceOf(HostedValidationError);
    expect(error).toMatchObject({
      code: 'validation',
      operation: 'jobs.status',
      outcome: 'not_sent',
      issues: [{ path }],
    });
  }
  expect(polledAt()).toEqual([]);
});

test('a wait names every bad option at once', async () => {
  const { client, job } = start();
  const options = {
    deadlineMs: -1,
    minDelayMs: 0,
    backoffFactor: 0,
    jitter: 1,
    onPoll: 1,
    timeoutMs: -1,
    intervalMs: 1,
  };

  const error = await rejection(client.jobs.waitForCompletion(job, options as never));

  expect((error as HostedValidationError).issues.map(({ path }) => path).sort()).toEqual(Object.keys(options).sort());
});

test.each([[5], ['options'], [[1]], [true]])(
  'a wait with %j for options never throws, and rejects',
  async (options) => {
    const { client, job, polledAt } = start();

    const errors = [
      await rejection(client.jobs.waitForCompletion(job, options as never)),
      await rejection(
        client.jobs
          .watch(job, options as never)
          [Symbol.asyncIterator]()
          .next() as Promise<unknown>,
      ),
    ];

    for (const error of errors) expect(error).toBeInstanceOf(HostedValidationError);
    expect(polledAt()).toEqual([]);
  },
);
