// Waiting for many jobs at once: a source of jobs that fails.

import type { JobRef } from 'hosted-client';
import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { collect, mistake, start, steady } from './many-jobs.js';

failWhenClockIsIdle();

failOnStrayRejections();

test.each<[string, (jobs: readonly JobRef[]) => Iterable<JobRef> | AsyncIterable<JobRef>]>([
  [
    'generator',
    function* (jobs) {
      yield* jobs;
      throw mistake;
    },
  ],
  [
    'async generator',
    async function* (jobs) {
      yield* jobs;
      throw mistake;
    },
  ],
])('when a %s throws, the jobs it gave still come, and then its error', async (_what, from) => {
  const { client, clock, job, asleep } = start();
  const jobs = [job('one', { completeAt: 10_000 }), job('two', { completeAt: 30_000 })];

  const { seen, outcome } = collect(client.jobs.waitForAll(from(jobs), steady));
  await clock.advance(0);
  const before = outcome.state;
  await clock.advance(120_000);

  expect(before).toBe('pending');
  expect(seen.map((entry) => entry.job)).toEqual(jobs);
  expect(outcome.error).toBe(mistake);
  expect(asleep()).toBe(0);
});

test('when an async source gives no result of an iterator, the jobs it gave still come, and then a TypeError', async () => {
  const { client, clock, job } = start();
  const one = job('one', { completeAt: 10_000 });
  const results = [{ done: false, value: one }];
  const broken = { [Symbol.asyncIterator]: () => ({ next: async () => results.shift() }) };

  const { seen, outcome } = collect(client.jobs.waitForAll(broken as AsyncIterable<JobRef>, steady));
  await clock.advance(60_000);

  expect(seen.map((entry) => entry.job)).toEqual([one]);
  expect(outcome).toEqual({ state: 'failed', error: expect.any(TypeError) });
});

test('an async source is read one job at a time, also where polls end while it is at work', async () => {
  const { client, clock, job } = start();
  const jobs = [job('one', { completeAt: 5_000 }), job('two', { completeAt: 10_000 })].values();
  let reading = 0;
  let mostReading = 0;
  const slow: AsyncIterable<JobRef> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        reading += 1;
        mostReading = Math.max(mostReading, reading);
        await clock.sleep?.(3_000);
        reading -= 1;
        return jobs.next();
      },
    }),
  };

  const { seen, outcome } = collect(client.jobs.waitForAll(slow, steady));
  await clock.advance(60_000);

  expect(seen.map((entry) => entry.job.jobId)).toEqual(['one', 'two']);
  expect(outcome.state).toBe('done');
  expect(mostReading).toBe(1);
});

test('when a source throws before its first job, that is the rejection', async () => {
  const { client, clock, polls } = start();
  const broken: Iterable<JobRef> = {
    [Symbol.iterator]: () => {
      throw mistake;
    },
  };

  const { outcome } = collect(client.jobs.waitForAll(broken));
  await clock.advance(0);

  expect(outcome.error).toBe(mistake);
  expect(polls).toEqual([]);
});
