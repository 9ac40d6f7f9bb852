/** The mock service dressed as msw handlers. */

import { createMockService } from 'hosted-client/testing';
import { mswHandlers } from 'hosted-client/testing/msw';
import { http } from 'msw';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { apiKeyOf, hmac, newLink, partnerOf, stillClock, wireJob } from './partner.js';

const service = createMockService({ clock: stillClock });
const { sandbox } = service;
/** A partner that knows nothing of the service's fetch. */
const partner = partnerOf({ ...service, fetch: (...request) => fetch(...request) });

const server = setupServer(...mswHandlers(service));
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }));
afterEach(() => service.reset());
afterAll(() => server.close());

test('mswHandlers() respond to the platform fetch', async () => {
  const created = await partner.create();
  const job = sandbox.jobs.start({ linkRefId: created.body.ref_id });

  const answers = [
    created,
    await partner.get(created.body.ref_id),
    await partner.update(created.body.ref_id, { is_disabled: true }),
    await partner.list(),
    await partner.status(wireJob(job)),
  ];

  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(answers[4]?.body.sec_key).toBe(hmac(apiKeyOf(sandbox), answers[4]?.body.timestamp));
  expect(answers[0]?.headers.get('x-request-id')).toBe('sandbox-1');
  expect(sandbox.requests).toHaveLength(5);
});

test('mswHandlers() respond for production too', async () => {
  const response = await fetch(`${service.production.baseUrl}/v1/nothing`, { method: 'POST', body: '{}' });

  expect(response.status).toBe(404);
});

test('mswHandlers() refuse what the service refuses', async () => {
  const { status, body } = await partner.create({ ...newLink, signature: 'none' });

  expect([status, body.code]).toEqual([400, '2205']);
});

test('mswHandlers() make a broken connection a network error', async () => {
  sandbox.failNext('links.list', { kind: 'network' });

  await expect(partner.list()).rejects.toBeInstanceOf(TypeError);
  expect(sandbox.requests).toMatchObject([{ operation: 'links.list', status: 0 }]);
});

test('mswHandlers() let a stalled request end with its signal', async () => {
  sandbox.failNext('links.create', { kind: 'stall' });
  const controller = new AbortController();
  const reason = new Error('given up');

  const stalled = partner.create(newLink, { signal: controller.signal });
  await expect.poll(() => sandbox.requests.length).toBe(1);
  controller.abort(reason);

  await expect(stalled).rejects.toBe(reason);
});

test('mswHandlers() break a body off in the middle', async () => {
  sandbox.failNext('links.create', { kind: 'truncate' });

  await expect(partner.create()).rejects.toThrow();
  expect(sandbox.links.all()).toHaveLength(1);
});

test('mock.jobs.deliverCallback() posts to the URL by the platform fetch', async () => {
  const job = sandbox.jobs.start();
  sandbox.jobs.complete(job, 'approved');
  const received: Request[] = [];
  server.use(
    http.post('https://partner.hosted.test/callbacks', ({ request }) => {
      received.push(request);
      return new Response(null, { status: 200 });
    }),
  );

  const response = await sandbox.jobs.deliverCallback(job);

  expect(response.status).toBe(200);
  expect(await received[0]?.json()).toMatchObject({ ResultCode: '0810' });
});
