// Each way in which a delivery fails: the response, what is reported, and the next delivery.

import {
  HostedApiError,
  HostedAuthenticationError,
  HostedConfigError,
  HostedConnectionError,
  HostedNotFoundError,
  HostedRateLimitError,
  HostedResponseError,
  HostedServerError,
  HostedSignatureError,
  HostedTimeoutError,
  hmacSha256,
  type Signer,
} from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { apiKey, failed, now, rejection, signed, stillClock } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  away,
  bodyOf,
  broken,
  day,
  nowText,
  type Posted,
  receiver,
  result,
  type Setup,
  startHandler,
} from './deliveries.js';

failOnStrayRejections();

type Phase = 'read' | 'verify' | 'guard' | 'confirm' | 'handle';

/** Why a delivery fails; phase, status and reason; the error that `onError` gets, and properties of it. */
type Failure = readonly [
  why: string,
  ends: `${Phase} ${number} ${string}`,
  error: abstract new (...given: never[]) => unknown,
  given: { readonly post?: Posted; readonly setup?: Setup; readonly facts?: object },
];

const streamOf = (source: UnderlyingDefaultSource<Uint8Array>) => new ReadableStream(source, { highWaterMark: 0 });
/** A body that fails when it is read. */
const unread = () => streamOf({ pull: (controller) => controller.error(new TypeError('terminated')) });
const largeBody = () => streamOf({ pull: (controller) => controller.enqueue(new Uint8Array(501)) });
const tooLarge = {
  message: 'Cannot receive a callback: it is larger than "maxBytes"',
  reason: 'too_large',
  issues: [],
  outcome: 'answered',
};
const cutOff = {
  message: expect.stringMatching(/its body was cut off, or had already been read: do not let a parser read/),
  outcome: 'answered',
};
const limit: Setup = { handler: { maxBytes: 1_000 } };

const notPost = (shown: string) => ({
  message: `Cannot receive a callback: it was sent with ${shown}, but callbacks are sent with POST: give this handler the POST requests of its route`,
  reason: 'malformed',
});
const bodiesOf = (ends: Failure[1], error: Failure[2], given: Failure[3], posts: Readonly<Record<string, Posted>>) =>
  Object.entries(posts).map(([why, post]): Failure => [why, ends, error, { ...given, post }]);

const bodies: readonly Failure[] = [
  ...['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'user-1-GET'].map((method): Failure => {
    // Anyone can send any text as the method, so only a short word in capitals is shown.
    const facts = notPost(/^[A-Z]{1,7}$/.test(method) ? method : 'another method');
    return [method, 'read 405 method', HostedResponseError, { post: { method, body: unread() }, facts }];
  }),
  ...bodiesOf(
    'read 413 too_large',
    HostedResponseError,
    { setup: limit, facts: tooLarge },
    {
      'a content-length over the limit': { body: unread(), headers: { 'content-length': '1001' } },
      'a body over the limit': { body: largeBody() },
      'a body over the limit with a wrong content-length': { body: largeBody(), headers: { 'content-length': '100' } },
    },
  ),
  ...bodiesOf(
    'read 400 malformed',
    HostedResponseError,
    {},
    {
      'no body': { body: null },
      'JSON that breaks off': { body: bodyOf().slice(0, -1) },
      'bytes that are not UTF-8': { body: Buffer.from(bodyOf({ says: { FullName: 'Zoë' } }), 'latin1') },
    },
  ),
  ...bodiesOf(
    'read 400 shape',
    HostedResponseError,
    {},
    {
      'a list': { body: `[${bodyOf()}]` },
      'a body without a job': { says: { PartnerParams: {} } },
    },
  ),
  ...bodiesOf(
    'read 503 connection',
    HostedConnectionError,
    { facts: cutOff },
    {
      'a body that breaks off': { body: unread() },
      'a body that was read before': { isRead: true },
    },
  ),
];

/** Does something else the first time. */
function firstly<T, U, Given extends unknown[]>(first: () => T, then: (...given: Given) => U) {
  let calls = 0;
  return (...given: Given) => {
    calls += 1;
    return calls === 1 ? first() : then(...given);
  };
}
const key = hmacSha256({ apiKey });
const brokenSigner: Signer = { name: 'broken', sign: key.sign, verify: firstly(away, key.verify) };
const isGuards = { message: expect.stringContaining('the store is') };

const signatures: readonly Failure[] = [
  ['no signature', 'verify 401 missing', HostedSignatureError, { post: { says: { signature: undefined } } }],
  ['a signature with another key', 'verify 401 mismatch', HostedSignatureError, { post: { key: 'another-key' } }],
  ...[-1, 1].map((way): Failure => {
    const facts = { message: expect.stringContaining('"maxHintAgeMs"') };
    const post = { at: way * (2 * day + 1) };
    return [`a time ${post.at} ms away`, 'verify 401 stale', HostedSignatureError, { post, facts }];
  }),
  ['a signer that fails', 'verify 503 config', HostedConfigError, { setup: { client: { signer: brokenSigner } } }],
  ...[away, broken].map((fail): Failure => {
    const setup = { guard: { begin: firstly(fail, () => 'new') } };
    return [`a guard that fails by ${fail.name}`, 'guard 503 guard', Error, { setup, facts: isGuards }];
  }),
];

const completed = { job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' };
const ofAnotherJob = { result: { ...result, PartnerParams: { user_id: 'user-1', job_id: 'job-2' } } };
const at = { timestamp: '2026-01-02T03:04:05.679Z' };
const json = (status: number, code: string) => Response.json({ error: 'no', code }, { status });
const says = (body: object) => () => Response.json(body);

const confirmations = (
  [
    ['with status 503', 'server', HostedServerError, json(503, '')],
    ['with status 400', 'api', HostedApiError, json(400, '2313')],
    ['with status 401', 'authentication', HostedAuthenticationError, json(401, '')],
    ['with status 429', 'rate_limit', HostedRateLimitError, json(429, '')],
    ['that does not know the job', 'not_found', HostedNotFoundError, json(400, '2304')],
    ['that does not arrive', 'connection', HostedConnectionError, () => Promise.reject(failed('ECONNRESET'))],
    ['that breaks off', 'response', HostedResponseError, new Response(JSON.stringify(signed(completed)).slice(0, 50))],
    ['that is a page', 'response', HostedResponseError, new Response('<html>')],
    [
      "with another's signature",
      'signature',
      HostedSignatureError,
      says({ ...signed(completed, at), sec_key: 'bm8=' }),
    ],
    ['without a signature', 'signature', HostedSignatureError, says(completed)],
    [
      'with an old signature',
      'signature',
      HostedSignatureError,
      says(signed(completed, { timestamp: '2026-01-02T02:00:00.000Z' })),
    ],
    ['about another job', 'response', HostedResponseError, says(signed({ ...completed, job_id: 'job-2' }, at))],
    ['about another user', 'response', HostedResponseError, says(signed({ ...completed, user_id: 'user-2' }, at))],
    [
      'with a result of another job',
      'response',
      HostedResponseError,
      says(signed({ ...completed, ...ofAnotherJob }, at)),
    ],
  ] as const
).map(
  ([what, reason, error, first]): Failure => [
    `a job status ${what}`,
    `confirm 503 ${reason}`,
    error,
    { setup: { says: [first, {}] } },
  ],
);

const signatureError = await rejection(receiver().receive('{}'));
const handlers = (
  [
    ['rejects', away],
    ['throws', broken],
    ['rejects with nothing', () => Promise.reject()],
    ['rejects with an error of this package', () => Promise.reject(new HostedConfigError([], {}))],
    ['rejects with a signature error', () => Promise.reject(signatureError)],
  ] as const
).map(
  ([what, fail]): Failure => [
    `an onEvent that ${what}`,
    'handle 500 handler',
    Object,
    { setup: { guard: {}, onEvent: firstly(fail, () => undefined) } },
  ],
);

test.each([...bodies, ...signatures, ...confirmations, ...handlers])(
  'because of %s, a delivery ends with %s, which is reported, and the next delivery is accepted',
  async (_why, ends, error, { post, setup = {}, facts }) => {
    const { clock, deliver, deliveries, errors, handed, lines, log } = startHandler(setup);
    const [phase = '', statusText, reason] = ends.split(' ');
    const status = Number(statusText);

    expect(await deliver(post)).toBe(`${statusText} ${reason}`);

    const result = status < 500 ? 'refused' : 'failed';
    expect(deliveries()).toEqual([{ type: 'callback', result, reason, status, durationMs: 0 }]);
    if (phase === 'handle')
      expect(log.slice(1)).toEqual(['0 begin', '0 hand succeeded 0810', '0 forget', '0 500 handler']);
    // `onError` is called once.
    expect(errors).toMatchObject([{ at: { phase, status } }]);
    const [reported] = errors;
    if (error !== Object) expect(reported?.error).toBeInstanceOf(error);
    if (facts) expect(reported?.error).toMatchObject(facts);
    const event = reported?.at.event;
    if (phase === 'read' || phase === 'verify') expect(event).toBeNull();
    else if (phase === 'handle') expect(event).toBe(handed[0]?.[0]);
    else expect(event).toMatchObject({ userId: 'user-1', jobId: 'job-1', isFinal: true });
    // Of a rejection, `onError` is the only report.
    expect(lines).toEqual(status < 500 ? [] : [expect.stringMatching(new RegExp(`^hosted-client: .*${status}`))]);
    for (const secret of ['user-1', 'job-1', '0810', 'store', nowText]) expect(lines.join()).not.toContain(secret);

    await clock.advance(1_000);
    expect(await deliver({})).toBe('200 accepted');
    expect(handed.at(-1)?.[0]).toMatchObject({ userId: 'user-1', jobId: 'job-1' });
  },
);

// Bodies and time -----------------------------------------------------------

test('a body of up to 2 MiB is accepted, whatever its content type and in whatever parts its characters arrive', async () => {
  const { deliver } = startHandler();
  const room = 2 * 1024 * 1024 - Buffer.byteLength(bodyOf({ says: { Photo: '' } }));
  const inParts = [...new TextEncoder().encode(bodyOf({ job: 'job-2', says: { FullName: 'Zoë 李' } }))];
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const byte = inParts.shift();
    if (byte === undefined) controller.close();
    else controller.enqueue(Uint8Array.of(byte));
  };

  expect(await deliver({ says: { Photo: 'A'.repeat(room + 1) } })).toBe('413 too_large');
  expect(await deliver({ says: { Photo: 'A'.repeat(room) } })).toBe('200 accepted');
  expect(await deliver({ job: 'job-2', body: streamOf({ pull }) })).toBe('200 accepted');
});

test('a body that does not arrive within ten seconds gets 408, and no more of it is read', async () => {
  const { clock, deliver, deliveries, errors } = startHandler();
  const cancel = vi.fn();

  const response = deliver({ body: streamOf({ start: (c) => c.enqueue(new Uint8Array(50)), cancel }) });
  await clock.advance(9_999);
  expect(cancel).not.toHaveBeenCalled();
  await clock.advance(1);

  expect(await response).toBe('408 timeout');
  expect(cancel).toHaveBeenCalledOnce();
  expect(deliveries()).toMatchObject([{ status: 408, reason: 'timeout', durationMs: 10_000 }]);
  const message = 'Cannot receive a callback: its body did not arrive within "bodyTimeoutMs"';
  expect(errors).toMatchObject([
    { error: { message, timeoutMs: 10_000 }, at: { phase: 'read', status: 408, event: null } },
  ]);
  expect(errors[0]?.error).toBeInstanceOf(HostedTimeoutError);
});

test('bodyTimeoutMs ends a slow body, however many bytes arrive meanwhile', async () => {
  const { clock, deliver } = startHandler({ handler: { bodyTimeoutMs: 1_000 } });
  const slow = streamOf({
    pull: async (controller) => {
      await clock.sleep?.(100);
      controller.enqueue(Uint8Array.of(0x20));
    },
  });

  const response = deliver({ body: slow });
  await clock.advance(1_000);

  expect(await response).toBe('408 timeout');
});

const awayError = new Error('the clock is away');
const throwsAway = () => {
  throw awayError;
};

test.each([
  ['throws', throwsAway, 'error', awayError],
  ['is not a number', () => Number.NaN, 'config', expect.any(HostedConfigError)],
])('a delivery during which the clock %s takes no time, and fails', async (_what, fail, reason, error) => {
  let read = () => now;
  const clock = { ...stillClock(), now: () => read() };
  const { deliver, deliveries, errors } = startHandler({ client: { clock } });
  read = fail;

  expect(await deliver()).toBe(`503 ${reason}`);
  expect(deliveries()).toMatchObject([{ status: 503, reason, durationMs: 0 }]);
  expect(errors).toEqual([{ error, at: { phase: 'verify', status: 503, event: null } }]);
});

test('a delivery gets 503 if the wait for its second status fails', async () => {
  const sleep = (ms: number, signal?: AbortSignal) => (ms === 2_000 ? away() : stillClock().sleep(ms, signal));
  const { deliver } = startHandler({ says: [{ state: 'pending' }], client: { clock: { ...stillClock(), sleep } } });

  expect(await deliver()).toMatch(/^503 /);
});
