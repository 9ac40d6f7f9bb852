// Waiting for one job: errors that end the wait, errors that it tolerates, a job not known yet, and unknown codes.

import {
  HostedApiError,
  HostedAuthenticationError,
  HostedClient,
  HostedConnectionError,
  HostedNotFoundError,
  HostedPollTimeoutError,
  HostedRateLimitError,
  HostedResponseError,
  HostedServerError,
  HostedSignatureError,
  HostedTimeoutError,
  HostedValidationError,
  type JobStatus,
} from 'hosted-client';
import { createTestClock, type MockFault } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { partnerId, rejection, sign } from '../support/fake-fetch.js';
import { createImmediateSigner } from '../support/immediate-signer.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { late, outcomeOf, start, steady, type TestClock } from './started-job.js';

const pendingRecord = { job_complete: false, job_success: false, code: '2314', result: 'No zip uploaded yet' };

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
    signer: createImmediateSigner(),
    baseUrls: { sandbox: 'https://sandbox.hosted.test' },
    fetch: fetch as typeof globalThis.fetch,
    clock,
  });
  return { client, clock, polls, job: { userId: 'user-4711', jobId: 'job-0815' } };
}

afterEach(() => {
  vi.restoreAllMocks();
});

failOnStrayRejections();

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
])('a signed response %s ends a wait at once, and never makes a status', async (_what, record, expected) => {
  const { client, clock, polls, job } = answering(() => record);

  const failed = rejection(client.jobs.waitForCompletion(job));
  await clock.advance(0);

  const error = await failed;
  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ code: 'response', reason: expected });
  expect(polls).toHaveLength(1);
});

test('a response that is too large ends a wait at once', async () => {
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
  ['a response that breaks off', { kind: 'truncate' }, HostedConnectionError],
  ['no response in time', { kind: 'stall' }, HostedTimeoutError],
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

test('a response in between begins the count of transient errors anew', async () => {
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

test('code 2304 is tolerated within the grace however often it comes, and among transient errors', async () => {
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
