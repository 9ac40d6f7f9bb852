/** The handler in real servers of each framework, over HTTP on this machine, with whatever stands in front of it. */

import 'reflect-metadata';
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Controller, Module, Post, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express from 'express';
import fastify from 'fastify';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { createMockService } from 'hosted-client/testing';
import { afterEach, expect, test } from 'vitest';

// Its types are those of Express 5.
const express4 = createRequire(import.meta.url)('express-4') as typeof express;

const service = createMockService();
const { sandbox } = service;
const client = new HostedClient({ ...sandbox.clientOptions, fetch: service.fetch });
const seen: string[] = [];
const failures: { phase: string; status: number; name: unknown }[] = [];

const receive = nodeHandler(
  client.callbacks.handler({
    onEvent: ({ jobId }, { state }) => void seen.push(`${jobId} ${state}`),
    onError: (error, { phase, status }) => void failures.push({ phase, status, name: (error as Error).name }),
  }),
);

type Receive = typeof receive;

/** Starts a server; gives where callbacks go, and what stops it. */
type Start = () => Promise<{ url: string; stop(): Promise<unknown> }>;

async function listening(server: Server) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    stop: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

function withExpress(make: typeof express, ...inFront: readonly express.RequestHandler[]): Start {
  return () => {
    const app = make();
    for (const handler of inFront) app.use(handler);
    app.post('/callbacks', receive);
    app.get('/callbacks', receive);
    return listening(createServer(app));
  };
}

const keepRawBody = (request: IncomingMessage & { rawBody?: unknown }, _response: unknown, body: Buffer) => {
  request.rawBody = body;
};

/** Nest's decorators are functions: called, they need no options of the compiler. */
function nestModule(): object {
  class Callbacks {
    receive(request: Parameters<Receive>[0], response: Parameters<Receive>[1]) {
      return receive(request, response);
    }
  }
  const property = Object.getOwnPropertyDescriptor(Callbacks.prototype, 'receive') ?? {};
  Req()(Callbacks.prototype, 'receive', 0);
  Res()(Callbacks.prototype, 'receive', 1);
  Post()(Callbacks.prototype, 'receive', property);
  Controller('callbacks')(Callbacks);
  class App {}
  Module({ controllers: [Callbacks] })(App);
  return App;
}

function withNest(options: { rawBody?: boolean; bodyParser?: boolean }): Start {
  return async () => {
    const app = await NestFactory.create<NestExpressApplication>(nestModule(), { ...options, logger: false });
    if (options.bodyParser !== false) app.useBodyParser('json', { limit: '8mb' });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/callbacks`, stop: () => app.close() };
  };
}

function withFastify(parsing: 'its own parser' | 'no parser'): Start {
  return async () => {
    const app = fastify({ bodyLimit: 8 * 1024 * 1024, forceCloseConnections: true });
    if (parsing === 'no parser') {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    }
    app.post('/callbacks', async (request, reply) => {
      reply.hijack();
      await receive(Object.assign(request.raw, { body: request.body }), reply.raw);
    });
    return { url: `${await app.listen({ port: 0, host: '127.0.0.1' })}/callbacks`, stop: () => app.close() };
  };
}

const limit = '8mb';

const starts: Readonly<Record<string, Start>> = {
  'node:http': () => listening(createServer(receive)),
  'node:http, the body kept as a string': () =>
    listening(
      createServer(async (request, response) => {
        const body = (await buffer(request)).toString();
        await receive(Object.assign(request, { body }), response);
      }),
    ),
  'Express 5': withExpress(express),
  'Express 5, behind express.json()': withExpress(express, express.json({ limit })),
  'Express 5, behind express.json() that keeps the raw body': withExpress(
    express,
    express.json({ limit, verify: keepRawBody }),
  ),
  'Express 5, behind express.raw()': withExpress(express, express.raw({ limit, type: () => true })),
  'Express 5, behind express.text()': withExpress(express, express.text({ limit, type: () => true })),
  'Express 4': withExpress(express4),
  'Express 4, behind express.json()': withExpress(express4, express4.json({ limit })),
  'Express 4, behind express.raw()': withExpress(express4, express4.raw({ limit, type: () => true })),
  'Nest, which parses': withNest({}),
  'Nest with rawBody': withNest({ rawBody: true }),
  'Nest without a parser': withNest({ bodyParser: false }),
  'Fastify, which parses': withFastify('its own parser'),
  'Fastify without a parser': withFastify('no parser'),
};

const completedJob = () => {
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  return job;
};

function overHttp(url: string, headers: Record<string, string> = {}): (request: Request) => Promise<Response> {
  return async (request) =>
    fetch(url, {
      method: 'POST',
      headers: { ...Object.fromEntries(request.headers), ...headers },
      body: await request.arrayBuffer(),
    });
}

afterEach(() => {
  seen.length = 0;
  failures.length = 0;
});

/** A wrong content type, and headers of the way. */
const ofGateway = {
  'content-type': 'text/plain',
  'x-forwarded-for': '203.0.113.7, 10.0.0.1',
  'x-forwarded-host': 'partner.test',
  via: '1.1 gateway',
  authorization: 'Basic Zm9yOnRoZSBnYXRld2F5',
};

test.each(Object.entries(starts))(
  'behind %s, a callback of 1.5 MB is accepted, through a gateway too, and a forged one refused',
  async (name, start) => {
    const { url, stop } = await start();
    const job = completedJob();
    const to = overHttp(url);
    // Behind a parser that runs by content type, the stream is there unread, and Express 4 has an empty object beside it.
    const throughGateway = name === 'Fastify, which parses' ? to : overHttp(url, ofGateway);

    const genuine = await sandbox.jobs.deliverCallback(job, { to, padBytes: 1_500_000 });
    const again = await sandbox.jobs.deliverCallback(job, { to: throughGateway, padBytes: 1_500_000 });
    const forged = await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });

    await stop();
    expect([genuine.status, again.status, forged.status]).toEqual([200, 200, 401]);
    expect(seen).toEqual([`${job.jobId} succeeded`]);
    expect(failures).toEqual([{ phase: 'verify', status: 401, name: 'HostedSignatureError' }]);
  },
);

test('a body that was read before, and not kept, ends in 503, and onError is called', async () => {
  const app = express();
  app.use((request, _response, next) => {
    request.on('data', () => undefined).on('end', () => next());
  });
  app.post('/callbacks', receive);
  const { url, stop } = await listening(createServer(app));

  const answer = await sandbox.jobs.deliverCallback(completedJob(), { to: overHttp(url) });

  await stop();
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(failures).toEqual([{ phase: 'read', status: 503, name: 'HostedConnectionError' }]);
  expect(seen).toEqual([]);
});

/** Posts a body, and gives the status of the response. */
async function post(
  url: string,
  { agent, headers = {}, body }: { agent: Agent; headers?: Record<string, string>; body: Uint8Array },
): Promise<number> {
  const request = send(url, { method: 'POST', agent, headers });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  await buffer(response);
  return Number(response.statusCode);
}

test.each([
  ['with its length', { 'content-length': '3000000' }],
  ['in chunks', { 'transfer-encoding': 'chunked' }],
])('a body above maxBytes, sent %s, ends in 413, and the connection serves the next request', async (_how, headers) => {
  const refused: string[] = [];
  const small = nodeHandler(
    client.callbacks.handler({
      maxBytes: 100_000,
      onEvent: ({ jobId }) => void seen.push(jobId),
      onError: (_error, { phase, status }) => void refused.push(`${phase} ${status}`),
    }),
  );
  const server = createServer(small);
  const { url, stop } = await listening(server);
  let connections = 0;
  server.on('connection', () => {
    connections += 1;
  });
  // The second request waits for the connection of the first.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const job = completedJob();

  const large = await post(url, { agent, headers, body: new Uint8Array(3_000_000) });
  const next = await sandbox.jobs.deliverCallback(job, {
    to: async (request) => new Response(null, { status: await post(url, { agent, body: await request.bytes() }) }),
  });

  agent.destroy();
  await stop();
  expect([large, next.status]).toEqual([413, 200]);
  expect([refused, seen]).toEqual([['read 413'], [job.jobId]]);
  expect(connections).toBe(1);
});

test('what a parser made of a body above maxBytes ends in 413', async () => {
  const refused: number[] = [];
  const app = express();
  app.use(express.json({ limit }));
  const handle = client.callbacks.handler({
    maxBytes: 100_000,
    onEvent: () => undefined,
    onError: (_error, { status }) => void refused.push(status),
  });
  app.post('/callbacks', nodeHandler(handle));
  const { url, stop } = await listening(createServer(app));

  const answer = await sandbox.jobs.deliverCallback(completedJob(), { to: overHttp(url), padBytes: 1_500_000 });

  await stop();
  expect([answer.status, refused]).toEqual([413, [413]]);
});

test('a client that goes away in the middle of its body is reported, and nothing is thrown', async () => {
  let handled = Promise.resolve();
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    handled = receive(request, response);
  });
  const { url, stop } = await listening(server);
  const { request } = await import('node:http');
  const asked = request(url, { method: 'POST', headers: { 'content-length': '1000' } });
  asked.on('error', () => undefined);
  asked.write('{"timestamp":');
  await once(server, 'request');

  asked.destroy();
  await handled;

  await stop();
  expect(failures).toEqual([{ phase: 'read', status: 503, name: 'HostedConnectionError' }]);
});

test('over HTTP/2 a callback is accepted, and a HEAD and a body that does not come end without a warning', async () => {
  const hasty = nodeHandler(client.callbacks.handler({ bodyTimeoutMs: 20, onEvent: () => undefined }));
  const server = createHttp2Server((request, response) =>
    request.url === '/hasty' ? hasty(request, response) : receive(request, response),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on('warning', note);
  const job = completedJob();
  const text = await (await sandbox.jobs.callback(job)).text();

  const statuses = [];
  for (const [method, path, body] of [
    ['POST', '/', text],
    ['HEAD', '/', undefined],
    ['POST', '/hasty', undefined],
  ] as const) {
    const stream = session.request({ ':method': method, ':path': path }, { endStream: method === 'HEAD' });
    if (body !== undefined) stream.end(body);
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    statuses.push(headers[':status']);
    stream.resume().close();
  }
  session.close();
  await new Promise((resolve) => server.close(resolve));
  process.off('warning', note);

  expect(statuses).toEqual([200, 405, 408]);
  expect(seen).toEqual([`${job.jobId} succeeded`]);
  expect(warnings).toEqual([]);
});

test('a body that does not come ends in 408, which closes the connection', async () => {
  const hasty = nodeHandler(client.callbacks.handler({ bodyTimeoutMs: 20, onEvent: () => undefined }));
  const { url, stop } = await listening(createServer(hasty));
  const { request } = await import('node:http');
  const asked = request(url, { method: 'POST', headers: { 'content-length': '1000' } });
  asked.on('error', () => undefined);
  asked.write('{');

  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  await once(answer, 'close');

  await stop();
  expect([answer.statusCode, answer.headers.connection]).toEqual([408, 'close']);
});
