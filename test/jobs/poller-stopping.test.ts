// Waiting for one job: what stops a wait, and what is left behind.

import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { type Poll, start, steady } from './started-job.js';

failWhenClockIsIdle();

const reason = { why: 'the user left' };

failOnStrayRejections();

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
