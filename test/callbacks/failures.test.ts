// Each way in which a delivery fails: the response, what is reported, and the next delivery.

import { HostedConfigError, hmacSha256, type Signer } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { apiKey, failed, now, rejection, signed, stillClock } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  away,
  bodyOf,
  broken,
  day,
  forever,
  nowText,
  type Posted,
  receiver,
  type Setup,
  startHandler,
} from './deliveries.js';

failOnStrayRejections();

/** Why a delivery fails; phase, status and reason; what is posted, and the handler; properties of the error. */
type Failure = readonly [why: string, ends: string, given: { posted?: Posted; setup?: Setup }, error?: object];

const streamOf = (source: UnderlyingDefaultSource<Uint8Array>) => new ReadableStream(source, { highWaterMark: 0 });
/** A body that fails when it is read. */
const unread = () => streamOf({ pull: (controller) => controller.error(new TypeError('terminated')) });
const largeBody = () => streamOf({ pull: (controller) => controller.enqueue(new Uint8Array(501)) });
const message = (text: string) => ({ message: expect.stringContaining(text) });
/** Does something else the first time. */
function firstly<T, U, Given extends unknown[]>(first: () => T, then: (...given: Given) => U) {
  let calls = 0;
  return (...given: Given) => {
    calls += 1;
    return calls === 1 ? first() : then(...given);
  };
}

const methods = ['GET', 'OPTIONS', 'PROPFIND', 'user-1-GET'].map((method, at): Failure => {
  // Anyone can send any text as the method, so only a short word in capitals is shown.
  const shown = at < 2 ? method : 'another method';
  const why = `it was sent with ${shown}, but callbacks are sent with POST: give this handler the POST requests`;
  return [method, 'read 405 method', { posted: { method, body: unread() } }, message(why)];
});

const bodies = (
  [
    ['a content-length over the limit', '413 too_large', { body: unread(), headers: { 'content-length': '1001' } }],
    ['a body over the limit', '413 too_large', { body: largeBody() }],
    ['the same with a wrong length', '413 too_large', { body: largeBody(), headers: { 'content-length': '100' } }],
    ['no body', '400 malformed', { body: null }],
    ['JSON that breaks off', '400 malformed', { body: bodyOf().slice(0, -1) }],
    ['bytes that are not UTF-8', '400 malformed', { body: Buffer.from(bodyOf({ says: { A: 'Zoë' } }), 'latin1') }],
    ['a list', '400 shape', { body: `[${bodyOf()}]` }],
    ['a body without a job', '400 shape', { says: { PartnerParams: {} } }],
    ['a body that breaks off', '503 connection', { body: unread() }],
    ['a body that was read before', '503 connection', { isRead: true }],
  ] as const
).map(([why, ends, posted]): Failure => {
  const error = ends === '413 too_large' ? message('it is larger than "maxBytes"') : {};
  const cutOff = message('its body was cut off, or had already been read: do not let a parser read');
  const given = { posted, setup: { handler: { maxBytes: 1_000 } } };
  return [why, `read ${ends}`, given, ends === '503 connection' ? cutOff : error];
});

const { proxy: unreadable, revoke } = Proxy.revocable(new Error('user-1'), {});
revoke();
const unreadably = () => Promise.reject(unreadable);
const key = hmacSha256({ apiKey });
const signer: Signer = { name: 'broken', sign: key.sign, verify: firstly(away, key.verify) };
const isStale = message('"maxHintAgeMs"');

const signatures: readonly Failure[] = [
  ['no signature', 'verify 401 missing', { posted: { says: { signature: undefined } } }],
  ['a signature with another key', 'verify 401 mismatch', { posted: { key: 'another-key' } }],
  ['a time more than two days ago', 'verify 401 stale', { posted: { at: -2 * day - 1 } }, isStale],
  ['a time more than two days ahead', 'verify 401 stale', { posted: { at: 2 * day + 1 } }, isStale],
  ['a signer that fails', 'verify 503 config', { setup: { client: { signer } } }],
  ...[away, unreadably].map((fail): Failure => {
    const setup = { guard: { begin: firstly(fail, () => 'new') } };
    return [`a guard that fails by ${fail.name}`, 'guard 503 guard', { setup }];
  }),
];

const completed = { job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' };
const json = (status: number, code: string) => Response.json({ error: 'no', code }, { status });
const says = (record: object, timestamp = '2026-01-02T03:04:05.679Z') => Response.json(signed(record, { timestamp }));

const confirmations = (
  [
    ['with status 503', 'server', json(503, '')],
    ['that does not know the job', 'not_found', json(400, '2304')],
    ['that does not arrive', 'connection', () => Promise.reject(failed('ECONNRESET'))],
    ['that breaks off', 'response', new Response(JSON.stringify(signed(completed)).slice(0, 50))],
    ["with another's signature", 'signature', Response.json({ ...signed(completed), sec_key: 'bm8=' })],
    ['about another job', 'response', says({ ...completed, job_id: 'job-2' })],
  ] as const
).map(
  ([why, reason, first]): Failure => [`a job status ${why}`, `confirm 503 ${reason}`, { setup: { says: [first, {}] } }],
);

const signatureError = await rejection(receiver().receive('{}'));
const handlers = (
  [
    ['rejects', away],
    ['throws', broken],
    ['rejects with an error of this package', () => Promise.reject(signatureError)],
    ['rejects with a value that cannot be read', unreadably],
  ] as const
).map(([why, fail]): Failure => {
  const setup = { guard: {}, onEvent: firstly(fail, () => undefined) };
  return [`an onEvent that ${why}`, 'handle 500 handler', { setup }];
});

/** The code of the error of each reason that is not a code itself. */
const codes: Readonly<Record<string, string>> = {
  ...{ method: 'response', too_large: 'response', malformed: 'response', shape: 'response' },
  ...{ missing: 'signature', mismatch: 'signature', stale: 'signature' },
};

for (const [why, ends, { posted, setup = {} }, facts = {}] of [
  ...methods,
  ...bodies,
  ...signatures,
  ...confirmations,
  ...handlers,
]) {
  test(`because of ${why}, a delivery ends with ${ends}, which is reported, and the next delivery is accepted`, async () => {
    const { clock, deliver, deliveries, errors, handed, lines, log } = startHandler(setup);
    const [phase = '', statusText, reason = ''] = ends.split(' ');
    const status = Number(statusText);

    expect(await deliver(posted)).toBe(`${statusText} ${reason}`);

    const result = status < 500 ? 'refused' : 'failed';
    expect(deliveries()).toEqual([{ type: 'callback', result, reason, status, durationMs: 0 }]);
    if (phase === 'handle') expect(log.slice(1)).toEqual(['0 begin', '0 hand', '0 forget', '0 500 handler']);
    // `onError` is called once. The errors of onEvent and of a guard are the caller's own.
    const isCallers = phase === 'handle' || phase === 'guard';
    const error = { code: codes[reason] ?? reason, ...facts };
    expect(errors).toMatchObject([{ at: { phase, status }, ...(!isCallers && { error }) }]);
    const event = errors[0]?.at.event;
    if (phase === 'read' || phase === 'verify') expect(event).toBeNull();
    else if (phase === 'handle') expect(event).toEqual(handed[0]?.[0]);
    else expect(event).toMatchObject({ userId: 'user-1', jobId: 'job-1', isFinal: true });
    // Of a rejection, `onError` is the only report.
    expect(lines).toEqual(status < 500 ? [] : [expect.stringMatching(new RegExp(`^hosted-client: .*${status}`))]);
    for (const secret of ['user-1', 'job-1', '0810', 'store', nowText]) expect(lines.join()).not.toContain(secret);

    await clock.advance(1_000);
    expect(await deliver({})).toBe('200 accepted');
    expect(handed.at(-1)?.[0]).toMatchObject({ userId: 'user-1', jobId: 'job-1' });
  });
}

// Bodies and time -----------------------------------------------------------

test('a body of up to 2 MiB is accepted, in whatever parts its characters arrive', async () => {
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

test.each([
  [10_000, {}],
  [1_000, { bodyTimeoutMs: 1_000 }],
])(
  'a body gets 408 after %d ms, however many bytes arrive meanwhile, and no more of it is read',
  async (ms, handler) => {
    const { clock, deliver, deliveries, errors } = startHandler({ handler });
    const cancel = vi.fn();
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      await clock.sleep?.(100);
      controller.enqueue(Uint8Array.of(0x20));
    };

    const response = deliver({ body: streamOf({ pull, cancel }) });
    await clock.advance(ms - 1);
    expect(cancel).not.toHaveBeenCalled();
    await clock.advance(1);

    expect(await response).toBe('408 timeout');
    expect(cancel).toHaveBeenCalledOnce();
    expect(deliveries()).toMatchObject([{ status: 408, reason: 'timeout', durationMs: ms }]);
    const late = { code: 'timeout', timeoutMs: ms, ...message('its body did not arrive within "bodyTimeoutMs"') };
    expect(errors).toMatchObject([{ error: late, at: { phase: 'read', status: 408, event: null } }]);
  },
);

test('a signer that does not respond fails the delivery with 503, not with the 408 of a slow body', async () => {
  const { run, errors } = startHandler({ client: { signer: { ...key, verify: forever } } });

  expect(await run()).toBe('10000 503 timeout');
  expect(errors).toMatchObject([{ at: { phase: 'verify', status: 503, event: null } }]);
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
