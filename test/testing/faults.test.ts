/** Faults a test can order from the mock service. */

import { createMockService, type MockFault } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { apiKeyOf, hmac, newLink, partnerOf, send, signedBy, stillClock, wireJob } from './partner.js';

function start() {
  const service = createMockService({ clock: stillClock });
  const { sandbox } = service;
  return { service, sandbox, partner: partnerOf(service), job: wireJob(sandbox.jobs.start()) };
}

test('mock.failNext() with a status responds with it before acting, once, for that operation alone', async () => {
  const { sandbox, partner } = start();
  sandbox.failNext('links.create', { kind: 'status', status: 503, retryAfter: '7' });

  const listed = await partner.list();
  const failed = await partner.create();
  const left = sandbox.links.all().length;
  const created = await partner.create();

  expect([listed.status, failed.status, created.status]).toEqual([200, 503, 200]);
  expect(failed.headers.get('retry-after')).toBe('7');
  expect(failed.body).toEqual({ error: 'System error', code: '2201' });
  expect(left).toBe(0);
});

test.each([
  [{ status: 500 }, { error: 'System error', code: '2301' }],
  [{ status: 401 }, { error: 'Not authorised', code: '2305' }],
  [{ status: 429 }, { error: 'Rejected with status 429' }],
  [
    { status: 429, body: { error: 'Blocked', code: 2222 } },
    { error: 'Blocked', code: 2222 },
  ],
  [{ status: 200, body: { job_complete: true } }, { job_complete: true }],
  [{ status: 502, body: null }, null],
])('mock.failNext() with %j responds to job status with %j', async (fault, expected) => {
  const { sandbox, partner, job } = start();
  sandbox.failNext('jobs.status', { kind: 'status', ...fault });

  const { status, body } = await partner.status(job);

  expect(status).toBe(fault.status);
  expect(body).toEqual(expected);
});

test('mock.failNext() sends a body of text as it stands, and 204 without one', async () => {
  const { service, sandbox } = start();
  sandbox.failNext('links.list', { kind: 'status', status: 502, body: '<h1>Bad Gateway</h1>' });
  sandbox.failNext('links.list', { kind: 'status', status: 204 });
  const url = `${sandbox.baseUrl}/v1/hosted_links/list`;

  const page = await send(service, 'POST', url, signedBy(sandbox));
  const empty = await send(service, 'POST', url, signedBy(sandbox));

  expect([page.status, await page.text()]).toEqual([502, '<h1>Bad Gateway</h1>']);
  expect([empty.status, await empty.text()]).toEqual([204, '']);
});

test('mock.failNext() fails as often as told, then the faults behind it', async () => {
  const { sandbox, partner } = start();
  sandbox.failNext('links.list', { kind: 'status', status: 500 }, 2);
  sandbox.failNext('links.list', { kind: 'status', status: 429 }, 0);
  sandbox.failNext('links.list', { kind: 'status', status: 503 });

  const statuses = [];
  for (let round = 0; round < 4; round++) statuses.push((await partner.list()).status);

  expect(statuses).toEqual([500, 500, 503, 200]);
  expect(sandbox.requests.map(({ status }) => status)).toEqual([500, 500, 503, 200]);
});

test('mock.failNext() refuses to fail less than never', () => {
  const { sandbox } = start();

  expect(() => sandbox.failNext('links.list', { kind: 'network' }, -1)).toThrow(RangeError);
});

test('mock fault network rejects as a reset connection does and acts on nothing', async () => {
  const { sandbox, partner } = start();
  sandbox.failNext('links.create', { kind: 'network' });

  const failure = await partner.create().catch((error: unknown) => error);

  expect(failure).toBeInstanceOf(TypeError);
  expect(failure).toMatchObject({ message: 'fetch failed', cause: { code: 'ECONNRESET' } });
  expect(sandbox.links.all()).toEqual([]);
  expect(sandbox.requests).toMatchObject([{ operation: 'links.create', status: 0 }]);
});

test('mock fault stall ends with the signal of the request and acts on nothing', async () => {
  const { sandbox, partner } = start();
  sandbox.failNext('links.create', { kind: 'stall' }, 2);
  const controller = new AbortController();
  const reason = new Error('given up');

  const stalled = partner.create(newLink, { signal: controller.signal });
  controller.abort(reason);

  await expect(stalled).rejects.toBe(reason);
  await expect(partner.create(newLink, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(sandbox.links.all()).toEqual([]);
});

test('mock fault truncate acts, then breaks off in the middle of the body', async () => {
  const { service, sandbox } = start();
  sandbox.failNext('links.create', { kind: 'truncate' });

  const url = `${sandbox.baseUrl}/v1/hosted_links`;
  const response = await send(service, 'POST', url, { ...signedBy(sandbox), ...newLink });
  const reader = response.body?.getReader();
  const first = await reader?.read();

  expect(response.status).toBe(200);
  expect(new TextDecoder().decode(first?.value)).toMatch(/^\{"link":"/);
  await expect(reader?.read()).rejects.toThrow('terminated');
  expect(sandbox.links.all()).toHaveLength(1);
});

test('mock fault html acts, then responds with a page', async () => {
  const { service, sandbox } = start();
  sandbox.failNext('links.create', { kind: 'html' });

  const url = `${sandbox.baseUrl}/v1/hosted_links`;
  const response = await send(service, 'POST', url, { ...signedBy(sandbox), ...newLink });

  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toContain('text/html');
  expect(await response.text()).toMatch(/^<!doctype html>/);
  expect(sandbox.links.all()).toHaveLength(1);
});

test('mock fault bad-signature signs job status with another key', async () => {
  const { sandbox, partner, job } = start();
  sandbox.failNext('jobs.status', { kind: 'bad-signature' });

  const { body } = await partner.status(job);

  expect(body.sec_key).toHaveLength(44);
  expect(body.sec_key).not.toBe(hmac(apiKeyOf(sandbox), body.timestamp));
  expect(body.job_complete).toBe(false);
});

test('mock fault missing-signature leaves job status without one', async () => {
  const { sandbox, partner, job } = start();
  sandbox.failNext('jobs.status', { kind: 'missing-signature' });

  const { body } = await partner.status(job);

  expect(body).not.toHaveProperty('sec_key');
  expect(body).not.toHaveProperty('signature');
  expect(body).toHaveProperty('timestamp');
});

test('mock fault stale-timestamp signs job status correctly, an hour ago', async () => {
  const { sandbox, partner, job } = start();
  sandbox.failNext('jobs.status', { kind: 'stale-timestamp' });

  const { body } = await partner.status(job);

  expect(body.timestamp).toBe('2026-01-02T02:04:05.000Z');
  expect(body.sec_key).toBe(hmac(apiKeyOf(sandbox), body.timestamp));
});

test.each<[MockFault['kind'], boolean, boolean]>([
  ['bad-signature', true, false],
  ['stale-timestamp', true, true],
  ['missing-signature', false, false],
])('mock fault %s on links.get: signed %s, correctly %s', async (kind, isSigned, isGenuine) => {
  const { sandbox, partner } = start();
  const created = await partner.create();
  sandbox.failNext('links.get', { kind } as MockFault);

  const { body } = await partner.get(created.body.ref_id);

  expect('signature' in body).toBe(isSigned);
  expect(body.signature === hmac(apiKeyOf(sandbox), body.timestamp)).toBe(isGenuine);
  expect(body.ref_id).toBe(created.body.ref_id);
});
