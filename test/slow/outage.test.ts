// What an outage leaves of a client's retries: few requests, and none too many once it is over.

import { HostedServerError } from 'hosted-client';
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
import { randomFrom } from '../support/random.js';

const [create, , get] = operations;
const unavailable: Reply = () => Response.json({}, { status: 503 });

function broken(code: string): Response {
  throw failed(code);
}

/** How a request fails, and after which of them a create is sent again: it had no effect. */
const failures: readonly { fail(): Response; isRepeated: boolean; isCreateRepeated: boolean }[] = [
  ...[
    () => Response.json({}, { status: 503 }),
    () => Response.json({}, { status: 500, headers: { 'retry-after': '0' } }),
    () => Response.json({}, { status: 408 }),
    () => Response.json({ code: '2301' }),
    () => new Response(new ReadableStream({ start: (body) => body.error(failed('UND_ERR_SOCKET')) })),
    () => broken('ECONNRESET'),
  ].map((fail) => ({ fail, isRepeated: true, isCreateRepeated: false })),
  ...[() => Response.json({}, { status: 429, headers: { 'retry-after': '0' } }), () => broken('ECONNREFUSED')].map(
    (fail) => ({ fail, isRepeated: true, isCreateRepeated: true }),
  ),
  { fail: () => new Response('<html>'), isRepeated: false, isCreateRepeated: false },
];

// By SECURITY.md, all calls share one token bucket. It has 500 tokens: a retry takes 5, and a success gives 1 back.
test.each([1, 2, 3])('each of 6,000 drawn calls makes the requests that the token bucket allows (%i)', async (seed) => {
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T;
  let replies: (() => Response)[] = [];
  const { client, sent } = clientOf(() => replies.shift()?.() ?? new Response(), { clock: recordingClock() });
  let [tokens, share, leastTokens] = [500, 1, 500];

  for (let call = 0; call < 6_000; call++) {
    if (call % 300 === 0) share = pick([0, 0.1, 0.99, 1]);
    const operation = pick(operations);
    const drawn = [1, 2, 3].map(() => (random() < share ? null : pick(failures)));
    replies = drawn.map((failure) => failure?.fail ?? (() => Response.json(operation.answer())));
    let expected = 0;
    for (const failure of drawn) {
      expected += 1;
      if (failure === null) tokens = Math.min(500, tokens + 1);
      const isRepeated = operation.repeatable ? failure?.isRepeated : failure?.isCreateRepeated;
      if (!isRepeated || expected === 3 || tokens < 5) break;
      tokens -= 5;
    }
    leastTokens = Math.min(leastTokens, tokens);
    const before = sent.length;

    await operation.call(client).catch(() => undefined);

    expect(sent.length - before).toBe(expected);
  }
  expect(leastTokens).toBeLessThan(5);
});

test('1,000 calls at once in an outage make 1,100 requests', async () => {
  const { client, sent } = clientOf(unavailable, { clock: recordingClock() });

  const errors = await Promise.all(Array.from({ length: 1_000 }, () => rejection(get.call(client))));
  const last = await rejection(get.call(client), HostedServerError);

  expect(sent).toHaveLength(1_100 + 1);
  expect(errors.every((error) => error instanceof HostedServerError)).toBe(true);
  expect(last).toMatchObject({ status: 503, outcome: 'refused', attempts: 1, retryable: true });
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

test('clients made by withOptions() have token buckets of their own', async () => {
  const { client, sent } = clientOf(unavailable, { clock: recordingClock() });
  const derived = client.withOptions({});

  for (const each of [client, derived]) {
    const before = sent.length;
    for (let call = 0; call < 120; call++) await rejection(get.call(each));
    expect(sent.length - before).toBe(220);
  }
});
