// Waiting for many jobs at once: how busy it keeps service and clock.

import type { JobRef } from 'hosted-client';
import { expect, test } from 'vitest';
import { collect, start, steady } from '../jobs/many-jobs.js';
import { collector } from '../support/collector.js';
import { randomFrom } from '../support/random.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const drawn = values.map((value) => ({ value, at: random() }));
  return drawn.sort((one, other) => one.at - other.at).map(({ value }) => value);
}

failOnStrayRejections();

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
