/** Tests code that uses the client, without a network: once over the kit's own fetch, once under msw. */

import { HostedClient, HostedServerError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { mswHandlers } from 'hosted-client/testing/msw';
import { setupServer } from 'msw/node';
import { expect, test } from 'vitest';

test('a completed job is believed', async () => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });

  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');

  expect(await client.jobs.status(job)).toMatchObject({ state: 'succeeded' });
});

test('a service in trouble is an error', async () => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch, maxRetries: 0 });
  service.sandbox.failNext('links.list', { kind: 'status', status: 503 });

  await expect(client.links.list()).rejects.toThrow(HostedServerError);
});

test('the client works under msw', async () => {
  const service = createMockService({ spelling: 'random' });
  const server = setupServer(...mswHandlers(service));
  server.listen({ onUnhandledFrame: 'error' });

  const client = new HostedClient(service.sandbox.clientOptions);
  service.sandbox.links.seed(3);

  expect((await client.links.list()).meta.totalCount).toBe(3);
  server.close();
});
