/** A CommonJS program for compilers that know no `require()` of ES modules (`module: node16`): it imports late. */

async function main(): Promise<void> {
  const { HostedClient } = await import('hosted-client');
  const { createMockService } = await import('hosted-client/testing');

  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'rejected');

  const { state } = await client.jobs.status(job);
  console.log(state);
}

void main();

export {};
