// Waiting for one job: the deadline.

import { HostedClient, HostedPollTimeoutError } from 'hosted-client';
import { createMockService, createTestClock, type MockFault } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { outcomeOf, start, steady } from './started-job.js';

failOnStrayRejections();

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

test('a wait that begins at a fraction of a millisecond polls as often, and ends as late', async () => {
  const { client, clock, job, polledAt, sleeping } = start();
  await clock.advance(0.7);

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 }));
  const outcome = outcomeOf(failed);
  await clock.advance(9_999);
  const before = outcome.state;
  await clock.advance(1);

  expect(before).toBe('pending');
  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: 10_000 });
  expect(polledAt().map(Math.floor)).toEqual([0, 2_000, 5_000, 9_500, 10_000]);
  expect(sleeping()).toBe(0);
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

test('a wait in which no poll got a response has no last status', async () => {
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
  ['a job that stays pending', null, 'the job was still pending', 'answered'],
  ['no status at all', { kind: 'network' }, 'no poll returned the status of the job', 'unknown'],
])('a timeout after %s says so, and what is left to do', async (_what, fault, last, outcome) => {
  const { client, clock, job, fail } = start();
  if (fault) fail(fault, 99);

  const options = { ...steady, deadlineMs: 6_000, maxConsecutiveErrors: 99 };
  const failed = rejection(client.jobs.waitForCompletion(job, options));
  await clock.advance(6_000);

  expect(await failed).toMatchObject({
    message: `Cannot get the status of a job: "deadlineMs" has passed, and ${last}; to wait again, you need only the job's two ids`,
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
