// Waiting for many jobs at once: how busy it keeps service and clock.

import { getEventListeners } from 'node:events';
import type { JobRef, WaitOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { collect, source, start, steady } from '../jobs/many-jobs.js';
import { collector } from '../support/collector.js';
import { randomFrom } from '../support/random.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const drawn = values.map((value) => ({ value, at: random() }));
  return drawn.sort((one, other) => one.at - other.at).map(({ value }) => value);
}

failOnStrayRejections();

test.each([1, 3, 10])('at most %d requests are in flight ever, and as many when there is work', async (concurrency) => {
  const { client, clock, job, mostInFlight } = start({ latencyMs: 700 });
  const random = randomFrom(concurrency);
  const jobs = Array.from({ length: 60 }, (_, index) => job(`job-${index}`, { completeAt: random() * 100_000 }));

  const { seen, ended } = collect(client.jobs.waitForAll(jobs, { ...steady, concurrency }));
  await clock.advance(1_200_000);
  await ended;

  expect(seen).toHaveLength(60);
  expect(mostInFlight()).toBe(concurrency);
});

test('ten requests are in flight at most when nothing is said', async () => {
  const { client, clock, job, mostInFlight } = start({ latencyMs: 700 });
  const jobs = Array.from({ length: 60 }, (_, index) => job(`job-${index}`, { completeAt: 10_000 }));

  const { ended } = collect(client.jobs.waitForAll(jobs));
  await clock.advance(600_000);
  await ended;

  expect(mostInFlight()).toBe(10);
});

test('however many jobs wait, no more than one sleeps on the clock besides requests', async () => {
  const { client, clock, job, mostAlarms, asleep } = start({ latencyMs: 300 });
  const random = randomFrom(7);
  const jobs = Array.from({ length: 200 }, (_, index) => job(`job-${index}`, { completeAt: random() * 120_000 }));

  const { seen, ended } = collect(client.jobs.waitForAll(jobs));
  await clock.advance(600_000);
  await ended;

  expect(seen).toHaveLength(200);
  expect(mostAlarms()).toBe(1);
  expect(asleep()).toBe(0);
});

test('jobs that are due at one time are polled in the order they came, after one sleep', async () => {
  const { client, clock, job, polls, alarmsSet } = start();
  const jobs = ['one', 'two', 'three', 'four', 'five'].map((name) => job(name, { completeAt: 1_000 }));

  const { ended } = collect(client.jobs.waitForAll(jobs, steady));
  await clock.advance(2_000);
  await ended;

  const order = jobs.map(({ jobId }) => jobId);
  expect(polls.map(({ jobId }) => jobId)).toEqual([...order, ...order]);
  expect(alarmsSet()).toBe(1);
});

test('a job that is due before all others leaves no second sleeper', async () => {
  const { client, clock, job, mostAlarms, asleep } = start();
  async function* slowly() {
    for (let index = 0; index < 10; index++) {
      yield job(`job-${index}`, { completeAt: 600_000 });
      await clock.sleep?.(40_000);
    }
  }

  const { seen, ended } = collect(client.jobs.waitForAll(slowly(), { deadlineMs: 900_000 }));
  await clock.advance(1_200_000);
  await ended;

  expect(seen).toHaveLength(10);
  expect(mostAlarms()).toBe(1);
  expect(asleep()).toBe(0);
});

test('jobs that wait keep no listener each on the signal', async () => {
  const { client, clock, job } = start();
  const { signal } = new AbortController();
  const jobs = Array.from({ length: 200 }, (_, index) => job(`job-${index}`, { completeAt: 30_000 }));

  const { ended } = collect(client.jobs.waitForAll(jobs, { ...steady, signal }));
  await clock.advance(10_000);
  const during = getEventListeners(signal, 'abort').length;
  await clock.advance(60_000);
  await ended;

  expect(during).toBeLessThanOrEqual(1);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a job is taken from its source when a request is free for it, and not before', async () => {
  const { client, clock, job } = start({ latencyMs: 1_000 });
  const { iterable, calls } = source(Array.from({ length: 50 }, (_, index) => job(`job-${index}`)));

  const { ended } = collect(client.jobs.waitForAll(iterable, { ...steady, concurrency: 4, deadlineMs: 1_000 }));
  await clock.advance(999);
  const atFirst = calls.taken;
  await clock.advance(1);
  const afterASecond = calls.taken;
  await clock.advance(60_000);
  await ended;

  expect(atFirst).toBe(4);
  expect(afterASecond).toBe(8);
  expect(calls).toEqual({ taken: 50, returned: 0 });
});

test('a job that has ended is held no longer, although others still wait', async () => {
  const { client, clock, job } = start();
  const given: WeakRef<JobRef>[] = [];
  function* jobs() {
    for (let index = 0; index < 20; index++) {
      const each = job(`job-${index}`, { completeAt: index < 10 ? 0 : 100_000 });
      given.push(new WeakRef(each));
      yield each;
    }
  }

  const ended = (async () => {
    for await (const _entry of client.jobs.waitForAll(jobs(), steady));
  })();
  await clock.advance(10_000);
  collector()();
  const held = given.filter((each) => each.deref()).length;
  await clock.advance(600_000);
  await ended;

  expect(held).toBeGreaterThanOrEqual(10);
  expect(held).toBeLessThanOrEqual(11);
});

test('new jobs do not starve those that wait, nor those the new ones', async () => {
  const { client, clock, job, polledAt } = start({ latencyMs: 1_000 });
  let made = 0;
  function* endless() {
    for (;;) {
      made += 1;
      yield job(`job-${made}`, { completeAt: 600_000 });
    }
  }
  const waiting = client.jobs.waitForAll(endless(), { ...steady, concurrency: 1 })[Symbol.asyncIterator]();

  const next = waiting.next();
  await clock.advance(60_000);
  const polled = polledAt('job-1').length;
  const taken = made;
  await clock.advance(600_000);
  await next;
  await waiting.return?.();

  expect(polled).toBeGreaterThanOrEqual(3);
  expect(taken).toBeGreaterThan(10);
});

test('polls that are always due leave every other request to new jobs', async () => {
  const { client, clock, job, polls } = start({ latencyMs: 1_000 });
  const jobs = Array.from({ length: 10 }, (_, index) => job(`job-${index}`, { completeAt: 120_000 }));
  const firstAnswers: number[] = [];
  const onPoll: WaitOptions['onPoll'] = ({ attempt, elapsedMs }) => {
    if (attempt === 1) firstAnswers.push(elapsedMs);
  };
  const options = { ...steady, concurrency: 1, minDelayMs: 1, backoffFactor: 1, onPoll };

  const { seen, ended } = collect(client.jobs.waitForAll(jobs, options));
  await clock.advance(22_000);
  const polled = new Set(polls.map(({ jobId }) => jobId));
  await clock.advance(600_000);
  await ended;

  expect(polled.size).toBe(10);
  expect(seen).toHaveLength(10);
  // Each is polled as it is admitted, and answered a second later.
  expect(firstAnswers).toEqual(Array(10).fill(1_000));
});

test('a caller who reads results slowly does not stop the polling of others', async () => {
  const { client, clock, job, polledAt } = start();
  const jobs = [
    job('first', { completeAt: 0 }),
    job('second', { completeAt: 16_000 }),
    job('third', { completeAt: 26_000 }),
    job('unread'),
  ];
  const seen: [string, number][] = [];
  const startedAt = clock.now();

  const read = async () => {
    for await (const entry of client.jobs.waitForAll(jobs, { ...steady, deadlineMs: 64_344 })) {
      await clock.sleep?.(100_000);
      seen.push([entry.job.jobId, clock.now() - startedAt]);
    }
  };
  const ended = read();
  await clock.advance(1_000_000);
  await ended;

  expect(polledAt('second')).toEqual([0, 2_000, 5_000, 9_500, 16_250]);
  expect(polledAt('third')).toEqual([0, 2_000, 5_000, 9_500, 16_250, 26_375]);
  expect(polledAt('unread').at(-1)).toBe(64_344);
  expect(seen).toEqual([
    ['first', 100_000],
    ['second', 200_000],
    ['third', 300_000],
    ['unread', 400_000],
  ]);
});

// Far more time than it takes, so that a busy machine does not fail it.
test('2,000 jobs that complete in any order all come, each exactly once, in order of completion', {
  timeout: 60_000,
}, async () => {
  const { client, clock, job, polls, mostInFlight, mostAlarms, asleep } = start();
  const phases = 4;
  const phaseMs = 30_000;
  const jobs = Array.from({ length: 2_000 }, (_, index) => job(`job-${index}`));
  const order = shuffled(jobs, randomFrom(2_026));
  const phaseOf = new Map(order.map((each, place) => [each, Math.floor((place * phases) / order.length)]));
  for (const [each, phase] of phaseOf) job(each.jobId, { completeAt: phase * phaseMs });

  const options = { ...steady, minDelayMs: phaseMs, backoffFactor: 1 };
  const { seen, ended } = collect(client.jobs.waitForAll(jobs, options));
  const counts: number[] = [];
  for (let phase = 0; phase < phases; phase++) {
    await clock.advance(phase === 0 ? 0 : phaseMs);
    counts.push(seen.length);
  }
  await ended;

  expect(counts).toEqual([500, 1_000, 1_500, 2_000]);
  expect(new Set(seen.map((entry) => entry.job))).toEqual(new Set(jobs));
  expect(seen.every(({ status }) => status?.state === 'succeeded')).toBe(true);
  const phasesSeen = seen.map((entry) => phaseOf.get(entry.job) ?? -1);
  expect(phasesSeen).toEqual(phasesSeen.toSorted((one, other) => one - other));
  expect(polls).toHaveLength(2_000 + 1_500 + 1_000 + 500);
  expect(mostInFlight()).toBe(10);
  expect(mostAlarms()).toBe(1);
  expect(asleep()).toBe(0);
});
