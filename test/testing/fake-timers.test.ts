// The kit under a test runner's fake timers, which stop the platform's clock and nothing else.

import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

function start(options: Parameters<typeof createMockService>[0] = {}) {
  const service = createMockService(options);
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  return { client, ...service.sandbox };
}

const steady = { jitter: false } as const;

test.each(['hmac-sha256', 'ed25519'] as const)(
  'with %s a call gets a response, with no time passing',
  async (scheme) => {
    const { client, links, jobs } = start({ scheme });
    links.seed(3);
    const job = jobs.start();
    let listed: unknown;
    let state: unknown;

    void client.links.list().then(({ meta }) => {
      listed = meta.totalCount;
    });
    void client.jobs.status(job).then((status) => {
      state = status.state;
    });
    await vi.advanceTimersByTimeAsync(0);

    expect([listed, state]).toEqual([3, 'pending']);
  },
);

test('a wait polls when its time has come, and ends when its job has', async () => {
  const { client, jobs, requests } = start();
  const startedAt = Date.now();
  const job = jobs.start();

  const waited = client.jobs.waitForCompletion(job, steady);
  await vi.advanceTimersByTimeAsync(10_000);
  jobs.complete(job, 'approved');
  await vi.advanceTimersByTimeAsync(10_000);

  expect((await waited).state).toBe('succeeded');
  // 2 s, and half as much again each time.
  expect(requests.map(({ at }) => at - startedAt)).toEqual([0, 2_000, 5_000, 9_500, 16_250]);
});

test('a wait reaches its deadline', async () => {
  const { client, jobs } = start();
  const failed = client.jobs.waitForCompletion(jobs.start(), { deadlineMs: 60_000 }).catch((error: unknown) => error);

  await vi.advanceTimersByTimeAsync(60_000);

  expect(await failed).toMatchObject({ code: 'poll_timeout', elapsedMs: 60_000 });
});

test('an attempt is timed out, and retried after a pause', async () => {
  const { client, failNext } = start();
  failNext('links.list', { kind: 'stall' });
  let count: unknown;

  void client.links.list({ timeoutMs: 5_000 }).then(({ meta }) => {
    count = meta.totalCount;
  });
  await vi.advanceTimersByTimeAsync(4_999);
  expect(count).toBeUndefined();
  await vi.advanceTimersByTimeAsync(501);

  expect(count).toBe(0);
});

test('the mock’s own latency passes', async () => {
  const { client } = start({ latencyMs: 1_000 });
  let isListed = false;

  void client.links.list().then(() => {
    isListed = true;
  });
  await vi.advanceTimersByTimeAsync(999);
  expect(isListed).toBe(false);
  await vi.advanceTimersByTimeAsync(1);

  expect(isListed).toBe(true);
});

test('a callback is delivered and handled', async () => {
  const { client, jobs } = start();
  const job = jobs.start();
  jobs.complete(job, 'approved');
  const seen: string[] = [];
  const onEvent = ({ jobId }: { jobId: string }) => void seen.push(jobId);
  const to = client.callbacks.handler({ onEvent });
  let status: unknown;

  void jobs.deliverCallback(job, { to }).then((response) => {
    status = response.status;
  });
  await vi.advanceTimersByTimeAsync(0);

  expect([status, seen]).toEqual([200, [job.jobId]]);
});

test('many jobs are waited for at once', async () => {
  const { client, jobs } = start();
  const all = Array.from({ length: 50 }, () => jobs.start());
  const states: (string | undefined)[] = [];

  const waited = (async () => {
    for await (const { status } of client.jobs.waitForAll(all, steady)) states.push(status?.state);
  })();
  await vi.advanceTimersByTimeAsync(2_000);
  for (const job of all) jobs.complete(job, 'rejected');
  await vi.advanceTimersByTimeAsync(3_000);
  await waited;

  expect(states).toEqual(Array(50).fill('failed'));
});
