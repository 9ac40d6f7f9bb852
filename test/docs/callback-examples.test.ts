/** The examples that receive callbacks, each in its framework, against callbacks of the mock service. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { JobRef } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';

const service = createMockService();
const { sandbox } = service;
const printed: string[] = [];

beforeAll(() => {
  vi.stubEnv('HOSTED_PARTNER_ID', sandbox.clientOptions.partnerId);
  vi.stubEnv('HOSTED_API_KEY', sandbox.clientOptions.apiKey ?? '');
  vi.stubEnv('HOSTED_SANDBOX_BASE_URL', sandbox.baseUrl);
  vi.stubGlobal('fetch', service.fetch);
  vi.spyOn(console, 'log').mockImplementation((text: string) => {
    printed.push(text);
  });
});

afterAll(() => {
  vi.unstubAllGlobals();
});

beforeEach(() => {
  printed.length = 0;
});

test('the web-standard example hands a change over, with the confirmed status', async () => {
  const { POST } = await import('../../examples/receive-callbacks.ts');

  const { status } = await sandbox.jobs.deliverCallback(completedJob(), { to: POST });

  expect(status).toBe(200);
  expect(printed).toEqual([expect.stringMatching(/^change [0-9a-f]{64}: the job is succeeded$/)]);
});

test('the Express example takes 1.5 MB that were parsed, and refuses a forged callback', async () => {
  vi.stubEnv('PORT', '0');
  const { server } = await import('../../examples/receive-with-express.ts');
  await once(server, 'listening');
  const to = overHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`);
  const job = completedJob();

  const genuine = await sandbox.jobs.deliverCallback(job, { to, padBytes: 1_500_000 });
  const forged = await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });

  server.close();
  expect([genuine.status, forged.status]).toEqual([200, 401]);
  expect(printed).toHaveLength(1);
});

test('the Fastify example takes 1.5 MB that were parsed, and refuses a forged callback', async () => {
  vi.stubEnv('PORT', '0');
  const { app } = await import('../../examples/receive-with-fastify.ts');
  const to = overHttp(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}/callbacks`);
  const job = completedJob();

  const genuine = await sandbox.jobs.deliverCallback(job, { to, padBytes: 1_500_000 });
  const forged = await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });

  await app.close();
  expect([genuine.status, forged.status]).toEqual([200, 401]);
  expect(printed).toHaveLength(1);
});

test('the Lambda example takes 1.5 MB as base64, and refuses a forged callback', async () => {
  const { handler } = await import('../../examples/receive-with-lambda.ts');
  const job = completedJob();
  const post = async (options: Parameters<typeof sandbox.jobs.callback>[1]) => {
    const body = Buffer.from(await (await sandbox.jobs.callback(job, options)).arrayBuffer()).toString('base64');
    return handler({ version: '2.0', requestContext: { http: { method: 'POST' } }, body, isBase64Encoded: true });
  };

  const genuine = await post({ padBytes: 1_500_000 });
  const forged = await post({ variant: 'forged' });

  expect([genuine.statusCode, forged.statusCode]).toEqual([200, 401]);
  expect(printed).toHaveLength(1);
});

test('the NestJS example injects one client, takes 1.5 MB, and refuses a forged callback', async () => {
  const { createApp, Verifications } = await importNestExample();
  const app = await createApp();
  await app.listen(0, '127.0.0.1');
  const to = overHttp(`${await app.getUrl()}/callbacks`);
  const job = completedJob();

  const invited = await app.get(Verifications).invite('user-1');
  const genuine = await sandbox.jobs.deliverCallback(job, { to, padBytes: 1_500_000 });
  const forged = await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });

  await app.close();
  expect(invited).toMatch(/^https:/);
  expect(sandbox.links.all()).toMatchObject([{ is_single_use: true, user_id: 'user-1' }]);
  expect([genuine.status, forged.status]).toEqual([200, 401]);
  expect(printed).toEqual([expect.stringMatching(/^change [0-9a-f]{64}: the job is succeeded$/)]);
});

function completedJob(): JobRef {
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  return job;
}

// Its decorators need compiler options that no other file has: it is type-checked by a configuration of its own.
async function importNestExample(): Promise<{
  createApp(): Promise<{
    listen(port: number, host: string): Promise<unknown>;
    getUrl(): Promise<string>;
    get(service: unknown): { invite(userId: string): Promise<string> };
    close(): Promise<void>;
  }>;
  Verifications: unknown;
}> {
  const file = '../../examples/nest/receive-with-nest.ts';
  return import(file);
}

// The platform's own fetch: the one of this process answers for the service.
const platformFetch = globalThis.fetch;

function overHttp(url: string): (request: Request) => Promise<Response> {
  return async (request) =>
    platformFetch(url, { method: 'POST', headers: request.headers, body: await request.arrayBuffer() });
}
