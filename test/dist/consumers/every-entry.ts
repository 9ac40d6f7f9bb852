/** A consumer of every entry: a call by each scheme, an adapter, the sandbox, and a tracker in each kind of place. */

import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { HostedClient } from 'hosted-client';
import { lambdaHandler } from 'hosted-client/node';
import { instrument } from 'hosted-client/opentelemetry';
import { startSandbox } from 'hosted-client/sandbox';
import { createMockService } from 'hosted-client/testing';
import { mswHandlers } from 'hosted-client/testing/msw';
import { createTracker } from 'hosted-client/tracking';

type Place = { readonly folder: string } | { readonly connectionString: string };

async function main(): Promise<void> {
  const { disable } = instrument();
  const service = createMockService({ scheme: 'ed25519' });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');
  const { state } = await client.jobs.status(job);
  const { statusCode } = await lambdaHandler(client.callbacks.handler({ onEvent: () => undefined }))({});
  disable();

  const sandbox = await startSandbox({ port: 0 });
  const { meta } = await new HostedClient(sandbox.clientOptions()).links.list();
  const page = await fetch(sandbox.origin);
  await sandbox.stop();

  const track = async (place: Place) => {
    try {
      await (await createTracker({ client, ...place })).stop();
      return 'tracks';
    } catch (error) {
      return (error as Error).message.replace(/^.*?: |(?<=not respond).*/g, '');
    }
  };
  const parent = await mkdtemp(join(process.cwd(), 'tracked-'));
  const inFolder = await track({ folder: join(parent, 'state') });
  await rm(parent, { recursive: true });
  const inDatabase = await track({ connectionString: 'postgresql://127.0.0.1:1/none' });
  const handlers = mswHandlers(createMockService()).length;
  console.log([state, statusCode, meta.totalCount, page.status, handlers].join(' '));
  console.log(inFolder);
  console.log(inDatabase);
}

void main();
