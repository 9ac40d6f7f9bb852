/** Tests with msw: it passes the requests of the platform's fetch to the mock service. */

import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { mswHandlers } from 'hosted-client/testing/msw';
import { setupServer } from 'msw/node';
import { expect, test } from 'vitest';

test('the client works under msw', async () => {
  const service = createMockService({ spelling: 'random' });
  const server = setupServer(...mswHandlers(service));
  server.listen({ onUnhandledFrame: 'error' });

  const client = new HostedClient(service.sandbox.clientOptions);
  service.sandbox.links.seed(3);

  expect((await client.links.list()).meta.totalCount).toBe(3);
  server.close();
});
