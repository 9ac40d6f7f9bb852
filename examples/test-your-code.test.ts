/** Tests your own code that uses the client, without a network and without real delays. */

import { HostedClient, type JobRef } from 'hosted-client';
import { createMockService, createTestClock, createTestTracker } from 'hosted-client/testing';
import { expect, test } from 'vitest';

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

const dayMs = 86_400_000;

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
  const accounts = new Map<string, string>();
  const to = receiver(client, accounts);
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');

  const forged = await service.sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });
  expect([forged.status, accounts.get(job.userId)]).toEqual([401, undefined]);

  const genuine = await service.sandbox.jobs.deliverCallback(job, { to });
  expect([genuine.status, accounts.get(job.userId)]).toEqual([200, 'open']);
});

test('a customer who takes a month is verified once, although the database is away at first', async () => {
  const clock = createTestClock();
  const service = createMockService({ clock });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  // As in production: a job that takes weeks is polled every six hours.
  const waits = { maxDelayMs: dayMs / 4, deadlineMs: 40 * dayMs };
  const tracker = createTestTracker<{ customer: number }>({ client, clock, ...waits });
  const customers = new Map<number, string>();
  let calls = 0;
  await tracker.onCompletion(({ context, outcome }) => {
    calls += 1;
    if (calls <= 8) throw new Error('the database is away');
    customers.set(context?.customer ?? 0, outcome);
  });
  const job = service.sandbox.jobs.start();
  await tracker.track({ ...job, context: { customer: 7 } });

  await clock.advance(29 * dayMs);
  expect(await tracker.get(job)).toMatchObject({ state: 'tracking' });
  service.sandbox.jobs.complete(job, 'approved');
  await clock.advance(dayMs);

  expect(customers).toEqual(new Map([[7, 'completed']]));
  expect(await tracker.get(job)).toMatchObject({ state: 'done' });
});
