/** Why a request failed, in its record and in the header of its response. */

import { createHmac } from 'node:crypto';
import type { MockFault } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, rejection } from '../support/fake-fetch.js';
import { running, runningLink, write } from './running.js';

/** Signs a body by hand, as a partner does. */
const signed = (members: object = {}, key = 'sandbox-test-key') => {
  const timestamp = new Date().toISOString();
  const signature = createHmac('sha256', key).update(`${timestamp}085sid_request`).digest('base64');
  return JSON.stringify({ partner_id: '085', timestamp, signature, ...members });
};

const create = { company_name: 'Example Partner', data_privacy_policy_url: 'https://partner.example/privacy' };

test.each([
  [
    'a missing field',
    '/sandbox/v1/hosted_links',
    signed({ company_name: 'A' }),
    '2213',
    'Missing required parameter: data_privacy_policy_url',
  ],
  ['an unknown job', '/sandbox/v1/job_status', signed({ user_id: 'u', job_id: 'j' }), '2304', 'Job not found'],
  ['an unknown link', '/sandbox/v1/hosted_links/none', signed(), '2215', 'Link not found'],
  [
    'a wrong key',
    '/sandbox/v1/hosted_links',
    signed(create, 'production-test-key'),
    'other_environment',
    'Use the key of the environment',
  ],
  ['no JSON', '/sandbox/v1/hosted_links', '{"partner_id":', 'missing', 'Send a JSON object'],
  ['an unknown path', '/sandbox/v1/hosted_link', signed(), '404', 'No operation has this path'],
])('%s is the reason of the record, and its code is in the hint', async (_what, path, body, code, reason) => {
  const { sandbox, port } = await running();

  const response = await write(port, { method: 'POST', path, headers: { 'content-type': 'application/json' }, body });

  expect(sandbox.requests).toMatchObject([{ reason: expect.stringContaining(reason), status: response.status }]);
  expect(response.headers['x-sandbox-hint']).toBe(`${code}; ${sandbox.origin}/console/requests/1`);
  expect(sandbox.requests[0]?.signature.message).not.toContain('Nothing to do');
});

test('a wrong method and a body that is too large are recorded, with a hint', async () => {
  const { sandbox, port } = await running();
  const path = '/sandbox/v1/hosted_links';

  const wrong = await write(port, { method: 'DELETE', path });
  const large = await write(port, { method: 'POST', path, headers: { 'content-length': '2000000' } });
  const chunked = { 'transfer-encoding': 'chunked' };
  const pieces = await write(port, { method: 'POST', path, headers: chunked, body: 'A'.repeat(1_000_001) });

  expect([wrong, large, pieces].map(({ status }) => status)).toEqual([405, 413, 413]);
  expect([wrong, large, pieces].map(({ headers }) => headers['x-sandbox-hint'])).toEqual([
    `405; ${sandbox.origin}/console/requests/1`,
    `413; ${sandbox.origin}/console/requests/2`,
    `413; ${sandbox.origin}/console/requests/3`,
  ]);
  expect(sandbox.requests.map(({ reason }) => reason)).toEqual([
    'No operation has this path with this method',
    'Send at most 1000000 bytes',
    'Send at most 1000000 bytes',
  ]);
});

test.each([
  [{ kind: 'status', status: 503 }, 'responds with 503', 503],
  [{ kind: 'html' }, 'responds with an HTML page', 200],
  [{ kind: 'stale-timestamp' }, 'signs with an hour-old timestamp', 200],
  [{ kind: 'network' }, 'breaks the connection', 0],
  [{ kind: 'truncate' }, 'breaks off in the middle of the body', 200],
] satisfies [MockFault, string, number][])('the injected fault %j is the reason', async (fault, text, status) => {
  const { sandbox, client } = await running();
  const job = sandbox.service.sandbox.jobs.start();
  sandbox.service.sandbox.failNext('jobs.status', fault);

  await client
    .withOptions({ maxRetries: 0 })
    .jobs.status(job)
    .catch(() => null);

  expect(sandbox.requests[0]).toMatchObject({
    fault: fault.kind,
    reason: `Injected fault: the service ${text}`,
    status,
  });
});

test('failureRate is named as an injected fault', async () => {
  const { sandbox, client } = await running({ failureRate: 1 });

  await client
    .withOptions({ maxRetries: 0 })
    .links.list()
    .catch(() => null);

  expect(sandbox.requests[0]).toMatchObject({
    fault: 'status',
    reason: 'Injected fault: the service responds with 503',
  });
});

test('a record has the link and the job that the request was about, and no reason if it succeeded', async () => {
  const { sandbox, client, link } = await runningLink();
  await client.links.get(link.refId);
  const job = await sandbox.play(link.refId, 'approved');
  await client.jobs.status(job);

  expect(sandbox.requests.map(({ linkRefId, job: about, reason }) => [linkRefId, about, reason])).toEqual([
    [link.refId, null, null],
    [link.refId, null, null],
    [null, job, null],
  ]);
});

test('a record has only the beginning of a long id', async () => {
  const { sandbox } = await running();
  const body = signed({ user_id: 'u'.repeat(400_000), job_id: 'j'.repeat(400_000) });

  await fetch(`${sandbox.baseUrls.sandbox}/v1/job_status`, { method: 'POST', body });

  expect(sandbox.requests[0]?.job).toEqual({ userId: 'u'.repeat(1_000), jobId: 'j'.repeat(1_000) });
});

const messageOf = async (call: Promise<unknown>) => String(await rejection(call));

test('an error of the client ends with the page that explains the response', async () => {
  const { sandbox, client } = await running();
  const wrongKey = client.withOptions({ apiKey: 'another-key-0a1b2c3d' });
  const failing = async (fault: MockFault) => {
    sandbox.service.sandbox.failNext('links.get', fault);
    return messageOf(client.links.get('none', { maxRetries: 0 }));
  };

  const messages = [
    await messageOf(client.links.get('none')),
    await messageOf(wrongKey.links.list()),
    await failing({ kind: 'status', status: 429 }),
    await failing({ kind: 'status', status: 500 }),
    await failing({ kind: 'status', status: 408 }),
    await failing({ kind: 'status', status: 418 }),
    // The environment is missing in the path.
    await messageOf(client.withOptions({ baseUrls: { sandbox: sandbox.origin } }).links.list()),
  ];

  const pages = messages.map((message) => message.split('; ').at(-1));
  expect(pages).toEqual(messages.map((_, index) => `${sandbox.origin}/console/requests/${index + 1} explains it`));
});

const page = 'http://127.0.0.1:4085/console/requests/12';

test.each([
  ['http://127.0.0.1:9', `404; ${page}`, true],
  ['http://localhost:9', `fault_status; ${page}`, true],
  ['https://sandbox.hosted.test', `404; ${page}`, false],
  ['http://127.0.0.1:9', '404; http://planted.test/console/requests/12', false],
  ['http://127.0.0.1:9', `404; ${page}/planted`, false],
  ['http://127.0.0.1:9', `planted text; ${page}`, false],
  ['http://127.0.0.1:9', `404; javascript:${page}`, false],
  ['http://127.0.0.1:9', page, false],
])('at %s, the hint %j is shown: %j', async (sandbox, hint, isShown) => {
  const response = new Response('{"code":"2215"}', { status: 404, headers: { 'x-sandbox-hint': hint } });
  const { client } = clientOf(response, { baseUrls: { sandbox }, maxRetries: 0 });

  const message = await messageOf(client.links.get('ref-1'));

  expect(message.endsWith(`; ${page} explains it`)).toBe(isShown);
  expect(message).not.toContain('planted');
});
