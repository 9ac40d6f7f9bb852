// Which signatures of callbacks receive() accepts.

import { createHash, createPrivateKey, sign as edSign } from 'node:crypto';
import { HostedClient, HostedConfigError, hmacSha256, type Signer } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { idVerificationOfNumericTime } from '../fixtures/real-payloads.js';
import { apiKey, clientOf, now, partnerId, rejection, sign, stillClock } from '../support/fake-fetch.js';
import {
  day,
  expectSignatureError,
  fiveMinutes,
  nowText,
  otherResult,
  posted,
  receiver,
  result,
} from './posted-callback.js';

test.each([
  ['without signature', { timestamp: nowText }],
  ['without signature and timestamp', {}],
  ['with a signature of null', { timestamp: nowText, signature: null, sec_key: null }],
  ['with an empty signature', { timestamp: nowText, signature: '' }],
])('callbacks.receive() refuses a callback %s as missing', async (_what, signing) => {
  const error = await expectSignatureError(receiver().receive(JSON.stringify({ ...result, ...signing })), 'missing');

  expect(error.message).toBe('Cannot receive a callback: it is not signed');
  expect(error).toMatchObject({ operation: null, outcome: 'answered', attempts: 0, requestId: null, retryable: false });
});

test.each([
  ['a small', ''],
  // A body over 64 KiB is verified before it is parsed.
  ['a large', 'A'.repeat(70_000)],
])('callbacks.receive() does not take the signature of %s callback from Object.prototype', async (_what, Photo) => {
  const prototype = Object.prototype as Record<string, unknown>;
  const bodies = [
    { ...result, Photo },
    { ...result, Photo, timestamp: nowText },
  ].map((body) => JSON.stringify(body));
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
  await expectSignatureError(receiver().receive(JSON.stringify({ ...result, ...signing })), 'malformed');
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
  await expectSignatureError(
    receiver().receive(JSON.stringify({ ...result, timestamp: nowText, ...signing })),
    'mismatch',
  );
});

test.each(['signature', 'sec_key'] as const)(
  'callbacks.receive() refuses a digest that anyone can compute in %s as unkeyed',
  async (member) => {
    const digest = createHash('sha256').update(`85:${nowText}`).digest('hex');

    const body = JSON.stringify({ ...result, timestamp: nowText, [member]: digest });

    await expectSignatureError(receiver().receive(body), 'unkeyed');
    await expectSignatureError(receiver().receive(body, { maxAgeMs: false }), 'unkeyed');
  },
);

test.each([
  ['behind', -1],
  ['ahead', 1],
])('callbacks.receive() refuses as stale what is more than five minutes %s', async (_what, direction) => {
  const atMost = new Date(now + direction * fiveMinutes).toISOString();
  const beyond = new Date(now + direction * (fiveMinutes + 1)).toISOString();

  const event = await receiver().receive(posted(result, { timestamp: atMost }));
  const error = await expectSignatureError(receiver().receive(posted(result, { timestamp: beyond })), 'stale');

  expect(event.signedAt).toEqual(new Date(atMost));
  expect(error.message).toContain('maxAgeMs');
  expect(error.message).not.toContain('maxResponseAgeMs');
});

test.each([-1, 1])('callbacks.receive() keeps to maxAgeMs, both ways (%d)', async (direction) => {
  const atMost = posted(result, { timestamp: new Date(now + direction * 1_000).toISOString() });
  const beyond = posted(result, { timestamp: new Date(now + direction * 1_001).toISOString() });

  expect((await receiver().receive(atMost, { maxAgeMs: 1_000 })).userId).toBe('user-1');
  await expectSignatureError(receiver().receive(beyond, { maxAgeMs: 1_000 }), 'stale');
});

test('callbacks.receive() takes no freshness from maxResponseAgeMs', async () => {
  const callbacks = receiver({ maxResponseAgeMs: false });

  await expectSignatureError(callbacks.receive(posted(result, { timestamp: '2026-01-02T02:04:05.678Z' })), 'stale');
});

test('callbacks.receive() accepts any age when maxAgeMs is false', async () => {
  const options = { maxAgeMs: false } as const;

  const old = await receiver().receive(posted(result, { timestamp: '2018-03-13T21:04:11.193Z' }), options);
  const early = await receiver().receive(posted(result, { timestamp: '2099-01-01T00:00:00Z' }), options);

  expect([old.signedAt, early.signedAt]).toEqual([
    new Date('2018-03-13T21:04:11.193Z'),
    new Date('2099-01-01T00:00:00Z'),
  ]);
});

test('callbacks.receive() refuses what is old and forged as forged', async () => {
  const body = posted(result, { timestamp: '2018-03-13T21:04:11.193Z', key: 'another-key' });

  await expectSignatureError(receiver().receive(body), 'mismatch');
});

test('callbacks.receive() verifies before it looks at what a callback says', async () => {
  await expectSignatureError(receiver().receive('{}'), 'missing');
  await expectSignatureError(receiver().receive(posted({ PartnerParams: 5 }, { key: 'another-key' })), 'mismatch');
  await expectSignatureError(receiver().receive(posted({}, { timestamp: '2018-03-13T21:04:11.193Z' })), 'stale');
});

test('callbacks.receive() accepts the old key while both are configured, and then no longer', async () => {
  const byOldKey = posted(result, { key: 'old-key' });
  const byNewKey = posted(result, { key: 'new-key' });
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
  const body = (members: object) => JSON.stringify({ ...result, timestamp: nowText, ...members });

  expect(await callbacks.receive(body({ signature }))).toMatchObject({ userId: 'user-1', repeat: false });
  await expectSignatureError(callbacks.receive(body({ signature, ResultCode: '0811' })), 'replayed');
  await expectSignatureError(
    callbacks.receive(body({ signature: signByEd25519('2026-01-02T03:04:05.679Z') })),
    'mismatch',
  );
  await expectSignatureError(callbacks.receive(body({ signature: signature.replace(/=+$/, '') })), 'mismatch');
  await expectSignatureError(callbacks.receive(body({ signature: 'AAAA' })), 'mismatch');
});

test('callbacks.receive() rejects with HostedConfigError when the signer throws', async () => {
  const signer: Signer = {
    name: 'broken',
    sign: () => '',
    verify: () => {
      throw new Error('out of order');
    },
  };

  const error = await rejection(receiver({ signer }).receive(posted(result)), HostedConfigError);

  expect(error).toMatchObject({ issues: [{ path: 'signer' }] });
});

test('callbacks.receive() limits the age, also with options of a handler that confirms', async () => {
  const options = { confirm: true, maxAgeMs: 1_000, onEvent: () => undefined };
  const callbacks = receiver({ clock: stillClock(now + day) });

  await expectSignatureError(callbacks.receive(posted(result), options), 'stale');
});

test("callbacks.receive() checks the age with the client's clock, whatever a response's Date says", async () => {
  const date = new Date(now).toUTCString();
  const linkResponse = () =>
    Response.json({ link_url: 'https://links.hosted.test/1', ref_id: 'ref-1' }, { headers: { date } });
  const here = now + 600_000;
  const { client } = clientOf(linkResponse, { clock: stillClock(here) });
  await client.links.get('ref-1');

  const event = await client.callbacks.receive(posted(result, { timestamp: new Date(here).toISOString() }));

  expect(event.signedAt).toEqual(new Date(here));
  await expectSignatureError(client.callbacks.receive(posted(result)), 'stale');
});

test('callbacks.receive() rejects a replay on a clock that is ten minutes ahead', async () => {
  const date = new Date(now).toUTCString();
  const { client } = clientOf(Response.json({}, { status: 401, headers: { date } }), {
    clock: stillClock(now + 600_000),
  });
  const maxAgeMs = 900_000;
  await rejection(client.links.get('ref-1'));

  await expectSignatureError(client.callbacks.receive(posted(result)), 'stale');
  const first = await client.callbacks.receive(posted(result), { maxAgeMs });
  const second = await client.callbacks.receive(posted(result), { maxAgeMs });

  expect([first.repeat, second.repeat]).toEqual([false, true]);
  await expectSignatureError(client.callbacks.receive(posted(otherResult), { maxAgeMs }), 'replayed');
});
