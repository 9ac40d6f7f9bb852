// Who is told of a delivery that did not end in 200, and of one that did: onError, the log, the client's events.

import {
  type CallbackEvent,
  type ConfirmedEvent,
  HostedConfigError,
  HostedConnectionError,
  type HostedEvent,
  HostedNotFoundError,
  HostedResponseError,
  HostedSignatureError,
  HostedTimeoutError,
  type Logger,
  type ReplayGuard,
  type Signer,
} from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';
import {
  apiKey,
  clientOf,
  deferred,
  manualClock,
  now,
  type Reply,
  sign,
  signed,
  stillClock,
} from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

const nowText = '2026-01-02T03:04:05.678Z';

failOnStrayRejections();

const result = {
  ResultCode: '0810',
  HostedJobID: '0000001111',
  PartnerParams: { user_id: 'user-1', job_id: 'job-1' },
};

function bodyOf(properties: object = {}, { timestamp = nowText, key = apiKey } = {}): string {
  return JSON.stringify({ ...result, ...properties, timestamp, signature: sign(timestamp, key) });
}

function post(body: BodyInit | null = bodyOf(), method = 'POST'): Request {
  const init = { method, ...(method !== 'GET' && { body }), duplex: 'half' };
  return new Request('https://partner.test/callbacks', init as RequestInit);
}

const succeeded: Reply = ({ body: { user_id, job_id } }) =>
  Response.json(signed({ job_complete: true, job_success: true, user_id, job_id, history: [result] }));

type At = { readonly phase: string; readonly status: number; readonly event: CallbackEvent | ConfirmedEvent | null };

/** A client that records what is told: to onError, to the logger's warn(), and to onEvent. */
function recordingClient(reply: Reply | readonly Reply[] = succeeded, options: Parameters<typeof clientOf>[1] = {}) {
  const errors: { readonly error: unknown; readonly at: At }[] = [];
  const lines: string[] = [];
  const events: HostedEvent[] = [];
  const ignore = () => undefined;
  const logger: Logger = { debug: ignore, info: ignore, error: ignore, warn: (message) => void lines.push(message) };
  const { client, sent } = clientOf(reply, { logger, onEvent: (event) => void events.push(event), ...options });
  const deliveries = () => events.filter((event) => event.type === 'callback');
  const onError = (error: unknown, at: At) => void errors.push({ error, at });
  return { client, sent, errors, lines, deliveries, onError };
}

const isFine = () => undefined;
const away = () => Promise.reject(new Error('the database is away'));

/** A guard that knows the same of every callback. */
function guardOf(known: 'new' | 'busy' | 'repeat' | 'conflict' | Error): ReplayGuard {
  const begin = async () => {
    if (known instanceof Error) throw known;
    return known;
  };
  return { begin, commit: async () => undefined, forget: async () => undefined };
}

const brokenSigner: Signer = {
  name: 'broken',
  sign: () => 'signature',
  verify: () => Promise.reject(new Error('away')),
};

function brokenBody(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) });
}

interface Failure {
  readonly what: string;
  readonly request: () => Request;
  readonly reply?: Reply;
  readonly client?: Parameters<typeof clientOf>[1];
  readonly handler?: { replayGuard?: ReplayGuard; maxBytes?: number; onEvent?: () => void | Promise<void> };
  readonly confirm?: false;
  readonly told: { readonly phase: string; readonly status: number; readonly reason: string };
  readonly error: abstract new (...given: never[]) => Error;
  readonly event: 'none' | 'as posted' | 'confirmed';
}

const guardError = class GuardError extends Error {};

const failures: readonly Failure[] = [
  {
    what: 'a GET',
    request: () => post(null, 'GET'),
    told: { phase: 'read', status: 405, reason: 'method' },
    error: HostedResponseError,
    event: 'none',
  },
  {
    what: 'a body that is too large',
    request: () => post(bodyOf({ Photo: 'A'.repeat(2_000) })),
    handler: { maxBytes: 1_000 },
    told: { phase: 'read', status: 413, reason: 'too_large' },
    error: HostedResponseError,
    event: 'none',
  },
  {
    what: 'a body that is not JSON',
    request: () => post('{'),
    told: { phase: 'read', status: 400, reason: 'malformed' },
    error: HostedResponseError,
    event: 'none',
  },
  {
    what: 'a body without a job',
    request: () => post(bodyOf({ PartnerParams: {} })),
    told: { phase: 'read', status: 400, reason: 'shape' },
    error: HostedResponseError,
    event: 'none',
  },
  {
    what: 'a body that breaks off',
    request: () => post(brokenBody()),
    told: { phase: 'read', status: 503, reason: 'connection' },
    error: HostedConnectionError,
    event: 'none',
  },
  {
    what: 'a body without a signature',
    request: () => post(JSON.stringify(result)),
    told: { phase: 'verify', status: 401, reason: 'missing' },
    error: HostedSignatureError,
    event: 'none',
  },
  {
    what: 'a body that is signed with another key',
    request: () => post(bodyOf({}, { key: 'another-key' })),
    told: { phase: 'verify', status: 401, reason: 'mismatch' },
    error: HostedSignatureError,
    event: 'none',
  },
  {
    what: 'a signer that fails',
    request: () => post(),
    client: { signer: brokenSigner },
    told: { phase: 'verify', status: 503, reason: 'config' },
    error: HostedConfigError,
    event: 'none',
  },
  {
    what: 'another body under the same signature',
    request: () => post(),
    handler: { replayGuard: guardOf('conflict') },
    confirm: false,
    told: { phase: 'guard', status: 401, reason: 'replayed' },
    error: HostedSignatureError,
    event: 'as posted',
  },
  {
    what: 'a callback in other hands',
    request: () => post(),
    handler: { replayGuard: guardOf('busy') },
    told: { phase: 'guard', status: 503, reason: 'busy' },
    error: HostedSignatureError,
    event: 'as posted',
  },
  {
    what: 'a guard that fails',
    request: () => post(),
    handler: { replayGuard: guardOf(new guardError('the store is away')) },
    told: { phase: 'guard', status: 503, reason: 'guard' },
    error: guardError,
    event: 'as posted',
  },
  {
    what: 'a job that job status does not know',
    request: () => post(),
    reply: () => Response.json({ error: 'Job not found', code: '2304' }, { status: 400 }),
    told: { phase: 'confirm', status: 503, reason: 'not_found' },
    error: HostedNotFoundError,
    event: 'as posted',
  },
  {
    what: 'a status that is not signed',
    request: () => post(),
    reply: { job_complete: true, job_success: true },
    told: { phase: 'confirm', status: 503, reason: 'signature' },
    error: HostedSignatureError,
    event: 'as posted',
  },
  {
    what: 'an onEvent that rejects',
    request: () => post(),
    handler: { onEvent: away },
    told: { phase: 'handle', status: 500, reason: 'handler' },
    error: Error,
    event: 'confirmed',
  },
  {
    what: 'an onEvent that throws, without confirming',
    request: () => post(),
    handler: {
      onEvent: () => {
        throw new Error('the database is away');
      },
    },
    confirm: false,
    told: { phase: 'handle', status: 500, reason: 'handler' },
    error: Error,
    event: 'as posted',
  },
];

test.each(failures)('onError, the log and the events are told of $what', async (failure) => {
  const { what: _what, request, reply = succeeded, confirm, told, error: errorClass, event } = failure;
  const { client, errors, lines, deliveries, onError } = recordingClient(reply, failure.client);
  const options = { onEvent: isFine, onError, ...failure.handler };
  const handle =
    confirm === false
      ? client.callbacks.handler({ ...options, confirm })
      : client.callbacks.handler({ ...options, ...(confirm === undefined ? {} : { confirm }) });

  const response = await handle(request());

  const { phase, status, reason } = told;
  expect(response.status).toBe(status);
  expect(response.headers.has('retry-after')).toBe(status === 503);
  expect(errors).toEqual([
    { error: expect.any(errorClass), at: { phase, status, event: expect.toSatisfy(isExpected) } },
  ]);
  expect(deliveries()).toEqual([
    { type: 'callback', result: status < 500 ? 'refused' : 'failed', reason, status, durationMs: 0 },
  ]);
  expect(lines).toEqual([expect.stringMatching(/^hosted-client: /)]);
  expect(lines[0]).toContain(String(status));
  for (const secret of ['user-1', 'job-1', '0810', 'database', 'store', nowText])
    expect(lines[0]).not.toContain(secret);

  function isExpected(given: At['event']): boolean {
    if (event === 'none') return given === null;
    const isPosted = given?.entry?.extra.timestamp === nowText;
    return given?.jobId === 'job-1' && isPosted === (event === 'as posted');
  }
});

test.each([
  ['accepted', undefined, { result: 'accepted', reason: null, status: 200 }],
  ['a repeat', guardOf('repeat'), { result: 'repeat', reason: null, status: 200 }],
] as const)(
  'the events are told of a callback that is %s, and onError and the log are not',
  async (_what, replayGuard, event) => {
    const { client, errors, lines, deliveries, onError } = recordingClient();
    const guard = replayGuard ? { replayGuard } : {};

    const response = await client.callbacks.handler({ onEvent: isFine, onError, ...guard })(post());

    expect(response.status).toBe(200);
    expect(deliveries()).toEqual([{ type: 'callback', durationMs: 0, ...event }]);
    expect(errors).toEqual([]);
    expect(lines).toEqual([]);
  },
);

test('a delivery is measured on the client’s clock, onEvent included', async () => {
  const clock = manualClock();
  const { client, deliveries } = recordingClient(succeeded, { clock });
  const handling = deferred();
  const handle = client.callbacks.handler({ confirm: false, onEvent: () => handling.promise });

  const response = handle(post());
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(1_234);
  handling.resolve();
  await response;

  expect(deliveries()).toMatchObject([{ durationMs: 1_234 }]);
});

test('each delivery that failed has a log line, and those that were refused are counted in one a minute', async () => {
  const clock = manualClock();
  const { client, lines } = recordingClient(succeeded, { clock });
  const handle = client.callbacks.handler({ confirm: false, onEvent: away });

  for (let count = 0; count < 50; count++) await handle(post('{}'));
  for (let count = 0; count < 3; count++) await handle(post());
  expect(lines).toHaveLength(4);
  expect(lines[0]).toMatch(/^hosted-client: 1 deliver.*1 with 401/);
  expect(lines.slice(1).every((line) => line.includes('500'))).toBe(true);
  clock.advance(59_999);
  await handle(post('no JSON'));
  expect(lines).toHaveLength(4);
  clock.advance(1);
  await handle(post('no JSON'));

  expect(lines).toHaveLength(5);
  expect(lines[4]).toMatch(/^hosted-client: 51 deliver.*49 with 401, 2 with 400/);
});

test('what was refused since is counted when the next callback is accepted, a minute later', async () => {
  const clock = manualClock();
  const { client, lines } = recordingClient(succeeded, { clock });
  const handle = client.callbacks.handler({ confirm: false, onEvent: isFine });

  for (let count = 0; count < 3; count++) await handle(post('{}'));
  clock.advance(60_000);
  await handle(post(bodyOf({}, { timestamp: new Date(now + 60_000).toISOString() })));

  expect(lines).toHaveLength(2);
  expect(lines[1]).toContain('2 with 401');
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no');
    },
  ],
  ['rejects', () => Promise.reject(new Error('no'))],
])('callbacks.handler() responds as ever when onError %s', async (_what, fail) => {
  const { client } = recordingClient();
  const handle = client.callbacks.handler({ onEvent: away, onError: fail });

  expect((await handle(post('{}'))).status).toBe(401);
  expect((await handle(post())).status).toBe(500);
});

test('callbacks.handler() does not wait for onError', async () => {
  const { client } = recordingClient();
  const handle = client.callbacks.handler({ onEvent: isFine, onError: () => new Promise<void>(() => undefined) });

  expect((await handle(post('{}'))).status).toBe(401);
});

test('a log line is written where the guard fails after a callback was handled, which stays handled', async () => {
  const { client, errors, lines, onError } = recordingClient();
  const replayGuard = { ...guardOf('new'), commit: away };

  const response = await client.callbacks.handler({ onEvent: isFine, onError, replayGuard })(post());

  expect(response.status).toBe(200);
  expect(errors).toEqual([]);
  expect(lines).toEqual([expect.stringContaining('the replay guard failed after a callback was handled')]);
});

test('callbacks.handler() responds with 503 when the clock fails, and does not reject', async () => {
  let isBroken = false;
  const clock = { ...stillClock(), now: () => (isBroken ? Number.NaN : now) };
  const { client, errors, onError } = recordingClient(succeeded, { clock });
  const handle = client.callbacks.handler({ onEvent: isFine, onError });
  isBroken = true;

  const response = await handle(post());

  expect(response.status).toBe(503);
  expect(errors).toEqual([{ error: expect.any(HostedConfigError), at: { phase: 'verify', status: 503, event: null } }]);
});

// Time ----------------------------------------------------------------------

test('callbacks.handler() responds with 408 to a body that does not arrive within ten seconds, and reads no more of it', async () => {
  const clock = createTestClock(now);
  const { client, errors, onError } = recordingClient(succeeded, { clock });
  const cancelled = vi.fn();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(bodyOf().slice(0, 50))),
    cancel: cancelled,
  });

  const response = client.callbacks.handler({ onEvent: isFine, onError })(post(body));
  await clock.advance(9_999);
  expect(cancelled).not.toHaveBeenCalled();
  await clock.advance(1);

  expect((await response).status).toBe(408);
  expect(cancelled).toHaveBeenCalledOnce();
  expect(errors).toEqual([{ error: expect.any(HostedTimeoutError), at: { phase: 'read', status: 408, event: null } }]);
});

test('callbacks.handler() keeps to bodyTimeoutMs, however many bytes arrive meanwhile', async () => {
  const clock = createTestClock(now);
  const { client } = recordingClient(succeeded, { clock });
  const slow = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      await clock.sleep?.(100);
      controller.enqueue(Uint8Array.of(0x20));
    },
  });

  const response = client.callbacks.handler({ onEvent: isFine, bodyTimeoutMs: 1_000 })(post(slow));
  await clock.advance(1_000);

  expect((await response).status).toBe(408);
});

// Ids -----------------------------------------------------------------------

test.each(['user_id', 'job_id', 'link_id'])(
  'a callback whose %s has more than 1,024 characters is refused',
  async (name) => {
    const { client, errors, onError } = recordingClient();
    const handle = client.callbacks.handler({ onEvent: isFine, onError, confirm: true });
    const withId = (length: number) =>
      post(bodyOf({ PartnerParams: { ...result.PartnerParams, [name]: 'x'.repeat(length) } }));

    expect((await handle(withId(1_024))).status).toBe(200);
    expect((await handle(withId(1_025))).status).toBe(400);
    expect(errors).toMatchObject([{ error: { reason: 'shape', issues: [{ path: `PartnerParams.${name}` }] } }]);
  },
);
