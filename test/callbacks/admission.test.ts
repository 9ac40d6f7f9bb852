// How many jobs one signed time may have in hand at once.

import { expect, test } from 'vitest';
import { createAdmission } from '../../src/callbacks/admission.js';
import { now } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { hint, type Posted, startHandler } from './deliveries.js';

failOnStrayRejections();

const jobs = (count: number) => Array.from({ length: count }, (_, at) => `job-${at}`);

test.each([
  ['2026-01-02T03:04:05.678Z', 8],
  ['1767323045678', 8],
  ['2026-01-02T03:04:05Z', 1_000],
  ['1767323045', 1_000],
])('without a limit of the caller, the signed time %s may have %i jobs in hand', (timestamp, most) => {
  const admit = createAdmission();

  const admitted = jobs(most + 1).map((job) => admit({ hint, timestamp }, job) !== null);

  expect(admitted).toEqual([...Array(most).fill(true), false]);
});

test('a job is in hand until the last of its deliveries has left, and nothing is remembered after that', () => {
  const admit = createAdmission();
  const enter = (job: string, signedAt = hint.signedAt) =>
    admit({ hint: { ...hint, signedAt }, timestamp: '' }, job, 1);

  const [first, second] = [enter('job-1'), enter('job-1')];
  expect([enter('job-2'), enter('job-2', new Date(now + 1))]).toEqual([null, expect.any(Function)]);
  first?.();
  expect(enter('job-2')).toBeNull();
  second?.();
  expect(enter('job-2')).not.toBeNull();
});

test('a delivery whose signed time has too many jobs in hand gets 503, and the limit counts no total', async () => {
  const { run, errors, log } = startHandler({ says: [{ takesMs: 1_000 }], handler: { maxConfirmations: 100 } });
  const nine: readonly Posted[] = jobs(9).map((job) => ({ job, at: -60_000 }));

  await run([...nine, { job: 'job-9' }, 1_000, ...nine]);

  expect(log.filter((line) => line.includes('limit'))).toEqual(['0 503 limit job-8', '1000 503 limit job-8']);
  expect(log.filter((line) => line.includes(' 200 '))).toHaveLength(17);
  expect(errors[0]).toMatchObject({
    error: { code: 'signature', retryable: true, message: expect.stringContaining('"maxJobsPerSignature"') },
    at: { phase: 'guard', status: 503, event: { jobId: 'job-8' } },
  });
});

test('2,000 callbacks under one signed time are all handled within their redeliveries', async () => {
  const { deliver, clock, handed } = startHandler({ says: [{ takesMs: 50 }] });
  let missing = jobs(2_000);

  for (let round = 0; missing.length > 0 && round < 5; round++) {
    // Whole seconds: 1,000 may be in hand.
    const endings = Promise.all(missing.map((job) => deliver({ job, timestamp: '2026-01-02T03:04:05Z' })));
    await clock.advance(30_000);
    const all = await endings;
    missing = missing.filter((_, at) => all[at] !== '200 accepted');
  }

  expect(missing).toEqual([]);
  expect(handed).toHaveLength(2_000);
});

test('yesterday’s pairs with invented jobs, posted without end, delay a genuine callback by its share only', async () => {
  const { deliver, clock, log } = startHandler({ says: [{ takesMs: 200 }] });
  const flood = () => {
    for (let pair = 0; pair < 25; pair++) {
      for (const job of jobs(8)) void deliver({ job: `${job}-of-${pair}`, at: pair - 86_400_000 });
    }
  };

  for (let count = 0; count < 10; count++) {
    flood();
    if (count === 5) void deliver();
    await clock.advance(500);
  }
  await clock.advance(40_000);

  const answered = log.find((line) => line.endsWith('200 accepted'));
  // Posted at 2,500 ms: at most two seconds later.
  expect(Number.parseInt(answered ?? '', 10)).toBeLessThanOrEqual(4_500);
});
