// Calls on the tracing channels of node:diagnostics_channel.

import { tracingChannel } from 'node:diagnostics_channel';
import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, onTestFinished, test, vi } from 'vitest';
import { clientOf, failed, operations, recordingClock, rejection } from '../support/fake-fetch.js';
import { subscribeTo } from '../support/traced.js';

const [create, , get] = operations;

test('the steps of a call are those of a promise that Node’s own tracing channel traces', async () => {
  const { seen } = subscribeTo('call', 'by-node');
  const byNode = tracingChannel('hosted-client:by-node');

  for (const fail of [false, true]) {
    seen.length = 0;
    const { client } = clientOf(fail ? new Response(null, { status: 400 }) : get.answer());
    await get.call(client).catch(() => undefined);
    const steps = seen.map(({ step }) => step);
    seen.length = 0;
    await byNode
      .tracePromise(async () => {
        if (fail) throw new Error('no');
      }, {})
      .catch(() => undefined);

    expect(steps).toEqual(seen.map(({ step }) => step));
  }
});

test.each(operations)('$name is one message, complete at its end', async ({ name, call, answer }) => {
  const { seen, ended } = subscribeTo('call');
  const { client, sent } = clientOf(answer());

  await call(client);

  const path = new URL(sent[0]?.url ?? '').pathname.replace('ref-1', '{linkId}');
  const begun = { callId: 1, operation: name, method: sent[0]?.init.method, origin: 'https://sandbox.hosted.test' };
  expect(seen[0]?.message).toEqual({
    ...begun,
    route: path,
    status: null,
    attempts: 0,
    outcome: null,
    errorCode: null,
  });
  expect(ended('call')).toEqual([{ ...begun, route: path, status: 200, attempts: 1, outcome: 'ok', errorCode: null }]);
  expect(new Set(seen.map(({ identity }) => identity)).size).toBe(1);
});

test('fetch runs within the stores of its call, also after a pause, and the caller does not', async () => {
  const { inside, seen } = subscribeTo('call');
  const within: (readonly object[])[] = [];
  const note = (response: Response) => () => {
    within.push(inside());
    return response;
  };
  const { client } = clientOf([note(new Response(null, { status: 503 })), note(Response.json(get.answer()))], {
    clock: recordingClock(),
  });

  const call = get.call(client);
  expect(inside()).toEqual([]);
  await call;

  const callMessage = seen[0]?.identity;
  expect(within).toEqual([[callMessage], [callMessage]]);
  for (const [message] of within) expect(message).toBe(callMessage);
  expect(inside()).toEqual([]);
});

test('calls that run at once have stores of their own', async () => {
  const { inside } = subscribeTo('call');
  const service = createMockService();
  const seen: unknown[] = [];
  const fetch: typeof globalThis.fetch = async (...given) => {
    const response = await service.fetch(...given);
    seen.push(inside().map((message) => (message as { callId: number }).callId));
    return response;
  };
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch });

  await Promise.all(Array.from({ length: 5 }, () => client.links.list()));

  expect(seen.sort()).toEqual([[1], [2], [3], [4], [5]]);
});

const refused = () => {
  throw failed('ECONNREFUSED');
};

test('a call that fails has its code at step error, and its outcome', async () => {
  const { seen, ended } = subscribeTo('call');
  const { client } = clientOf(refused, { maxRetries: 0 });

  await rejection(create.call(client));
  await rejection(client.links.get(''));

  expect(seen.filter(({ step }) => step === 'error').map(({ message }) => message.errorCode)).toEqual([
    'connection',
    'validation',
  ]);
  expect(ended('call')).toMatchObject([
    { status: null, attempts: 1, outcome: 'not_sent', errorCode: 'connection' },
    { status: null, attempts: 0, outcome: 'not_sent', errorCode: 'validation' },
  ]);
});

test('a call that ends with what a clock of the caller throws has the code "error"', async () => {
  const { ended } = subscribeTo('call');
  const now = () => {
    throw new Error('of the clock');
  };
  let isBroken = false;
  const { client } = clientOf(get.answer(), { clock: { now: () => (isBroken ? now() : 0) } });
  isBroken = true;

  await rejection(get.call(client));

  expect(ended('call')).toMatchObject([{ errorCode: 'error', outcome: 'not_sent' }]);
});

test('a call that its caller aborts is no error', async () => {
  const { seen, ended } = subscribeTo('call');
  const { client, arrived } = clientOf(() => new Promise<Response>(() => undefined));
  const stopping = new AbortController();

  const call = rejection(client.links.get('ref-1', { signal: stopping.signal }));
  await arrived(1);
  stopping.abort();
  await call;

  expect(seen.filter(({ step }) => step === 'error')).toEqual([]);
  expect(ended('call')).toMatchObject([{ outcome: 'aborted', errorCode: null, attempts: 1 }]);
});

test('messages hold no ids, keys, bodies or paths of base URLs', async () => {
  const { seen } = subscribeTo('call', 'wait', 'callback');
  const answers = [new Response('planted-body', { status: 400 }), get.answer()];
  const { client } = clientOf(answers, {
    partnerId: 'planted-partner',
    apiKey: 'planted-key',
    baseUrls: { sandbox: 'https://sandbox.hosted.test/planted-path' },
  });

  for (let count = 0; count < 2; count++) {
    await client.links.get('planted-link', { headers: { 'x-user': 'planted-header' } }).catch(() => undefined);
    await client.jobs.status({ userId: 'planted-user', jobId: 'planted-job' }).catch(() => undefined);
  }

  expect(seen.length).toBeGreaterThan(12);
  expect(JSON.stringify(seen)).not.toContain('planted');
});

test('a subscriber that throws changes no call', async () => {
  const thrown = new Promise((resolve) => process.once('uncaughtException', resolve));
  const channel = tracingChannel('hosted-client:call');
  const fail = () => {
    throw new Error('of the subscriber');
  };
  channel.start.subscribe(fail);
  const { client, sent } = clientOf(get.answer());

  const link = await get.call(client);

  channel.start.unsubscribe(fail);
  expect(link).toMatchObject({ refId: 'ref-1' });
  expect(sent).toHaveLength(1);
  expect(await thrown).toMatchObject({ message: 'of the subscriber' });
});

test.each<[string, (message: object) => void]>([
  ['freezes it', (message) => void Object.freeze(message)],
  [
    'gives it a setter that throws',
    (message) =>
      void Object.defineProperty(message, 'outcome', {
        set: () => {
          throw new Error('of the subscriber');
        },
      }),
  ],
])('a subscriber that %s changes no call, no wait and no delivery', async (_what, change) => {
  const channels = ['call', 'wait', 'callback'].map((name) => tracingChannel(`hosted-client:${name}`));
  for (const { start } of channels) start.subscribe(change as (message: unknown) => void);
  onTestFinished(() => {
    for (const { start } of channels) start.unsubscribe(change as (message: unknown) => void);
  });
  const { sandbox, fetch } = createMockService();
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const onEvent = vi.fn();
  const job = sandbox.jobs.start();

  const refId = await create.call(client);
  sandbox.jobs.complete(job, 'approved');
  const completed = await client.jobs.waitForCompletion(job);
  const response = await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ onEvent }) });

  expect(refId).toBeDefined();
  expect(completed.state).toBe('succeeded');
  expect(response.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('nothing is created for a call without subscribers', async () => {
  const { client } = clientOf(get.answer());
  await get.call(client);
  const parsed = vi.spyOn(globalThis, 'URL');

  await get.call(client);

  const withoutSubscribers = parsed.mock.calls.length;
  subscribeTo('call');
  await get.call(client);
  expect(parsed.mock.calls.length).toBeGreaterThan(withoutSubscribers);
  parsed.mockRestore();
});
