// Waiting for one job: responses and jobs that cannot be used, and unknown codes.

import { HostedPollTimeoutError, HostedValidationError, type JobStatus } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { failWhenClockIsIdle } from './idle-clock.js';
import { serviceOf } from './job-service.js';
import { start, steady } from './started-job.js';

failWhenClockIsIdle();

const job = { userId: 'user-4711', jobId: 'job-0815' };

afterEach(() => {
  vi.restoreAllMocks();
});

failOnStrayRejections();

// What ends it at once ------------------------------------------------------------

test.each([
  ['null', null],
  ['nothing', undefined],
  ['a text', 'job-0815'],
  ['a blank user id', { userId: ' ', jobId: 'job-0815' }],
  ['an empty job id', { userId: 'user-4711', jobId: '' }],
  ['a job id that is a number', { userId: 'user-4711', jobId: 815 }],
  ['no job id', { userId: 'user-4711' }],
])('a job that is %s ends a wait at once, with nothing sent', async (_what, job) => {
  const { client, clock, polledAt, sleeping } = start();

  const waited = rejection(client.jobs.waitForCompletion(job as never));
  const watched = rejection(
    client.jobs
      .watch(job as never)
      [Symbol.asyncIterator]()
      .next() as Promise<unknown>,
  );
  await clock.advance(0);

  for (const error of [await waited, await watched]) {
    expect(error).toBeInstanceOf(HostedValidationError);
    expect(error).toMatchObject({ code: 'validation' });
  }
  expect(polledAt()).toEqual([]);
  expect(sleeping()).toBe(0);
});

// Unknown codes ----------------------------------------------------------------

const oddCodes: readonly [string, object][] = [
  ['an unknown code', { code: '9999' }],
  ['no code', {}],
  ['an unknown code and a claim of success', { code: '9999', job_success: true }],
];

test.each(oddCodes)(
  '%s of a pending job is polled at the usual times and never looks final',
  async (_what, members) => {
    const { client, clock, asked } = serviceOf(() => ({ job_complete: false, ...members }));
    const statuses: JobStatus[] = [];

    const watched = rejection(
      (async () => {
        const options = { ...steady, deadlineMs: 3_600_000 };
        for await (const status of client.jobs.watch(job, options)) statuses.push(status);
      })(),
    );
    await clock.advance(3_600_000);

    expect(await watched).toBeInstanceOf(HostedPollTimeoutError);
    // Seven polls in the first minute, then one in 30 seconds.
    expect(asked.length).toBeGreaterThan(110);
    expect(asked.length).toBeLessThan(130);
    expect(new Set(statuses.map(({ state }) => state))).toEqual(new Set(['pending']));
  },
);

test.each(oddCodes)('%s of a job that is complete does not keep it waiting', async (_what, members) => {
  const { client, clock, asked } = serviceOf(() => ({ job_complete: true, ...members, job_success: false }));

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(0);

  expect((await waited).state).toBe('failed');
  expect(asked).toHaveLength(1);
});
