// Waiting for one job: what stops a wait, and what is left behind.

import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { late, type Poll, start, steady } from './started-job.js';

const reason = { why: 'the user left' };

failOnStrayRejections();

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

test('an abort after the caller who watches has let the next poll fall due rejects with the reason itself', async () => {
  const { client, clock, job, polledAt } = start();
  const controller = new AbortController();
  const watch = client.jobs.watch(job, { ...steady, signal: controller.signal })[Symbol.asyncIterator]();
  await watch.next();
  await clock.advance(60_000);

  controller.abort(reason);

  expect(await rejection(watch.next() as Promise<unknown>)).toBe(reason);
  expect(polledAt()).toEqual([0]);
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
