// What is repeated and what is not, how long is waited, and what ends a call: time limits and the caller's signal.

import { HostedConnectionError, HostedValidationError } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import {
  clientOf,
  deferred,
  failed,
  manualClock,
  newLink,
  now,
  operations,
  type Reply,
  recordingClock,
  rejection,
  sign,
  stillClock,
} from '../support/fake-fetch.js';

const [create, update, get] = operations;
const job = { userId: 'user-1', jobId: 'job-1' };
const isoNow = new Date(now).toISOString();
const unavailable = (headers: Record<string, string> = {}) => Response.json({}, { status: 503, headers });
const never: Reply = () => new Promise<Response>(() => undefined);

function broken(...codes: readonly string[]): Reply {
  return () => {
    throw failed(...codes);
  };
}

/** Chance that always falls the same way, for clients made afterwards. */
function chance(value: number): void {
  vi.spyOn(Math, 'random').mockReturnValue(value);
}

afterEach(() => {
  vi.restoreAllMocks();
});

// Attempts ------------------------------------------------------------------

test.each(operations)('$name signs each attempt anew, over a time of its own', async ({ name, call, answer }) => {
  const replies = name === 'links.create' ? broken('ECONNREFUSED') : unavailable();
  const { client, sent } = clientOf([replies, replies, answer()], { clock: recordingClock() });

  await call(client);

  const timestamps = sent.map(({ body }) => String(body.timestamp));
  expect(timestamps).toHaveLength(3);
  expect([...new Set(timestamps)].sort()).toEqual(timestamps);
  const member = name === 'jobs.status' ? 'sec_key' : 'signature';
  expect(sent.map(({ body }) => body[member])).toEqual(timestamps.map((timestamp) => sign(timestamp)));
});

test('a client never signs two requests for one time, though its clock stands still or steps back', async () => {
  const clock = { ...stillClock(), now: vi.fn(() => now) };
  const { client, sent } = clientOf(get.answer(), { clock });

  await Promise.all(Array.from({ length: 50 }, () => client.links.get('ref-1')));
  clock.now.mockReturnValue(now - 60_000);
  await client.links.get('ref-1');

  const times = sent.map(({ body }) => Date.parse(String(body.timestamp)));
  expect(new Set(times).size).toBe(51);
  expect(times.at(-1)).toBe(Math.max(...times));
  expect(Math.min(...times)).toBe(now);
});

test.each([0, 1, 5])('maxRetries of %i means that many repeats', async (maxRetries) => {
  const byClient = clientOf(unavailable(), { clock: recordingClock(), maxRetries });
  const byCall = clientOf(unavailable(), { clock: recordingClock() });

  const errors = [
    await rejection(byClient.client.links.get('ref-1')),
    await rejection(byCall.client.links.get('ref-1', { maxRetries })),
  ];

  for (const error of errors) expect(error).toMatchObject({ code: 'server', attempts: maxRetries + 1 });
  expect([byClient.sent.length, byCall.sent.length]).toEqual([maxRetries + 1, maxRetries + 1]);
});

// Waits ---------------------------------------------------------------------

async function waits(replies: Reply | readonly Reply[], maxRetries = 2): Promise<readonly number[]> {
  const clock = recordingClock();
  const { client } = clientOf(replies, { clock, maxRetries });
  await rejection(client.links.get('ref-1'));
  return clock.slept;
}

test('waits are drawn from nothing up to half a second, doubled each time, and to no more than eight', async () => {
  chance(0);
  const least = await waits(unavailable(), 10);
  chance(1 - Number.EPSILON);
  const most = await waits(unavailable(), 10);
  chance(0.5);
  const middle = await waits(unavailable(), 10);

  const bounds = [500, 1_000, 2_000, 4_000, ...Array<number>(6).fill(8_000)];
  expect(least).toEqual(Array(10).fill(0));
  expect(middle).toEqual(bounds.map((ms) => ms / 2));
  expect(most).toEqual(bounds.map((ms) => ms - 1));
});

test('what earlier attempts took counts in what is left of totalTimeoutMs', async () => {
  chance(0);
  const clock = manualClock();
  const afterSixSeconds = () => {
    clock.advance(6_000);
    return unavailable({ 'retry-after': '5' });
  };
  const { client, sent } = clientOf(afterSixSeconds, { clock, totalTimeoutMs: 10_000 });

  const error = await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ code: 'server', status: 503, attempts: 1 });
  expect(sent).toHaveLength(1);
  expect(clock.sleeping()).toBe(0);
});

test('a clock that cannot sleep between two attempts ends the call with the error of the first one', async () => {
  const sleeping = manualClock();
  const sleep = (ms: number, signal?: AbortSignal) =>
    ms === 7_000 ? Promise.reject(new Error('no timers here')) : sleeping.sleep(ms, signal);
  const { client, sent } = clientOf([unavailable({ 'retry-after': '7' }), get.answer()], {
    clock: { now: sleeping.now, sleep },
  });

  const error = await rejection(client.links.get('ref-1'));

  expect(error).toMatchObject({ code: 'server', status: 503, attempts: 1 });
  expect(sent).toHaveLength(1);
});

// Create --------------------------------------------------------------------

const lookForIt = /links\.find\(\)/;

const unsettled: readonly [string, Reply, string, string][] = [
  ['a failure without a code', broken(), 'connection', 'unknown'],
  ['one refused address and one reset', broken('ECONNREFUSED', 'ECONNRESET'), 'connection', 'unknown'],
  [
    'a failure that only speaks of ECONNREFUSED',
    () => Promise.reject(new TypeError('ECONNREFUSED')),
    'connection',
    'unknown',
  ],
  ['a response that breaks off', () => new Response(breaking()), 'connection', 'unknown'],
  ['half an answer', new Response('{"link": "https'), 'response', 'answered'],
  ['an answer without a link', Response.json({ ref_id: 'ref-1' }), 'response', 'answered'],
  [
    'an answer with a forged signature',
    { ...create.answer(), signature: 'forged', timestamp: isoNow },
    'signature',
    'answered',
  ],
];

function breaking(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"link":')),
    pull: (controller) => controller.error(failed('UND_ERR_SOCKET')),
  });
}

test.each(unsettled)('links.create() is not repeated after %s, and says how to look for the link', async (...row) => {
  const [, reply, code, outcome] = row;
  const { client, sent } = clientOf([reply, create.answer()], { clock: recordingClock() });

  const error = await rejection(create.call(client));

  expect(error).toMatchObject({ code, outcome, retryable: false, attempts: 1 });
  expect((error as Error).message).toMatch(lookForIt);
  expect(sent).toHaveLength(1);
});

test.each([
  ['refused connections on both addresses', ['ECONNREFUSED', 'ECONNREFUSED']],
  ['a refused connection on one address and a bad certificate on the other', ['CERT_HAS_EXPIRED', 'ECONNREFUSED']],
])('links.create() is repeated after %s', async (_what, codes) => {
  const { client, sent } = clientOf([broken(...codes), broken(...codes), create.answer()], { clock: recordingClock() });

  const link = await client.links.create({
    ...newLink,
    callbackUrl: null,
  });

  expect(link.refId).toBe('ref-1');
  expect(sent).toHaveLength(3);
});

test.each<[string, Reply]>([
  ['may have arrived', broken('ECONNRESET')],
  ['got a response', Response.json({}, { status: 504 })],
])('an attempt that %s is not forgotten when the next one cannot leave', async (_what, reply) => {
  const { client } = clientOf([reply, broken('ECONNREFUSED')], { clock: recordingClock() });

  const error = await rejection(update.call(client));

  expect(error).toMatchObject({ code: 'connection', outcome: 'unknown', attempts: 3 });
});

test('an attempt that was rejected with 401 had no effect: when the next one cannot leave, nothing was sent', async () => {
  const date = new Date(now + 3_600_000).toUTCString();
  const rejected = Response.json({}, { status: 401, headers: { date } });
  const { client, sent } = clientOf([rejected, broken('ECONNREFUSED')], { clock: recordingClock(), maxRetries: 1 });

  const error = await rejection(create.call(client));

  expect(error).toMatchObject({ code: 'connection', outcome: 'not_sent', mayHaveActed: false, attempts: 2 });
  expect(sent).toHaveLength(2);
});

test('a fetch that throws before it gives a promise counts as one that rejects', async () => {
  let calls = 0;
  const fetch = () => {
    calls += 1;
    throw failed('ECONNRESET');
  };
  const { client } = clientOf({}, { fetch, clock: recordingClock() });

  const error = await rejection(client.links.get('ref-1'), HostedConnectionError);

  expect(error).toMatchObject({ outcome: 'unknown', attempts: 3 });
  expect(calls).toBe(3);
});

// Time limits ---------------------------------------------------------------

test.each(operations.filter(({ repeatable }) => repeatable))(
  '$name is repeated after the timeout of an attempt',
  async ({ call, answer }) => {
    chance(0);
    const clock = manualClock();
    const { client, arrived } = clientOf([never, () => Response.json(answer())], {
      clock,
      timeoutMs: 5_000,
      maxResponseAgeMs: false,
    });

    const result = call(client).withResponse();
    await arrived(1);
    clock.advance(5_000);

    expect((await result).response.attempts).toBe(2);
    expect(clock.sleeping()).toBe(0);
  },
);

test('a call rejects with the timeout of its last attempt', async () => {
  chance(0);
  const clock = manualClock();
  const { client, arrived } = clientOf(never, { clock });

  const call = rejection(client.links.get('ref-1', { timeoutMs: 5_000, maxRetries: 1 }));
  await arrived(1);
  clock.advance(5_000);
  await arrived(2);
  clock.advance(5_000);

  expect(await call).toMatchObject({ code: 'timeout', phase: 'attempt', retryable: true, attempts: 2 });
  expect(clock.sleeping()).toBe(0);
});

test('totalTimeoutMs ends a call over all its attempts', async () => {
  chance(0);
  const clock = manualClock();
  const { client, sent, arrived } = clientOf(never, { clock });

  const call = rejection(client.links.get('ref-1', { timeoutMs: 5_000, totalTimeoutMs: 8_000, maxRetries: 9 }));
  await arrived(1);
  clock.advance(5_000);
  await arrived(2);
  clock.advance(3_000);

  expect(await call).toMatchObject({ code: 'timeout', phase: 'total', outcome: 'unknown', attempts: 2 });
  expect(clock.sleeping()).toBe(0);
  expect(sent).toHaveLength(2);
});

// Starting ------------------------------------------------------------------

test.each(operations.filter(({ name }) => name !== 'links.list'))(
  '$name starts at once, whether anybody waits for it or not',
  async ({ call, answer }) => {
    const fetching = deferred();
    const { client } = clientOf(() => {
      fetching.resolve();
      return Response.json(answer());
    });

    const running = call(client);
    await fetching.promise;

    await expect(running).resolves.toBeDefined();
  },
);

/** An object that refuses whatever is done with it. */
function hostile(): never {
  const refuse = () => {
    throw new Error('hands off');
  };
  return new Proxy(
    {},
    { get: refuse, has: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse, getPrototypeOf: refuse },
  ) as never;
}

const ignore = () => undefined;
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore };

const oddities: readonly unknown[] = [
  ...[undefined, null, 5, Number.NaN, '', '../list', true, Symbol('odd'), 5n],
  ...[[], {}, () => undefined, Object.create(null)],
];

const withInput = [
  ['links.create()', (client: Client, input: never) => client.links.create(input)],
  ['links.update() with a good id', (client: Client, input: never) => client.links.update('ref-1', input)],
  ['links.update() with good changes', (client: Client, input: never) => client.links.update(input, { idTypes: [] })],
  ['links.disable()', (client: Client, input: never) => client.links.disable(input)],
  ['links.get()', (client: Client, input: never) => client.links.get(input)],
  ['jobs.status()', (client: Client, input: never) => client.jobs.status(input)],
] as const;

type Client = ReturnType<typeof clientOf>['client'];

test.each(withInput)(
  '%s never throws, and rejects with HostedValidationError, whatever it is given',
  async (...row) => {
    const [, call] = row;
    const { client, sent } = clientOf({});

    for (const input of oddities) {
      expect(await rejection(call(client, input as never))).toBeInstanceOf(HostedValidationError);
    }

    expect(sent).toEqual([]);
  },
);

test.each(withInput.map(([name, call]) => ({ name, call })))(
  '$name never throws, and rejects, when given an object that throws at every touch',
  async ({ call }) => {
    const { client, sent } = clientOf({}, { logger: quiet });

    const promise = call(client, hostile());

    expect(await rejection(promise)).toBeInstanceOf(Error);
    expect(sent).toEqual([]);
  },
);

test.each(operations)('$name never throws when its options throw at every touch', async ({ call, answer }) => {
  const { client, sent } = clientOf(answer());

  const promise = call(client, hostile());

  expect(await rejection(promise)).toBeInstanceOf(Error);
  expect(sent).toEqual([]);
});

test('a call sends what it was given when it was made, whatever becomes of that later', async () => {
  const { client, sent } = clientOf(create.answer());
  const link = {
    ...newLink,
    idTypes: [{ country: 'NG', idType: 'BVN', verificationMethod: 'biometric_kyc' as const }],
    extra: { partner_params: { team: 'one' } },
  };
  const query = { ...job, history: true };

  const calls = [client.links.create(link), rejection(client.jobs.status(query))];
  link.companyName = 'Another Ltd';
  link.idTypes.length = 0;
  link.extra.partner_params.team = 'two';
  query.userId = 'user-2';
  await Promise.all(calls);

  expect(sent.find(({ url }) => url.endsWith('_links'))?.body).toMatchObject({
    company_name: 'Example Ltd',
    id_types: [{ country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' }],
    partner_params: { team: 'one' },
  });
  expect(sent.find(({ url }) => url.endsWith('job_status'))?.body).toMatchObject({ user_id: 'user-1', history: true });
});

test('a call that ends does not go on reading a body from a fetch that does not listen', async () => {
  const controller = new AbortController();
  let pulls = 0;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull(stream) {
      pulls += 1;
      if (pulls === 10) controller.abort();
      stream.enqueue(new Uint8Array(16));
    },
    cancel() {
      cancelled = true;
    },
  });
  const { client } = clientOf({}, { fetch: async () => new Response(body) });

  const reason = await rejection(client.links.get('ref-1', { signal: controller.signal }));
  await new Promise((turn) => setImmediate(turn));

  expect(reason).toBe(controller.signal.reason);
  expect(cancelled).toBe(true);
  expect(pulls).toBeLessThan(20);
});

// The budget of retries ------------------------------------------------------------

test('five successes give back one of the retries that an outage has used up', async () => {
  let isUp = false;
  const reply: Reply = () => (isUp ? Response.json(get.answer()) : unavailable());
  const { client, sent } = clientOf(reply, { clock: recordingClock() });
  const requestsOf = async (calls: number) => {
    const before = sent.length;
    for (let number = 0; number < calls; number++) await get.call(client).catch(() => undefined);
    return sent.length - before;
  };

  const used = await requestsOf(60);
  isUp = true;
  await requestsOf(5);
  isUp = false;

  // 500 tokens, 5 a retry.
  expect(used).toBe(160);
  expect(await requestsOf(2)).toBe(3);
});
