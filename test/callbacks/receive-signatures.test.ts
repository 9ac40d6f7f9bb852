// Which signatures of callbacks receive() accepts.

import { createHash, createPrivateKey, sign as edSign } from 'node:crypto';
import {
  HostedClient,
  HostedConfigError,
  HostedSignatureError,
  HostedTimeoutError,
  hmacSha256,
  type Signer,
} from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { idVerificationOfNumericTime } from '../fixtures/real-payloads.js';
import { apiKey, clientOf, now, partnerId, rejection, sign, stillClock } from '../support/fake-fetch.js';
import { bodyOf, day, forever, hint, nowText, receiver } from './deliveries.js';

async function expectSignatureError(receiving: Promise<unknown>, reason: HostedSignatureError['reason']) {
  const error = await rejection(receiving, HostedSignatureError);
  expect(error).toMatchObject({ reason });
  return error;
}

/** The usual callback with another pair. */
const withPair = (pair: object) => bodyOf({ says: { timestamp: undefined, signature: undefined, ...pair } });

test.each([
  ['without signature', { timestamp: nowText }],
  ['without signature and timestamp', {}],
  ['with a signature of null', { timestamp: nowText, signature: null, sec_key: null }],
  ['with an empty signature', { timestamp: nowText, signature: '' }],
])('callbacks.receive() refuses a callback %s as missing', async (_what, signing) => {
  const error = await expectSignatureError(receiver().receive(withPair(signing)), 'missing');

  expect(error.message).toBe('Cannot receive a callback: it is not signed');
  expect(error).toMatchObject({ operation: null, outcome: 'answered', attempts: 0, requestId: null, retryable: false });
});

test('callbacks.receive() does not take a signature from Object.prototype', async () => {
  const prototype = Object.prototype as Record<string, unknown>;
  const bodies = [withPair({}), withPair({ timestamp: nowText })];
  Object.assign(prototype, { timestamp: nowText, signature: sign(nowText), sec_key: sign(nowText) });
  try {
    for (const body of bodies) {
      expect(await rejection(receiver().receive(body))).toMatchObject({ code: 'signature', reason: 'missing' });
    }
  } finally {
    for (const name of ['timestamp', 'signature', 'sec_key']) delete prototype[name];
  }
});

test.each([
  ['a signature that is a number', { timestamp: nowText, signature: 5 }],
  ['a signature that is a list', { timestamp: nowText, signature: [sign(nowText)] }],
  ['a signature that is true', { timestamp: nowText, sec_key: true }],
  ['a second signature that is an object', { timestamp: nowText, signature: sign(nowText), sec_key: {} }],
  ['no timestamp', { signature: sign('undefined') }],
  ['a timestamp of null', { timestamp: null, signature: sign('null') }],
  ['an empty timestamp', { timestamp: '', signature: sign('') }],
  ['a timestamp that is a list', { timestamp: [nowText], signature: sign(nowText) }],
  ['a timestamp with a fraction', { timestamp: 1767323045.5, signature: sign('1767323045.5') }],
  ['a timestamp beyond 2^53', { timestamp: 2 ** 60, signature: sign(String(2 ** 60)) }],
  ['a timestamp that is no time', { timestamp: 'yesterday', signature: sign('yesterday') }],
  [
    'a timestamp on 30 February',
    { timestamp: '2026-02-30T03:04:05.678Z', signature: sign('2026-02-30T03:04:05.678Z') },
  ],
])('callbacks.receive() refuses %s as malformed', async (_what, signing) => {
  await expectSignatureError(receiver().receive(withPair(signing)), 'malformed');
});

const genuine = sign(nowText);

test.each([
  ['made with another key', { signature: sign(nowText, 'another-key') }],
  ['over another timestamp', { signature: sign('2026-01-02T03:04:05.679Z') }],
  ['over the same time in another form', { signature: sign('2026-01-02T03:04:05.678+00:00') }],
  ['for another partner', { signature: sign(nowText, apiKey, '086') }],
  ['for the partner without its zero', { signature: sign(nowText, apiKey, '85') }],
  ['without its padding', { signature: genuine.slice(0, -1) }],
  ['with a line end', { signature: `${genuine}\n` }],
  ['in hexadecimal digits', { signature: Buffer.from(genuine, 'base64').toString('hex') }],
  ['of the older kind', { sec_key: idVerificationOfNumericTime.sec_key }],
  ['that is a word', { signature: 'sid_request' }],
  ['that is wrong in the first of two fields', { sec_key: sign(nowText, 'another-key'), signature: genuine }],
  ['that is wrong in the second of two fields', { sec_key: genuine, signature: sign(nowText, 'another-key') }],
])('callbacks.receive() refuses a signature %s as mismatch', async (_what, signing) => {
  await expectSignatureError(receiver().receive(withPair({ timestamp: nowText, ...signing })), 'mismatch');
});

test.each(['signature', 'sec_key'] as const)(
  'callbacks.receive() refuses a digest that anyone can compute in %s as unkeyed',
  async (member) => {
    const digest = createHash('sha256').update(`85:${nowText}`).digest('hex');

    await expectSignatureError(receiver().receive(withPair({ timestamp: nowText, [member]: digest })), 'unkeyed');
  },
);

test.each([
  [-1, undefined, 2 * day],
  [1, undefined, 2 * day],
  [-1, 1_000, 1_000],
  [1, 1_000, 1_000],
])('callbacks.receive() keeps to maxHintAgeMs (%d, %s)', async (way, maxHintAgeMs, mostMs) => {
  const receive = (ms: number) => receiver().receive(bodyOf({ at: way * ms }), maxHintAgeMs ? { maxHintAgeMs } : {});

  expect(await receive(mostMs)).toEqual({ ...hint, signedAt: new Date(now + way * mostMs) });
  const error = await expectSignatureError(receive(mostMs + 1), 'stale');

  expect(error.message).toContain('maxHintAgeMs');
  expect(error.message).not.toContain('maxResponseAgeMs');
});

test('callbacks.receive() takes no freshness from maxResponseAgeMs', async () => {
  const callbacks = receiver({ maxResponseAgeMs: false });

  await expectSignatureError(callbacks.receive(bodyOf({ at: -3 * day })), 'stale');
});

test('callbacks.receive() refuses what is old and forged as forged', async () => {
  const body = bodyOf({ at: -3 * day, key: 'another-key' });

  await expectSignatureError(receiver().receive(body), 'mismatch');
});

test('callbacks.receive() verifies before it looks at what a callback says', async () => {
  await expectSignatureError(receiver().receive('{}'), 'missing');
  const says = { PartnerParams: 5 };
  await expectSignatureError(receiver().receive(bodyOf({ says, key: 'another-key' })), 'mismatch');
  await expectSignatureError(receiver().receive(bodyOf({ says, at: -3 * day })), 'stale');
});

test('callbacks.receive() accepts the old key while both are configured, and then no longer', async () => {
  const byOldKey = bodyOf({ key: 'old-key' });
  const byNewKey = bodyOf({ key: 'new-key' });
  const during = () => receiver({ signer: hmacSha256({ apiKey: ['new-key', 'old-key'] }) });
  const after = receiver({ apiKey: 'new-key' });

  expect((await during().receive(byOldKey)).userId).toBe('user-1');
  expect((await during().receive(byNewKey)).userId).toBe('user-1');
  await expectSignatureError(after.receive(byOldKey), 'mismatch');
  expect((await after.receive(byNewKey)).userId).toBe('user-1');
});

test.each(['hmac-sha256', 'ed25519'] as const)(
  "callbacks.receive() refuses the other environment's key in scheme %s",
  async (scheme) => {
    const { sandbox, production } = createMockService({ scheme, clock: stillClock() });
    const job = sandbox.jobs.start();
    sandbox.jobs.complete(job, 'approved');
    const body = await (await sandbox.jobs.callback(job)).text();

    await expectSignatureError(new HostedClient(production.clientOptions).callbacks.receive(body), 'mismatch');
    expect(await new HostedClient(sandbox.clientOptions).callbacks.receive(body)).toMatchObject(job);
  },
);

/** By node:crypto, with the mock service's own key in the sandbox: its seed is the byte 2, 32 times over. */
function signByEd25519(timestamp: string): string {
  const key = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 2)]);
  const privateKey = createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  return edSign(null, Buffer.from(`${timestamp}${partnerId}sid_request`), privateKey).toString('base64');
}

test('callbacks.receive() trusts Ed25519 signatures of the service alone', async () => {
  const { sandbox } = createMockService({ scheme: 'ed25519', clock: stillClock() });
  const { callbacks } = new HostedClient(sandbox.clientOptions);
  const signature = signByEd25519(nowText);
  const receive = (given: string) => callbacks.receive(withPair({ timestamp: nowText, signature: given }));

  expect(await receive(signature)).toEqual(hint);
  for (const given of [signByEd25519('2026-01-02T03:04:05.679Z'), signature.replace(/=+$/, ''), 'AAAA']) {
    await expectSignatureError(receive(given), 'mismatch');
  }
});

test('callbacks.receive() rejects with HostedConfigError when the signer throws', async () => {
  const signer: Signer = {
    name: 'broken',
    sign: () => '',
    verify: () => {
      throw new Error('out of order');
    },
  };

  const error = await rejection(receiver({ signer }).receive(bodyOf()), HostedConfigError);

  expect(error).toMatchObject({ issues: [{ path: 'signer' }] });
});

test('callbacks.receive() rejects when the signer has not responded within 10 seconds', async () => {
  const clock = createTestClock(now);
  const signer: Signer = { name: 'slow', sign: () => '', verify: forever };

  const receiving = rejection(receiver({ signer, clock }).receive(bodyOf()), HostedTimeoutError);
  await clock.advance(10_000);

  expect(await receiving).toMatchObject({
    retryable: true,
    message: 'Cannot receive a callback: the signer did not respond within 10 seconds',
  });
});

test("callbacks.receive() checks the age with the client's clock, whatever a response's Date says", async () => {
  const date = new Date(now).toUTCString();
  const link = { link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' };
  const here = now + 600_000;
  const { client } = clientOf(() => Response.json(link, { headers: { date } }), { clock: stillClock(here) });
  await client.links.get('ref-1');
  const receive = (at: number) => client.callbacks.receive(bodyOf({ at }), { maxHintAgeMs: 300_000 });

  expect((await receive(600_000)).signedAt).toEqual(new Date(here));
  await expectSignatureError(receive(0), 'stale');
});
