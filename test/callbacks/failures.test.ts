// Each way in which a delivery fails: the response, what is reported, what the guard keeps, and the next delivery.

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
  both,
  broken,
  genuine,
  nameOf,
  type Posted,
  type Setup,
  startHandler,
  succeededStatus,
} from './deliveries.js';
import { nowText, receiver } from './posted-callback.js';

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

const bodies: readonly Failure[] = [
  ...[
    ...['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map((method) => [method, method] as const),
    // Anyone can send any text as the method, so only a short word in capitals is shown.
    ...['PROPFIND', 'GET-user-1', 'user-1-GET'].map((method) => [method, 'another method'] as const),
  ].map(([method, shown]): Failure => {
    const message = `Cannot receive a callback: it was sent with ${shown}, but callbacks are sent with POST: give this handler the POST requests of its route`;
    const facts = { message, reason: 'malformed', issues: [], outcome: 'answered' };
    return [method, 'read 405 method', HostedResponseError, { post: { method, body: unread() }, facts }];
  }),
  ...(
    [
      ['a content-length over the limit', { body: unread(), headers: { 'content-length': '1001' } }],
      ['a body over the limit', { body: largeBody() }],
      [
        'a body over the limit with a wrong content-length',
        { body: largeBody(), headers: { 'content-length': '100' } },
      ],
    ] as const
  ).map(
    ([why, post]): Failure => [
      why,
      'read 413 too_large',
      HostedResponseError,
      { post: { ...post }, setup: limit, facts: tooLarge },
    ],
  ),
  ...(
    [
      ['no body', null],
      ['an empty body', ''],
      ['a form', 'ResultCode=0810'],
      ['JSON that breaks off', bodyOf().slice(0, -1)],
      ['bytes that are not UTF-8', Buffer.from(bodyOf({ says: { FullName: 'Zoë' } }), 'latin1')],
    ] as const
  ).map(([why, body]): Failure => [why, 'read 400 malformed', HostedResponseError, { post: { body } }]),
  ['a list', 'read 400 shape', HostedResponseError, { post: { body: `[${bodyOf()}]` } }],
  ['a body without a job', 'read 400 shape', HostedResponseError, { post: { says: { PartnerParams: {} } } }],
  ['a field of another type', 'read 400 shape', HostedResponseError, { post: { says: { IDNumber: 12345 } } }],
  ['a body that breaks off', 'read 503 connection', HostedConnectionError, { post: { body: unread() }, facts: cutOff }],
  [
    'a body that was read before',
    'read 503 connection',
    HostedConnectionError,
    { post: { isRead: true }, facts: cutOff },
  ],
];

/** Does something else the first time. */
function firstly<T, U, Given extends unknown[]>(first: () => T, then: (...given: Given) => U) {
  let calls = 0;
  return (...given: Given) => {
    calls += 1;
    return calls === 1 ? first() : then(...given);
  };
}
const guardThat = (first: () => unknown) => ({ begin: firstly(first, () => 'new') });
const key = hmacSha256({ apiKey });
const brokenSigner: Signer = { name: 'broken', sign: key.sign, verify: firstly(away, key.verify) };
const busy = {
  message: expect.stringContaining('another delivery of the same callback is being handled'),
  reason: 'replayed',
  outcome: 'answered',
  retryable: true,
};
const stale = { message: expect.stringContaining('"maxAgeMs"') };

const signatures: readonly Failure[] = [
  ['no signature', 'verify 401 missing', HostedSignatureError, { post: { says: { signature: undefined } } }],
  ['a signature with another key', 'verify 401 mismatch', HostedSignatureError, { post: { key: 'another-key' } }],
  [
    'a callback that is too old',
    'verify 401 stale',
    HostedSignatureError,
    { post: { at: -300_001 }, setup: { confirm: false }, facts: stale },
  ],
  ['a signer that fails', 'verify 503 config', HostedConfigError, { setup: { client: { signer: brokenSigner } } }],
  [
    'another body with the same signature',
    'guard 401 replayed',
    HostedSignatureError,
    { setup: { confirm: false, guard: guardThat(() => 'conflict') }, facts: { reason: 'replayed', retryable: false } },
  ],
  [
    'a callback that another delivery handles',
    'guard 503 busy',
    HostedSignatureError,
    { setup: { guard: guardThat(() => 'busy') }, facts: busy },
  ],
  ...both.flatMap((setup) =>
    [away, broken].map(
      (fail): Failure => [
        `${nameOf(setup)}a guard that ${fail === away ? 'rejects' : 'throws'}`,
        'guard 503 guard',
        Error,
        { setup: { ...setup, guard: guardThat(fail) }, facts: { message: expect.stringContaining('the store is') } },
      ],
    ),
  ),
];

const completed = { job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' };
const ofAnotherJob = { result: { ...genuine, PartnerParams: { user_id: 'user-1', job_id: 'job-2' } } };
const lateTime = { timestamp: '2026-01-02T02:00:00.000Z' };
const json = (status: number, code: string) => Response.json({ error: 'no', code }, { status });

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
    ["with another's signature", 'signature', HostedSignatureError, { ...signed(completed), sec_key: 'bm8=' }],
    ['without a signature', 'signature', HostedSignatureError, completed],
    ['with an old signature', 'signature', HostedSignatureError, signed(completed, lateTime)],
    ['about another job', 'response', HostedResponseError, signed({ ...completed, job_id: 'job-2' })],
    ['about another user', 'response', HostedResponseError, signed({ ...completed, user_id: 'user-2' })],
    ['with a result of another job', 'response', HostedResponseError, signed({ ...completed, ...ofAnotherJob })],
  ] as const
).map(
  ([what, reason, error, first]): Failure => [
    `a job status ${what}`,
    `confirm 503 ${reason}`,
    error,
    { setup: { reply: [first, ({ body }) => Response.json(succeededStatus(body))] } },
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
).flatMap(([what, fail]) =>
  both.map(
    (setup): Failure => [
      `${nameOf(setup)}an onEvent that ${what}`,
      'handle 500 handler',
      Object,
      { setup: { ...setup, onEvent: firstly(fail, () => undefined) } },
    ],
  ),
);

test.each([...bodies, ...signatures, ...confirmations, ...handlers])(
  'because of %s, a delivery ends with %s, which is reported, and the next delivery is accepted',
  async (_why, ends, error, { post, setup = {}, facts }) => {
    const handler = startHandler({ guard: {}, ...setup });
    const [phase = '', statusText, reason] = ends.split(' ');
    const status = Number(statusText);
    const isConfirmed = setup.confirm !== false;
    const stages = {
      read: '',
      verify: '',
      guard: 'begin',
      confirm: 'begin confirm forget',
      handle: isConfirmed ? 'begin confirm handle forget' : 'begin handle forget',
    }[phase];

    const response = await handler.deliver(post);

    expect(response.status).toBe(status);
    const result = status < 500 ? 'refused' : 'failed';
    expect(handler.deliveries()).toEqual([{ type: 'callback', result, reason, status, durationMs: 0 }]);
    expect(handler.stages()).toBe(stages);
    expect(handler.errors).toMatchObject([{ at: { phase, status } }]);
    const [reported] = handler.errors;
    if (error !== Object) expect(reported?.error).toBeInstanceOf(error);
    if (facts) expect(reported?.error).toMatchObject(facts);
    const event = reported?.at.event;
    expect(event?.jobId).toBe(phase === 'read' || phase === 'verify' ? undefined : 'job-1');
    // Only a callback that is not confirmed has its own timestamp in its entry.
    if (event) expect(event.entry?.extra.timestamp === nowText).toBe(phase !== 'handle' || !isConfirmed);
    expect(handler.lines).toEqual([expect.stringMatching(new RegExp(`^hosted-client: .*${status}`))]);
    if (phase === 'verify' && facts) expect(handler.lines[0]).toContain('maxAgeMs');
    for (const secret of ['user-1', 'job-1', '0810', 'database', 'store', nowText])
      expect(handler.lines[0]).not.toContain(secret);

    expect((await handler.deliver({})).status).toBe(200);
    expect(handler.handled.at(-1)?.[0]).toMatchObject({ jobId: 'job-1', repeat: false, entry: { resultCode: '0810' } });
  },
);

// Time ----------------------------------------------------------------------

test('a body that does not arrive within ten seconds gets 408, and no more of it is read', async () => {
  const { clock, deliver, deliveries, errors } = startHandler();
  const cancel = vi.fn();

  const response = deliver({ body: streamOf({ start: (c) => c.enqueue(new Uint8Array(50)), cancel }) });
  await clock.advance(9_999);
  expect(cancel).not.toHaveBeenCalled();
  await clock.advance(1);

  expect((await response).status).toBe(408);
  expect(cancel).toHaveBeenCalledOnce();
  expect(deliveries()).toMatchObject([{ status: 408, reason: 'timeout', durationMs: 10_000 }]);
  expect(errors).toMatchObject([
    {
      error: {
        message: 'Cannot receive a callback: its body did not arrive within "bodyTimeoutMs"',
        phase: 'attempt',
        timeoutMs: 10_000,
        outcome: 'answered',
      },
      at: { phase: 'read', status: 408, event: null },
    },
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

  expect((await response).status).toBe(408);
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

  expect((await deliver()).status).toBe(503);
  expect(deliveries()).toMatchObject([{ status: 503, reason, durationMs: 0 }]);
  expect(errors).toEqual([{ error, at: { phase: 'verify', status: 503, event: null } }]);
});
