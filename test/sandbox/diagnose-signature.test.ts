/** Each of the usual mistakes, made with node:crypto, is told apart. */

import { createHash, createHmac } from 'node:crypto';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { assumedWire } from '../../src/protocol/assumptions.js';
import type { OperationName } from '../../src/protocol/routes.js';
import { diagnoseSignature } from '../../src/sandbox/diagnose-signature.js';
import { nowMs, nowText } from '../testing/partner.js';

const apiKeys = { sandbox: 'c2FuZGJveC1rZXk=', production: 'production-key' };
const key = apiKeys.sandbox;
const mac = (text: string, withKey: string | Buffer = key) => createHmac('sha256', withKey).update(text).digest();
const base64 = (text: string, withKey?: string | Buffer) => mac(text, withKey).toString('base64');
const right = `${nowText}085sid_request`;

const facts = {
  partnerId: '085',
  wire: assumedWire,
  apiKeys,
  sign: async (environment: 'sandbox' | 'production', timestamp: string, partnerId: string) =>
    base64(`${timestamp}${partnerId}sid_request`, apiKeys[environment]),
};

function diagnose(members: object, operation: OperationName = 'links.create', given = facts) {
  const body = { partner_id: '085', timestamp: nowText, signature: base64(right), company_name: 'Äpfel', ...members };
  const kept = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  return diagnoseSignature({ environment: 'sandbox', operation, body: kept, nowMs }, given);
}

const unsigned = { partner_id: '085', timestamp: nowText, company_name: 'Äpfel' };

/** The thirteen mistakes that partners were seen to make. */
const mistakes: readonly [string, string, object][] = [
  ['no signature', 'missing', { signature: undefined }],
  ['another partner', 'partner', { partner_id: '086' }],
  [
    'leading zeros lost in what is sent',
    'leading_zeros',
    { partner_id: 85, signature: base64(`${nowText}85sid_request`) },
  ],
  ['leading zeros lost in what is signed', 'leading_zeros', { signature: base64(`${nowText}85sid_request`) }],
  ['the time of an hour ago', 'stale', { timestamp: '2026-01-02T02:04:05.000Z' }],
  ['another spelling of the time', 'timestamp_text', { signature: base64('2026-01-02T03:04:05Z085sid_request') }],
  ['the epoch is signed, the ISO text sent', 'timestamp_text', { signature: base64(`${nowMs}085sid_request`) }],
  ['the key of production', 'other_environment', { signature: base64(right, apiKeys.production) }],
  ['no context', 'context', { signature: base64(`${nowText}085`) }],
  ['partner before time', 'order', { signature: base64(`085${nowText}sid_request`) }],
  ['hexadecimal', 'encoding', { signature: mac(right).toString('hex') }],
  ['a line end behind the key', 'key_whitespace', { signature: base64(right, `${key}\n`) }],
  ['the key decoded from base64', 'key_decoded', { signature: base64(right, Buffer.from(key, 'base64')) }],
  ['no timestamp', 'missing', { timestamp: undefined }],
  ['no partner', 'missing', { partner_id: undefined }],
  ['two readings of the clock', 'timestamp_text', { signature: base64('2026-01-02T03:04:04.998Z085sid_request') }],
  ['a timestamp that is no time', 'timestamp_text', { timestamp: 'now' }],
  ['a timestamp of another type', 'timestamp_text', { timestamp: nowMs, signature: base64(`${nowMs}085sid_request`) }],
  ['the time of an hour ahead', 'stale', { timestamp: '2026-01-02T04:04:05.000Z' }],
  ['another context', 'context', { signature: base64(`${nowText}085sid_response`) }],
  ['a separator', 'order', { signature: base64(`${nowText}:085:sid_request`) }],
  ['base64 for URLs', 'encoding', { signature: mac(right).toString('base64url') }],
  ['no padding', 'encoding', { signature: base64(right).replace('=', '') }],
  ['a signature that is no string', 'encoding', { signature: 5 }],
  ['quotation marks around the key', 'key_whitespace', { signature: base64(right, `"${key}"`) }],
  ['the body signed, too', 'body_signed', { signature: base64(right + JSON.stringify(unsigned)) }],
  ['the body signed alone', 'body_signed', { signature: base64(JSON.stringify(unsigned)) }],
  ['a digest', 'unkeyed', { signature: createHash('sha256').update(`85:${nowText}`).digest('hex') }],
  [
    'the older scheme',
    'unkeyed',
    { signature: `c2VjcmV0|${createHash('sha256').update(`85:${nowText}`).digest('hex')}` },
  ],
  ['HMAC-SHA1', 'algorithm', { signature: createHmac('sha1', key).update(right).digest('base64') }],
  ['HMAC-SHA512', 'algorithm', { signature: createHmac('sha512', key).update(right).digest('hex') }],
  ['key and text swapped', 'swapped', { signature: base64(key, right) }],
  ['SHA-1 without the key', 'unkeyed', { signature: createHash('sha1').update(right).digest('hex') }],
  ['another key', 'other', { signature: base64(right, 'another key') }],
  ['nothing like a signature', 'other', { signature: 'hello' }],
];

test.each(mistakes)(
  '%s is "%s", which is said in one sentence without a key or a signature',
  async (_what, expected, members) => {
    const { problem, message } = await diagnose(members);

    const signature = String((members as { signature?: unknown }).signature ?? base64(right));
    expect(problem).toBe(expected);
    expect(message).toMatch(/^[A-Z][^\n]+[^.]$/);
    expect(message).not.toContain(key);
    if (signature.length > 8) expect(message).not.toContain(signature);
  },
);

test('a right signature has no problem, for job status under either name and with a number as its time', async () => {
  const asSecKey = { signature: undefined, sec_key: base64(right) };

  expect(await diagnose({})).toMatchObject({ problem: null });
  expect(await diagnose(asSecKey, 'jobs.status')).toMatchObject({ problem: null });
  expect(await diagnose({ timestamp: nowMs }, 'jobs.status')).toMatchObject({ problem: null });
  expect(await diagnose(asSecKey)).toEqual({
    problem: 'missing',
    message: 'Send "signature": only job status accepts "sec_key" in its place',
  });
});

test('a job status that sends a number is told to send ISO text, and one of epochs the reverse', async () => {
  const wire = { ...assumedWire, jobTimestampFormat: 'epoch-ms' as const };

  const asNumber = await diagnose({ timestamp: nowMs, signature: base64(`${nowMs}085sid_request`) }, 'jobs.status');
  const asText = await diagnose({}, 'jobs.status', { ...facts, wire });

  expect(asNumber).toMatchObject({ problem: 'timestamp_text', message: expect.stringContaining('ISO 8601') });
  expect(asText.message).toContain('milliseconds since 1970, as a number');
});

test('with Ed25519 the mistakes of time, partner and environment are told apart, too', async () => {
  const service = createMockService({ scheme: 'ed25519' });
  const sign = async (environment: 'sandbox' | 'production', timestamp: string, partnerId: string) =>
    service[environment].clientOptions.signer.sign({ timestamp, partnerId });
  const given = { ...facts, apiKeys: null, sign } as unknown as typeof facts;
  const tried = async (signature: string) => (await diagnose({ signature }, 'links.create', given)).problem;

  expect(await tried(await sign('sandbox', nowText, '085'))).toBeNull();
  expect(await tried(await sign('sandbox', nowText, '85'))).toBe('leading_zeros');
  expect(await tried(await sign('production', nowText, '085'))).toBe('other_environment');
  expect(await tried(await sign('sandbox', '2026-01-02T03:04:05Z', '085'))).toBe('timestamp_text');
  expect(await tried('AAAA')).toBe('other');
});
