// What a wait tolerates, and what ends it: unreadable responses, older ones, a gateway's 404, our own signatures.

import type { WaitOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection, sign } from '../support/fake-fetch.js';
import { createTestClock, failWhenClockIsIdle } from './idle-clock.js';
import { type Asked, passed, pending, type Reply, serviceOf, signedAt } from './job-service.js';

failWhenClockIsIdle();

const job = { userId: 'user-1', jobId: 'job-1' };
const steady = { jitter: false } as const;

const page = () => new Response('<!doctype html><title>Sign in</title>', { headers: { 'content-type': 'text/html' } });
const gateways404 = () => new Response('<h1>404 Not Found</h1>', { status: 404 });
/** Signed an hour before the service's time. */
const stale = (asked: Asked) =>
  Response.json(signedAt(Date.parse(asked.timestamp) - 3_600_000, { job_complete: false }));

/** Replies in turn, the last one again and again. */
const inTurn =
  (...replies: readonly ((asked: Asked) => Reply)[]) =>
  (asked: Asked, before: readonly Asked[]) =>
    (replies[Math.min(before.length, replies.length - 1)] as (asked: Asked) => Reply)(asked);

test.each<[string, (asked: Asked) => Reply]>([
  ['a page in HTML with status 200', page],
  ['a stale response', stale],
  ['a gateway’s 404', gateways404],
])('%s is one transient error of a wait whose job was seen', async (_what, reply) => {
  const { client, clock, polledAt } = serviceOf(inTurn(() => pending, reply, reply, reply, passed));

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(60_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, 2_000, 5_000, 9_500, 16_250]);
});

test.each<[string, (asked: Asked) => Reply, object]>([
  ['a page in HTML with status 200', page, { code: 'response', reason: 'malformed' }],
  ['a stale response', stale, { code: 'signature', reason: 'stale' }],
  ['a gateway’s 404', gateways404, { code: 'not_found', serviceCode: null }],
])('%s that comes too often in a row ends a wait with its own error', async (_what, reply, expected) => {
  const { client, clock, polledAt } = serviceOf(inTurn(() => pending, reply));

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, maxConsecutiveErrors: 1 }));
  await clock.advance(60_000);

  expect(await failed).toMatchObject(expected);
  expect(polledAt()).toEqual([0, 2_000, 5_000]);
});

test('Retry-After is obeyed for a job that is not known yet', async () => {
  const unknown = () =>
    Response.json({ error: 'Job not found', code: '2304' }, { status: 404, headers: { 'retry-after': '40' } });
  const { client, clock, polledAt } = serviceOf(inTurn(unknown, passed));

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(60_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, 40_000]);
});

test('a 404 of a job that was never seen ends a wait after the grace, whoever sent it', async () => {
  const { client, clock } = serviceOf(gateways404);

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, notFoundGraceMs: 5_000 }));
  await clock.advance(5_000);

  expect(await failed).toMatchObject({ code: 'not_found', serviceCode: null });
});

/** A status that was signed so many ms before the first one of its wait. */
const signedBefore = (ms: number, record: (asked: Asked) => object) => (asked: Asked, before: readonly Asked[]) => {
  const first = Date.parse((before[0] ?? asked).timestamp);
  return Response.json(signedAt(first - 7 - ms, record(asked)));
};
const stillPending = () => pending;

test.each([
  [2_000, [0, 2_000]],
  [2_001, [0, 2_000, 5_000]],
])('a status that was signed %d ms before the newest of its wait ends it or not: polls at %j', async (ms, polls) => {
  const replies = [stillPending, signedBefore(ms, passed), passed];
  const { client, clock, polledAt } = serviceOf((asked, before) => replies[before.length]?.(asked, before) ?? pending);

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(10_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual(polls);
});

test('statuses that are each a little older do not lead to one that is much older', async () => {
  const replies = [0, 1_500, 3_000].map((ms) => signedBefore(ms, stillPending));
  const { client, clock } = serviceOf((asked, before) => replies[before.length]?.(asked, before) ?? passed(asked));
  const reasons: unknown[] = [];

  const onPoll: WaitOptions['onPoll'] = ({ error }) => reasons.push(error && 'reason' in error && error.reason);
  const waited = client.jobs.waitForCompletion(job, { ...steady, onPoll });
  await clock.advance(20_000);

  expect((await waited).state).toBe('succeeded');
  expect(reasons).toEqual([null, null, 'stale', null]);
});

test('an older status that comes too often in a row ends a wait, and watch() yields none of them', async () => {
  const replies = [stillPending, stillPending];
  // The second status was signed two seconds after the first one.
  const older = signedBefore(1, passed);
  const { client, clock } = serviceOf((asked, before) => replies[before.length]?.() ?? older(asked, before));
  const seen: string[] = [];

  const failed = rejection(
    (async () => {
      for await (const { state } of client.jobs.watch(job, steady)) seen.push(state);
    })(),
  );
  await clock.advance(60_000);

  expect(await failed).toMatchObject({
    code: 'signature',
    reason: 'stale',
    operation: 'jobs.status',
    outcome: 'answered',
    attempts: 1,
    message: expect.stringContaining('more than two seconds before an earlier response of this wait'),
  });
  expect(seen).toEqual(['pending', 'pending']);
});

test('a newer status of one job makes none of another job stale, and each wait begins anew', async () => {
  const { client, clock } = serviceOf((asked, before) => {
    if (asked.jobId === 'job-1') return before.length === 0 ? pending : passed(asked);
    return signedBefore(60_000, passed)(asked, before);
  });
  const ends: unknown[] = [];

  const waited = (async () => {
    const jobs = [job, { userId: 'user-1', jobId: 'job-2' }];
    for await (const { job: ended, status } of client.jobs.waitForAll(jobs, { ...steady, concurrency: 1 })) {
      ends.push([ended.jobId, status?.state]);
    }
    ends.push((await client.jobs.waitForCompletion({ userId: 'user-1', jobId: 'job-2' })).state);
  })();
  await clock.advance(10_000);
  await waited;

  expect(ends).toEqual([['job-2', 'succeeded'], ['job-1', 'succeeded'], 'succeeded']);
});

test('statuses whose timestamps are no dates have no order', async () => {
  const { client, clock } = serviceOf(
    (asked, before) => {
      const timestamp = `poll ${before.length}`;
      const record = before.length < 2 ? pending : passed(asked);
      return Response.json({ ...record, timestamp, sec_key: sign(timestamp) });
    },
    { maxResponseAgeMs: false },
  );

  const waited = client.jobs.waitForCompletion(job, steady);
  await clock.advance(10_000);

  expect(await waited).toMatchObject({ state: 'succeeded', signedAt: null });
});

test('where responses repeat our timestamp, a clock that is set back makes no status stale', async () => {
  const clock = createTestClock();
  let setBackMs = 0;
  const { client } = serviceOf(
    (asked, before) => {
      const record = before.length < 2 ? pending : passed(asked);
      return Response.json({ ...record, timestamp: asked.timestamp, sec_key: sign(asked.timestamp) });
    },
    {
      clock: { ...clock, now: () => clock.now() - setBackMs },
      wire: { echoesTimestamp: true },
    },
  );

  const onPoll = () => {
    setBackMs = 600_000;
  };
  const waited = client.jobs.waitForCompletion(job, { ...steady, maxConsecutiveErrors: 0, onPoll });
  await clock.advance(10_000);

  expect((await waited).state).toBe('succeeded');
});
