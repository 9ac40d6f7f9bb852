/** What the adapter hands over and sends back, with frameworks that are made up. */

import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { HostedConfigError } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { expect, expectTypeOf, test } from 'vitest';

interface Sent {
  statusCode: number;
  readonly headers: Record<string, unknown>;
  body: Uint8Array | undefined;
  ends: number;
}

/** A response that notes what is done with it. */
function noting(state: { headersSent?: boolean; writableEnded?: boolean; destroyed?: boolean } = {}) {
  const sent: Sent = { statusCode: 0, headers: {}, body: undefined, ends: 0 };
  const response = {
    headersSent: false,
    writableEnded: false,
    destroyed: false,
    ...state,
    get statusCode() {
      return sent.statusCode;
    },
    set statusCode(status: number) {
      sent.statusCode = status;
    },
    setHeader: (name: string, value: unknown) => {
      sent.headers[name] = value;
    },
    end: (body?: Uint8Array) => {
      sent.body = body;
      sent.ends += 1;
    },
  };
  return { sent, response };
}

/** What a handler was given of this request. */
async function handedOver(request: object) {
  const seen: { method: string; url: string; headers: Record<string, string>; body: string }[] = [];
  const handle = nodeHandler(async (given) => {
    const headers = Object.fromEntries(given.headers);
    seen.push({ method: given.method, url: given.url, headers, body: await given.text() });
    return new Response(null, { status: 200 });
  });
  const { sent, response } = noting();
  await handle({ method: 'POST', url: '/callbacks?a=b', headers: {}, ...request } as never, response);
  return { seen, sent };
}

test.each([
  ['a rawBody of bytes', { rawBody: Buffer.from('{"a":1}'), body: { other: true } }, '{"a":1}'],
  ['a rawBody string', { rawBody: '{"a":1}', body: { other: true } }, '{"a":1}'],
  ['an empty rawBody beside a parsed body', { rawBody: Buffer.alloc(0), body: { a: 1 } }, '{"a":1}'],
  ['an empty rawBody string beside bytes', { rawBody: '', body: Buffer.from('{"a":1}') }, '{"a":1}'],
  ['bytes', { body: Buffer.from('{"a":1}') }, '{"a":1}'],
  ['part of larger memory', { body: new DataView(new TextEncoder().encode('__{"a":1}__').buffer, 2, 7) }, '{"a":1}'],
  ['memory', { body: new TextEncoder().encode('{"a":1}').buffer }, '{"a":1}'],
  ['a string', { body: '{"a":"ÿ€"}' }, '{"a":"ÿ€"}'],
  ['an object', { body: { a: [1, { b: 'ÿ€' }] } }, '{"a":[1,{"b":"ÿ€"}]}'],
  ['an object with a __proto__ of its own', { body: JSON.parse('{"__proto__":{"a":1}}') }, '{"__proto__":{"a":1}}'],
  ['an array', { body: [1] }, '[1]'],
  ['an empty object, where nothing else was sent', { headers: { 'content-length': '2' }, body: {} }, '{}'],
])('hands over %s', async (_what, request, body) => {
  const { seen, sent } = await handedOver(request);

  expect(seen).toMatchObject([{ method: 'POST', body }]);
  expect(sent).toMatchObject({ statusCode: 200, ends: 1 });
});

test('what was announced of a body is replaced by what is handed over', async () => {
  const headers = {
    'content-length': '99999',
    'Content-Encoding': 'gzip',
    'transfer-encoding': 'chunked',
    'x-trace': ['one', 'two'],
    ':method': 'POST',
    'x-none': undefined,
    'x-broken': 'a\nb',
  };

  const { seen } = await handedOver({ headers, body: { name: '€' } });

  expect(seen).toMatchObject([{ headers: { 'content-length': '14', 'x-trace': 'one, two' } }]);
  expect(Object.keys(seen[0]?.headers ?? {}).sort()).toEqual(['content-length', 'x-trace']);
});

test('a stream that was not read is handed over with the length that was announced', async () => {
  const stream = Object.assign(Readable.from([Buffer.from('{"a"'), ':', '1}'], { objectMode: false }), {
    method: 'POST',
    url: '/',
    headers: { 'content-length': '7' },
    body: {},
  });
  const seen: unknown[] = [];
  const handle = nodeHandler(async (given) => {
    seen.push(given.headers.get('content-length'), await given.text());
    return new Response();
  });

  await handle(stream, noting().response);

  expect(seen).toEqual(['7', '{"a":1}']);
});

test('a stream of strings is handed over as UTF-8', async () => {
  const stream = Readable.from([Buffer.from('{"a":"€"}')], { objectMode: false }).setEncoding('utf8');

  const seen: string[] = [];
  const handle = nodeHandler(async (given) => {
    seen.push(await given.text());
    return new Response();
  });
  await handle(Object.assign(stream, { method: 'POST', url: '/', headers: {} }), noting().response);

  expect(seen).toEqual(['{"a":"€"}']);
});

test.each([
  ['nothing and no stream', {}],
  ['null and no stream', { body: null }],
  ['an empty object and no stream, where more was sent', { headers: { 'content-length': '200' }, body: {} }],
  ['an object that JSON cannot carry', { body: { id: 1n } }],
  ['a function', { body: () => undefined }],
  [
    'an object that throws',
    {
      body: {
        get a() {
          throw new Error('secret');
        },
      },
    },
  ],
])('hands over a body that breaks where there is %s', async (_what, request) => {
  const failures: unknown[] = [];
  const handle = nodeHandler(async (given) => {
    await given.text().catch((error: unknown) => failures.push(error));
    return new Response(null, { status: 503 });
  });
  const { sent, response } = noting();

  await handle({ method: 'POST', url: '/', headers: {}, ...request } as never, response);

  expect(failures).toEqual([expect.any(TypeError)]);
  expect(sent).toMatchObject({ statusCode: 503, ends: 1 });
});

test.each([
  ['destroyed', () => Readable.from(['{']).destroy()],
  ['fails later', () => new Readable({ read: (): void => undefined })],
])('a stream that %s breaks the body, and an error of it ends nothing', async (_how, create) => {
  const stream = create();
  const failures: unknown[] = [];
  const handle = nodeHandler(async (given) => {
    const text = given.text();
    setImmediate(() => stream.destroy(new Error('reset')));
    await text.catch((error: unknown) => failures.push(error));
    return new Response(null, { status: 503 });
  });

  await handle(Object.assign(stream, { method: 'POST', url: '/', headers: {} }), noting().response);

  expect(failures).toEqual([expect.any(TypeError)]);
});

test('an empty string in place of the body does not hide what was not read', async () => {
  const stream = Object.assign(Readable.from([Buffer.from('{"a":1}')]), { body: '', method: 'POST', headers: {} });
  const seen: string[] = [];
  const handle = nodeHandler(async (given) => {
    seen.push(await given.text());
    return new Response();
  });

  await handle(stream, noting().response);

  expect(seen).toEqual(['{"a":1}']);
});

test.each([
  ['headers', { headers: undefined }],
  [
    'a body',
    {
      get body() {
        throw new Error('secret');
      },
    },
  ],
])('hands over a body that breaks where %s cannot be read: a handler reports it', async (_what, request) => {
  const failures: unknown[] = [];
  const handle = nodeHandler(async (given) => {
    await given.text().catch((error: unknown) => failures.push(error));
    return new Response(null, { status: 503 });
  });
  const { sent, response } = noting();

  await handle(
    Object.defineProperties(
      { method: 'POST', url: '/', headers: {} },
      Object.getOwnPropertyDescriptors(request),
    ) as never,
    response,
  );

  expect(failures).toEqual([expect.any(TypeError)]);
  expect(sent).toMatchObject({ statusCode: 503, ends: 1 });
});

test.each([
  [1, { connection: 'close' }],
  [2, {}],
])('408 closes a connection of HTTP/%d, where a header can say so', async (httpVersionMajor, headers) => {
  const { sent, response } = noting();
  const handle = nodeHandler(async () => new Response(null, { status: 408 }));

  await handle({ method: 'POST', headers: {}, body: {}, httpVersionMajor } as never, response);

  expect(sent).toMatchObject({ statusCode: 408, headers });
  expect(Object.keys(sent.headers)).toEqual(Object.keys(headers));
});

test.each([
  ['has not arrived', { complete: false }, ['retry-after', 'connection']],
  ['has not arrived by HTTP/2', { complete: false, httpVersionMajor: 2 }, ['retry-after']],
  ['has arrived', { complete: true }, ['retry-after']],
])(
  '503 closes the connection of a body that %s, if it can, as the rest would take memory',
  async (_what, facts, names) => {
    const { sent, response } = noting();
    const handle = nodeHandler(async () => new Response('full', { status: 503, headers: { 'retry-after': '30' } }));

    await handle({ method: 'POST', headers: {}, body: {}, ...facts } as never, response);

    expect(Object.keys(sent.headers).filter((name) => name !== 'content-type')).toEqual(names);
  },
);

test('a large upload waits in the connection until it is read', async () => {
  let made = 0;
  const chunk = new Uint8Array(65_536);
  const stream = new Readable({
    read() {
      made += 1;
      this.push(made > 1_000 ? null : chunk);
    },
  });
  const handle = nodeHandler(async (given) => {
    const reader = given.body?.getReader();
    await reader?.read();
    await new Promise(setImmediate);
    const ahead = made;
    await reader?.cancel();
    return Response.json(ahead);
  });
  const { sent, response } = noting();

  await handle(Object.assign(stream, { method: 'POST', url: '/', headers: {} }), response);
  await once(stream, 'end');

  expect(Number(new TextDecoder().decode(sent.body))).toBeLessThan(10);
  expect(made).toBe(1_001);
});

test.each([
  ['/callbacks?a=b', 'http://localhost/callbacks?a=b'],
  ['//other.test/x', 'http://localhost/other.test/x'],
  ['*', 'http://localhost/*'],
  [undefined, 'http://localhost/'],
])('the path %s becomes %s', async (url, expected) => {
  expect((await handedOver({ url, body: '{}' })).seen[0]?.url).toBe(expected);
});

test('sends status, headers and body once', async () => {
  const handle = nodeHandler(async () => {
    const headers = new Headers({ 'retry-after': '30', 'content-type': 'text/plain' });
    headers.append('set-cookie', 'a=1');
    headers.append('set-cookie', 'b=2');
    return new Response('later', { status: 503, headers });
  });
  const { sent, response } = noting();

  await handle({ method: 'GET', url: '/', headers: {} } as never, response);

  expect({ ...sent, body: new TextDecoder().decode(sent.body) }).toEqual({
    statusCode: 503,
    headers: { 'retry-after': '30', 'content-type': 'text/plain', 'set-cookie': ['a=1', 'b=2'] },
    body: 'later',
    ends: 1,
  });
});

test.each([{ headersSent: true }, { writableEnded: true }, { destroyed: true }])(
  'sends nothing where the response has %o',
  async (state) => {
    const { sent, response } = noting(state);

    await nodeHandler(async () => new Response())({ method: 'GET', url: '/', headers: {} } as never, response);

    expect(sent.ends).toBe(0);
  },
);

test('responds with 500 where the handler rejects, and never rejects itself', async () => {
  const { sent, response } = noting();
  const broken = { ...response, setHeader: () => undefined, end: () => expect.fail('secret') };

  await nodeHandler(() => Promise.reject(new Error('secret')))({ headers: {} } as never, response);
  await nodeHandler(() => expect.fail('secret'))(null as never, broken);

  expect(sent).toEqual({ statusCode: 500, headers: {}, body: undefined, ends: 1 });
});

test('a request that is no stream but has events is not waited for without end', async () => {
  const request = Object.assign(new EventEmitter(), { method: 'POST', url: '/', headers: {} });

  const { sent, response } = noting();
  const handle = nodeHandler(async (given) => new Response(await given.text().catch(() => 'broken')));
  await handle(request as never, response);

  expect(new TextDecoder().decode(sent.body)).toBe('broken');
});

test.each(['body', 'rawBody', 'content-length', 'type', 'size', 'readableDidRead', 'http'])(
  'other code may have put "%s" on Object.prototype',
  async (name) => {
    const seen: string[] = [];
    const handle = nodeHandler(async (given) => {
      seen.push(`${given.method} ${await given.text()}`);
      return new Response();
    });
    const server = createServer(handle).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const stream = Object.assign(Readable.from([Buffer.from('{"a":1}')]), { method: 'POST', url: '/', headers: {} });

    Object.defineProperty(Object.prototype, name, { value: 'polluted', configurable: true, writable: true });
    try {
      await handle(stream, noting().response);
    } finally {
      delete (Object.prototype as Record<string, unknown>)[name];
    }
    const { port } = server.address() as AddressInfo;
    await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{"b":2}' });

    server.close();
    expect(seen).toEqual(['POST {"a":1}', 'POST {"b":2}']);
  },
);

test('something else than a handler is refused when the adapter is made', () => {
  const create = () => nodeHandler({ onEvent: () => undefined } as never);

  expect(create).toThrow(HostedConfigError);
  expect(create).toThrow('Cannot receive a callback: "handle" must be the function that callbacks.handler() returns');
});

test('it takes the request and response of node:http and node:http2', () => {
  const listener = nodeHandler(async () => new Response());

  expectTypeOf(listener).toExtend<
    (request: IncomingMessage & { body?: unknown; rawBody?: unknown }, response: ServerResponse) => Promise<void>
  >();
  expectTypeOf(listener).toExtend<(request: Http2ServerRequest, response: Http2ServerResponse) => Promise<void>>();
});
