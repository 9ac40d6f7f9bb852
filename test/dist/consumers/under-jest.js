/**
 * A file of tests for jest, compiled by its transformers: both schemes, an adapter, and the sandbox.
 *
 * @jest-environment node
 */

import { expect, test } from '@jest/globals';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { startSandbox } from 'hosted-client/sandbox';
import { createMockService } from 'hosted-client/testing';
import { createTracker } from 'hosted-client/tracking';

test.each(['hmac-sha256', 'ed25519'])('a call that is signed by %s', async (scheme) => {
  const service = createMockService({ scheme });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  service.sandbox.links.seed(3);

  expect((await client.links.list()).meta.totalCount).toBe(3);
  expect(nodeHandler(client.callbacks.handler({ onEvent: () => undefined }))).toBeInstanceOf(Function);
  await expect(createTracker({ client, folder: './tracked' })).rejects.toMatchObject({ reason: 'peer_missing' });
});

test('the sandbox', async () => {
  const sandbox = await startSandbox({ port: 0 });
  const client = new HostedClient(sandbox.clientOptions());

  expect((await client.links.list()).meta.totalCount).toBe(0);
  expect((await fetch(sandbox.origin)).status).toBe(200);
  await sandbox.stop();
});
