// Which signatures of callbacks receive() accepts.

import { createHash } from 'node:crypto';
import { HostedClient, HostedConfigError, HostedTimeoutError, hmacSha256, type Signer } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, now, rejection, sign, stillClock } from '../support/fake-fetch.js';
import { bodyOf, broken, day, forever, hint, nowText, receiver } from './deliveries.js';

/** The usual callback with another pair. */
const withPair = (pair: object) => bodyOf({ says: { timestamp: undefined, signature: undefined, ...pair } });

/** The code and the reason with which a promise rejects. */
async function reasonOf(receiving: Promise<unknown>): Promise<string> {
  const { code, reason } = (await rejection(receiving)) as { readonly code: string; readonly reason: string };
  return `${code} ${reason}`;
}

const timestamp = nowText;
const genuine = sign(nowText);
const other = sign(nowText, 'another-key');
const digest = createHash('sha256').update(`85:${nowText}`).digest('hex');
const signedAs = (time: unknown) => ({ timestamp: time, signature: sign(String(time)) });

test.each<[reason: string, what: string, pair: object]>([
  ['missing', 'no signature', { timestamp }],
  ['malformed', 'a signature that is a number', { timestamp, signature: 5 }],
  ['malformed', 'a timestamp that is no time', signedAs('yesterday')],
  ['mismatch', 'another key', { timestamp, signature: other }],
  ['mismatch', 'the second of two fields wrong', { timestamp, sec_key: genuine, signature: other }],
  ['unkeyed', 'a digest that anyone can compute', { timestamp, signature: digest }],
])('callbacks.receive() refuses as %s: %s', async (reason, _what, pair) => {
  expect(await reasonOf(receiver().receive(withPair(pair)))).toBe(`signature ${reason}`);
});

test('callbacks.receive() does not take a signature from Object.prototype', async () => {
  const prototype = Object.prototype as Record<string, unknown>;
  const bodies = [withPair({}), withPair({ timestamp })];
  Object.assign(prototype, { timestamp, signature: genuine, sec_key: genuine });
  try {
    for (const body of bodies) expect(await reasonOf(receiver().receive(body))).toBe('signature missing');
  } finally {
    for (const name of ['timestamp', 'signature', 'sec_key']) delete prototype[name];
  }
});

test.each([
  [-1, undefined, 2 * day],
  [1, undefined, 2 * day],
  [-1, 1_000, 1_000],
  [1, 1_000, 1_000],
])('callbacks.receive() keeps to maxHintAgeMs (%d, %s)', async (way, maxHintAgeMs, mostMs) => {
  const receive = (ms: number) => receiver().receive(bodyOf({ at: way * ms }), maxHintAgeMs ? { maxHintAgeMs } : {});

  expect(await receive(mostMs)).toEqual({ ...hint, signedAt: new Date(now + way * mostMs) });
  expect(await rejection(receive(mostMs + 1))).toMatchObject({
    code: 'signature',
    reason: 'stale',
    message: expect.stringContaining('"maxHintAgeMs"'),
  });
});

test("callbacks.receive() checks the age with the client's clock, whatever responses say and are allowed", async () => {
  const date = new Date(now).toUTCString();
  const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
  const options = { clock: stillClock(now + 600_000), maxResponseAgeMs: false } as const;
  const { client } = clientOf(() => Response.json(link, { headers: { date } }), options);
  await client.links.get('ref-1');
  const receive = (at: number) => client.callbacks.receive(bodyOf({ at }), { maxHintAgeMs: 300_000 });

  expect((await receive(600_000)).signedAt).toEqual(new Date(now + 600_000));
  expect(await reasonOf(receive(0))).toBe('signature stale');
});

test('callbacks.receive() verifies before it looks at the age and at what a callback says', async () => {
  const says = { PartnerParams: 5 };

  expect(await reasonOf(receiver().receive('{}'))).toBe('signature missing');
  expect(await reasonOf(receiver().receive(bodyOf({ says, at: -3 * day, key: 'other' })))).toBe('signature mismatch');
  expect(await reasonOf(receiver().receive(bodyOf({ says, at: -3 * day })))).toBe('signature stale');
});

test('callbacks.receive() accepts the old key while both are configured, and then no longer', async () => {
  const [byOldKey, byNewKey] = [bodyOf({ key: 'old-key' }), bodyOf({ key: 'new-key' })];
  const during = receiver({ signer: hmacSha256({ apiKey: ['new-key', 'old-key'] }) });
  const after = receiver({ apiKey: 'new-key' });

  expect([await during.receive(byOldKey), await during.receive(byNewKey)]).toEqual([hint, hint]);
  expect(await reasonOf(after.receive(byOldKey))).toBe('signature mismatch');
  expect(await after.receive(byNewKey)).toEqual(hint);
});

test.each(['hmac-sha256', 'ed25519'] as const)(
  'callbacks.receive() refuses other keys in scheme %s',
  async (scheme) => {
    const { sandbox, production } = createMockService({ scheme, clock: stillClock() });
    const [inSandbox, inProduction] = [sandbox, production].map(
      (each) => new HostedClient(each.clientOptions).callbacks,
    );
    const job = sandbox.jobs.start();
    sandbox.jobs.complete(job, 'approved');
    const bodyAs = async (variant?: 'forged') => (await sandbox.jobs.callback(job, variant ? { variant } : {})).text();

    expect(await inSandbox?.receive(await bodyAs())).toMatchObject(job);
    for (const [callbacks, body] of [
      [inSandbox, await bodyAs('forged')],
      [inProduction, await bodyAs()],
    ] as const) {
      expect(await reasonOf(Promise.resolve(callbacks?.receive(body)))).toBe('signature mismatch');
    }
  },
);

test('callbacks.receive() rejects if the signer throws, or does not respond within ten seconds', async () => {
  const clock = createTestClock(now);
  const receiveBy = (verify: Signer['verify']) =>
    rejection(receiver({ clock, signer: { name: 'own', sign: () => '', verify } }).receive(bodyOf()));

  const thrown = await receiveBy(broken);
  const late = receiveBy(forever);
  await clock.advance(10_000);

  expect(thrown).toBeInstanceOf(HostedConfigError);
  expect(thrown).toMatchObject({ issues: [{ path: 'signer' }] });
  expect(await late).toBeInstanceOf(HostedTimeoutError);
  const message = 'Cannot receive a callback: the signer did not respond within 10 seconds';
  expect(await late).toMatchObject({ retryable: true, message });
});
