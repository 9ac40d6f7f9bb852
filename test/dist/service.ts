/** A service on this machine, for programs that reach it by their variables. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { JobRef } from 'hosted-client';
import { createMockService, type MockService } from 'hosted-client/testing';

/** What takes a request from a service, and whether it has. */
type Take = (request: IncomingMessage, body: string, response: ServerResponse) => boolean;

/** Serves a service on this machine, but for what is taken from it. */
export async function serveService({ fetch, sandbox }: MockService, take: Take = () => false) {
  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const body = await text(incoming);
    if (take(incoming, body, outgoing)) return;
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const method = incoming.method ?? 'GET';
    const answer = await fetch(new Request(`${sandbox.baseUrl}${incoming.url}`, { method, headers, body }));
    outgoing.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
  };
  // A client may be killed in the middle of its request.
  const server = createServer((incoming, outgoing) => {
    respond(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Runs `work` with the variables of a service on this machine, and the service. */
export async function withService<T>(
  work: (env: Readonly<Record<string, string>>, service: MockService) => Promise<T>,
): Promise<T> {
  const service = createMockService();
  const { clientOptions } = service.sandbox;
  const { origin, close } = await serveService(service);
  const env = {
    HOSTED_PARTNER_ID: clientOptions.partnerId,
    HOSTED_API_KEY: clientOptions.apiKey,
    HOSTED_SANDBOX_BASE_URL: origin,
  };
  try {
    return await work(env, service);
  } finally {
    close();
  }
}

/** A job with its result. */
export function completedJob({ sandbox }: MockService, outcome: 'approved' | 'rejected' = 'approved'): JobRef {
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, outcome);
  return job;
}

/** What `deliverThree` gives where a handler does its work. */
export const accepted = '200 200 401';

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
