/** A consumer whose tests run under msw: a call over the platform's own fetch. */

import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { mswHandlers } from 'hosted-client/testing/msw';
import { setupServer } from 'msw/node';

async function main(): Promise<void> {
  const service = createMockService();
  const server = setupServer(...mswHandlers(service));
  server.listen({ onUnhandledFrame: 'error' });

  const client = new HostedClient(service.sandbox.clientOptions);
  service.sandbox.links.seed(3);
  const { meta } = await client.links.list();

  console.log(meta.totalCount);
  server.close();
}

void main();
