// Waiting for one job: what is reported meanwhile.

import { HostedServerError } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { type OnPoll, type Poll, start, steady } from './started-job.js';

failWhenClockIsIdle();

failOnStrayRejections();

test('onPoll is called for every poll with what came of it and when the next one is', async () => {
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
      job,
      attempt: 1,
      elapsedMs: 0,
      nextDelayMs: 2_000,
      status: expect.objectContaining({ state: 'pending' }),
      error: null,
    },
    { job, attempt: 2, elapsedMs: 2_000, nextDelayMs: 7_000, status: null, error: expect.any(HostedServerError) },
    { job, attempt: 3, elapsedMs: 9_000, nextDelayMs: null, status, error: null },
  ]);
});

test('elapsedMs counts from the begin of the wait, not of the client', async () => {
  const { client, clock, job, complete } = start();
  const elapsed: number[] = [];
  await client.jobs.status(job);
  await clock.advance(60_000);

  const onPoll = ({ elapsedMs }: Poll) => elapsed.push(elapsedMs);
  const waited = client.jobs.waitForCompletion(job, { ...steady, onPoll });
  await clock.advance(0);
  complete();
  await clock.advance(2_000);
  await waited;

  expect(elapsed).toEqual([0, 2_000]);
});

test('onPoll is called with the error that ends a wait, with no next poll', async () => {
  const { client, clock, job, fail } = start();
  const told: Poll[] = [];
  fail({ kind: 'bad-signature' });

  const failed = rejection(client.jobs.waitForCompletion(job, { onPoll: (poll) => told.push(poll) }));
  await clock.advance(0);

  expect(told).toEqual([{ job, attempt: 1, elapsedMs: 0, nextDelayMs: null, status: null, error: await failed }]);
});

test('onPoll is called with the poll at the deadline as the last one', async () => {
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

test('onPoll gets the job that was polled of many, in an object of its own', async () => {
  const { client, clock, job, sandbox } = start();
  const other = sandbox.jobs.start({ userId: 'user-4712', jobId: 'job-0816' });
  const told: Poll[] = [];
  const onPoll = (poll: Poll) => {
    told.push({ ...poll, job: { ...poll.job } });
    // What a listener does to it changes no later poll.
    Object.assign(poll.job, { userId: 'changed', jobId: 'changed' });
  };

  const rows = [
    { ...job, row: 1 },
    { ...other, row: 2 },
  ];
  const waits = client.jobs.waitForAll(rows, { ...steady, deadlineMs: 2_000, onPoll });
  const waited = (async () => {
    for await (const { error } of waits) expect(error?.code).toBe('poll_timeout');
  })();
  await clock.advance(2_000);
  await waited;

  expect(told.map((poll) => poll.job)).toEqual([job, other, job, other]);
});

test('poll events report every poll of a wait, under one call id', async () => {
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
