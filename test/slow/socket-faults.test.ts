// What a caller sees when the network or the service fails on real sockets, through the platform's own fetch.

import { brotliCompressSync, gzipSync } from 'node:zlib';
import {
  HostedClient,
  type HostedClientOptions,
  HostedConnectionError,
  HostedResponseError,
  HostedTimeoutError,
} from 'hosted-client';
import { expect, onTestFinished, test } from 'vitest';
import { apiKey, operations, partnerId, rejection } from '../support/fake-fetch.js';
import {
  type Exchange,
  type FaultyServer,
  faultyServer,
  head,
  pour,
  socketClock,
  whole,
} from '../support/faulty-server.js';
import { createWithRandom, randomFrom } from '../support/random.js';

const [, , get] = operations;
const megabyte = 1024 * 1024;
const json = { 'content-type': 'application/json' };

/** The time limits of ordinary calls here: never reached, and told apart from back-off by their length. */
const limits = { timeoutMs: 29_000, totalTimeoutMs: 119_000 };

type Answer = (exchange: Exchange, operation: Operation) => unknown;
type Operation = (typeof operations)[number];

/** A service with this fault, closed when the test is over. */
async function serving(answer: (exchange: Exchange) => unknown): Promise<FaultyServer> {
  const server = await faultyServer(answer);
  onTestFinished(() => server.close());
  return server;
}

/** A client of an address, through the platform's fetch. */
function clientAt(origin: string, options: Partial<HostedClientOptions> = {}, onHead?: () => void) {
  const { timeoutMs, totalTimeoutMs } = { ...limits, ...options };
  const clock = socketClock([timeoutMs, totalTimeoutMs]);
  const given = {
    partnerId,
    apiKey,
    baseUrls: { sandbox: origin },
    clock,
    timeoutMs,
    totalTimeoutMs,
    ...(onHead && {
      fetch: async (...asked: Parameters<typeof fetch>) => {
        const response = await globalThis.fetch(...asked);
        onHead();
        return response;
      },
    }),
    ...options,
    // The clock stands still: both sides sign at one millisecond, and so alike.
    wire: { echoesTimestamp: true },
  } as HostedClientOptions;
  // Tests run at once here, and what one draws must not depend on the others.
  const client = createWithRandom(randomFrom(1), () => new HostedClient(given));
  return { client, clock };
}

const good = (operation: Operation) => JSON.stringify(operation.answer());

// Responses that fail ---------------------------------------------------------

interface Fault {
  readonly what: string;
  readonly answer: Answer;
  readonly type: new (...given: never[]) => Error;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly repeated: boolean;
  /** The longest an attempt may take; faults without it end by themselves. */
  readonly timeoutMs?: number;
}

const connection = {
  type: HostedConnectionError,
  facts: { code: 'connection', outcome: 'unknown' },
  repeated: true,
} as const;

const timeout = {
  type: HostedTimeoutError,
  facts: { code: 'timeout', phase: 'attempt', outcome: 'unknown' },
  repeated: true,
} as const;

const unusable = (reason: string, status = 200) =>
  ({
    type: HostedResponseError,
    facts: { code: 'response', reason, outcome: 'answered', status },
    repeated: false,
  }) as const;

// A head and the beginning of a body go out in one piece, so that whoever has the one has the other.
const begun = (framing: string, operation: Operation) =>
  framing === 'chunked'
    ? `${head(200, { ...json, 'transfer-encoding': 'chunked' })}a\r\n${good(operation).slice(0, 10)}\r\n`
    : head(200, { ...json, 'content-length': good(operation).length }) + good(operation).slice(0, 10);

const framings = ['content-length', 'chunked'];

/** Breaks a connection once the client has read what was written. */
async function breakAfter({ socket, headRead }: Exchange, text: string, how: 'reset' | 'end'): Promise<void> {
  const read = headRead();
  socket.write(text);
  await read;
  if (how === 'reset') socket.resetAndDestroy();
  else socket.end();
}

/** One byte now, and one every second. */
function drip(socket: Exchange['socket'], text: string): void {
  let sent = 0;
  const next = () => socket.write(text.charAt(sent++) || ' ');
  next();
  const timer = setInterval(next, 1_000);
  socket.once('close', () => clearInterval(timer));
}

const zeros = Buffer.alloc(50 * megabyte);
const gzipped = gzipSync(zeros, { level: 1 });
const bombs: readonly [string, Buffer][] = [
  ['gzip', gzipped],
  ['gzip, gzip', gzipSync(gzipped)],
  ['br', brotliCompressSync(zeros, { params: { 1: 1 } })],
];

const faults: readonly Fault[] = [
  { what: 'a reset before the head', answer: ({ socket }) => socket.resetAndDestroy(), ...connection },
  { what: 'an end before the head', answer: ({ socket }) => socket.end(), ...connection },
  { what: 'an end in the head', answer: ({ socket }) => socket.end('HTTP/1.1 200 Said\r\ncontent-'), ...connection },
  { what: 'an answer that is not HTTP', answer: ({ socket }) => socket.end('SSH-2.0-Said\r\n\r\n'), ...connection },
  {
    what: 'a head that does not end',
    answer: ({ socket }) => {
      socket.write('HTTP/1.1 200 Said\r\n');
      return pour(socket, Buffer.from(`x-much: ${'x'.repeat(1_000)}\r\n`), megabyte);
    },
    ...connection,
  },
  {
    what: 'a reset after the head',
    answer: (exchange) => breakAfter(exchange, head(200, { ...json, 'content-length': 100 }), 'reset'),
    ...connection,
  },
  ...framings.flatMap((framing) =>
    (['reset', 'end'] as const).map((how) => ({
      what: `${how === 'reset' ? 'a reset' : 'an end'} in the middle of a body (${framing})`,
      answer: (exchange: Exchange, operation: Operation) => breakAfter(exchange, begun(framing, operation), how),
      ...connection,
    })),
  ),
  {
    what: 'a body that is not the gzip it says',
    answer: ({ socket }, operation) =>
      socket.write(whole(200, good(operation), { ...json, 'content-encoding': 'gzip' })),
    ...connection,
  },
  { what: 'a stall before the head', answer: () => undefined, ...timeout, timeoutMs: 250 },
  ...framings.map((framing) => ({
    what: `a stall in the middle of a body (${framing})`,
    answer: ({ socket }: Exchange, operation: Operation) => socket.write(begun(framing, operation)),
    ...timeout,
    timeoutMs: 250,
  })),
  {
    what: 'a head of one byte a second',
    answer: ({ socket }, operation) => drip(socket, whole(200, good(operation)).toString()),
    ...timeout,
    timeoutMs: 1_200,
  },
  {
    what: 'a body of one byte a second',
    answer: ({ socket }, operation) => {
      socket.write(head(200, { ...json, 'content-length': good(operation).length }));
      drip(socket, good(operation));
    },
    ...timeout,
    timeoutMs: 1_200,
  },
  ...bombs.map(([coding, bytes]) => ({
    what: `50 MB of zeros in ${coding}`,
    answer: ({ socket }: Exchange) => pour(socket, whole(200, bytes, { ...json, 'content-encoding': coding }), 1),
    ...unusable('too_large'),
  })),
];

const rows = faults.flatMap((fault) =>
  operations.map((operation) => ({ name: operation.name, what: fault.what, fault, operation })),
);

test.concurrent.each(rows)('$name on $what rejects as the table says', async ({ operation, fault }) => {
  const maxRetries = fault.timeoutMs ? 1 : 2;
  const server = await serving((exchange) => fault.answer(exchange, operation));
  const { client, clock } = clientAt(
    server.origin,
    { maxRetries, ...(fault.timeoutMs ? { timeoutMs: fault.timeoutMs } : {}) },
    server.onHead,
  );
  const repeats = fault.repeated && operation.repeatable;
  const startedAt = performance.now();

  const error = await rejection(operation.call(client));

  const attempts = repeats ? maxRetries + 1 : 1;
  expect(error).toBeInstanceOf(fault.type);
  expect(error).toMatchObject({ ...fault.facts, operation: operation.name, attempts, retryable: repeats });
  expect(server.requests).toHaveLength(attempts);
  expect(clock.slept).toHaveLength(attempts - 1);
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});

test.concurrent.each(operations)(
  '$name that is aborted over a stalled body hangs up and rejects with the reason',
  async (operation) => {
    const ending = new AbortController();
    const reason = new Error('enough');
    const server = await serving(({ socket }) => socket.write(begun('chunked', operation)));
    const { client } = clientAt(server.origin, {}, () => ending.abort(reason));

    const error = await rejection(operation.call(client, { signal: ending.signal }));

    expect(error).toBe(reason);
    await server.quiet();
    expect(server.requests).toHaveLength(1);
  },
);

// Large bodies --------------------------------------------------------------

const letters = Buffer.alloc(64 * 1024, 'a');

test.each(framings.flatMap((framing) => operations.map((operation) => ({ name: operation.name, framing, operation }))))(
  '$name hangs up on a body of 50 MB ($framing) soon after maxResponseBytes',
  async ({ operation, framing }) => {
    const chunked = framing === 'chunked';
    const pouring: Promise<number>[] = [];
    const server = await serving(({ socket }) => {
      socket.write(
        head(200, { ...json, ...(chunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': 50 * megabyte }) }),
      );
      const piece = chunked ? Buffer.concat([Buffer.from('10000\r\n'), letters, Buffer.from('\r\n')]) : letters;
      pouring.push(pour(socket, piece, 50 * megabyte));
    });
    const { client } = clientAt(server.origin);

    const error = await rejection(operation.call(client), HostedResponseError);
    await server.quiet();

    expect(error).toMatchObject({ reason: 'too_large', outcome: 'answered', attempts: 1 });
    expect(error.rawBody().length).toBeLessThanOrEqual(8 * megabyte);
    const written = await Promise.all(pouring);
    // 8 MiB are asked for; the rest is what lies in the buffers of two sockets and a stream.
    expect(written).toHaveLength(1);
    for (const bytes of written) expect(bytes).toBeLessThan(25 * megabyte);
  },
);

// Redirects -----------------------------------------------------------------

const redirects = [301, 302, 303, 304, 305, 306, 307, 308].flatMap((status) =>
  ['the same origin', 'another origin', 'no address', 'what is no address'].flatMap((target) =>
    operations.map((operation) => ({ name: operation.name, status, target, operation })),
  ),
);

test.concurrent.each(redirects)('$name does not follow a $status to $target', async ({ operation, status, target }) => {
  const other = await serving(({ socket }) => socket.write(whole(200, good(operation))));
  const locations: Readonly<Record<string, Record<string, string>>> = {
    'the same origin': { location: '/elsewhere' },
    'another origin': { location: `${other.origin}/elsewhere` },
    'what is no address': { location: 'http://[' },
  };
  const headers = { ...json, ...locations[target], 'retry-after': '0' };
  const server = await serving(({ socket }) =>
    // A 304 has no body, whatever its length says.
    socket.write(status === 304 ? head(304, headers) : whole(status, good(operation), headers)),
  );
  const { client } = clientAt(server.origin);

  const error = await rejection(operation.call(client), HostedResponseError);

  expect(error).toMatchObject({
    reason: 'redirect',
    status,
    outcome: 'answered',
    attempts: 1,
    retryable: false,
  });
  expect(server.requests).toHaveLength(1);
  expect(other.sockets).toEqual([]);
});

// The platform's fetch sends a string again after 421, whatever the client says.
const oncePerCall = [
  { status: 421, code: 'api' },
  { status: 401, code: 'authentication' },
].flatMap((row) => operations.slice(0, 2).map((operation) => ({ name: operation.name, operation, ...row })));

test.concurrent.each(oncePerCall)('$name with status $status is sent once', async ({ operation, status, code }) => {
  const server = await serving(({ socket }) => socket.write(whole(status, good(operation))));
  const { client } = clientAt(server.origin, { maxRetries: 0 });

  const error = await rejection(operation.call(client));

  expect(error).toMatchObject({ code, status, attempts: 1 });
  expect(server.requests).toHaveLength(1);
  expect(JSON.parse(server.requests[0]?.body ?? '')).toHaveProperty('partner_id', partnerId);
});

// What ends by its limit takes 1.5 s each; a busy machine needs most of it for 50 MB that are compressed.
test('one client tolerates every fault in turn, and then works', { timeout: 60_000 }, async () => {
  let fault = 0;
  const quick = faults.filter(({ timeoutMs }) => timeoutMs !== 1_200);
  const server = await serving((exchange) => {
    const row = quick[fault];
    if (row) row.answer(exchange, get);
    else exchange.socket.write(whole(200, good(get)));
  });
  const { client } = clientAt(server.origin, { maxRetries: 0, timeoutMs: 1_500 }, server.onHead);

  for (; fault < quick.length; fault++) {
    expect(await rejection(client.links.get('ref-1')), quick[fault]?.what).toMatchObject(quick[fault]?.facts ?? {});
  }

  await expect(client.links.get('ref-1')).resolves.toMatchObject({ refId: 'ref-1' });
});
