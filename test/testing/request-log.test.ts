/** The log of requests: how long it is, and what it says of each. */

import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { newLink, partnerOf, send, stillClock, wireJob } from './partner.js';

test('the log says why a request was refused, and null of one that was not', async () => {
  const service = createMockService({ clock: stillClock });
  const { sandbox } = service;
  const partner = partnerOf(service);

  await partner.create();
  await partner.create({ ...newLink, signature: 'AAAA' });
  await partner.create({ ...newLink, company_name: undefined });
  await partner.get('none');
  await partner.status(wireJob({ userId: 'user-1', jobId: 'job-1' }));
  await send(service, 'POST', `${sandbox.baseUrl}/v1/hosted_links`, 'no JSON');

  expect(sandbox.requests.map(({ status, problem }) => [status, problem])).toEqual([
    [200, null],
    [400, 'Invalid signature'],
    [400, 'Missing required parameter: company_name'],
    [404, 'Link not found'],
    [400, 'Job not found'],
    [400, 'Invalid JSON'],
  ]);
});

test('the log names the fault that a test had asked for', async () => {
  const service = createMockService({ clock: stillClock });
  const partner = partnerOf(service);
  service.sandbox.failNext('links.list', { kind: 'status', status: 503 });
  service.sandbox.failNext('links.list', { kind: 'network' });

  await partner.list();
  await expect(partner.list()).rejects.toThrow('fetch failed');

  expect(service.sandbox.requests).toMatchObject([
    { status: 503, problem: 'Fault "status" of failNext()' },
    { status: 0, problem: 'Fault "network" of failNext()' },
  ]);
});

test('the log holds the last 1,000 requests', async () => {
  const service = createMockService({ clock: stillClock });
  const partner = partnerOf(service);

  await partner.create({ ...newLink, name: 'the first' });
  for (let count = 0; count < 1_000; count++) await partner.list();

  expect(service.sandbox.requests).toHaveLength(1_000);
  expect(service.sandbox.requests[0]?.operation).toBe('links.list');
});

test.each([0, 2])('the log holds as many requests as keepRequests says: %i', async (keepRequests) => {
  const service = createMockService({ clock: stillClock, keepRequests });
  const partner = partnerOf(service);

  for (const page of [1, 2, 3, 4]) await partner.list({ page });

  const pages = service.sandbox.requests.map(({ body }) => (body as { page: number }).page);
  expect(pages).toEqual([1, 2, 3, 4].slice(4 - keepRequests));
});

test('a test may empty the log by setting its length, and the log goes on', async () => {
  const service = createMockService({ clock: stillClock });
  const partner = partnerOf(service);
  const log = service.sandbox.requests as unknown[];
  await partner.list();

  log.length = 0;
  await partner.create();

  expect(log).toMatchObject([{ operation: 'links.create' }]);
  expect(service.sandbox.requests).toBe(log);
});
