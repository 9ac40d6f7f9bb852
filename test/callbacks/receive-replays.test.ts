// What receive() makes of repeated and replayed callbacks.

import { HostedSignatureError, hmacSha256, type ReplayGuard, type Signer } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { apiKey, clientOf, deferred, manualClock, now, rejection, sign } from '../support/fake-fetch.js';
import {
  day,
  expectResponseError,
  expectSignatureError,
  fiveMinutes,
  nowText,
  otherResult,
  posted,
  receiver,
  result,
  type Signing,
} from './posted-callback.js';

test('callbacks.receive() reports that the same callback came again', async () => {
  const callbacks = receiver();
  const body = posted(result);

  const first = await callbacks.receive(body);
  const second = await callbacks.receive(body);
  const third = await callbacks.receive(body);

  expect(first.repeat).toBe(false);
  expect(second).toEqual({ ...first, repeat: true });
  expect(third).toEqual({ ...first, repeat: true });
});

test('callbacks.receive() hands one of three at once over, and takes none in hand for a repeat', async () => {
  const callbacks = receiver();
  const body = posted(result);

  const ends = await Promise.allSettled([callbacks.receive(body), callbacks.receive(body), callbacks.receive(body)]);

  const events = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
  expect(events.filter(({ repeat }) => !repeat)).toHaveLength(1);
  for (const end of ends) if (end.status === 'rejected') expectBusy(end.reason);
  expect((await callbacks.receive(body)).repeat).toBe(true);
});

test.each(['busy', 'another word', undefined])(
  'callbacks.receive() rejects, to be redelivered, what its guard knows as %s',
  async (known) => {
    const steps: string[] = [];
    const replayGuard = {
      begin: async () => known,
      commit: async () => void steps.push('commit'),
      forget: async () => void steps.push('forget'),
    } as ReplayGuard;

    expectBusy(await rejection(receiver().receive(posted(result), { replayGuard })));
    expect(steps).toEqual([]);
  },
);

test('callbacks.receive() hands over what a process that died had in hand, once its lease has ended', async () => {
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

test('callbacks.receive() takes as new what a handler had in hand and could not handle', async () => {
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

/** Expects the error of a callback that another delivery has in hand. */
function expectBusy(error: unknown): void {
  expect(error).toBeInstanceOf(HostedSignatureError);
  expect(error).toMatchObject({ code: 'signature', reason: 'replayed', outcome: 'answered', retryable: true });
}

test('clients remember for themselves what they received', async () => {
  const body = posted(result);
  await receiver().receive(body);

  const event = await receiver().receive(body);

  expect(event.repeat).toBe(false);
});

const epoch = 1767323045678;

test.each<{ what: string; first: Signing; again: Signing }>([
  { what: 'as it stands', first: {}, again: {} },
  { what: 'moved from signature to sec_key', first: { member: 'signature' }, again: { member: 'sec_key' } },
  { what: 'moved from sec_key to signature', first: { member: 'sec_key' }, again: { member: 'signature' } },
  { what: 'with its number written as text', first: { timestamp: epoch }, again: { timestamp: String(epoch) } },
  { what: 'with its text written as a number', first: { timestamp: String(epoch) }, again: { timestamp: epoch } },
  {
    what: 'with its ISO text written as a number',
    first: { timestamp: nowText },
    again: { timestamp: epoch, over: nowText },
  },
])('callbacks.receive() refuses a signed pair $what with another body', async ({ first, again }) => {
  const callbacks = receiver();
  await callbacks.receive(posted(result, first));

  const error = await expectSignatureError(callbacks.receive(posted(otherResult, again)), 'replayed');

  expect(error).toMatchObject({ operation: null, outcome: 'answered', retryable: false });
  expect((await callbacks.receive(posted(result, first))).repeat).toBe(true);
});

test('callbacks.receive() refuses another body under either signature of a callback that carried two', async () => {
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

test('callbacks.receive() trusts the same result under a pair of its own', async () => {
  const callbacks = receiver();
  await callbacks.receive(posted(result));

  const event = await callbacks.receive(posted(otherResult, { timestamp: '2026-01-02T03:04:05.679Z' }));

  expect(event).toMatchObject({ repeat: false, entry: { resultCode: '0811' } });
});

test('callbacks.receive() remembers nothing of what it refused', async () => {
  const callbacks = receiver();
  const forged = JSON.stringify({ ...otherResult, timestamp: nowText, signature: sign(nowText, 'another-key') });
  await expectSignatureError(callbacks.receive(forged), 'mismatch');
  await expectResponseError(callbacks.receive(posted({ ResultCode: '0810' })), 'shape');
  await expectResponseError(callbacks.receive(posted(otherResult), { maxBytes: 10 }), 'too_large');

  const event = await callbacks.receive(posted(result));

  expect(event.repeat).toBe(false);
});

test.each([
  ['now', 0],
  ['a minute ago', -60_000],
  ['a minute ahead', 60_000],
])(
  'callbacks.receive() remembers a pair signed %s to the last millisecond in which it is fresh',
  async (_what, offset) => {
    const clock = manualClock();
    const callbacks = receiver({ clock });
    const timestamp = new Date(now + offset).toISOString();
    await callbacks.receive(posted(result, { timestamp }));

    clock.advance(offset + fiveMinutes);

    await expectSignatureError(callbacks.receive(posted(otherResult, { timestamp })), 'replayed');
    expect((await callbacks.receive(posted(result, { timestamp }))).repeat).toBe(true);
    clock.advance(1);
    await expectSignatureError(callbacks.receive(posted(otherResult, { timestamp })), 'stale');
  },
);

test('callbacks.receive() refuses a replay whose verifying outlasts its freshness', async () => {
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

test('callbacks.receive() forgets a pair that is long too old', async () => {
  const clock = manualClock();
  const callbacks = receiver({ clock });
  await callbacks.receive(posted(result));

  clock.advance(2 * day);

  await expectSignatureError(callbacks.receive(posted(result)), 'stale');
  const event = await callbacks.receive(posted(otherResult), { maxAgeMs: false });
  expect(event.repeat).toBe(false);
});

test('callbacks.receive() remembers a pair of any age for an hour and more', async () => {
  const clock = manualClock();
  const callbacks = receiver({ clock });
  const body = posted(result, { timestamp: '2021-05-06T08:48:50.763Z' });
  await callbacks.receive(body, { maxAgeMs: false });

  clock.advance(3_600_000);

  expect((await callbacks.receive(body, { maxAgeMs: false })).repeat).toBe(true);
});
