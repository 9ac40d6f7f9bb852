// How much work callbacks with one signed time can cause, and how many of them are remembered.

import { expect, test } from 'vitest';
import { type Admitted, createAdmission } from '../../src/callbacks/admission.js';
import type { VerifiedCallback } from '../../src/callbacks/read-callback.js';

const leaseMs = 300_000;

interface Named {
  readonly timestamp?: string;
  readonly job?: string;
  readonly body?: string;
  readonly maxJobs?: number;
}

/** An admission on a clock that the test moves. */
function start() {
  let elapsed = 0;
  const admission = createAdmission(() => elapsed);
  const admit = ({ timestamp = 'time', job = 'job', body = 'body', maxJobs = 20_000 }: Named = {}) => {
    const event = { userId: 'user', jobId: job };
    return admission.admit({ event, timestamp, bodyDigest: body } as VerifiedCallback, maxJobs);
  };
  /** Admits a callback, takes its right, sends a request, and gives the right back. */
  const confirm = async (named: Named = {}): Promise<boolean> => {
    const admitted = await admit(named);
    const isTaken = admitted?.take(leaseMs) === true;
    if (isTaken) admitted?.recordRequest();
    admitted?.release();
    return isTaken;
  };
  const advance = (ms: number) => {
    elapsed += ms;
  };
  return { admit, confirm, advance };
}

const admittedBy = (admitted: Admitted | null): Admitted => {
  if (admitted === null) throw new Error('expected to be admitted');
  return admitted;
};

test.each<[string, number]>([
  ['2026-01-02T03:04:05.678Z', 8],
  ['1767323045678', 8],
  ['2026-01-02T03:04:05Z', 1_000],
  ['1767323045', 1_000],
])('without a limit of the caller, the signed time %s may name %i jobs', async (timestamp, most) => {
  const admission = createAdmission(() => 0);
  const admit = (jobId: string) =>
    admission.admit({ event: { userId: 'user', jobId }, timestamp, bodyDigest: 'body' } as VerifiedCallback, undefined);

  const admitted = [];
  for (let job = 0; job <= most; job++) admitted.push((await admit(`job-${job}`)) !== null);

  expect(admitted).toEqual([...Array(most).fill(true), false]);
  expect(await admit('job-0')).not.toBeNull();
});

test('only one callback of a job has the right to be confirmed, until it gives the right back', async () => {
  const { admit, advance } = start();
  const first = admittedBy(await admit());
  const second = admittedBy(await admit({ body: 'other' }));

  expect([first.take(leaseMs), second.take(leaseMs)]).toEqual([true, false]);
  second.release();
  expect(second.take(leaseMs)).toBe(false);
  first.release();
  advance(1_000);

  expect(second.take(leaseMs)).toBe(true);
});

test('a callback that ends after its lease does not take the right from the callback that has it', async () => {
  const { admit, advance } = start();
  const late = admittedBy(await admit());
  late.take(1_000);
  advance(1_000);
  const current = admittedBy(await admit());
  expect(current.take(leaseMs)).toBe(true);

  late.release();

  expect(admittedBy(await admit()).take(leaseMs)).toBe(false);
  current.release();
  expect(admittedBy(await admit()).take(leaseMs)).toBe(true);
});

test('a callback is confirmed once more at once, and then once a second', async () => {
  const { confirm, advance } = start();

  const atOnce = [await confirm(), await confirm(), await confirm()];
  advance(999);
  const early = await confirm();
  advance(1);

  expect([...atOnce, early, await confirm(), await confirm()]).toEqual([true, true, false, false, true, false]);
});

test('no callback is confirmed once more at once if its signed time has two bodies', async () => {
  const { confirm } = start();

  expect([await confirm(), await confirm({ body: 'other' }), await confirm()]).toEqual([true, false, false]);
});

test('of each job, 16 bodies use the guard, however many there are', async () => {
  const { admit } = start();
  const bodies = Array.from({ length: 20 }, (_, at) => `body-${at}`);
  for (const body of bodies) await admit({ body });

  const uses = [];
  for (const body of bodies) uses.push(admittedBy(await admit({ body })).usesGuard);

  expect(uses).toEqual(bodies.map((_, at) => at < 16));
  expect(admittedBy(await admit({ job: 'other', body: 'body-19' })).usesGuard).toBe(true);
});

test('10,000 jobs are remembered, and with one more, those of the time that was used longest ago are not', async () => {
  const { admit } = start();
  await admit({ timestamp: 'first', job: 'a' });
  // Two jobs of the second time make room for two more.
  for (const job of ['a', 'b']) await admit({ timestamp: 'second', job });
  // The first time is used again, so that the second one is the oldest.
  await admit({ timestamp: 'first', job: 'a' });
  for (let job = 0; job < 9_999; job++) await admit({ timestamp: 'third', job: `job-${job}` });

  // A time of one job that is remembered names no other job.
  expect(await admit({ timestamp: 'first', job: 'b', maxJobs: 1 })).toBeNull();
  expect(await admit({ timestamp: 'second', job: 'c', maxJobs: 1 })).not.toBeNull();
});

test('the signed time in use is not forgotten, however many jobs it names', async () => {
  const { admit } = start();
  for (let job = 0; job <= 10_000; job++) await admit({ job: `job-${job}` });

  expect(await admit({ job: 'another', maxJobs: 10_001 })).toBeNull();
});
