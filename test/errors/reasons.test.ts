// What errors say to people: of each kind of refusal, of responses that cannot be used, and of those that are not trusted.

import { createHash } from 'node:crypto';
import { HostedClient, type HostedClientOptions, type HostedError } from 'hosted-client';
import { expect, test } from 'vitest';
import {
  clientOf,
  failed,
  now,
  operations,
  type Reply,
  recordingClock,
  rejection,
  sign,
  signed,
  thrownBy,
} from '../support/fake-fetch.js';

const [create, update, get, , status] = operations;
const isoNow = new Date(now).toISOString();
const once = { maxRetries: 0 };

/** What every error of a create adds after which the link may exist. */
const lookForIt =
  '; the link may exist: look for it with links.find(), by its name or user id, before creating it again';

const json = (status: number, body: object = {}) => Response.json(body, { status });

// Refusals ------------------------------------------------------------------

const checkKeys = (said: string, environment = 'sandbox', other = 'production') =>
  `the service does not accept the signature (${said}); check that partner id and key are those of the ${environment} environment, not of ${other}; "npx hosted-client doctor" checks the rest of the configuration`;

/** What is said, and what of a create besides. */
const refusals: readonly [string, Reply, string][] = [
  ['the service rejected the request (status 400)', json(400), ''],
  ['the service rejected the request (status 400, code 2215)', json(400, { code: '2215' }), ''],
  ['the service rejected the request (status 200)', json(200, { error: 'Peter' }), lookForIt],
  [checkKeys('status 401'), json(401), ''],
  [checkKeys('status 400, code 2205'), json(400, { code: 2205 }), ''],
  ['the sandbox environment knows no such link (status 404)', json(404), ''],
  ['the sandbox environment knows no such link (status 200, code 2304)', json(200, { code: '2304' }), lookForIt],
  ['the service has received too many requests (status 429)', json(429), ''],
  [
    'the service blocks this ID number, and waiting does not change that (status 429, code 2222)',
    json(429, { code: '2222' }),
    '',
  ],
  ['the service timed out (status 408)', json(408), lookForIt],
  ['the service failed (status 503)', json(503), lookForIt],
  ['the service failed (status 200, code 2301)', json(200, { code: '2301' }), lookForIt],
];

test('a refused key is compared with no environment that has no URL', async () => {
  const { client } = clientOf(json(401), { ...once, baseUrls: { sandbox: 'https://sandbox.hosted.test' } });

  await expect(get.call(client)).rejects.toThrow('are those of the sandbox environment;');
});

test.each(refusals)('a refusal says: %s', async (why, reply, ofCreate) => {
  const { client } = clientOf(reply, once);

  await expect(get.call(client)).rejects.toHaveProperty('message', `Cannot get a link: ${why}`);
  await expect(create.call(client)).rejects.toMatchObject({
    message: `Cannot create a link: ${why}${ofCreate}`,
    mayHaveActed: ofCreate === lookForIt,
  });
});

test('a job that is not found is called a job', async () => {
  const { client } = clientOf(json(400, { code: '2304' }), once);

  await expect(status.call(client)).rejects.toMatchObject({
    code: 'not_found',
    message: 'Cannot get the status of a job: the sandbox environment knows no such job (status 400, code 2304)',
  });
});

test.each([200, 401, 404])('a web page with status %d is told with the origin that was asked', async (status) => {
  const page = new Response('<html>', { status, headers: { 'content-type': 'text/html' } });
  const baseUrls = { sandbox: 'https://gateway.hosted.test:8443/planted/path' };
  const { client } = clientOf(page, { ...once, baseUrls });

  const { message } = (await rejection(get.call(client))) as HostedError;

  expect(message).toMatch(/web page[^:]* https:\/\/gateway\.hosted\.test:8443\b/);
  expect(message).not.toContain('planted');
});

test('what only names text/html behind another type is no web page', async () => {
  const page = new Response('<html>', { status: 200, headers: { 'content-type': 'application/json; was=text/html' } });
  const { client } = clientOf(page, once);

  const { message } = (await rejection(get.call(client))) as HostedError;

  expect(message).not.toContain('web page');
});

test('a list that is not found says nothing about a link', async () => {
  const { client } = clientOf(json(404), once);
  const message =
    'Cannot list links: the sandbox environment knows no list of links at this URL: check "baseUrls" and "wire"; a link may exist all the same (status 404)';

  await expect(client.links.list()).rejects.toMatchObject({ code: 'not_found', message });
  await expect(client.links.find({ name: 'a' })).rejects.toMatchObject({ code: 'not_found', message });
});

test('mayHaveActed of a change stays true when an earlier attempt may have acted and a later one is refused', async () => {
  const lost: Reply = () => {
    throw failed('ECONNRESET');
  };
  const { client, sent } = clientOf([lost, () => Response.json({ error: 'gone' }, { status: 404 })], {
    clock: recordingClock(),
  });

  const error = await rejection(update.call(client));

  expect(sent).toHaveLength(2);
  expect(error).toMatchObject({ code: 'not_found', outcome: 'refused', mayHaveActed: true });
});

test('mayHaveActed is false where nothing was sent, and where no operation was called', async () => {
  const refused = () => {
    throw failed('ECONNREFUSED');
  };
  const { client } = clientOf(refused, once);
  const errors = [
    await rejection(client.links.create({} as never)),
    await rejection(create.call(client)),
    thrownBy(() => new HostedClient({} as never)),
    await rejection(client.callbacks.receive('{}')),
    await rejection(client.callbacks.receive('{')),
  ];

  expect(errors.map((error) => (error as HostedError).code)).toEqual([
    'validation',
    'connection',
    'config',
    'signature',
    'response',
  ]);
  for (const error of errors) expect(error).toHaveProperty('mayHaveActed', false);
});

const job = { userId: 'user-1', jobId: 'job-1' };

test('mayHaveActed of a wait is false at its deadline', async () => {
  const { client } = clientOf(signed({ job_complete: false }));

  const error = await rejection(client.jobs.waitForCompletion(job, { deadlineMs: 0 }));

  expect(error).toMatchObject({ code: 'poll_timeout', mayHaveActed: false });
});

test('a signature that is not accepted asks for the keys of the environment it was meant for', async () => {
  const { client } = clientOf(json(401), { ...once, environment: 'production' });

  const error = await rejection(client.links.list());

  expect(error).toHaveProperty('message', `Cannot list links: ${checkKeys('status 401', 'production', 'sandbox')}`);
});

test('an environment without a URL is not named beside the one that was asked', async () => {
  const { client } = clientOf(json(401), { ...once, baseUrls: { sandbox: 'https://sandbox.hosted.test' } });

  const { message } = (await rejection(client.links.list())) as HostedError;

  expect(message).toContain('the sandbox environment');
  expect(message).not.toContain('production');
});

// Responses that cannot be used -----------------------------------------------

const unusable: readonly [string, Reply, readonly object[]][] = [
  ['it is a redirect, which is not followed', new Response(null, { status: 307 }), []],
  ['it is not JSON that can be read', new Response('<html>'), []],
  ['it is not JSON that can be read', new Response(Uint8Array.of(0xff)), []],
  ['it is larger than "maxResponseBytes"', new Response('x'.repeat(1_001)), []],
  [
    'it does not have the expected shape (must be an object)',
    new Response('[]'),
    [{ path: '', message: 'must be an object' }],
  ],
  [
    'it does not have the expected shape ("ref_id" must be there)',
    json(200, { link: 'https://links.hosted.test/1', link_url: 'https://links.hosted.test/1' }),
    [{ path: 'ref_id', message: 'must be there' }],
  ],
];

test.each(unusable)('a response that cannot be used says: %s', async (why, reply, issues) => {
  const { client } = clientOf(reply, { ...once, maxResponseBytes: 1_000 });

  const errors = [await rejection(get.call(client)), await rejection(create.call(client))];

  expect(errors[0]).toHaveProperty('message', `Cannot get a link: the response cannot be used: ${why}`);
  expect(errors[1]).toHaveProperty('message', `Cannot create a link: the response cannot be used: ${why}${lookForIt}`);
  for (const error of errors) expect(error).toMatchObject({ code: 'response', outcome: 'answered', issues });
  expect(errors).toMatchObject([{ mayHaveActed: false }, { mayHaveActed: true }]);
});

test('a response about another job names each field that says so, and no id', async () => {
  const { client } = clientOf(signed({ job_complete: false, user_id: 'user-2', job_id: 'job-2' }));

  const error = await rejection(status.call(client));

  const message = 'must be the id of the requested job';
  expect(error).toMatchObject({
    message: `Cannot get the status of a job: the response cannot be used: it does not match the request ("user_id" ${message}; "job_id" ${message})`,
    issues: [
      { path: 'user_id', message },
      { path: 'job_id', message },
    ],
  });
});

// Responses that are not trusted ---------------------------------------------

const anyonesDigest = createHash('sha256').update(`85:${isoNow}`).digest('hex');

const untrusted: readonly [string, Reply][] = [
  ['it is not signed', {}],
  ['its signature or timestamp is malformed', { signature: sign('2026-01-02T03:04:04.678Z') }],
  [
    'its signature does not match its timestamp, the partner id and the key of this client',
    { timestamp: isoNow, signature: sign(isoNow, 'another-key') },
  ],
  ['instead of a signature, it has a digest that anyone can compute', { timestamp: isoNow, signature: anyonesDigest }],
  [
    'it was signed too far in the past or in the future; the limit is "maxResponseAgeMs"',
    signed({}, { timestamp: '2025-01-02T03:04:05.678Z' }),
  ],
  ['it has the signature of our own request', ({ body }) => Response.json(body)],
];

test.each(untrusted)('a response that is not trusted says: %s', async (why, reply) => {
  const { client } = clientOf(reply, { ...once, wire: { echoesTimestamp: false } });

  const error = await rejection(status.call(client));

  expect(error).toMatchObject({
    code: 'signature',
    outcome: 'answered',
    message: `Cannot get the status of a job: the response cannot be trusted: ${why}`,
  });
});

test('of a create whose response is not trusted, the link may exist', async () => {
  const { client } = clientOf({ ...create.answer(), signature: 'forged' });

  const error = await rejection(create.call(client));

  expect(error).toHaveProperty(
    'message',
    `Cannot create a link: the response cannot be trusted: its signature or timestamp is malformed${lookForIt}`,
  );
});

test('a signer that throws as it verifies is named as what is wrong', async () => {
  const signer: HostedClientOptions['signer'] = {
    name: 'broken',
    sign: () => 'signature',
    verify: () => {
      throw new Error('the key service is away');
    },
  };
  const answer = Response.json(signed(create.answer()), { headers: { 'x-request-id': 'req-1' } });
  const { client } = clientOf(answer, { signer });

  const error = await rejection(create.call(client));

  const message = 'must not throw from verify(), but did';
  expect(error).toMatchObject({
    code: 'config',
    outcome: 'answered',
    requestId: 'req-1',
    message: `Cannot create a link: "signer" ${message}${lookForIt}`,
    issues: [{ path: 'signer', message }],
  });
});

test('an error of this package that a signer throws is passed on as it is', async () => {
  const { client } = clientOf({});
  const untrusted = await rejection(client.callbacks.receive(JSON.stringify({ ResultCode: '0810' })));
  const signer: HostedClientOptions['signer'] = {
    name: 'remote',
    sign: () => {
      throw untrusted;
    },
    verify: () => true,
  };

  const error = await rejection(create.call(clientOf({}, { signer }).client));

  expect(error).toBe(untrusted);
  expect(error).toMatchObject({ code: 'signature', operation: null });
});
