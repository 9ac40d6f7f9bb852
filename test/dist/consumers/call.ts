/** What every consumer does, however it is compiled or bundled: a call that succeeds, and one that fails. */

import { HostedClient, HostedError, HostedServerError, isHostedError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';

async function main(): Promise<void> {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch, maxRetries: 0 });

  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'approved');
  const { state } = await client.jobs.status(job);

  service.sandbox.failNext('links.list', { kind: 'status', status: 503 });
  const error = await client.links.list().catch((reason: unknown) => reason);
  if (!isHostedError(error)) throw new Error('A service in trouble is no error of the package');

  const { name, code } = error;
  console.log(state, name, code, error instanceof HostedServerError, error instanceof HostedError);
}

void main();
