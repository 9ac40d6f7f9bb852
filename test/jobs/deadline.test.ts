// When a wait ends: with its deadline, whatever stalls and whatever becomes of the clock.

import { HostedClient, HostedPollTimeoutError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { createTestClock, failWhenClockIsIdle } from './idle-clock.js';
import { type Asked, passed, pending, type Reply, serviceOf, signedAt } from './job-service.js';
import { outcomeOf, start, steady } from './started-job.js';

failWhenClockIsIdle();

const job = { userId: 'user-1', jobId: 'job-1' };
const hour = 3_600_000;

/** Responds to `first` polls, and stalls after that. */
const stallsAfter = (first: number) => (_asked: Asked, before: readonly Asked[]) =>
  before.length < first ? pending : 'stall';

/** By `clock`, when a wait was over. */
async function endOf(wait: Promise<unknown>, clock: ReturnType<typeof createTestClock>) {
  const startedAt = clock.now();
  let endedAt = Number.NaN;
  const ended = rejection(wait).finally(() => {
    endedAt = clock.now();
  });
  await clock.advance(2 * hour);
  return { error: await ended, afterMs: endedAt - startedAt };
}

test.each([
  [1_000, 0],
  [1_000, 1],
  [40, 0],
  [10_000, 2],
  [45_000, 1],
  [600_000, 0],
  [600_000, 7],
])('a wait of %i ms ends within 50 ms of it when the service stalls after %i polls', async (deadlineMs, responses) => {
  const { client, clock } = serviceOf(stallsAfter(responses));

  const { error, afterMs } = await endOf(
    client.jobs.waitForCompletion(job, { deadlineMs, maxConsecutiveErrors: 1_000 }),
    clock,
  );

  expect(error).toBeInstanceOf(HostedPollTimeoutError);
  expect((error as HostedPollTimeoutError).lastStatus?.state).toBe(responses > 0 ? 'pending' : undefined);
  expect(Math.abs(afterMs - deadlineMs)).toBeLessThanOrEqual(50);
});

test('each of many waits ends within 50 ms of its own deadline, from its admission', async () => {
  const { client, clock } = serviceOf(stallsAfter(0));
  const jobs = Array.from({ length: 30 }, (_, index) => ({ userId: 'user', jobId: `job-${index}` }));
  const startedAt = clock.now();

  const ends = (async () => {
    const seen: [string | undefined, number][] = [];
    for await (const { error } of client.jobs.waitForAll(jobs, { deadlineMs: 1_000, concurrency: 10 })) {
      seen.push([error?.code, clock.now() - startedAt]);
    }
    return seen;
  })();
  await clock.advance(10_000);

  const seen = await ends;
  expect(seen.map(([code]) => code)).toEqual(Array(30).fill('poll_timeout'));
  // Ten at a time: a stalled poll gives its place to the next job at its deadline.
  for (const [index, [, at]] of seen.entries()) {
    expect(Math.abs(at - 1_000 * (1 + Math.floor(index / 10)))).toBeLessThanOrEqual(50);
  }
});

// The last poll of the first job was planned for 10,000 ms, or the one before it for 9,500 ms.
test.each([9_900, 9_000])(
  'a wait ends with its deadline although another holds every request from %i ms',
  async (at) => {
    const { client, clock } = serviceOf((asked) => (asked.jobId === 'job-1' ? pending : 'stall'));
    const startedAt = clock.now();
    async function* jobs() {
      yield { userId: 'user', jobId: 'job-1' };
      await clock.sleep?.(at);
      yield { userId: 'user', jobId: 'job-2' };
    }
    const options = { ...steady, deadlineMs: 10_000, concurrency: 1 };

    const ends = (async () => {
      const seen: [string, number][] = [];
      for await (const { job, error } of client.jobs.waitForAll(jobs(), options)) {
        seen.push([`${job.jobId} ${error?.code}`, clock.now() - startedAt]);
      }
      return seen;
    })();
    await clock.advance(60_000);

    const seen = await ends;
    expect(seen.map(([what]) => what)).toEqual(['job-1 poll_timeout', 'job-2 poll_timeout']);
    for (const [index, [, endedAt]] of seen.entries()) {
      expect(Math.abs(endedAt - 10_000 - (index === 0 ? 0 : at))).toBeLessThanOrEqual(50);
    }
  },
);

test.each([
  ['', {}],
  [', also where the time limit of the poll ends with it', { totalTimeoutMs: 3_000 }],
])('a deadline cuts off a poll though its transient error would have been one too many%s', async (_also, limit) => {
  const { client, clock } = serviceOf(stallsAfter(1));

  const { error, afterMs } = await endOf(
    client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 5_000, maxConsecutiveErrors: 0, ...limit }),
    clock,
  );

  expect(error).toMatchObject({ code: 'poll_timeout', lastStatus: { state: 'pending' } });
  expect(afterMs).toBe(5_000);
});

test('a wait whose last status comes at its deadline has ended by then, although the caller handles it for longer', async () => {
  const { client, clock, job } = start();
  const states: string[] = [];

  const watched = (async () => {
    for await (const { state } of client.jobs.watch(job, { ...steady, deadlineMs: 1_000 })) {
      states.push(state);
      if (states.length === 2) await clock.sleep?.(10_000);
    }
  })();
  const ended = rejection(watched);
  await clock.advance(60_000);

  expect(states).toEqual(['pending', 'pending']);
  expect(await ended).toMatchObject({ code: 'poll_timeout', elapsedMs: 1_000 });
});

test('a poll that stalls no longer than timeoutMs is one transient error of a wait that goes on', async () => {
  const { client, clock, polledAt } = serviceOf((asked, before) => (before.length < 1 ? 'stall' : passed(asked)));

  const waited = client.jobs.waitForCompletion(job, { timeoutMs: 3_000, jitter: false });
  await clock.advance(60_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, 5_000]);
});

test('the last poll begins so early that a service of steady latency responds in time', async () => {
  const completeAt = 9_000;
  const reply = (asked: Asked): Reply => (asked.at >= completeAt - 2_000 ? passed(asked) : pending);
  const { client, clock, polledAt } = serviceOf(reply, { latencyMs: 500 });

  const waited = client.jobs.waitForCompletion(job, { deadlineMs: 9_000, minDelayMs: 30_000, maxDelayMs: 30_000 });
  await clock.advance(9_000);

  expect((await waited).state).toBe('succeeded');
  expect(polledAt()).toEqual([0, 8_000]);
});

test('a Retry-After of more than a minute moves the next poll of a wait as far as it asks', async () => {
  const busy = () => Response.json({}, { status: 503, headers: { 'retry-after': '200' } });
  const { client, clock, polledAt } = serviceOf((asked, before) => (before.length < 1 ? busy() : passed(asked)));

  const waited = client.jobs.waitForCompletion(job);
  await clock.advance(199_999);
  const early = polledAt();
  await clock.advance(1);

  expect((await waited).state).toBe('succeeded');
  expect(early).toEqual([0]);
  expect(polledAt()).toEqual([0, 200_000]);
});

test.each(['3601', '4000000', '9999999999'])(
  'a Retry-After of %s s holds a wait for an hour at most',
  async (seconds) => {
    const busy = () => Response.json({}, { status: 503, headers: { 'retry-after': seconds } });
    const { client, clock, polledAt } = serviceOf((asked, before) => (before.length < 1 ? busy() : passed(asked)));

    const waited = client.jobs.waitForCompletion(job, { deadlineMs: Number.POSITIVE_INFINITY });
    await clock.advance(3_600_000);

    expect((await waited).state).toBe('succeeded');
    expect(polledAt()).toEqual([0, 3_600_000]);
  },
);

/** Runs by fake timers of the platform, on which Date may be set. */
function fakePlatform() {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

const platform = { now: () => Date.now() };

test.each([
  ['back', -hour],
  ['ahead', hour],
])('the platform’s clock stepped an hour %s changes neither the polls nor the end of waits', async (_way, step) => {
  fakePlatform();
  // Seen by the service's own stopwatch, and signed for its own time: only the client's machine is off.
  const beganAt = performance.now();
  const startedAt = Date.now();
  const seen: number[] = [];
  const reply = () => {
    const passedMs = Math.round(performance.now() - beganAt);
    seen.push(passedMs);
    return Response.json(signedAt(startedAt + passedMs - 7, pending));
  };
  const { client } = serviceOf(reply, { clock: platform, maxResponseAgeMs: false, byPlatform: true });
  const options = { jitter: false, deadlineMs: 60_000 } as const;

  const one = rejection(client.jobs.waitForCompletion(job, options));
  const many = (async () => {
    for await (const { error } of client.jobs.waitForAll([job], options)) return error;
    return undefined;
  })();
  await vi.advanceTimersByTimeAsync(7_000);
  vi.setSystemTime(Date.now() + step);
  await vi.advanceTimersByTimeAsync(53_000);

  expect(await one).toMatchObject({ code: 'poll_timeout', elapsedMs: 60_000 });
  expect(await many).toMatchObject({ code: 'poll_timeout', elapsedMs: 60_000 });
  expect(seen.filter((_at, index) => index % 2 === 0)).toEqual(seen.filter((_at, index) => index % 2 === 1));
  expect(seen.filter((_at, index) => index % 2 === 0)).toEqual([
    0, 2_000, 5_000, 9_500, 16_250, 26_375, 41_563, 60_000,
  ]);
});

test('a given clock that is stepped back delays neither the polls nor the end', async () => {
  const real = createTestClock();
  let steppedBackMs = 0;
  const clock = { now: () => real.now() - steppedBackMs, sleep: real.sleep?.bind(real) };
  const seen: number[] = [];
  const startedAt = real.now();
  const { client } = serviceOf(
    () => {
      seen.push(real.now() - startedAt);
      return Response.json(signedAt(real.now() - 7, pending));
    },
    { clock: clock as typeof real, maxResponseAgeMs: false },
  );

  const ended = rejection(client.jobs.waitForCompletion(job, { jitter: false, deadlineMs: 60_000 }));
  await real.advance(7_000);
  steppedBackMs = hour;
  await real.advance(53_000);

  expect(await ended).toMatchObject({ code: 'poll_timeout' });
  expect(seen).toEqual([0, 2_000, 5_000, 9_500, 16_250, 26_375, 41_563, 60_000]);
});

test('a wait that begins at a fraction of a millisecond polls as often, and ends as late', async () => {
  const { client, clock, job, polledAt, sleeping } = start();
  await clock.advance(1_000.7);

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 }));
  const outcome = outcomeOf(failed);
  await clock.advance(9_999);
  const before = outcome.state;
  await clock.advance(1);

  expect(before).toBe('pending');
  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: 10_000 });
  expect(polledAt().map(Math.floor)).toEqual([1_000, 3_000, 6_000, 10_500, 11_000]);
  expect(sleeping()).toBe(0);
});

test.each([
  [9_000, [0, 4_000]],
  [6_000, [0]],
])('no poll of a wait of %i ms begins when too little time is left for its response', async (deadlineMs, polledAt) => {
  const clock = createTestClock();
  const startedAt = clock.now();
  const { fetch, sandbox } = createMockService({ clock, latencyMs: 4_000 });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs }));
  await clock.advance(20_000);

  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: deadlineMs });
  expect(sandbox.requests.map(({ at }) => at - startedAt)).toEqual(polledAt);
});

test('a wait that another process begins with the job of a timeout finds the completion', async () => {
  const { client, clock, sandbox, fetch, job, complete } = start();
  const another = new HostedClient({ ...sandbox.clientOptions, fetch, clock });

  const failed = rejection(client.jobs.waitForCompletion(job, { ...steady, deadlineMs: 10_000 }));
  await clock.advance(10_000);
  const { job: token } = (await failed) as HostedPollTimeoutError;
  await clock.advance(86_400_000);
  const resumed = another.jobs.waitForCompletion(JSON.parse(JSON.stringify(token)), steady);
  await clock.advance(5_000);
  complete();
  await clock.advance(5_000);

  expect(await resumed).toMatchObject({ ...job, state: 'succeeded' });
});
