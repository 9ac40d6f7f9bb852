/** Tests your own code under node:test: `node --test test-under-node.ts`, with Node 22.18 or later. */

import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { HostedClient, type JobRef } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';

// The code under test: your own function, which gets the client as an argument.
async function decide(client: HostedClient, job: JobRef): Promise<'open' | 'closed'> {
  const { success } = await client.jobs.waitForCompletion(job);
  return success ? 'open' : 'closed';
}

function receiver(client: HostedClient, accounts: Map<string, string>): (request: Request) => Promise<Response> {
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

  assert.equal(await decided, 'open');
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

  assert.equal(await decided, 'closed');
});

test('a callback opens the account, and a forged one does not', async () => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const accounts = new Map<string, string>();
  const to = receiver(client, accounts);
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');

  const forged = await service.sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });
  assert.deepEqual([forged.status, accounts.get(job.userId)], [401, undefined]);

  const genuine = await service.sandbox.jobs.deliverCallback(job, { to });
  assert.deepEqual([genuine.status, accounts.get(job.userId)], [200, 'open']);
});

// The fake timers of node:test can replace a test clock. A tick fires only the timers that are already set, so this
// test lets the request and the response that follow run before the next tick.
afterEach(() => mock.timers.reset());

async function pass(ms: number): Promise<void> {
  mock.timers.tick(ms);
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test('an account is opened when its job is approved, ten seconds of fake timers later', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: Date.UTC(2026, 0, 1) });
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();

  const decided = decide(client, job);
  await pass(0);
  service.sandbox.jobs.complete(job, 'approved');
  for (let second = 0; second < 10; second++) await pass(1_000);

  assert.equal(await decided, 'open');
});
