// The code that waits is loaded with the first wait.

import { createMockService, type createTestClock } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';

const code = '../../src/jobs/waiting.js';

afterEach(() => {
  vi.doUnmock(code);
  vi.resetModules();
});

async function createClient() {
  const { HostedClient } = await import('hosted-client');
  const { sandbox, fetch } = createMockService();
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  const sent = vi.fn(fetch);
  return { client: new HostedClient({ ...sandbox.clientOptions, fetch: sent }), job, sent };
}

test('a wait rejects when its code cannot be loaded, and the next one loads it anew', async () => {
  vi.resetModules();
  vi.doMock(code, () => {
    throw new Error('EMFILE');
  });
  const { client, job, sent } = await createClient();

  const alone = await client.jobs.waitForCompletion(job).catch((caught: unknown) => caught);
  const ofMany = await client.jobs
    .waitForAll([job])
    [Symbol.asyncIterator]()
    .next()
    .catch((caught: unknown) => caught);
  vi.doUnmock(code);

  for (const error of [alone, ofMany]) {
    expect(error).toMatchObject({ code: 'connection', operation: 'jobs.status', outcome: 'not_sent', retryable: true });
  }
  expect(sent).not.toHaveBeenCalled();
  await expect(client.jobs.waitForCompletion(job)).resolves.toMatchObject({ state: 'succeeded' });
});

test.each(['watch', 'waitForAll'] as const)(
  '%s() that is ended while its code is loaded sends nothing',
  async (way) => {
    vi.resetModules();
    const { client, job, sent } = await createClient();
    const wait = way === 'watch' ? client.jobs.watch(job) : client.jobs.waitForAll([job]);
    const statuses: AsyncIterator<unknown> = wait[Symbol.asyncIterator]();

    const next = statuses.next();
    await statuses.return?.();

    await expect(next).resolves.toEqual({ done: true, value: undefined });
    // Loaded by now, as this wait needs it too.
    await client.jobs.waitForCompletion(job);
    expect(sent).toHaveBeenCalledOnce();
  },
);

test('a test clock does not move on while the code is loaded', async () => {
  vi.resetModules();
  const { HostedClient } = await import('hosted-client');
  const testing = await import('hosted-client/testing');
  const clock: ReturnType<typeof createTestClock> = testing.createTestClock();
  const { sandbox, fetch } = testing.createMockService({ clock });
  const job = sandbox.jobs.start();
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const completed = client.jobs.waitForCompletion(job, { initialDelayMs: 1_000 });

  await clock.advance(60_000);
  sandbox.jobs.complete(job, 'approved');
  await clock.advance(60_000);

  await expect(completed).resolves.toMatchObject({ state: 'succeeded' });
});
