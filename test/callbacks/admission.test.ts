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
  const others = nine.map(({ job, ...posted }) => ({ job: `other-${job}`, ...posted }));

  await run([...nine, { job: 'job-9' }, 1_000, ...others]);

  expect(log.filter((line) => line.includes('limit'))).toEqual(['0 503 limit job-8', '1000 503 limit other-job-8']);
  expect(log.filter((line) => line.includes(' 200 '))).toHaveLength(17);
  expect(errors[0]).toMatchObject({
    error: { code: 'signature', retryable: true, message: expect.stringContaining('"maxJobsPerSignature"') },
    at: { phase: 'guard', status: 503, event: { jobId: 'job-8' } },
  });
});
