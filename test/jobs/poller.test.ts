// Waiting for one job: what a wait gives, when it polls, and its options.

import { HostedAuthenticationError, HostedClient, HostedPollTimeoutError, type WaitOptions } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { createTestClock, failWhenClockIsIdle } from './idle-clock.js';
import { start, steady } from './started-job.js';

failWhenClockIsIdle();

afterEach(() => {
  vi.restoreAllMocks();
});

failOnStrayRejections();

// What a wait gives -----------------------------------------------------------

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

// When it polls -----------------------------------------------------------------

/** The delays after the polls at these times. */
function gaps(times: readonly number[]): number[] {
  return times.slice(1).map((at, index) => at - (times[index] ?? 0));
}

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

test.each([0, 0.5, 1 - Number.EPSILON])(
  'with jitter, which is the default, and chance at %d, a delay is between half of that without and all of it',
  async (chance) => {
    vi.spyOn(Math, 'random').mockReturnValue(chance);
    const { client, clock, job, polledAt } = start();
    const full = [2_000, 3_000, 4_500, 6_750, 10_125, 15_187.5, 22_781.25, 30_000, 30_000];

    const failed = rejection(client.jobs.waitForCompletion(job, { deadlineMs: 300_000 }));
    await clock.advance(300_000);
    await failed;

    const delays = gaps(polledAt());
    for (const [index, most] of full.entries()) {
      expect(Math.abs((delays[index] ?? 0) - most * (0.5 + chance / 2))).toBeLessThanOrEqual(1);
    }
  },
);

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

test('a slow response does not shorten the delay after it', async () => {
  const clock = createTestClock();
  const startedAt = clock.now();
  const { fetch, sandbox } = createMockService({ clock, latencyMs: 1_000 });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 16_000 }));
  await clock.advance(20_000);

  expect(await failed).toBeInstanceOf(HostedPollTimeoutError);
  // The last one begins as long before the deadline as two responses take.
  expect(sandbox.requests.map(({ at }) => at - startedAt)).toEqual([0, 3_000, 7_000, 12_500, 14_000]);
});

test('a caller who reads a watch slowly does not shift its schedule', async () => {
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

test('a caller who reads a watch more slowly than it polls gets the next status at once, and no burst after it', async () => {
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
