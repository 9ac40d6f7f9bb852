// What receive() gives for repeated and replayed callbacks.

import {
  type CallbackEvent,
  HostedSignatureError,
  hmacSha256,
  type ReceiveOptions,
  type ReplayGuard,
  type Signer,
} from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { apiKey, clientOf, deferred, manualClock, now, rejection, sign } from '../support/fake-fetch.js';
import {
  day,
  expectSignatureError,
  fiveMinutes,
  nowText,
  otherResult,
  posted,
  receiver,
  result,
  type Signing,
} from './posted-callback.js';

test('callbacks.receive() gives one of three deliveries at once, and none that is being handled is a repeat', async () => {
  const callbacks = receiver();
  const body = posted(result);

  const ends = await Promise.allSettled([callbacks.receive(body), callbacks.receive(body), callbacks.receive(body)]);

  const events = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  expect(events.filter(({ repeat }) => !repeat)).toHaveLength(1);
  for (const end of ends) if (end.status === 'rejected') expectBusy(end.reason);
  expect((await callbacks.receive(body)).repeat).toBe(true);
});

test('callbacks.receive() gives what a process that died was handling once its lease has ended', async () => {
  const clock = manualClock();
  const callbacks = receiver({ clock });
  const leases = new Map<string, number>();
  const handled = new Set<string>();
  const replayGuard: ReplayGuard = {
    begin: async (key, _bodyDigest, _expiresAt, leaseEndsAt) => {
      if (handled.has(key)) return 'repeat';
      if ((leases.get(key) ?? 0) > clock.now()) return 'busy';
      leases.set(key, leaseEndsAt.getTime());
      return 'new';
    },
    commit: async (key) => void handled.add(key),
    forget: async (key) => void leases.delete(key),
  };
  const dying: ReplayGuard = { ...replayGuard, commit: () => new Promise(() => undefined) };
  const body = posted(result);
  callbacks.receive(body, { replayGuard: dying }).catch(() => undefined);
  await vi.waitFor(() => expect(leases.size).toBe(1));

  expectBusy(await rejection(callbacks.receive(body, { replayGuard })));
  clock.advance(fiveMinutes);

  expect((await callbacks.receive(body, { replayGuard })).repeat).toBe(false);
  expect((await callbacks.receive(body, { replayGuard })).repeat).toBe(true);
});

test('callbacks.receive() gives as new what a handler could not handle', async () => {
  const { client } = clientOf({});
  const body = posted(result);
  const handling = deferred();
  const onEvent = vi.fn(() => handling.promise.then(() => Promise.reject(new Error('the database is away'))));
  const handle = client.callbacks.handler({ confirm: false, onEvent });

  const response = handle(new Request('https://partner.test/', { method: 'POST', body }));
  await vi.waitFor(() => expect(onEvent).toHaveBeenCalled());
  expectBusy(await rejection(client.callbacks.receive(body)));
  handling.resolve();

  expect((await response).status).toBe(500);
  expect((await client.callbacks.receive(body)).repeat).toBe(false);
});

/** Expects the error of a callback that another delivery is handling. */
function expectBusy(error: unknown): void {
  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ code: 'signature', reason: 'replayed', outcome: 'answered', retryable: true });
}

const epoch = 1767323045678;

test.each<{ what: string; first: Signing; again: Signing }>([
  { what: 'as it stands', first: {}, again: {} },
  { what: 'moved from signature to sec_key', first: { member: 'signature' }, again: { member: 'sec_key' } },
  { what: 'moved from sec_key to signature', first: { member: 'sec_key' }, again: { member: 'signature' } },
  { what: 'with its number written as a string', first: { timestamp: epoch }, again: { timestamp: String(epoch) } },
  { what: 'with its string written as a number', first: { timestamp: String(epoch) }, again: { timestamp: epoch } },
  {
    what: 'with its ISO string written as a number',
    first: { timestamp: nowText },
    again: { timestamp: epoch, over: nowText },
  },
])('callbacks.receive() rejects a signature and its time $what with another body', async ({ first, again }) => {
  const callbacks = receiver();
  await callbacks.receive(posted(result, first));

  const error = await expectSignatureError(callbacks.receive(posted(otherResult, again)), 'replayed');

  expect(error).toMatchObject({ operation: null, outcome: 'answered', retryable: false });
  expect(error.message).toBe('Cannot receive a callback: its signature was received before with another body');
  expect((await callbacks.receive(posted(result, first))).repeat).toBe(true);
});

test('callbacks.receive() rejects another body with either signature of a callback that had two', async () => {
  const signer = hmacSha256({ apiKey: ['new-key', 'old-key'] });
  const pair = { timestamp: nowText, sec_key: sign(nowText, 'old-key'), signature: sign(nowText, 'new-key') };
  const callbacks = receiver({ signer });
  await callbacks.receive(JSON.stringify({ ...result, ...pair }));

  for (const key of ['new-key', 'old-key']) {
    for (const member of ['signature', 'sec_key'] as const) {
      await expectSignatureError(callbacks.receive(posted(otherResult, { key, member })), 'replayed');
    }
  }
});

test('callbacks.receive() rejects a replay that becomes too old while it is verified', async () => {
  const clock = manualClock();
  let verifyingMs = 0;
  const key = hmacSha256({ apiKey });
  const signer: Signer = {
    name: 'slow',
    sign: (input) => key.sign(input),
    verify: (signature, input) => {
      clock.advance(verifyingMs);
      return key.verify(signature, input);
    },
  };
  const callbacks = receiver({ clock, signer });
  await callbacks.receive(posted(result));
  clock.advance(fiveMinutes - 10);
  verifyingMs = 50;

  await expectSignatureError(callbacks.receive(posted(otherResult)), 'replayed');
});

/** So many ms pass; or a callback is received, with what the caller then gets: an event, or an error with this reason. */
type Step = number | readonly [body: string, gets: 'new' | 'repeat' | string, options?: ReceiveOptions];

const anyAge = { maxAgeMs: false } as const;
const body = posted(result);
const old = posted(result, { timestamp: '2021-05-06T08:48:50.763Z' });

test.each<[string, ...Step[]]>([
  ['a callback that comes again is a repeat', [body, 'new'], [body, 'repeat'], [body, 'repeat']],
  [
    'another result with its own signature is new',
    [body, 'new'],
    [posted(otherResult, { timestamp: '2026-01-02T03:04:05.679Z' }), 'new'],
  ],
  [
    'rejected callbacks are not remembered',
    [posted(otherResult, { key: 'another-key' }), 'mismatch'],
    [posted({ ResultCode: '0810' }), 'shape'],
    [posted(otherResult), 'too_large', { maxBytes: 10 }],
    [body, 'new'],
  ],
  ...[0, -60_000, 60_000].map((offset): [string, ...Step[]] => {
    const signing = { timestamp: new Date(now + offset).toISOString() };
    return [
      `a callback signed ${offset} ms from now is remembered to the last ms in which it is not stale`,
      [posted(result, signing), 'new'],
      offset + fiveMinutes,
      [posted(otherResult, signing), 'replayed'],
      [posted(result, signing), 'repeat'],
      1,
      [posted(otherResult, signing), 'stale'],
    ];
  }),
  [
    'a callback that is long too old is forgotten',
    [body, 'new'],
    2 * day,
    [body, 'stale'],
    [posted(otherResult), 'new', anyAge],
  ],
  ['a callback of any age is remembered for an hour', [old, 'new', anyAge], 3_600_000, [old, 'repeat', anyAge]],
])('callbacks.receive(): %s', async (_what, ...steps) => {
  const clock = manualClock();
  const callbacks = receiver({ clock });
  let first: CallbackEvent | undefined;

  for (const step of steps) {
    if (typeof step === 'number') {
      clock.advance(step);
      continue;
    }
    const [given, gets, options] = step;
    if (gets === 'new' || gets === 'repeat') {
      const event = await callbacks.receive(given, options);
      expect(event.repeat).toBe(gets === 'repeat');
      if (gets === 'repeat') expect(event).toEqual({ ...first, repeat: true });
      else first = event;
    } else expect(await rejection(callbacks.receive(given, options))).toMatchObject({ reason: gets });
  }
});
