/** A service on this machine, for programs that reach it by their variables. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { JobRef } from 'hosted-client';
import { createMockService, type MockService } from 'hosted-client/testing';

/** Runs `work` with the variables of a service on this machine, and the service. */
export async function withService<T>(
  work: (env: Readonly<Record<string, string>>, service: MockService) => Promise<T>,
): Promise<T> {
  const service = createMockService();
  const { baseUrl, clientOptions } = service.sandbox;
  const server = createServer(async (incoming, outgoing) => {
    const body = await buffer(incoming);
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const request = new Request(`${baseUrl}${incoming.url}`, { method: incoming.method ?? 'GET', headers, body });
    const answer = await service.fetch(request);
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const env = {
    HOSTED_PARTNER_ID: clientOptions.partnerId,
    HOSTED_API_KEY: clientOptions.apiKey,
    HOSTED_SANDBOX_BASE_URL: `http://127.0.0.1:${port}`,
  };
  try {
    return await work(env, service);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/** A job with its result. */
export function completedJob({ sandbox }: MockService, outcome: 'approved' | 'rejected' = 'approved'): JobRef {
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, outcome);
  return job;
}

/**
 * Delivers a callback as large as they grow, the same once more, and a forged one; gives the statuses.
 *
 * @param url - Where the recipe listens.
 */
export async function deliverThree(service: MockService, url: string, job = completedJob(service)): Promise<string> {
  const { sandbox } = service;
  const to = async (request: Request) =>
    fetch(url, { method: 'POST', headers: request.headers, body: await request.arrayBuffer() });
  const statuses: number[] = [];
  for (const options of [{ padBytes: 1_500_000 }, { padBytes: 1_500_000 }, { variant: 'forged' as const }]) {
    statuses.push((await sandbox.jobs.deliverCallback(job, { to, ...options })).status);
  }
  return statuses.join(' ');
}
