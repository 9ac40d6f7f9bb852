/** Why a request has no response: which errors of a platform say that nothing was sent, and what of them is shown. */

import { afterEach, expect, test, vi } from 'vitest';
import { explainFailure } from '../../src/call/connection-failure.js';
import { platformFetch, sendableOnce, watchUndici } from '../../src/runtime/fetch.js';

watchUndici();

const withCode = (code: unknown, more: object = {}) => Object.assign(new Error('failed'), { code, ...more });
const judgeBy = (error: unknown, fetch: unknown) => {
  const { reason, isNotSent } = explainFailure(error, 'https://a.test', fetch);
  return { reason, isNotSent };
};
const judge = (error: unknown) => judgeBy(error, platformFetch);
const judgeOther = (error: unknown) => judgeBy(error, () => undefined);
const unknown = { reason: null, isNotSent: false };

/** Of Node (dns, net, tls: OpenSSL's X509 codes), undici, and Bun: no session with the service was there yet. */
const beforeSending = [
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'ECONNREFUSED',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
  'ConnectionRefused',
  'FailedToOpenSocket',
  'UNKNOWN_CERTIFICATE_VERIFICATION_ERROR',
];

test.each(beforeSending)('%s says that nothing was sent', (code) => {
  for (const given of [judge, judgeOther]) expect(given(withCode(code))).toEqual({ reason: code, isNotSent: true });
});

test.each([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'EPROTO',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ConnectionClosed',
])('after %s the request may have arrived', (code) => {
  for (const given of [judge, judgeOther]) expect(given(withCode(code))).toEqual({ reason: code, isNotSent: false });
});

test.each(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'EADDRNOTAVAIL', 'EMFILE', 'ERR_ACCESS_DENIED', 'ECONNRESET'])(
  '%s says that nothing was sent if the system call was one before a connection',
  (code) => {
    for (const syscall of ['connect', 'getaddrinfo', 'bind'])
      expect(judgeOther(withCode(code, { syscall }))).toEqual({ reason: code, isNotSent: true });
    for (const syscall of ['read', 'write', 'reconnect', undefined, 1])
      expect(judge(withCode(code, { syscall }))).toEqual({ reason: code, isNotSent: false });
  },
);

test.each(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'EOWN'])(
  '%s alone does not say when it happened, and only the platform’s own fetch has its code shown',
  (code) => {
    expect(judge(withCode(code))).toEqual({ reason: code, isNotSent: false });
    expect(judgeOther(withCode(code))).toEqual({
      reason: code.startsWith('ERR_SSL_W') ? code : null,
      isNotSent: false,
    });
  },
);

// As Deno 2 writes them.
test.each<[string, boolean]>([
  ['error sending request for url (https://a.test/x): client error (Connect): tcp connect error', true],
  ['error sending request for url (https://a.test/x): client error (Connect)', true],
  ['error sending request for url (https://a.test/x): client error (SendRequest): connection closed', false],
  ['error sending request for url (https://a.test/x y): client error (Connect)', false],
  ['later: error sending request for url (https://a.test/x): client error (Connect)', false],
  ['Requires net access to "a.test:443", run again with the --allow-net flag', true],
  ['Fetch failed: Requests to port 6000 are blocked', true],
  ['Requests to port 6000 are blocked', false],
  ['no bad port', false],
  ['The service: Requires net access to "a.test:443"', false],
  ['Requires a key', false],
])('Deno’s "%s": nothing was sent: %s', (message, isNotSent) => {
  for (const options of [{}, { cause: null }]) {
    expect(judge(new TypeError(message, options))).toEqual({ reason: null, isNotSent });
  }
});

test.each<[string, unknown]>([
  ['a code of its own', withCode('sk-secret')],
  ['an empty code', withCode('')],
  ['a code that is a number', withCode(20)],
  ['no code', new Error('failed')],
  ['a cause that is a string', new Error('failed', { cause: 'ECONNREFUSED' })],
  ['a cause that is null', new Error('failed', { cause: null })],
  ['a string', 'ECONNREFUSED'],
  ['null', null],
  ['nothing', undefined],
  [
    'properties that cannot be read',
    new Proxy(withCode('ECONNREFUSED'), {
      get: () => {
        throw new Error('not yours to read');
      },
    }),
  ],
])('of an error with %s nothing is known, and nothing shown', (_what, error) => {
  expect(judge(error)).toEqual(unknown);
});

/** An error within so many others. */
function within(depth: number, error: unknown): unknown {
  return depth === 0 ? error : new Error('failed', { cause: within(depth - 1, error) });
}

test('the reason may be on a cause, up to four deep', () => {
  const refused = withCode('ECONNREFUSED');

  for (const depth of [0, 1, 4])
    expect(judge(within(depth, refused))).toEqual({ reason: 'ECONNREFUSED', isNotSent: true });
  expect(judge(within(5, refused))).toEqual(unknown);
});

test('a code counts before the one of its cause, unless it is no string', () => {
  const cause = withCode('ECONNREFUSED');

  expect(judge(withCode('ECONNRESET', { cause }))).toEqual({ reason: 'ECONNRESET', isNotSent: false });
  expect(judge(withCode(20, { cause }))).toEqual({ reason: 'ECONNREFUSED', isNotSent: true });
});

test('of several IP addresses that were tried, every one must say that nothing was sent', () => {
  const tried = (...codes: readonly string[]) =>
    new TypeError('fetch failed', { cause: new AggregateError(codes.map((code) => withCode(code))) });

  expect(judge(tried('ECONNREFUSED', 'ENOTFOUND'))).toEqual({ reason: 'ECONNREFUSED', isNotSent: true });
  expect(judge(tried('ECONNREFUSED', 'ECONNRESET'))).toEqual({ reason: 'ECONNREFUSED', isNotSent: false });
  expect(judge(tried('sk-secret', 'ECONNRESET'))).toEqual({ reason: 'ECONNRESET', isNotSent: false });
  expect(judge(within(3, new AggregateError([withCode('ENOTFOUND')])))).toEqual({
    reason: 'ENOTFOUND',
    isNotSent: true,
  });
  expect(judge(within(4, new AggregateError([withCode('ENOTFOUND')])))).toEqual(unknown);
});

test('an error without any addresses counts by its own code', () => {
  expect(judge(withCode('ENOTFOUND', { errors: [] }))).toEqual({ reason: 'ENOTFOUND', isNotSent: true });
  expect(judge(withCode('ENOTFOUND', { errors: 'none' }))).toEqual({ reason: 'ENOTFOUND', isNotSent: true });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function recordedFetch() {
  const calls: unknown[][] = [];
  const response = new Response();
  vi.stubGlobal('fetch', async (...given: unknown[]) => {
    calls.push(given);
    return response;
  });
  return { calls, response };
}

test('platformFetch() is the fetch that is there at the time, and gives it what it was given', async () => {
  const { calls, response } = recordedFetch();
  const init = { method: 'POST', body: '{}' };

  expect(await platformFetch('https://a.test/', init)).toBe(response);
  await platformFetch('https://a.test/');

  expect(calls).toEqual([
    ['https://a.test/', init],
    ['https://a.test/', undefined],
  ]);
});

test('Deno gets a blob, which it does not send again by itself', async () => {
  vi.stubGlobal('Deno', {});

  const { method, body } = sendableOnce({ method: 'POST', headers: {}, body: '{"a":1}' }, vi.fn());

  expect(method).toBe('POST');
  expect(body).toBeInstanceOf(Blob);
  expect(await new Response(body).text()).toBe('{"a":1}');
});

test('Node’s own fetch gets a stream of a known length, and a fetch in its place the string', async () => {
  const init = { method: 'POST', headers: { accept: 'a' }, body: '{"a":"ž"}' };

  const onWrite = vi.fn();
  const { body, ...rest } = sendableOnce(init, onWrite);

  expect(body).toBeInstanceOf(ReadableStream);
  expect(onWrite).not.toHaveBeenCalled();
  expect(await new Response(body).text()).toBe('{"a":"ž"}');
  expect(onWrite).toHaveBeenCalledOnce();
  const headers = { accept: 'a', 'content-length': '10' };
  expect(rest).toEqual({ method: 'POST', headers, duplex: 'half', credentials: 'omit' });
  recordedFetch();
  expect(sendableOnce(init, onWrite)).toBe(init);
});
