/** Tests every step with a sandbox on real ports: the link, the end user, the callback and the confirmed result. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { HostedClient } from 'hosted-client';
import { startSandbox } from 'hosted-client/sandbox';
import { expect, test } from 'vitest';

// The code under test: your server, which receives callbacks.
function createApp(client: HostedClient, accounts: Map<string, string>): express.Express {
  const handle = client.callbacks.handler({
    onEvent: (event, status) => {
      accounts.set(event.userId, status.success ? 'open' : 'closed');
    },
  });
  const app = express();
  app.post('/callbacks', express.raw({ type: () => true, limit: '2mb' }), async (request, response) => {
    const url = `${request.protocol}://${request.host}${request.originalUrl}`;
    const answer = await handle(new Request(url, { method: 'POST', body: request.body }));
    response.status(answer.status).set(Object.fromEntries(answer.headers)).end();
  });
  return app;
}

test('an account is opened once its end user was approved', async () => {
  const sandbox = await startSandbox({ port: 0 });
  const client = new HostedClient(sandbox.clientOptions());
  const accounts = new Map<string, string>();
  const server = createServer(createApp(client, accounts)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  const link = await client.links.create({
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: 'https://partner.example/privacy',
    callbackUrl: `http://127.0.0.1:${port}/callbacks`,
  });
  const job = await sandbox.play(link.refId, 'approved');
  await sandbox.idle();

  expect(accounts.get(job.userId)).toBe('open');
  expect(sandbox.callbacks).toMatchObject([{ resultCode: '0810', state: 'delivered' }]);

  const forged = await sandbox.resend(1, { variant: 'forged' });
  expect(forged.attempts).toMatchObject([{ status: 401 }]);

  server.close();
  await sandbox.stop();
});
