/** What a handler says of deliveries that it could not read, and which headers its responses have. */

import { HostedConnectionError, type HostedEvent, HostedResponseError, HostedTimeoutError } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, manualClock, now, rejection, sign, thrownBy } from '../support/fake-fetch.js';

const nowText = new Date(now).toISOString();

const callback = JSON.stringify({
  ResultCode: '0810',
  HostedJobID: '0000001111',
  PartnerParams: { user_id: 'user-1', job_id: 'job-1' },
  timestamp: nowText,
  signature: sign(nowText),
});

function post(body: BodyInit = callback, headers: Record<string, string> = {}): Request {
  const init = { method: 'POST', body, headers, duplex: 'half' };
  return new Request('https://partner.test/callbacks', init);
}

/** A handler that records how deliveries ended, and what onError is given. */
function start(options: Parameters<typeof clientOf>[1] = {}) {
  const events: HostedEvent[] = [];
  const errors: unknown[] = [];
  const { client } = clientOf({}, { onEvent: (event) => void events.push(event), ...options });
  const handle = client.callbacks.handler({
    confirm: false,
    maxBytes: 1_000,
    onEvent: () => undefined,
    onError: (error) => void errors.push(error),
  });
  return { handle, events, errors };
}

const stream = (body: Partial<UnderlyingDefaultSource<Uint8Array>>) => post(new ReadableStream<Uint8Array>(body));
const tooLarge = 'Cannot receive a callback: it is larger than "maxBytes"';

test.each<[string, () => Request, number, unknown, object]>([
  [
    'is sent by GET',
    () => new Request('https://partner.test/callbacks'),
    405,
    HostedResponseError,
    {
      message:
        'Cannot receive a callback: it was sent with GET, but callbacks are sent with POST: give this handler the POST requests of its route',
      reason: 'malformed',
      issues: [],
      outcome: 'answered',
    },
  ],
  [
    'says that it is too large',
    () => post(callback, { 'content-length': '1001' }),
    413,
    HostedResponseError,
    { message: tooLarge, reason: 'too_large', issues: [], outcome: 'answered' },
  ],
  [
    'is too large',
    () => stream({ pull: (controller) => controller.enqueue(new Uint8Array(501)) }),
    413,
    HostedResponseError,
    { message: tooLarge, reason: 'too_large', issues: [], outcome: 'answered' },
  ],
  [
    'breaks off',
    () => stream({ pull: (controller) => controller.error(new TypeError('terminated')) }),
    503,
    HostedConnectionError,
    {
      message: expect.stringMatching(/its body was cut off, or had already been read: do not let a parser read/),
      outcome: 'answered',
    },
  ],
])('a delivery that %s is an error that says so', async (_what, request, status, kind, facts) => {
  const { handle, errors } = start();

  const response = await handle(request());

  expect(response.status).toBe(status);
  expect(response.headers.get('allow')).toBe(status === 405 ? 'POST' : null);
  expect(response.headers.has('retry-after')).toBe(status === 503);
  expect(errors).toEqual([expect.any(kind)]);
  expect(errors).toMatchObject([facts]);
});

test('a delivery whose body does not arrive is an error that says so', async () => {
  const clock = createTestClock(now);
  const { handle, events, errors } = start({ clock });

  const response = handle(stream({}));
  await clock.advance(10_000);

  expect((await response).status).toBe(408);
  expect(events).toMatchObject([{ type: 'callback', status: 408, reason: 'timeout', durationMs: 10_000 }]);
  expect(errors).toEqual([expect.any(HostedTimeoutError)]);
  expect(errors).toMatchObject([
    {
      message: 'Cannot receive a callback: its body did not arrive within "bodyTimeoutMs"',
      phase: 'attempt',
      timeoutMs: 10_000,
      outcome: 'answered',
    },
  ]);
});

test('a delivery is measured from its own beginning, however long the client has been there', async () => {
  const clock = manualClock();
  const { handle, events } = start({ clock });
  clock.advance(5_000);

  await handle(post(callback));

  expect(events).toMatchObject([{ type: 'callback', status: 200, durationMs: 0 }]);
});

test('a delivery for which the clock fails takes no time, and has the reason "error"', async () => {
  const away = new Error('the clock is away');
  let isAway = false;
  const { now: read, sleep } = manualClock();
  const clock = {
    sleep,
    now: () => {
      if (isAway) throw away;
      return read();
    },
  };
  const { handle, events, errors } = start({ clock });
  isAway = true;

  const { status } = await handle(post());

  expect(status).toBe(503);
  expect(events).toMatchObject([{ type: 'callback', status: 503, reason: 'error', durationMs: 0 }]);
  expect(errors).toEqual([away]);
});

test.each([
  ['maxAgeMs', true, /^must be .*milliseconds, or false$/],
  ['maxAgeMs', 0, /^must be .*milliseconds, or false$/],
  ['replayGuard', { begin: () => 'new', commit: () => undefined }, /^must have begin\(\), commit\(\) and forget\(\)$/],
  ['onError', 'log', /^must be a function$/],
  ['onEvent', 'log', /^must be a function$/],
])('callbacks.handler() says what would be right for %s', (path, value, message) => {
  const { client } = clientOf({});
  const options = { confirm: false, onEvent: () => undefined, [path]: value } as const;

  expect(thrownBy(() => client.callbacks.handler(options))).toMatchObject({
    issues: [{ path, message: expect.stringMatching(message) }],
  });
});

test('callbacks.receive() says that another delivery has a callback in hand', async () => {
  const { client } = clientOf({});
  const none = async () => undefined;
  const replayGuard = { begin: async () => 'busy' as const, commit: none, forget: none };

  const error = await rejection(client.callbacks.receive(callback, { replayGuard }));

  expect(error).toMatchObject({
    message: expect.stringContaining('another delivery of the same callback is being handled'),
    reason: 'replayed',
    retryable: true,
  });
});
