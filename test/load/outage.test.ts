// What an outage leaves of a client's retries: few requests, and none too many once it is over.

import { type HostedClientOptions, HostedServerError } from 'hosted-client';
import { expect, test } from 'vitest';
import {
  clientOf,
  failed,
  manualClock,
  operations,
  type Reply,
  recordingClock,
  rejection,
} from '../support/fake-fetch.js';

const [create, , get, , status] = operations;
const repeatable = operations.filter((operation) => operation.repeatable);
const unavailable: Reply = () => Response.json({}, { status: 503 });

/** A service that is down or up, and a client of it that sleeps for nobody. */
function outage(options: Partial<HostedClientOptions> = {}, down: Reply = unavailable) {
  const service = { up: false };
  const reply: Reply = (request, signal) => {
    if (typeof down === 'function' && !service.up) return down(request, signal);
    const operation = operations.find(({ name }) => request.url.endsWith(addresses[name]));
    return Response.json(operation?.answer());
  };
  const { client, sent } = clientOf(reply, { clock: recordingClock(), ...options });
  /** How many requests a number of calls makes. */
  const requests = async (calls: number, call: (number: number) => Promise<unknown>) => {
    const before = sent.length;
    for (let number = 0; number < calls; number++) await call(number).catch(() => undefined);
    return sent.length - before;
  };
  return { service, client, sent, requests };
}

const addresses = {
  'links.create': '/v1/hosted_links',
  'links.update': 'no other',
  'links.get': '/ref-1',
  'links.list': '/list',
  'jobs.status': '/job_status',
} as const;

test.each(repeatable)('1,000 calls of $name in an outage make at most 1,200 requests', async ({ call }) => {
  const { client, requests } = outage();

  const made = await requests(1_000, () => call(client));

  expect(made).toBeLessThanOrEqual(1_200);
  // 500 tokens, 5 a retry.
  expect(made).toBe(1_100);
});

test('1,000 calls of every kind, and each kind of failure, make at most 1,200 requests', {
  timeout: 60_000,
}, async () => {
  const downs = [
    () => Response.json({}, { status: 503 }),
    () => Response.json({}, { status: 500, headers: { 'retry-after': '0' } }),
    () => Response.json({}, { status: 429, headers: { 'retry-after': '0' } }),
    () => Response.json({}, { status: 408 }),
    () => Response.json({ code: '2301' }),
    () => {
      throw failed('ECONNREFUSED');
    },
    () => {
      throw failed('ECONNRESET');
    },
  ];
  let request = 0;
  const { client, requests } = outage({ maxRetries: 5 }, () => downs[request++ % downs.length]?.() ?? new Response());

  const made = await requests(1_000, (number) => (operations[number % 5] ?? get).call(client));

  expect(made).toBe(1_100);
});

test('1,000 calls at once in an outage make at most 1,200 requests', async () => {
  const { client, sent } = outage();

  const errors = await Promise.all(Array.from({ length: 1_000 }, () => rejection(get.call(client))));

  expect(sent).toHaveLength(1_100);
  expect(errors.every((error) => error instanceof HostedServerError)).toBe(true);
});

test('the first calls of an outage are repeated in full, and the last ones not at all', async () => {
  const { client } = outage();

  const attempts: unknown[] = [];
  for (let call = 0; call < 60; call++) {
    attempts.push(((await rejection(get.call(client))) as HostedServerError).attempts);
  }

  expect(attempts).toEqual([...Array(50).fill(3), ...Array(10).fill(1)]);
});

test('a call that has used up the budget rejects with what went wrong, and is still worth repeating', async () => {
  const { client, requests } = outage();
  await requests(100, () => get.call(client));

  const error = await rejection(get.call(client), HostedServerError);

  expect(error).toMatchObject({ status: 503, outcome: 'refused', attempts: 1, retryable: true });
});

test.each([
  [1, 0],
  [4, 0],
  [5, 1],
  [50, 10],
  [500, 100],
  [1_000, 100],
])('%i successes after an outage give %i retries back', async (successes, retries) => {
  const { service, client, requests } = outage();
  await requests(100, () => get.call(client));

  service.up = true;
  const after = await requests(successes, () => get.call(client));
  service.up = false;
  const again = await requests(200, () => get.call(client));

  expect(after).toBe(successes);
  expect(again).toBe(200 + retries);
});

test('a client that has known no outage has as much left as a new one', async () => {
  const { service, client, requests } = outage();

  service.up = true;
  await requests(800, () => get.call(client));
  service.up = false;

  expect(await requests(200, () => get.call(client))).toBe(300);
});

test('successes of one operation pay for the retries of another', async () => {
  const { service, client, requests } = outage();
  await requests(100, () => get.call(client));

  service.up = true;
  await requests(50, () => create.call(client));
  service.up = false;

  expect(await requests(100, () => status.call(client))).toBe(110);
});

test('one failure in a hundred calls is always repeated', async () => {
  let request = 0;
  const { client } = clientOf(
    () => (++request % 101 === 1 ? Response.json({}, { status: 503 }) : Response.json(get.answer())),
    {
      clock: recordingClock(),
    },
  );

  for (let call = 0; call < 1_500; call++) await get.call(client);

  expect(request).toBeGreaterThan(1_510);
});

test.each<[string, () => Response]>([
  [
    'a reset',
    () => {
      throw failed('ECONNRESET');
    },
  ],
  [
    'an error without a name',
    () => {
      throw new TypeError('fetch failed');
    },
  ],
  [
    'a body that breaks',
    () => new Response(new ReadableStream({ start: (body) => body.error(failed('UND_ERR_SOCKET')) })),
  ],
  ['status 500', () => Response.json({}, { status: 500 })],
  ['status 503', () => Response.json({}, { status: 503, headers: { 'retry-after': '0' } })],
  ['status 408', () => Response.json({}, { status: 408 })],
  ['HTML', () => new Response('<html>')],
])('1,000 creates whose responses are lost to %s make exactly 1,000 requests', async (_what, lost) => {
  const { client, requests } = outage({ maxRetries: 10 }, lost);

  const made = await requests(1_000, () => create.call(client));

  expect(made).toBe(1_000);
});

test('1,000 creates whose responses never come make exactly 1,000 requests', async () => {
  const clock = manualClock();
  const never: Reply = () => new Promise<Response>(() => undefined);
  const { client, sent, arrived } = clientOf(never, { clock, timeoutMs: 5_000, maxRetries: 10 });

  const calls = Array.from({ length: 1_000 }, () => rejection(create.call(client)));
  await arrived(1_000);
  clock.advance(5_000);
  const errors = await Promise.all(calls);

  expect(sent).toHaveLength(1_000);
  expect(clock.sleeping()).toBe(0);
  for (const error of errors) expect(error).toMatchObject({ code: 'timeout', outcome: 'unknown', attempts: 1 });
});

test('1,000 creates that cannot leave make at most 1,200 attempts', async () => {
  const { client, requests } = outage({}, () => {
    throw failed('ECONNREFUSED');
  });

  expect(await requests(1_000, () => create.call(client))).toBe(1_100);
});

test('clients made by withOptions() have budgets of their own', async () => {
  const { client, requests } = outage();
  const earlier = client.withOptions({});
  await requests(100, () => get.call(client));
  const later = client.withOptions({ maxRetries: 1 });

  const made = [
    await requests(120, () => get.call(earlier)),
    await requests(120, () => get.call(later)),
    await requests(120, () => get.call(client)),
  ];

  expect(made).toEqual([220, 220, 120]);
});
