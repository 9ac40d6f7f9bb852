/** First tests on the mock service. */

import { HostedClient, HostedServerError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';

test('an approved job has succeeded', async () => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });

  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');

  expect(await client.jobs.status(job)).toMatchObject({ state: 'succeeded' });
});

test('an outage of the service is an error', async () => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch, maxRetries: 0 });
  service.sandbox.failNext('links.get', { kind: 'status', status: 503 });

  await expect(client.links.get('a-link')).rejects.toThrow(HostedServerError);
});
