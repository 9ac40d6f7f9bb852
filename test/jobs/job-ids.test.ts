// Whose status a wait ends with: the ids are copied when it begins, whatever becomes of the caller's object.

import type { JobRef } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { passed, pending, serviceOf } from './job-service.js';

failWhenClockIsIdle();

/** Every job passes with its second poll, under its own name. */
const secondTime = (asked: JobRef, before: readonly JobRef[]) =>
  before.some(({ jobId }) => jobId === asked.jobId) ? passed(asked) : pending;

const steady = { jitter: false } as const;

const idsOf = (names: readonly string[]) => names.map((name) => ({ userId: `user-${name}`, jobId: `job-${name}` }));

test('jobs.waitForCompletion() ends with its own job, though one object was used for three', async () => {
  const { client, clock } = serviceOf(secondTime);
  const row = { userId: '', jobId: '' };

  const waits = idsOf(['a', 'b', 'c']).map((ids) => {
    Object.assign(row, ids);
    return client.jobs.waitForCompletion(row);
  });
  Object.assign(row, { userId: 'user-d', jobId: 'job-d' });
  await clock.advance(60_000);

  expect((await Promise.all(waits)).map(({ userId, jobId }) => ({ userId, jobId }))).toEqual(idsOf(['a', 'b', 'c']));
});

test('jobs.watch() is of the job that it was called for, however late it is iterated', async () => {
  const { client, clock } = serviceOf(secondTime);
  const row = { userId: '', jobId: '' };
  const watches = idsOf(['a', 'b', 'c']).map((ids) => {
    Object.assign(row, ids);
    return client.jobs.watch(row);
  });

  const ends = watches.map(async (watch) => {
    const seen: JobRef[] = [];
    for await (const { userId, jobId } of watch) seen.push({ userId, jobId });
    return seen;
  });
  await clock.advance(60_000);

  expect(await Promise.all(ends)).toEqual(idsOf(['a', 'b', 'c']).map((ids) => [ids, ids]));
});

test.each([
  ['a generator', false],
  ['an asynchronous generator', true],
])('jobs.waitForAll() asks for each job of %s that uses one object for all of them', async (_what, asynchronous) => {
  const { client, clock, asked } = serviceOf(secondTime);
  const row = { userId: '', jobId: '' };
  function* rows() {
    for (const ids of idsOf(['a', 'b', 'c'])) yield Object.assign(row, ids);
  }
  async function* rowsOneByOne() {
    yield* rows();
  }

  const entries = (async () => {
    const seen: unknown[] = [];
    for await (const { job, status } of client.jobs.waitForAll(asynchronous ? rowsOneByOne() : rows(), steady)) {
      seen.push([job === row, status?.userId, status?.jobId]);
    }
    return seen;
  })();
  await clock.advance(60_000);

  expect(await entries).toEqual(idsOf(['a', 'b', 'c']).map(({ userId, jobId }) => [true, userId, jobId]));
  expect(asked.map(({ userId, jobId }) => ({ userId, jobId }))).toEqual([
    ...idsOf(['a', 'b', 'c']),
    ...idsOf(['a', 'b', 'c']),
  ]);
});

test('an object whose ids change while it waits for a free request is still the first job', async () => {
  const { client, clock } = serviceOf((asked) => passed(asked), { latencyMs: 1_000 });
  const [first, second, third] = idsOf(['a', 'b', 'c']) as [JobRef, JobRef, JobRef];

  const entries = (async () => {
    const seen: (string | undefined)[] = [];
    const jobs = client.jobs.waitForAll([first, second], { concurrency: 1, initialDelayMs: 500 });
    for await (const { status } of jobs) seen.push(status?.jobId);
    return seen;
  })();
  await clock.advance(1_000);
  Object.assign(second, third);
  await clock.advance(10_000);

  expect(await entries).toEqual(['job-a', 'job-b']);
});

test('the job of a poll timeout is the one that was waited for', async () => {
  const { client, clock } = serviceOf(() => pending);
  const row = { userId: 'user-a', jobId: 'job-a' };

  const failed = rejection(client.jobs.waitForCompletion(row, { deadlineMs: 5_000 }));
  Object.assign(row, { userId: 'user-b', jobId: 'job-b' });
  await clock.advance(5_000);

  expect(await failed).toMatchObject({ code: 'poll_timeout', job: { userId: 'user-a', jobId: 'job-a' } });
});

test('an object that cannot be read rejects as bad input, and sends nothing', async () => {
  const { client, asked } = serviceOf(() => pending);
  const unreadable = {
    get userId(): string {
      throw new Error('a database row that was closed');
    },
    jobId: 'job-a',
  };

  const error = await rejection(client.jobs.waitForCompletion(unreadable));

  expect(error).toMatchObject({ code: 'validation', issues: [{ path: 'userId' }, { path: 'jobId' }] });
  expect(asked).toEqual([]);
});
