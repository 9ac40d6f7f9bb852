/** The mock service as a whole: addresses, options for clients, the log, latency, reset. */

import { createMockService, createTestClock, type MockEnvironment } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { newLink, nowMs, nowText, partnerOf, send, signedBy, stillClock, wireJob } from './partner.js';

test.each(['https://example.com/v1/hosted_links', 'http://sandbox.hosted.test/v1/hosted_links', '/v1/hosted_links'])(
  'service.fetch() rejects for %s',
  async (url) => {
    const service = createMockService();

    await expect(service.fetch(url, { method: 'POST', body: '{}' })).rejects.toBeInstanceOf(TypeError);
  },
);

test('service.fetch() takes what fetch takes', async () => {
  const service = createMockService({ clock: stillClock });
  const { sandbox } = service;
  const url = `${sandbox.baseUrl}/v1/hosted_links/list`;
  const body = JSON.stringify(signedBy(sandbox));
  const request = new Request(url, { method: 'POST', body });

  const answers = [
    await service.fetch(url, { method: 'POST', body }),
    await service.fetch(new URL(url), { method: 'POST', body: new TextEncoder().encode(body) }),
    await service.fetch(request),
    await service.fetch(new Request(url, { method: 'PUT', body }), { method: 'POST', signal: null }),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('service.fetch() rejects with the reason of an aborted signal and acts on nothing', async () => {
  const service = createMockService({ clock: stillClock });
  const reason = new Error('given up');
  const signal = AbortSignal.abort(reason);
  const url = `${service.sandbox.baseUrl}/v1/hosted_links/list`;

  await expect(partnerOf(service).create(newLink, { signal })).rejects.toBe(reason);
  await expect(service.fetch(new Request(url, { method: 'POST', body: '{}', signal }))).rejects.toBe(reason);
  expect(service.sandbox.requests).toEqual([]);
});

test('mock environments know nothing of each other', async () => {
  const service = createMockService({ clock: stillClock });
  const created = await partnerOf(service).create();

  const production = partnerOf(service, service.production);

  expect((await production.get(created.body.ref_id)).status).toBe(404);
  expect((await production.list()).body.meta.totalCount).toBe(0);
  expect(service.production.links.all()).toEqual([]);
  expect(service.sandbox.links.all()).toHaveLength(1);
});

test('mock clientOptions hold partner, environment, key and URLs, and no fetch', () => {
  const { sandbox, production } = createMockService();
  const baseUrls = { sandbox: 'https://sandbox.hosted.test', production: 'https://production.hosted.test' };

  expect(sandbox.clientOptions).toEqual({
    partnerId: '085',
    environment: 'sandbox',
    apiKey: 'sandbox-test-key',
    baseUrls,
  });
  expect(production.clientOptions).toMatchObject({
    environment: 'production',
    apiKey: 'production-test-key',
    baseUrls,
  });
  expect([sandbox.baseUrl, production.baseUrl]).toEqual([baseUrls.sandbox, baseUrls.production]);
});

test('mock clientOptions carry wire and clock, and keep the firstPage option to the service', () => {
  const wire = { brand: 'acme' };

  const { sandbox } = createMockService({ wire, clock: stillClock, firstPage: 0, partnerId: '007' });

  expect(sandbox.clientOptions).toMatchObject({ wire: { brand: 'acme' }, clock: stillClock, partnerId: '007' });
  expect(sandbox.clientOptions.wire).not.toHaveProperty('firstPage');
});

test('mock requests log operation, body, status and time', async () => {
  const service = createMockService({ clock: stillClock });
  const { sandbox } = service;
  const partner = partnerOf(service);

  await partner.create({ ...newLink, name: 'Link' });
  await partner.list({ page: 1 });
  await partner.status(wireJob({ userId: 'user-1', jobId: 'job-1' }));
  await send(service, 'PUT', `${sandbox.baseUrl}/v1/hosted_links/abc`, 'no JSON');

  expect(sandbox.requests).toMatchObject([
    { operation: 'links.create', status: 200, at: nowMs, body: { ...newLink, name: 'Link', timestamp: nowText } },
    { operation: 'links.list', status: 200, at: nowMs, body: { page: 1 } },
    { operation: 'jobs.status', status: 400, at: nowMs, body: { user_id: 'user-1', job_id: 'job-1' } },
    { operation: 'links.update', status: 400, at: nowMs, body: null },
  ]);
  expect(service.production.requests).toEqual([]);
});

test('mock responses are JSON with a date and a request id', async () => {
  const service = createMockService({ clock: stillClock });
  const partner = partnerOf(service);

  const first = await partner.list();
  const second = await partner.list();

  expect(first.headers.get('content-type')).toBe('application/json');
  expect(first.headers.get('date')).toBe('Fri, 02 Jan 2026 03:04:05 GMT');
  expect(first.headers.get('x-request-id')).toBe('sandbox-1');
  expect(second.headers.get('x-request-id')).toBe('sandbox-2');
});

test('mock latencyMs passes on the clock between acting and responding', async () => {
  const clock = createTestClock(nowMs);
  const service = createMockService({ clock, latencyMs: 50 });
  let answeredAt = 0;
  const created = partnerOf(service)
    .create()
    .then(() => {
      answeredAt = clock.now();
    });

  await clock.advance(49);
  expect(service.sandbox.links.all()).toHaveLength(1);
  expect(answeredAt).toBe(0);

  await clock.advance(1);
  await created;
  expect(answeredAt).toBe(nowMs + 50);
});

test('mock latencyMs ends with the signal of the request, though the service has acted', async () => {
  const service = createMockService({ clock: stillClock, latencyMs: 2 ** 30 });
  const controller = new AbortController();
  const reason = new Error('given up');

  const created = partnerOf(service).create(newLink, { signal: controller.signal });
  await expect.poll(() => service.sandbox.requests[0]?.status).toBe(200);
  controller.abort(reason);

  await expect(created).rejects.toBe(reason);
  expect(service.sandbox.links.all()).toHaveLength(1);
});

async function useUp(environment: MockEnvironment, partner: ReturnType<typeof partnerOf>) {
  environment.links.seed(1);
  const job = environment.jobs.start();
  await partner.list();
  environment.failNext('links.list', { kind: 'network' });
  return { links: environment.links.all(), job };
}

test('mock.reset() forgets everything and starts again from the seed', async () => {
  const service = createMockService({ clock: stillClock });
  const { sandbox } = service;
  const partner = partnerOf(service);
  const before = await useUp(sandbox, partner);

  sandbox.reset();

  expect(sandbox.requests).toEqual([]);
  expect(sandbox.links.all()).toEqual([]);
  expect((await partner.status(wireJob(before.job))).body.code).toBe('2304');
  expect((await partner.list()).status).toBe(200);
  expect(await useUp(sandbox, partner)).toEqual(before);
});

test('service.reset() resets every environment', () => {
  const service = createMockService();
  service.sandbox.links.seed(1);
  service.production.links.seed(1);

  service.reset();

  expect([service.sandbox.links.all(), service.production.links.all()]).toEqual([[], []]);
});

test('mock ids come from the seed and differ between environments', () => {
  const idsOf = (environment: MockEnvironment) => environment.jobs.start();
  const first = createMockService({ seed: 7 });
  const same = createMockService({ seed: 7, spelling: 'random' });
  const other = createMockService({ seed: 8 });

  const ids = idsOf(first.sandbox);

  expect(idsOf(same.sandbox)).toEqual(ids);
  expect(idsOf(first.production)).not.toEqual(ids);
  expect(idsOf(other.sandbox)).not.toEqual(ids);
});

test('mock links.seed() makes as many different links as asked', () => {
  const { sandbox } = createMockService();

  sandbox.links.seed(10_000);

  const refIds = sandbox.links.all().map((link) => (link as { ref_id: string }).ref_id);
  expect(new Set(refIds).size).toBe(10_000);
});
