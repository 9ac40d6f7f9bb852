// What is likely wrong when the service cannot be reached, in words: by the codes of Node and Bun, and by what Deno says.

import { HostedClient } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { explainFailure } from '../../src/call/connection-failure.js';
import { apiKey, clientOf, failed, now, partnerId, rejection } from '../support/fake-fetch.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

const origin = 'https://sandbox.hosted.test';
const certificate = `the certificate of ${origin}`;

/** What Deno 2.9.5 was seen to say, as the cause of "fetch failed". */
const saidByDeno = (step: string) =>
  new TypeError('fetch failed', {
    cause: new Error(`error sending request for url (${origin}/v1/hosted_links): client error (Connect): ${step}`),
  });

/** What fetch throws, what is said, whether the request cannot have left, and whether it would fail again. */
const failures: readonly [unknown, string, boolean, boolean][] = [
  [failed('ENOTFOUND'), `DNS knows no host of ${origin} (ENOTFOUND): check`, true, false],
  [failed('EAI_AGAIN'), `DNS did not respond for the host of ${origin} (EAI_AGAIN): check`, true, false],
  [failed('ECONNREFUSED'), `${origin} refused the connection (ECONNREFUSED): check host and port`, true, false],
  [failed('EHOSTUNREACH'), `there is no route to ${origin} (EHOSTUNREACH): check the network`, false, false],
  [failed('UND_ERR_CONNECT_TIMEOUT'), `the connection to ${origin} timed out (UND_ERR_CONNECT_TIMEOUT)`, true, false],
  [failed('UND_ERR_HEADERS_TIMEOUT'), `${origin} did not respond within the time limit of fetch`, false, false],
  [failed('CERT_HAS_EXPIRED'), `${certificate} has expired (CERT_HAS_EXPIRED): the server must renew it`, true, true],
  [failed('CERT_NOT_YET_VALID'), `${certificate} is not valid yet (CERT_NOT_YET_VALID): check the clock`, true, true],
  [failed('ERR_TLS_CERT_ALTNAME_INVALID'), `${certificate} is for another host`, true, true],
  [
    failed('DEPTH_ZERO_SELF_SIGNED_CERT'),
    `${certificate} is from an authority that this runtime does not trust`,
    true,
    true,
  ],
  [failed('CERT_REVOKED'), `${certificate} cannot be verified (CERT_REVOKED)`, true, true],
  [failed('INVALID_CA'), `${certificate} cannot be verified (INVALID_CA)`, true, true],
  [failed('ERR_SSL_WRONG_VERSION_NUMBER'), `${origin} does not speak TLS (ERR_SSL_WRONG_VERSION_NUMBER)`, false, false],
  [failed('ERR_SSL_UNSUPPORTED_PROTOCOL'), `${origin} and this runtime have no version of TLS in common`, true, false],
  [failed('ECONNRESET'), `the connection to ${origin} broke (ECONNRESET)`, false, false],
  [failed('ESECRET'), `the client's own "fetch" failed: NetworkError`, false, false],
  [new Error('planted'), `the client's own "fetch" failed: Error at explanations.test.ts:`, false, false],
  ['planted', `the client's own "fetch" failed: a value that is no error`, false, false],
  [failed('FailedToOpenSocket'), `no connection could be made to ${origin} (FailedToOpenSocket)`, true, false],
  [
    saidByDeno('dns error: failed to lookup address information: Name or service not known'),
    `DNS knows no host of ${origin}: check`,
    true,
    false,
  ],
  [
    saidByDeno('tcp connect error: Connection refused (os error 111)'),
    `${origin} refused the connection: check`,
    true,
    false,
  ],
  [saidByDeno('invalid peer certificate: UnknownIssuer'), `${certificate} is from an authority that`, true, true],
  [
    saidByDeno(
      'invalid peer certificate: certificate not valid for name "localhost"; certificate is only valid for IpAddress(127.0.0.1)',
    ),
    `${certificate} is for another host: check`,
    true,
    true,
  ],
  [
    saidByDeno(
      'invalid peer certificate: certificate expired: verification time 1790000000 (UNIX), but certificate is not valid after 1780000000 (10000000 seconds ago)',
    ),
    `${certificate} has expired: the server must renew it`,
    true,
    true,
  ],
  [
    saidByDeno(
      'invalid peer certificate: certificate not valid yet: verification time 1780000000 (UNIX), but certificate is not valid before 1790000000 (10000000 seconds in future)',
    ),
    `${certificate} is not valid yet: check the clock`,
    true,
    true,
  ],
  [saidByDeno('invalid peer certificate: BadSignature'), `${certificate} cannot be verified`, true, true],
  [
    saidByDeno('received corrupt message of type InvalidContentType'),
    `${origin} does not speak TLS: check the port`,
    true,
    false,
  ],
  [saidByDeno('proxy authentication required'), `the proxy wants a user and password to connect`, true, false],
  [saidByDeno('unsuccessful tunnel'), `the proxy refused to connect to ${origin}: check the proxy`, true, false],
  [saidByDeno('received fatal alert: ProtocolVersion'), `${origin} and this runtime have no version`, true, false],
  [saidByDeno('received fatal alert: HandshakeFailure'), `${origin} rejected the TLS handshake: check`, true, false],
  [
    saidByDeno('tcp connect error: Network is unreachable (os error 101)'),
    `there is no route to ${origin}: check`,
    true,
    false,
  ],
  [
    Object.assign(new Error('Proxy refused to open a tunnel: 407 No'), { code: 'ERR_PROXY_TUNNEL' }),
    'the proxy wants a user and password to connect',
    true,
    false,
  ],
  [saidByDeno('something else'), `no connection could be made to ${origin}`, true, false],
  [
    new Error('Requires net access to "sandbox.hosted.test:443", run again with the --allow-net flag'),
    `this process may not connect to ${origin}: start it with --allow-net`,
    true,
    false,
  ],
];

test.each(failures)('%s is explained: %s', async (thrown, says, isNotSent, isLasting) => {
  const { client } = clientOf(
    () => {
      throw thrown;
    },
    { maxRetries: 0 },
  );

  const error = await rejection(
    client.links.create({ companyName: 'a', dataPrivacyPolicyUrl: 'https://a.test', callbackUrl: null }),
  );

  expect((error as Error).message).toContain(`Cannot create a link: ${says}`);
  expect((error as Error).message).not.toMatch(/planted|v1|SECRET/);
  const [, code] = /\((E[A-Z]+)\)/.exec(says) ?? [];
  if (code !== undefined) expect(error).toMatchObject({ cause: { code, message: code } });
  expect(error).toMatchObject({
    outcome: isNotSent ? 'not_sent' : 'unknown',
    retryable: isNotSent && !isLasting,
  });
});

test('where one of several addresses has a good certificate, the next request may reach it', () => {
  const failure = explainFailure(failed('CERT_HAS_EXPIRED', 'ECONNREFUSED'), origin, fetch);

  expect(failure).toMatchObject({ reason: 'CERT_HAS_EXPIRED', isNotSent: true, isLasting: false });
});

test('the file of an authority is named in the variable of the runtime, and in none where there is no process', async () => {
  const say = async () => {
    const { client } = clientOf(() => Promise.reject(failed('SELF_SIGNED_CERT_IN_CHAIN')));
    return ((await rejection(client.links.get('ref-1'))) as Error).message;
  };

  expect(await say()).toMatch(/set NODE_EXTRA_CA_CERTS to the path of the authority's certificate file/);
  vi.stubGlobal('Deno', { permissions: { querySync: () => ({ state: 'denied' }) } });
  expect(await say()).toMatch(/set DENO_CERT to the path of the authority's certificate file/);
  vi.unstubAllGlobals();
  vi.stubGlobal('process', undefined);
  expect(await say()).toMatch(/does not trust \(SELF_SIGNED_CERT_IN_CHAIN\); "npx hosted-client doctor"/);
});

test('a wait ends with the first poll whose certificate is refused', async () => {
  const { client, sent } = clientOf(() => Promise.reject(failed('CERT_HAS_EXPIRED')));

  const error = await rejection(client.jobs.waitForCompletion({ userId: 'user-1', jobId: 'job-1' }));

  expect(error).toMatchObject({ code: 'connection', retryable: false });
  expect(sent).toHaveLength(1);
});

test("a caller's own fetch is told nothing of the kit", async () => {
  const { client } = clientOf(() => Promise.reject(failed('ENOTFOUND')), { maxRetries: 0 });

  const error = await rejection(client.links.get('ref-1'));

  expect((error as Error).message).not.toMatch(/kit/);
});

test.each([
  ['https://sandbox.hosted.test', true],
  ['https://sandbox.hosted.example', false],
])('the platform’s own fetch that cannot reach %s is told of the kit: %s', async (host, isTold) => {
  vi.stubGlobal('fetch', () => Promise.reject(failed('ENOTFOUND')));
  const options = { partnerId, apiKey, baseUrls: { sandbox: host }, maxRetries: 0 };

  for (const given of [{}, { fetch: globalThis.fetch }]) {
    const error = await rejection(new HostedClient({ ...options, ...given }).links.get('ref-1'));
    expect((error as Error).message.includes('only the testing kit')).toBe(isTold);
  }
});

// Web pages ------------------------------------------------------------------

const asPage = { headers: { 'content-type': 'text/html' } };

test.each<[string, Response]>([
  ['a link of another shape', Response.json({ ref_id: [] }, asPage)],
  ['a redirect', new Response(null, { ...asPage, status: 307 })],
  ["the service's own 404", Response.json({ code: '2304' }, { ...asPage, status: 404 })],
])('%s is not explained as a web page, even if its header says so', async (_what, response) => {
  const { client } = clientOf(response);

  const error = await rejection(client.links.get('ref-1'));

  expect(error).toHaveProperty('message', expect.not.stringContaining('web page'));
});

// Rejected signatures -----------------------------------------------------------

test.each([
  ['a partner id of two digits', { partnerId: '85' }, /lost a zero/],
  ['a partner id of one digit', { partnerId: '5' }, /lost a zero/],
  ['a gateway that sends a page', {}, /a proxy or gateway may have sent it/],
])('a rejection of %s says so', async (_what, options, says) => {
  const headers = { 'content-type': 'text/html', date: new Date(now).toUTCString() };
  const { client } = clientOf(new Response('<html>', { status: 403, headers }), options);

  const error = await rejection(client.links.get('ref-1'));

  expect((error as Error).message).toMatch(says);
});

test.each(['085', '0851', 'ab', '1a'])('a partner id %s has lost nothing', async (partnerId) => {
  const { client } = clientOf(() => Response.json({}, { status: 401 }), { partnerId });

  const error = await rejection(client.links.get('ref-1'));

  expect((error as Error).message).not.toMatch(/zero/);
});
