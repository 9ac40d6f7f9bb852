/**
 * Tests your own code under jest 30, in files named `*.test.js`. jest alone cannot load ES modules. These two lines
 * in jest's configuration are enough, and jest needs no flag; docs/testing.md has other ways:
 *
 *   transform: { '^.+\\.[cm]?[jt]sx?$': '@swc/jest' },
 *   transformIgnorePatterns: ['/node_modules/(?!(\\.pnpm|hosted-client)[/@])'],
 *
 * In a package with "type": "module", run `node --experimental-vm-modules node_modules/jest/bin/jest.js` instead.
 */

import { afterEach, expect, jest, test } from '@jest/globals';
import { HostedClient } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';

// The code under test: your own function, which gets the client as an argument.
async function decide(client, job) {
  const { success } = await client.jobs.waitForCompletion(job);
  return success ? 'open' : 'closed';
}

function receiver(client, accounts) {
  return client.callbacks.handler({
    onEvent: (event, status) => {
      accounts.set(event.userId, status.success ? 'open' : 'closed');
    },
  });
}

test('an account is opened when its job is approved, a minute later', async () => {
  const clock = createTestClock();
  const service = createMockService({ clock });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();

  const decided = decide(client, job);
  await clock.advance(60_000);
  service.sandbox.jobs.complete(job, 'approved');
  await clock.advance(60_000);

  expect(await decided).toBe('open');
});

test('an account stays closed, whatever trouble the service has on the way', async () => {
  const clock = createTestClock();
  const service = createMockService({ clock });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'rejected');
  service.sandbox.failNext('jobs.status', { kind: 'network' });
  service.sandbox.failNext('jobs.status', { kind: 'status', status: 503 });

  const decided = decide(client, job);
  await clock.advance(60_000);

  expect(await decided).toBe('closed');
});

test('a callback opens the account, and a forged one does not', async () => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const accounts = new Map();
  const to = receiver(client, accounts);
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');

  const forged = await service.sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });
  expect([forged.status, accounts.get(job.userId)]).toEqual([401, undefined]);

  const genuine = await service.sandbox.jobs.deliverCallback(job, { to });
  expect([genuine.status, accounts.get(job.userId)]).toEqual([200, 'open']);
});

// jest's fake timers can replace a test clock.
afterEach(() => {
  jest.useRealTimers();
});

test('an account is opened when its job is approved, a minute of fake timers later', async () => {
  jest.useFakeTimers();
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();

  const decided = decide(client, job);
  await jest.advanceTimersByTimeAsync(60_000);
  service.sandbox.jobs.complete(job, 'approved');
  await jest.advanceTimersByTimeAsync(60_000);

  expect(await decided).toBe('open');
});
