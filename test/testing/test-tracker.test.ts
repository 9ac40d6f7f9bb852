// The tracker for tests, beyond what every tracker promises.

import { setTimeout as sleep } from 'node:timers/promises';
import { HostedClient, type HostedClientOptions } from 'hosted-client';
import { createMockService, createTestClock, createTestTracker } from 'hosted-client/testing';
import type { Completion, TrackerOptions } from 'hosted-client/tracking';
import { afterEach, expect, test, vi } from 'vitest';

const dayMs = 86_400_000;

afterEach(() => {
  vi.restoreAllMocks();
});

function createKit(options: Partial<TrackerOptions> = {}) {
  const clock = createTestClock();
  const { sandbox, fetch } = createMockService({ clock });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch } as HostedClientOptions);
  const tracker = createTestTracker({ client, clock, ...options });
  return { clock, service: sandbox, jobs: sandbox.jobs, requests: sandbox.requests, tracker };
}

test('thirty days of polls and eight retries create no timer of the platform', async () => {
  const { clock, jobs, tracker } = createKit({ deadlineMs: 40 * dayMs });
  const attempts: number[] = [];
  await tracker.onCompletion(({ attempt }) => {
    attempts.push(attempt);
    if (attempt <= 8) throw new Error('not today');
  });
  const job = jobs.start();
  await tracker.track(job);
  const timers = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'setInterval')];

  await clock.advance(3_600_000);
  // As docs/tracking.md says.
  expect(await tracker.get(job)).toMatchObject({ polls: 17 });
  await clock.advance(29 * dayMs);
  // The longest wait is a quarter of an hour, and the middle one three quarters of this.
  const { polls = 0 } = (await tracker.get(job)) ?? {};
  expect(polls).toBeGreaterThan((29 * dayMs) / 900_000);
  expect(polls).toBeLessThan((29 * dayMs) / 450_000);
  jobs.complete(job, 'approved');
  await clock.advance(dayMs);
  await tracker.stop();

  expect(attempts).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(timers.map((timer) => timer.mock.calls)).toEqual([[], []]);
});

test('drain() hands over what is due now, and waits for handlers that use something real', async () => {
  const { clock, jobs, requests, tracker } = createKit();
  const handled: unknown[] = [];
  await tracker.onCompletion(async ({ context, attempt }) => {
    await sleep(20);
    handled.push([context, attempt]);
    if (context === 'fails') throw new Error('not today');
  });
  const pending = jobs.start();
  const [one, other] = [jobs.start(), jobs.start()];
  for (const job of [one, other]) jobs.complete(job, 'approved');
  await tracker.track([pending, { ...one, context: 'works' }, { ...other, context: 'fails' }]);
  const startedAt = clock.now();

  await tracker.drain();

  expect(handled.sort()).toEqual([
    ['fails', 1],
    ['works', 1],
  ]);
  // Five requests, of which the default rate allows ten a second.
  expect(requests).toHaveLength(5);
  expect(clock.now() - startedAt).toBeLessThan(1_000);
  expect((await tracker.get(pending))?.polls).toBe(1);
  await tracker.drain();
  expect(handled).toHaveLength(2);
  await clock.advance(2_000);
  await tracker.drain();
  expect(handled[2]).toEqual(['fails', 2]);
});

test('drain() waits for a handler no longer than the tracker does', async () => {
  const { clock, jobs, tracker } = createKit({ handlerTimeoutMs: 1_000 });
  const attempts: number[] = [];
  await tracker.onCompletion(({ attempt }) => {
    attempts.push(attempt);
    return attempt === 1 ? new Promise(() => {}) : undefined;
  });
  const job = jobs.start();
  jobs.complete(job, 'approved');
  await tracker.track(job);
  const draining = tracker.drain();

  await clock.advance(5_000);
  await draining;
  await tracker.drain();

  expect(attempts).toEqual([1, 2]);
  expect(await tracker.get(job)).toMatchObject({ state: 'done' });
});

test('drain() of a tracker that does not work, or not any more, sends nothing', async () => {
  const { clock, jobs, requests, tracker } = createKit();
  await tracker.track(jobs.start());

  await tracker.drain();
  await tracker.stop();
  await tracker.drain();

  expect(requests).toEqual([]);
  expect(clock.now()).toBe(createTestClock().now());
});

test('a deadline is compared with the test clock', async () => {
  const { clock, tracker } = createKit();
  const job = { userId: 'u', jobId: 'j' };

  await tracker.track({ ...job, deadline: new Date(clock.now() + 1) });
  const past = tracker.track({ ...job, deadline: new Date(clock.now()) });

  await expect(past).rejects.toMatchObject({ issues: [{ path: 'deadline' }] });
});

test('jobs are forgotten a day after retentionMs at the latest', async () => {
  const { clock, jobs, tracker } = createKit({ retentionMs: dayMs });
  const job = jobs.start();
  jobs.complete(job, 'approved');
  await tracker.track(job);
  await tracker.onCompletion(() => {});
  await tracker.drain();

  await clock.advance(dayMs);
  expect(await tracker.get(job)).toMatchObject({ state: 'done' });
  await clock.advance(dayMs);

  expect(await tracker.get(job)).toBe(null);
});

test('an outage at its deadline expires no job', async () => {
  const { clock, jobs, service, tracker } = createKit({ deadlineMs: dayMs });
  const outcomes: unknown[] = [];
  await tracker.onCompletion(({ job, outcome }) => void outcomes.push([job?.jobId, outcome]));
  const job = jobs.start();
  await tracker.track([
    job,
    { userId: 'nobody', jobId: 'unknown' },
    { ...jobs.start(), deadline: new Date('2027-01-01') },
  ]);
  await clock.advance(dayMs - 60_000);
  service.failNext('jobs.status', { kind: 'status', status: 503 }, 10_000);

  await clock.advance(dayMs);
  expect(outcomes).toEqual([]);
  expect(await tracker.stats()).toMatchObject({ tracking: 3, problem: { code: 'server' } });
  service.reset();
  jobs.complete(jobs.start(job), 'approved');
  await clock.advance(900_000);

  expect(outcomes).toContainEqual([job.jobId, 'completed']);
});

test('createTestTracker() names every invalid option, and takes no place of tables', () => {
  const { sandbox } = createMockService();
  const client = new HostedClient(sandbox.clientOptions as HostedClientOptions);
  const given = { client, clock: { now: () => 0 }, folder: 'memory://', maxAttempts: 0, minDelayMs: 10, maxDelayMs: 5 };

  const create = () => createTestTracker(given as never);

  expect(create).toThrow(expect.objectContaining({ code: 'config' }));
  try {
    create();
  } catch (error) {
    const { issues } = error as { issues: readonly { path: string }[] };
    expect(issues.map(({ path }) => path).sort()).toEqual(['clock', 'folder', 'maxAttempts', 'minDelayMs']);
  }
});

test('the waits between deliveries double from minRetryMs, up to maxRetryMs', async () => {
  const { clock, jobs, tracker } = createKit({ minRetryMs: 1_000, maxRetryMs: 8_000 });
  const calledAt: number[] = [];
  await tracker.onCompletion(() => {
    calledAt.push(clock.now());
    throw new Error('not today');
  });
  const job = jobs.start();
  jobs.complete(job, 'approved');
  await tracker.track(job);

  await clock.advance(30_000);

  // The middle of the random wait is half as much again as the shortest one.
  const waits = calledAt.slice(1).map((at, index) => at - (calledAt[index] ?? 0));
  expect(waits).toEqual([1_500, 3_000, 6_000, 8_000, 8_000]);
});

test('handlers that fail delay no poll', async () => {
  const { clock, jobs, tracker } = createKit({ maxRequestsPerSecond: 10, minRetryMs: 1_000 });
  await tracker.onCompletion(({ attempt }) => {
    if (attempt < 5) throw new Error('not yet');
  });
  const followed = Array.from({ length: 60 }, () => jobs.start());
  await tracker.track(followed);
  await clock.advance(60_000);
  for (const job of followed) {
    jobs.complete(job, 'approved');
    await clock.advance(150);
  }

  // 60 polls and 240 deliveries share ten requests a second, and began nine seconds ago.
  await clock.advance(40_000);

  const states = await Promise.all(followed.map(async (job) => (await tracker.get(job))?.state));
  expect(states.filter((state) => state === 'tracking')).toEqual([]);
  await Promise.all([tracker.stop(), clock.advance(60_000)]);
});

test.each(['work()', 'stop()'])('a handler that runs when %s ends the work has 20 seconds by default', async (what) => {
  const { clock, jobs, tracker } = createKit();
  const job = jobs.start();
  jobs.complete(job, 'approved');
  await tracker.track(job);
  let signal: AbortSignal | undefined;
  const handler = (completion: Completion) => {
    signal = completion.signal;
    return new Promise<void>(() => {});
  };
  const working = what === 'work()' ? tracker.work({ handler, forMs: 1_000 }) : tracker.onCompletion(handler);
  await clock.advance(1_000);
  const ended = what === 'work()' ? working : tracker.stop();

  await clock.advance(19_999);
  expect(signal?.aborted).toBe(false);
  await clock.advance(1);

  expect(signal?.aborted).toBe(true);
  await ended;
});

test('a job of a link is missing only if two polls in a row show it', async () => {
  const { clock, service, jobs, tracker } = createKit();
  service.links.seed(1);
  const [link] = service.links.all() as readonly { readonly ref_id: string }[];
  const refId = link?.ref_id ?? '';
  jobs.complete(jobs.start({ linkRefId: refId }), 'approved');
  const outcomes: string[] = [];
  await tracker.onCompletion(({ outcome }) => void outcomes.push(outcome));

  await tracker.trackLink(refId);
  await tracker.drain();
  expect(outcomes).toEqual([]);

  await clock.advance(10_000);
  expect(outcomes).toEqual(['unheard']);
});

test('a job that several slow polls find completed ends once', async () => {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const clock = createTestClock();
  const service = createMockService({ clock });
  let sent = 0;
  const client = new HostedClient({
    ...service.sandbox.clientOptions,
    fetch: async (url, init) => {
      sent += 1;
      await opened;
      return service.fetch(url, init);
    },
  });
  const ended: unknown[] = [];
  const onEvent: TrackerOptions['onEvent'] = (event) => {
    if (event.type === 'ended') ended.push(event);
  };
  const tracker = createTestTracker({ client, clock, onEvent });
  const handler = vi.fn();
  await tracker.onCompletion(handler);
  const job = service.sandbox.jobs.start();
  await tracker.track(job);
  service.sandbox.jobs.complete(job, 'approved');
  for (let polls = 0; polls < 3; polls += 1) await clock.advance(5_000);
  expect(sent).toBeGreaterThan(1);

  open();
  await clock.advance(2_000);
  await tracker.drain();

  expect(ended).toEqual([{ type: 'ended', outcome: 'completed' }]);
  expect(handler).toHaveBeenCalledTimes(1);
  await tracker.stop();
});
