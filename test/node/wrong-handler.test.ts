/** The handler for web-standard requests where one for node:http belongs, and what else frameworks pass to it. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import express from 'express';
import fastify from 'fastify';
import { type HandlerOptions, HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, onTestFinished, test } from 'vitest';
import { command, envOf } from '../cli/running.js';

// Its types are those of Express 5.
const express4 = createRequire(import.meta.url)('express-4') as typeof express;

const ignore = () => undefined;
const silent = { debug: ignore, info: ignore, warn: ignore, error: ignore };

const notWrapped = expect.objectContaining({
  code: 'config',
  issues: [{ path: 'handler', message: expect.stringContaining('nodeHandler(…) of hosted-client/node') }],
  message: expect.stringMatching(/^Cannot receive a callback: "handler" must get a web-standard request/),
});

type Listener = Parameters<typeof createServer>[1];

async function listen(listener: Listener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`;
}

const starts: Readonly<Record<string, (handle: never) => Promise<string>>> = {
  'node:http': (handle) => listen(handle),
  'Express 5': (handle) => listen(express().post('/callbacks', handle)),
  'Express 5, behind express.json()': (handle) => listen(express().use(express.json()).post('/callbacks', handle)),
  'Express 4': (handle) => listen(express4().post('/callbacks', handle)),
  async Fastify(handle) {
    const app = fastify();
    onTestFinished(() => app.close());
    app.post('/callbacks', handle);
    return `${await app.listen({ port: 0, host: '127.0.0.1' })}/callbacks`;
  },
};

test.each(Object.entries(starts))(
  '%s without nodeHandler() gets 500, and the response, the error and doctor name it',
  async (_, start) => {
    const service = createMockService();
    const errors: unknown[] = [];
    const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch, logger: silent });
    const onError: HandlerOptions['onError'] = (error, at) => errors.push(at, error);
    const url = await start(client.callbacks.handler({ onEvent: () => undefined, onError }) as never);

    const headers = { 'content-type': 'application/json' };
    const response = await fetch(url, { method: 'POST', body: '{}', headers });
    const doctor = await command(['doctor', '--callback', url], { env: envOf(service.sandbox.clientOptions) });

    expect(response.status).toBe(500);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await response.text()).toContain('nodeHandler(…) of hosted-client/node');
    expect(errors.slice(0, 2)).toEqual([{ phase: 'read', status: 500, event: null }, notWrapped]);
    expect(doctor.stdout).toContain('wrap the handler in nodeHandler() of hosted-client/node');
  },
);

const refuse = () => {
  throw new Error('not now');
};
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();
const incoming = { httpVersion: '1.1', method: 'POST', headers: {} };

test.each([
  ['a request of Node, and nothing after it', [incoming]],
  ['a request of Node, and what has only one method of a response', [incoming, { end: ignore }]],
  ['the context of Hono', [{ req: { method: 'POST' } }]],
  ['an event of Lambda', [{ version: '2.0', headers: {}, body: '{}' }, { awsRequestId: '1' }]],
  ['nothing', []],
  ['a request of Node, and a response that has begun', [incoming, { writeHead: refuse, end: refuse }]],
  ['what cannot be read', [revoked]],
])('a handler that gets %s responds with 500, and says that it takes a web-standard request', async (_, given) => {
  const errors: unknown[] = [];
  const reasons: unknown[] = [];
  const client = new HostedClient({
    ...createMockService().sandbox.clientOptions,
    logger: silent,
    onEvent: (event) => void reasons.push(event.type === 'callback' && event.reason),
  });
  const onError = (error: unknown) => errors.push(error);
  const handle = client.callbacks.handler({ onEvent: ignore, onError }) as (...given: unknown[]) => Promise<Response>;

  const response = await handle(...given);

  expect(response.status).toBe(500);
  expect(await response.text()).toContain('web-standard');
  expect([errors, reasons]).toEqual([[notWrapped], ['config']]);
});

test('a web-standard request is handled as one, also if it carries the request of Node', async () => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const request = Object.assign(await callbackOf(service), { httpVersion: '1.1', raw: incoming });

  expect((await client.callbacks.handler({ onEvent: ignore })(request as never)).status).toBe(200);
});

test.each([
  ['Next', [{ params: Promise.resolve({ id: '1' }) }]],
  ['Deno', [{ remoteAddr: { hostname: '127.0.0.1' }, completed: Promise.resolve() }]],
  ['Bun', [{ port: 3000, upgrade: () => false }]],
  ['a Worker', [{ DB: {} }, { waitUntil: () => undefined }]],
])('what %s passes after the request is ignored', async (_, others) => {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const events: unknown[] = [];
  const handle = client.callbacks.handler({ onEvent: ({ jobId }) => void events.push(jobId) }) as (
    ...given: readonly unknown[]
  ) => Promise<Response>;
  const request = await callbackOf(service);

  expect((await handle(request, ...others)).status).toBe(200);
  expect(events).toEqual(['job-1']);
});

async function callbackOf({ sandbox }: ReturnType<typeof createMockService>): Promise<Request> {
  const job = sandbox.jobs.start({ jobId: 'job-1' });
  sandbox.jobs.complete(job, 'approved');
  return sandbox.jobs.callback(job);
}
