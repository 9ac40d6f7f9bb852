/** What the mock service refuses, as the real one would. */

import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { apiKeyOf, hmac, newLink, nowMs, nowText, partnerOf, send, signedBy, stillClock, wireJob } from './partner.js';

function start() {
  const service = createMockService({ clock: stillClock });
  return { service, sandbox: service.sandbox, partner: partnerOf(service) };
}

const job = { user_id: 'user-1', job_id: 'job-1' };

test.each([
  ['no partner id', { partner_id: undefined }],
  ['another partner', { partner_id: '086' }],
  ['a partner id as a number', { partner_id: 85 }],
  ['no signature', { signature: undefined }],
  ['a signature that is no text', { signature: 1 }],
  ['a signature of another key', { signature: hmac('another-key', nowText) }],
  ['the key of production', { signature: hmac('production-test-key', nowText) }],
  ['no timestamp', { timestamp: undefined }],
  ['a timestamp that is no time', { timestamp: 'now' }],
  ['a timestamp as a number', { timestamp: 1_767_323_045_000 }],
  ['sec_key in place of signature', { signature: undefined, sec_key: hmac('sandbox-test-key', nowText) }],
  ['a signature of another timestamp', { timestamp: '2026-01-02T03:04:05.001Z' }],
])('mock link operations refuse %s with 400 and 2205', async (_what, members) => {
  const { partner } = start();

  const answers = [
    await partner.create({ ...newLink, ...members }),
    await partner.get('none', members),
    await partner.update('none', members),
    await partner.list(members),
  ];

  for (const { status, body } of answers) {
    expect(status).toBe(400);
    expect(body).toEqual({ error: expect.any(String), code: '2205' });
  }
});

test.each([
  ['no partner id', { partner_id: undefined }],
  ['another partner', { partner_id: '001' }],
  ['no sec_key', { sec_key: undefined }],
  ['a wrong sec_key beside a genuine signature', { sec_key: 'AAAA', signature: hmac('sandbox-test-key', nowText) }],
  ['a signature of another key', { sec_key: hmac('production-test-key', nowText) }],
  ['no timestamp', { timestamp: undefined }],
  ['a number whose digits were signed', { timestamp: nowMs, sec_key: hmac('sandbox-test-key', String(nowMs)) }],
  ['a number that is no whole millisecond', { timestamp: nowMs + 0.5 }],
  ['a number after the end of time', { timestamp: 8_640_000_000_000_001 }],
])('mock job status refuses %s with 400 and 2305', async (_what, members) => {
  const { partner } = start();

  const { status, body } = await partner.status({ ...job, ...members });

  expect([status, body.code]).toEqual([400, '2305']);
});

test('mock link operations say that only job status has sec_key', async () => {
  const { partner } = start();

  const { body } = await partner.create({
    ...newLink,
    signature: undefined,
    sec_key: hmac('sandbox-test-key', nowText),
  });

  expect(body.error).toBe('Missing signature: only job status has sec_key');
});

test.each([
  ['2026-01-02T02:59:05.000Z', 200],
  ['2026-01-02T02:59:04.999Z', 400],
  ['2026-01-02T03:09:05.000Z', 200],
  ['2026-01-02T03:09:05.001Z', 400],
  ['2026-01-02T04:04:05.000+01:00', 200],
  ['2026-01-02T04:04:05.123456+0100', 200],
  ['2026-01-02T03:04:05', 200],
  ['2026-02-30T03:04:05Z', 400],
])('mock.links.list() at 2026-01-02T03:04:05Z responds to a timestamp of %s with %i', async (timestamp, expected) => {
  const { sandbox, partner } = start();

  const { status } = await partner.list(signedBy(sandbox, timestamp));

  expect(status).toBe(expected);
});

test('mock production refuses the key of the sandbox', async () => {
  const { service, sandbox } = start();

  const { status, body } = await partnerOf(service, service.production).list(signedBy(sandbox));

  expect([status, body.code]).toEqual([400, '2205']);
  expect(apiKeyOf(service.production)).not.toBe(apiKeyOf(sandbox));
});

test.each(['{', '', '"text"', '[]', 'null', '7', '<html>'])('mock operations refuse %j as a body', async (text) => {
  const { service, sandbox } = start();

  const link = await send(service, 'POST', `${sandbox.baseUrl}/v1/hosted_links`, text);
  const status = await send(service, 'POST', `${sandbox.baseUrl}/v1/job_status`, text);

  expect([link.status, (await link.json()).code]).toEqual([400, '2203']);
  expect([status.status, (await status.json()).code]).toEqual([400, '2303']);
});

test.each([
  ['POST', '/', 404],
  ['POST', '/v1/acme_links', 404],
  ['POST', '/v2/hosted_links', 404],
  ['POST', '/v1/hosted_links/', 404],
  ['POST', '/v1/hosted_links/a/b', 404],
  ['POST', '/v1/job_status/', 404],
  ['PUT', '/v1/hosted_links', 405],
  ['DELETE', '/v1/hosted_links/abc', 405],
  ['PUT', '/v1/job_status', 405],
])('mock service responds to %s %s with %i and logs no request', async (method, path, expected) => {
  const { service, sandbox } = start();

  const response = await send(service, method, sandbox.baseUrl + path, signedBy(sandbox));

  expect(response.status).toBe(expected);
  expect(sandbox.requests).toEqual([]);
});

test('mock service responds to GET with 405', async () => {
  const { service, sandbox } = start();

  const response = await service.fetch(`${sandbox.baseUrl}/v1/hosted_links`);

  expect(response.status).toBe(405);
});

test.each([
  ['company_name missing', { company_name: undefined }],
  ['company_name empty', { company_name: '' }],
  ['data_privacy_policy_url missing', { data_privacy_policy_url: undefined }],
  ['data_privacy_policy_url no URL', { data_privacy_policy_url: 'privacy' }],
  ['callback_url not http(s)', { callback_url: 'ftp://partner.example/' }],
  ['callback_url null', { callback_url: null }],
  ['logo_url relative', { logo_url: '/logo.png' }],
  ['logo_url without a host', { logo_url: 'https://' }],
  ['name a number', { name: 1 }],
  ['user_id empty', { user_id: '' }],
  ['is_single_use text', { is_single_use: 'true' }],
  ['expires_at a number', { expires_at: 1_767_323_045_000 }],
  ['expires_at a date', { expires_at: '2026-01-02' }],
  ['expires_at not on the calendar', { expires_at: '2026-02-30T00:00:00Z' }],
  ['id_types an object', { id_types: {} }],
  ['an entry that is text', { id_types: ['NG'] }],
  ['an entry without country', { id_types: [{ id_type: 'BVN', verification_method: 'enhanced_kyc' }] }],
  ['an entry without id_type', { id_types: [{ country: 'NG', verification_method: 'enhanced_kyc' }] }],
  ['an entry without method', { id_types: [{ country: 'NG', id_type: 'BVN' }] }],
  ['a country by name', { id_types: [{ country: 'Nigeria', id_type: 'BVN', verification_method: 'enhanced_kyc' }] }],
  ['an unknown method', { id_types: [{ country: 'NG', id_type: 'BVN', verification_method: 'magic' }] }],
  [
    'two methods for one ID type',
    {
      id_types: [
        { country: 'NG', id_type: 'BVN', verification_method: 'enhanced_kyc' },
        { country: 'NG', id_type: 'BVN', verification_method: 'biometric_kyc' },
      ],
    },
  ],
])('mock.links.create() refuses %s with 400 and 2213', async (_what, members) => {
  const { sandbox, partner } = start();

  const { status, body } = await partner.create({ ...newLink, ...members });

  expect([status, body.code]).toEqual([400, '2213']);
  expect(sandbox.links.all()).toEqual([]);
});

test('mock.links.create() accepts everything the protocol names, and fields it does not', async () => {
  const { partner } = start();

  const { status } = await partner.create({
    ...newLink,
    callback_url: undefined,
    name: 'Link',
    logo_url: 'https://partner.example/logo.png',
    is_single_use: true,
    user_id: 'user-1',
    expires_at: '2026-03-01T12:00:00.123456789+02:00',
    redirect_url: 'https://partner.example/done',
    id_types: [
      { country: 'NG', id_type: 'BVN', verification_method: 'enhanced_kyc' },
      { country: 'NG', id_type: 'BVN', verification_method: 'enhanced_kyc' },
      { country: 'KE', id_type: 'BVN', verification_method: 'biometric_kyc' },
      { country: 'KE', id_type: '', verification_method: 'doc_verification' },
    ],
  });

  expect(status).toBe(200);
});

test.each([
  ['is_disabled as text', { is_disabled: 'true' }],
  ['id_types malformed', { id_types: [{}] }],
])('mock.links.update() refuses %s with 400 and 2213', async (_what, members) => {
  const { partner } = start();
  const { body: created } = await partner.create();

  const { status, body } = await partner.update(created.ref_id, members);

  expect([status, body.code]).toEqual([400, '2213']);
});

test('mock link operations respond with 404 and 2215 for a link there is not', async () => {
  const { partner } = start();

  const answers = [await partner.get('none'), await partner.update('none', { is_disabled: true })];

  for (const { status, body } of answers) {
    expect(status).toBe(404);
    expect(body).toEqual({ error: 'Link not found', code: '2215' });
  }
});

test.each([0, -1, 1.5, '1', null])(
  'mock.links.list() refuses page %j with 2213 where pages begin at 1',
  async (page) => {
    const { partner } = start();

    const { status, body } = await partner.list({ page });

    expect([status, body.code]).toEqual([400, '2213']);
  },
);

test.each([
  ['no user_id', { user_id: undefined }],
  ['no job_id', { job_id: undefined }],
  ['image_links as text', { image_links: 'true' }],
  ['history as a number', { history: 1 }],
])('mock.jobs.status refuses %s with 400 and 2313', async (_what, members) => {
  const { partner } = start();

  const { status, body } = await partner.status({ ...job, ...members });

  expect([status, body.code]).toEqual([400, '2313']);
});

test('mock job status responds with 400 and 2304 for a job there is not', async () => {
  const { service, sandbox, partner } = start();
  const known = sandbox.jobs.start({ userId: 'user-1', jobId: 'job-1' });

  const otherUser = await partner.status({ user_id: 'user-2', job_id: 'job-1' });
  const otherEnvironment = await partnerOf(service, service.production).status(wireJob(known));

  expect([otherUser.status, otherUser.body.code]).toEqual([400, '2304']);
  expect([otherEnvironment.status, otherEnvironment.body.code]).toEqual([400, '2304']);
});

test('mock refusals name fields, never values', async () => {
  const { partner } = start();

  const { body } = await partner.create({ ...newLink, user_id: 1, name: 'Peter Parker', logo_url: 'Peter Parker' });

  expect(JSON.stringify(body)).not.toContain('Parker');
});
