// A test clock under fake timers that were installed before the kit was loaded, as jest's configuration does it.

import { expect, onTestFinished, test, vi } from 'vitest';

test('advance() moves the time, under fake timers that were there first', async () => {
  vi.resetModules();
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
    vi.resetModules();
  });
  const { HostedClient } = await import('hosted-client');
  const { createMockService, createTestClock } = await import('hosted-client/testing');
  const clock = createTestClock();
  const { sandbox, fetch } = createMockService({ clock });
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const job = sandbox.jobs.start();
  const waited = client.jobs.waitForCompletion(job);

  await clock.advance(60_000);
  sandbox.jobs.complete(job, 'approved');
  await clock.advance(60_000);

  expect((await waited).state).toBe('succeeded');
});
