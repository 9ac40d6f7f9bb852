// Waiting for one job: what stops a wait, and what is left behind.

import { getEventListeners } from 'node:events';
import { HostedServerError } from 'hosted-client';
import { expect, test } from 'vitest';
import { deferred, rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { late, outcomeOf, type Poll, start, steady } from './started-job.js';

const reason = { why: 'the user left' };

failOnStrayRejections();

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

test('an abort is no poll: neither onPoll nor a poll event reports it', async () => {
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

test('an abort while the caller who watches reads a status rejects the next step with the reason itself', async () => {
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
