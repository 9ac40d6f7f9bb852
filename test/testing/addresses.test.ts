/** Where the mock service responds, where its links lead, and by which keys. */

import { createMockService, type MockServiceOptions } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { hmac, newLink, nowText, partnerOf, send, stillClock, wireJob } from './partner.js';

const baseUrls = { sandbox: 'http://127.0.0.1:4085/sandbox', production: 'http://127.0.0.1:4085/production' };

test('mock service responds at base URLs that are given, below their paths', async () => {
  const service = createMockService({ baseUrls, clock: stillClock });

  const sandbox = await partnerOf(service).create();
  const production = await partnerOf(service, service.production).list();

  expect([sandbox.status, production.status]).toEqual([200, 200]);
  expect(production.body.links).toEqual([]);
  expect(service.production.baseUrl).toBe(baseUrls.production);
  expect(service.sandbox.clientOptions.baseUrls).toEqual(baseUrls);
});

test('an environment that baseUrls leaves out has its default', () => {
  const { sandbox, production } = createMockService({ baseUrls: { sandbox: baseUrls.sandbox } });

  expect([sandbox.baseUrl, production.baseUrl]).toEqual([baseUrls.sandbox, 'https://production.hosted.test']);
});

test('a slash at the end of a given base URL changes nothing', async () => {
  const service = createMockService({ baseUrls: { ...baseUrls, sandbox: `${baseUrls.sandbox}/` }, clock: stillClock });

  expect((await partnerOf(service).create()).status).toBe(200);
  expect(service.sandbox.baseUrl).toBe(baseUrls.sandbox);
});

test.each([
  'http://127.0.0.1:4085/v1/hosted_links',
  'http://127.0.0.1:4085/sandboxes/v1/hosted_links',
  'http://127.0.0.1:4086/sandbox/v1/hosted_links',
  'https://sandbox.hosted.test/v1/hosted_links',
])('a mock service with base URLs of its own rejects for %s', async (url) => {
  const service = createMockService({ baseUrls });

  await expect(service.fetch(url, { method: 'POST', body: '{}' })).rejects.toBeInstanceOf(TypeError);
});

test.each([
  ['baseUrls', { baseUrls: { sandbox: 'nowhere', production: baseUrls.production } }],
  ['baseUrls', { baseUrls: { ...baseUrls, production: baseUrls.sandbox } }],
  ['baseUrls', { baseUrls: { staging: 'http://127.0.0.1:4085/' } as object }],
  ['linkBaseUrl', { linkBaseUrl: 'ftp://links.test' }],
  ['pageSize', { pageSize: 0 }],
  ['options', [] as object],
  ['spelling', { spelling: 'tables' as 'table' }],
  ['clock', { clock: {} as { now(): number } }],
  ['keepRequests', { keepRequests: -1 }],
  ['keepRequests', { keepRequests: 1.5 }],
  ['apiKeys', { apiKeys: { sandbox: ' ' } }],
  ['apiKeys', { apiKeys: { sandbox: 'key' }, scheme: 'ed25519' }],
] satisfies [string, MockServiceOptions][])('createMockService() refuses a wrong %s and names it', (name, options) => {
  expect(() => createMockService(options)).toThrow(new RegExp(`^Cannot create the mock service: "${name}" must`));
});

test('links lead to linkBaseUrl where it is given', async () => {
  const service = createMockService({ linkBaseUrl: 'http://127.0.0.1:4085/links/', clock: stillClock });
  const partner = partnerOf(service);

  const { body } = await partner.create();

  expect(body.link).toBe(`http://127.0.0.1:4085/links/${body.ref_id}`);
  expect((await partner.get(body.ref_id)).body.link_url).toBe(body.link);
});

test('apiKeys replace the keys of the environments that they name', async () => {
  const service = createMockService({ apiKeys: { sandbox: 'my key' }, clock: stillClock });

  const created = await partnerOf(service).create({ ...newLink, signature: hmac('my key', nowText) });
  const old = await partnerOf(service).create({ ...newLink, signature: hmac('sandbox-test-key', nowText) });

  expect([created.status, old.status]).toEqual([200, 400]);
  expect(service.sandbox.clientOptions.apiKey).toBe('my key');
  expect(service.production.clientOptions.apiKey).toBe('production-test-key');
});

test('job status is taken under the name "signature", and returned under it', async () => {
  const service = createMockService({ clock: stillClock });
  const job = service.sandbox.jobs.start();
  const signed = { partner_id: '085', timestamp: nowText, signature: hmac('sandbox-test-key', nowText) };

  const response = await send(service, 'POST', `${service.sandbox.baseUrl}/v1/job_status`, {
    ...signed,
    ...wireJob(job),
  });
  const body = await response.json();

  expect(response.status).toBe(200);
  expect(body.signature).toBe(hmac('sandbox-test-key', body.timestamp));
  expect(body).not.toHaveProperty('sec_key');
});

test('where job status expects "signature", "sec_key" is accepted and returned, too', async () => {
  const service = createMockService({
    clock: stillClock,
    wire: { jobSignatureMember: 'signature' },
    spelling: 'sample',
  });
  const job = service.sandbox.jobs.start();

  const { status, body } = await partnerOf(service).status(wireJob(job));

  expect(status).toBe(200);
  expect(body.sec_key).toBe(hmac('sandbox-test-key', body.timestamp));
});
