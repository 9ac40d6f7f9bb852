/** What leaves, and what does not, when something is wrong on our own side. */

import { Readable } from 'node:stream';
import { type FetchInit, HostedClient, HostedConnectionError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, newLink, optionsOf, recordingClock, rejection } from '../support/fake-fetch.js';

afterEach(() => {
  vi.doUnmock('ky');
  vi.resetModules();
  vi.unstubAllGlobals();
});

test('a call that cannot load what sends is not sent, and the next one tries anew', async () => {
  vi.resetModules();
  vi.doMock('ky', () => ({
    get default() {
      throw Object.assign(new Error('Cannot find module'), { code: 'ERR_MODULE_NOT_FOUND' });
    },
  }));
  const { HostedClient: Client } = await import('hosted-client');
  const service = createMockService();
  const client = new Client({ ...service.sandbox.clientOptions, fetch: service.fetch });

  const error = await client.links.create(newLink, { maxRetries: 0 }).catch((caught: unknown) => caught);
  vi.doUnmock('ky');

  expect(error).toMatchObject({
    code: 'connection',
    outcome: 'not_sent',
    attempts: 1,
    message:
      'Cannot create a link: the code that sends requests could not be loaded (ERR_MODULE_NOT_FOUND): if a deploy has replaced its files, restart this process',
    cause: { code: 'ERR_MODULE_NOT_FOUND' },
  });
  await expect(client.links.create(newLink)).resolves.toHaveProperty('refId');
  expect(service.sandbox.links.all()).toHaveLength(1);
});

test('a call that is aborted before its request leaves sends nothing', async () => {
  vi.resetModules();
  const { HostedClient: Client } = await import('hosted-client');
  const service = createMockService();
  const fetch = vi.fn(service.fetch);
  const ending = new AbortController();
  const reason = new Error('stop');
  const onEvent = () => ending.abort(reason);
  const client = new Client({ ...service.sandbox.clientOptions, fetch, onEvent });

  await expect(client.links.create(newLink, { signal: ending.signal })).rejects.toBe(reason);
  // Whatever was under way has had its turns.
  await new Promise(setImmediate);
  await new Promise(setImmediate);

  expect(fetch).not.toHaveBeenCalled();
});

test('a call that is aborted while what sends is loaded reports no request', async () => {
  vi.resetModules();
  const ending = new AbortController();
  const reason = new Error('stop');
  vi.doMock('ky', async () => {
    ending.abort(reason);
    return vi.importActual('ky');
  });
  const { HostedClient: Client } = await import('hosted-client');
  const service = createMockService();
  const fetch = vi.fn(service.fetch);
  const types: string[] = [];
  const client = new Client({ ...service.sandbox.clientOptions, fetch, onEvent: ({ type }) => types.push(type) });

  await expect(client.links.create(newLink, { signal: ending.signal })).rejects.toBe(reason);
  // Whatever was under way has had its turns.
  await new Promise(setImmediate);
  await new Promise(setImmediate);

  expect(types).toEqual(['call']);
  expect(fetch).not.toHaveBeenCalled();
});

test('a caller’s fetch is called without `this`, like a global function', async () => {
  const service = createMockService();
  const holders: unknown[] = [];
  // The fetch of Cloudflare's workerd: as a method of another object, it fails.
  async function fetch(this: unknown, url: string, init: FetchInit): Promise<Response> {
    holders.push(this);
    if (this !== undefined && this !== globalThis) throw new TypeError('Illegal invocation');
    return service.fetch(url, init);
  }
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch, maxRetries: 0 });

  await client.links.list();

  expect(holders).toEqual([undefined]);
});

/** workerd before the compatibility date 2024-11-11. */
class OldRequest {
  constructor(_url: string, { cache }: { cache?: string } = {}) {
    if (cache) throw new Error("The 'cache' field on 'RequestInitializerDict' is not implemented.");
  }
}

test.each([
  ['takes it', globalThis.Request, { cache: 'no-store' }],
  ['throws at it', OldRequest, {}],
])('a caller’s fetch is told to store no response, where the platform %s', async (_what, Request, expected) => {
  vi.resetModules();
  vi.stubGlobal('Request', Request);
  const { HostedClient: Client } = await import('hosted-client');
  const inits: FetchInit[] = [];
  const fetch = async (_url: string, init: FetchInit) => {
    inits.push(init);
    return Response.json({ links: [], meta: { currentPage: 1, limit: 20, totalCount: 0, totalPages: 1 } });
  };

  await new Client(optionsOf({ fetch } as never)).links.list();

  expect(inits.map((init) => ('cache' in init ? { cache: init.cache } : {}))).toEqual([expected]);
});

test.each<[unknown]>([[undefined], [null], ['text'], [{}], [{ headers: null }], [{ headers: {} }]])(
  'a fetch that resolves with %j gave no response',
  async (value) => {
    const { client } = clientOf(() => value as Response, { maxRetries: 0 });

    const error = await rejection(client.links.create(newLink));

    expect(error).toBeInstanceOf(HostedConnectionError);
    expect(error).toMatchObject({ outcome: 'unknown', attempts: 1 });
    expect((error as Error).message).toContain('the client\'s own "fetch" resolved with no response');
  },
);

test.each<[string, unknown, string]>([
  ['nothing', undefined, 'no response'],
  [
    'bodies that are streams of Node, as those of node-fetch',
    { status: 200, ok: true, headers: new Headers(), body: Readable.from(['{}']) },
    'a body that is no ReadableStream: use the fetch of the platform or of undici',
  ],
])('a replaced fetch of the platform that gives %s is named', async (_what, response, says) => {
  vi.stubGlobal('fetch', async () => response);
  const { clientOptions } = createMockService().sandbox;

  const error = await rejection(new HostedClient({ ...clientOptions, maxRetries: 0 }).links.create(newLink));

  expect(error).toMatchObject({ code: 'connection', outcome: 'unknown' });
  expect((error as Error).message).toContain(`Cannot create a link: fetch resolved with ${says}`);
});

test.each([
  ['links.create', 2],
  ['jobs.waitForCompletion', 2],
])(
  'a signal of a framework that fetch throws in %s reaches it as it is, and nothing is retried',
  async (name, maxRetries) => {
    // As Next.js throws it in a page that must not be rendered in advance.
    const signal = Object.assign(new Error('Dynamic server usage: no-store fetch'), { digest: 'DYNAMIC_SERVER_USAGE' });
    const { client, sent } = clientOf(() => Promise.reject(signal), { maxRetries, clock: recordingClock() });
    const call = name === 'links.create' ? client.links.create(newLink) : client.jobs.waitForCompletion(job);

    expect(await rejection(call)).toBe(signal);

    expect(sent).toHaveLength(1);
  },
);

test.each([undefined, 1, null])('an error with the digest %s is no signal', async (digest) => {
  const { client } = clientOf(() => Promise.reject(Object.assign(new Error('failed'), { digest })), { maxRetries: 0 });

  expect(await rejection(client.links.get('ref-1'))).toBeInstanceOf(HostedConnectionError);
});

test('an option that the caller’s own fetch does not take is an error of this fetch, with the place that threw', async () => {
  const fetch = async (url: string, init: FetchInit) => globalThis.fetch(url, { ...init, mode: 'none' } as never);
  const client = new HostedClient({ ...createMockService().sandbox.clientOptions, fetch, maxRetries: 0 });

  const error = await rejection(client.links.create(newLink));

  expect(error).toMatchObject({ code: 'connection', outcome: 'unknown' });
  expect((error as Error).message).toContain('Cannot create a link: the client\'s own "fetch" failed: TypeError');
});

const job = { userId: 'user-1', jobId: 'job-1' };

const cut = Object.assign(new Error('cut'), { code: 'ECONNRESET' });
const refused = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
const deep = [1, 2, 3, 4].reduce<Error>((cause) => new Error('in', { cause }), cut);
const unreadable = new Proxy(
  {},
  {
    get: () => {
      throw new Error('not yours to read');
    },
  },
);

test.each<[string, unknown]>([
  ['a text', 'socket hang up'],
  ['an error whose cause lies deep', deep],
  ['an object that throws when it is read', unreadable],
])('a create whose addresses were refused, but for one that failed with %s, counts as sent', async (_, other) => {
  const { client, sent } = clientOf(() => {
    throw new TypeError('fetch failed', { cause: new AggregateError([refused, other]) });
  });

  const error = await rejection(client.links.create(newLink));

  expect(error).toBeInstanceOf(HostedConnectionError);
  expect(error).toMatchObject({ outcome: 'unknown', attempts: 1 });
  expect(sent).toHaveLength(1);
});

test('an error that only looks like ours is passed on as it is, and nothing is repeated', async () => {
  const foreign = Object.assign(new Error('not ours'), {
    code: 'config',
    operation: null,
    issues: [],
    retryable: true,
  });
  const get = () => {
    throw foreign;
  };
  const types: string[] = [];
  const { client, sent } = clientOf(() => ({ status: 200, headers: { get } }) as never, {
    clock: recordingClock(),
    onEvent: ({ type }) => types.push(type),
  });

  expect(await rejection(client.links.get('ref-1'))).toBe(foreign);

  expect(sent).toHaveLength(1);
  expect(types).not.toContain('retry');
});

test('an abort by the error of another call is an abort: no failure is reported, and nothing repeated', async () => {
  const ending = new AbortController();
  const failed = await rejection(
    clientOf(new Response(null, { status: 503 }), { maxRetries: 0 }).client.links.get('a'),
  );
  const told: string[] = [];
  const fetch = async () => {
    ending.abort(failed);
    throw failed;
  };
  const { clientOptions } = createMockService().sandbox;
  const client = new HostedClient({ ...clientOptions, fetch, onEvent: ({ type }) => told.push(type) });

  await expect(client.links.get('ref-1', { signal: ending.signal })).rejects.toBe(failed);

  expect(told).toEqual(['request', 'call']);
});

const noTimers = new Error('no timers here');

// A time limit on a clock that fails by itself is over at once, not never.
test.each<[string, () => Promise<void>, object]>([
  [
    'throws',
    () => {
      throw noTimers;
    },
    noTimers,
  ],
  ['rejects', () => Promise.reject(noTimers), { code: 'timeout' }],
])('a given clock whose sleep %s ends the call, and leaves no listener behind', async (_, sleep, expected) => {
  const ending = new AbortController();
  const added = vi.spyOn(ending.signal, 'addEventListener');
  const removed = vi.spyOn(ending.signal, 'removeEventListener');
  const { clientOptions } = createMockService().sandbox;
  const client = new HostedClient({
    ...clientOptions,
    clock: { now: () => Date.UTC(2026, 0, 1), sleep },
    fetch: () => new Promise(() => undefined),
  });

  await expect(client.links.get('ref-1', { signal: ending.signal })).rejects.toMatchObject(expected);

  expect(removed.mock.calls.length).toBeGreaterThanOrEqual(added.mock.calls.length);
  ending.abort();
});
