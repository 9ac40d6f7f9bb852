/** Callbacks as large as those with pictures, and the limits for bodies that refuse them. */

import 'reflect-metadata';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { Controller, Module, Post, Req, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import fastify from 'fastify';
import type { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { expect, onTestFinished, test } from 'vitest';
import { command, envOf } from '../cli/running.js';
import { linkAndReceiver, listening, newLink, running } from './running.js';

// Its types are those of Express 5.
const express4 = createRequire(import.meta.url)('express-4') as typeof express;

const usual = { callbackBytes: 1_500_000, callbackRetriesMs: [] };

/** Starts a listener, and returns the URL that callbacks are posted to. */
type Start = (handle: ReturnType<typeof nodeHandler>, limit?: number) => Promise<string>;

function startExpress(framework: typeof express): Start {
  return async (handle, limit) => {
    const app = framework();
    app.use(framework.json(limit === undefined ? {} : { limit }));
    app.post('/callbacks', handle);
    app.use(((_error, _request, response, _next) => response.sendStatus(413)) as express.ErrorRequestHandler);
    return listening(app);
  };
}

const startFastify: Start = async (handle, bodyLimit) => {
  const app = fastify(bodyLimit === undefined ? {} : { bodyLimit });
  onTestFinished(() => app.close());
  app.post('/callbacks', (request, reply) => {
    reply.hijack();
    return handle(Object.assign(request.raw, { body: request.body }), reply.raw);
  });
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/callbacks`;
};

const startNest: Start = async (handle, limit) => {
  class Callbacks {
    receive(request: IncomingMessage, response: ServerResponse) {
      return handle(request, response);
    }
  }
  const method = Object.getOwnPropertyDescriptor(Callbacks.prototype, 'receive') as PropertyDescriptor;
  Req()(Callbacks.prototype, 'receive', 0);
  Res()(Callbacks.prototype, 'receive', 1);
  Post('callbacks')(Callbacks.prototype, 'receive', method);
  Controller()(Callbacks);
  class App {}
  Module({ controllers: [Callbacks] })(App);
  const app = await NestFactory.create(App, { logger: false });
  onTestFinished(() => app.close());
  if (limit !== undefined)
    (app as unknown as { useBodyParser(...given: unknown[]): void }).useBodyParser('json', { limit });
  await app.listen(0, '127.0.0.1');
  return `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}/callbacks`;
};

const frameworks: readonly (readonly [string, Start])[] = [
  ['Express 5', startExpress(express)],
  ['Express 4', startExpress(express4)],
  ['Fastify', startFastify],
  ['Nest', startNest],
];

async function play(client: HostedClient, sandbox: Awaited<ReturnType<typeof running>>['sandbox'], url: string) {
  const { refId } = await client.links.create({ ...newLink, callbackUrl: url });
  await sandbox.play(refId, 'approved');
  await sandbox.idle();
  return sandbox.callbacks;
}

test.each(frameworks)(
  'the default limit of %s refuses a callback with pictures, and the cause is told',
  async (_, start) => {
    const { sandbox, client } = await running(usual);
    const url = await start(nodeHandler(client.callbacks.handler({ onEvent: () => undefined })));

    const [callback] = await play(client, sandbox, url);
    const { code, stdout } = await command(['doctor', '--callback', url, '--json'], {
      env: envOf(sandbox.clientOptions()),
    });

    expect(callback?.attempts[0]?.problem).toMatch(/limit for bodies.*this callback has 1,500,000 bytes/);
    expect(code).toBe(1);
    expect(JSON.parse(stdout).findings[0]).toMatchObject({
      check: 'callback',
      state: 'wrong',
      message: expect.stringContaining('to a callback of 1.5 MB, and those with pictures are as large'),
    });
  },
);

test.each(frameworks)('%s with a limit of 8 MB receives it', async (_, start) => {
  const { sandbox, client } = await running(usual);
  const url = await start(nodeHandler(client.callbacks.handler({ onEvent: () => undefined })), 8_000_000);

  const [callback] = await play(client, sandbox, url);
  const { code } = await command(['doctor', '--callback', url], { env: envOf(sandbox.clientOptions()) });

  expect(callback).toMatchObject({ state: 'delivered', attempts: [{ status: 200 }] });
  expect(code).toBe(0);
});

test('results with pictures have the given size, and all others are small', async () => {
  const { sandbox, received, refId } = await linkAndReceiver({ ...usual, callbackBytes: 200_000, reviewMs: 0 });

  for (const outcome of ['id_verified', 'review_rejected', 'id_not_found'] as const) await sandbox.play(refId, outcome);
  await sandbox.idle();

  const sizes = received.map(({ body, text }) => [body.ResultCode, text.length]).toSorted();
  const small = expect.toSatisfy((size: number) => size < 2_000);
  expect(sizes).toEqual([
    ['0810', 200_000],
    ['0811', 200_000],
    ['0814', small],
    ['0816', small],
    ['1012', 200_000],
    ['1013', small],
  ]);
});
