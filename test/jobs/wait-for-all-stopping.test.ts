// Waiting for many jobs at once: how it stops, and what is left behind.

import { getEventListeners } from 'node:events';
import type { JobRef } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { collect, mistake, source, start, steady } from './many-jobs.js';

failWhenClockIsIdle();

const reason = { why: 'the user left' };

failOnStrayRejections();

test('break ends a wait for many: nothing more is sent, nothing sleeps, and the source is ended', async () => {
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

test('a source that has ended is not told to', async () => {
  const { client, clock, job } = start();
  const { iterable, calls } = source([job('first', { completeAt: 0 }), job('second')]);

  for await (const _entry of client.jobs.waitForAll(iterable, steady)) break;
  await clock.advance(0);

  expect(calls).toEqual({ taken: 2, returned: 0 });
});

test.each([
  ['goes on', true],
  ['ends', false],
])(
  'break while an async source is at work that then %s sends nothing more and leaves nothing asleep',
  async (...row) => {
    const [, goesOn] = row;
    const { client, clock, job, polls, asleep } = start();
    let closed = false;
    async function* slowly() {
      try {
        yield job('first', { completeAt: 0 });
        yield job('second');
        await clock.sleep?.(5_000);
        if (goesOn) yield job('third');
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
    expect(closed).toBe(true);
    expect(asleep()).toBe(0);
    await clock.advance(3_600_000);
    expect(polls).toHaveLength(sent);
  },
);

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

test('once all jobs have ended the signal is let go, though no caller reads on', async () => {
  const { client, clock, job } = start();
  const { signal } = new AbortController();
  const jobs = [job('one', { completeAt: 0 }), job('two', { completeAt: 0 })];
  const waiting = client.jobs.waitForAll(jobs, { ...steady, signal })[Symbol.asyncIterator]();

  await waiting.next();
  await clock.advance(0);

  expect(getEventListeners(signal, 'abort')).toEqual([]);
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
