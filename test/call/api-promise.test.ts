// The promise of a call: its value, its response, and branches that no caller waits for.

import { HostedNotFoundError, type ResponseInfo } from 'hosted-client';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { clientOf, operations, recordingClock, rejection } from '../support/fake-fetch.js';

const eager = operations.filter(({ name }) => name !== 'links.list');
const notFound = () => Response.json({ error: 'text' }, { status: 404 });

let unhandled: unknown[] = [];
const note = (reason: unknown) => {
  unhandled.push(reason);
};

beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', note);
});

afterEach(() => {
  process.off('unhandledRejection', note);
});

/** Long enough for every unhandled rejection to be told: two turns of the event loop. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test.each(operations)('$name gives value and response together withResponse()', async ({ name, call, answer }) => {
  const body = answer();
  const headers = { 'x-request-id': 'req-1', 'x-other': 'value' };
  const given = name === 'jobs.status' ? 200 : 202;
  const { client, sent } = clientOf(Response.json(body, { status: given, headers }));

  const promise = call(client);
  const { data, response } = await promise.withResponse();

  const { status, requestId, attempts } = response;
  expect({ status, requestId, attempts }).toEqual({ status: given, requestId: 'req-1', attempts: 1 });
  expect(response.headers).toBeInstanceOf(Headers);
  expect(response.headers.get('x-other')).toBe('value');
  expect(response.rawBody()).toBe(JSON.stringify(body));
  expect(await promise).toEqual(data);
  expect(sent).toHaveLength(1);
});

test.each(operations)('$name withResponse() asked twice, and awaited as well, sends one request', async (operation) => {
  const { client, sent } = clientOf(operation.answer());

  const promise = operation.call(client);
  const responses: ResponseInfo[] = [];
  for (const asking of [promise.withResponse(), promise.withResponse()]) responses.push((await asking).response);
  await promise;
  await promise;

  expect(responses.map(({ status }) => status)).toEqual([200, 200]);
  expect(sent).toHaveLength(1);
});

test('rawBody() is the body as received, with what nobody knows', async () => {
  const text = `{"ref_id" : "ref-1",\n "link_url": "https://links.hosted.test/1", "unknown": "ü" }`;
  const { client } = clientOf(new Response(text));

  const { response } = await client.links.get('ref-1').withResponse();

  expect(response.rawBody()).toBe(text);
});

test.each(eager)('$name gives a promise, and its branches are plain ones', async ({ call, answer }) => {
  const { client } = clientOf(answer());

  const promise = call(client);
  const branches = [promise.then((value) => value), promise.catch(() => undefined), promise.finally(() => undefined)];

  expect(promise).toBeInstanceOf(Promise);
  for (const branch of branches) {
    expect(branch).toBeInstanceOf(Promise);
    expect(branch.constructor).toBe(Promise);
    expect(branch).not.toHaveProperty('withResponse');
  }
  await Promise.all(branches);
});

test('links.list() gives plain branches too', async () => {
  const { client, sent } = clientOf(operations[3].answer());

  const list = client.links.list();
  const branches = [list.then((page) => page), list.catch(() => undefined), list.finally(() => undefined)];

  for (const branch of branches) expect(branch.constructor).toBe(Promise);
  expect((await Promise.all(branches)).map((page) => page?.links)).toEqual([[], [], []]);
  expect(sent).toHaveLength(1);
});

test.each(operations)('$name works with then, catch, finally, all, race and allSettled', async ({ call, answer }) => {
  const { client } = clientOf([answer(), answer(), answer(), answer(), notFound()]);
  const seen: string[] = [];

  const value = await call(client)
    .then((result: unknown) => result)
    .finally(() => seen.push('finally'));
  const [all] = await Promise.all([call(client)]);
  const race = await Promise.race([call(client)]);
  const [outcome] = await Promise.allSettled([call(client)]);
  const caught = await call(client).catch((error: unknown) => error);

  for (const result of [value, all, race]) expect(result).toBeTypeOf('object');
  expect(outcome?.status).toBe('fulfilled');
  expect(caught).toBeInstanceOf(HostedNotFoundError);
  expect(seen).toEqual(['finally']);
});

test.each(operations)('$name rejects alike whether it is awaited or asked withResponse()', async ({ call }) => {
  const { client, sent } = clientOf(notFound());

  const promise = call(client);
  const errors = [await rejection(promise.withResponse()), await rejection(Promise.resolve(promise))];

  expect(errors[0]).toBeInstanceOf(HostedNotFoundError);
  expect(errors[1]).toBe(errors[0]);
  expect(sent).toHaveLength(1);
});

test.each(operations)('$name that fails leaves no unhandled rejection when only awaited', async ({ call }) => {
  const { client } = clientOf(notFound());

  await rejection(Promise.resolve(call(client)));
  await settled();

  expect(unhandled).toEqual([]);
});

test.each(operations)('$name that fails leaves none when only asked withResponse()', async ({ call }) => {
  const { client } = clientOf(notFound());

  await rejection(call(client).withResponse());
  await settled();

  expect(unhandled).toEqual([]);
});

test.each(operations)('$name given bad options leaves none when handled', async ({ call }) => {
  const { client, sent } = clientOf({});

  const promise = call(client, { timeoutMs: -1 });
  await rejection(promise.withResponse());
  await settled();

  expect(sent).toEqual([]);
  expect(unhandled).toEqual([]);
});

test('an attempt that fails after its call is over leaves none', async () => {
  const controller = new AbortController();
  let fail: (error: Error) => void = () => undefined;
  const { client, arrived } = clientOf(
    () =>
      new Promise<Response>((_resolve, reject) => {
        fail = reject;
      }),
    { clock: recordingClock() },
  );

  const call = rejection(client.links.get('ref-1', { signal: controller.signal }));
  await arrived(1);
  controller.abort();
  await call;
  fail(new Error('too late'));
  await settled();

  expect(unhandled).toEqual([]);
});
