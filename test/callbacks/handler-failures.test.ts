// What handler() responds when a listener, a guard or a logger fails.

import { type CallbackEvent, HostedClient, HostedConfigError, HostedSignatureError, type Signer } from 'hosted-client';
import { expect, test, vi } from 'vitest';
import { clientOf, deferred, rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  away,
  broken,
  expectComeAgain,
  listener,
  post,
  postedResult,
  startApproved,
  statusOf,
} from './handled-callback.js';

failOnStrayRejections();

// 500 -----------------------------------------------------------------------

test.each([
  ['rejects', () => Promise.reject(new Error('the database is away'))],
  [
    'throws',
    () => {
      throw new Error('the database is away');
    },
  ],
  ['rejects with nothing', () => Promise.reject()],
  ['rejects with an error of this package', () => Promise.reject(new HostedConfigError([], {}))],
])('callbacks.handler() responds with 500 when onEvent %s, and hands the next delivery over', async (_what, fail) => {
  const { sandbox, client, job } = startApproved();
  const onEvent = vi.fn<(event: CallbackEvent) => void | Promise<void>>();
  onEvent.mockImplementationOnce(fail);
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const statuses: number[] = [];
  for (let times = 0; times < 3; times++) statuses.push(await statusOf(sandbox.jobs.deliverCallback(job, { to })));

  expect(statuses).toEqual([500, 200, 200]);
  expect(onEvent.mock.calls.map(([event]) => event.repeat)).toEqual([false, false]);
  expect(onEvent.mock.calls[1]).toEqual(onEvent.mock.calls[0]);
});

test('callbacks.handler() responds with 500 when onEvent rejects with a signature error', async () => {
  const { sandbox, client, job } = startApproved();
  const signatureError = await rejection(client.callbacks.receive(JSON.stringify({})));
  expect(signatureError).toBeInstanceOf(HostedSignatureError);

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, onEvent: () => Promise.reject(signatureError) }),
  });

  expect(response.status).toBe(500);
});

test('callbacks.handler() refuses an altered body after the genuine one could not be handled', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = vi.fn<(event: CallbackEvent) => void | Promise<void>>();
  onEvent.mockRejectedValueOnce(new Error('the database is away'));
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const statuses = [
    await statusOf(sandbox.jobs.deliverCallback(job, { to })),
    await statusOf(sandbox.jobs.deliverCallback(job, { to, variant: 'altered' })),
    await statusOf(sandbox.jobs.deliverCallback(job, { to })),
  ];

  expect(statuses).toEqual([500, 401, 200]);
  expect(onEvent.mock.calls.map(([event]) => event.entry.resultCode)).toEqual(['0810', '0810']);
});

// 503 -----------------------------------------------------------------------

test('callbacks.handler() responds with 503 with Retry-After while the same callback is being handled', async () => {
  const { sandbox, client, job } = startApproved();
  const handling = deferred();
  const started = deferred();
  const onEvent = vi.fn<(event: CallbackEvent) => Promise<void>>(() => {
    started.resolve();
    return handling.promise;
  });
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const first = sandbox.jobs.deliverCallback(job, { to });
  await started.promise;
  const meanwhile = await sandbox.jobs.deliverCallback(job, { to });
  const altered = await sandbox.jobs.deliverCallback(job, { to, variant: 'altered' });
  handling.resolve();

  expectComeAgain(meanwhile);
  expect(altered.status).toBe(401);
  expect(await statusOf(first)).toBe(200);
  expect(await statusOf(sandbox.jobs.deliverCallback(job, { to }))).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('callbacks.handler() hands over anew what failed while a duplicate was told to come again', async () => {
  const { sandbox, client, job } = startApproved();
  const handling = deferred();
  const started = deferred();
  const onEvent = vi.fn<(event: CallbackEvent) => void | Promise<void>>();
  onEvent.mockImplementationOnce(() => {
    started.resolve();
    return handling.promise.then(() => Promise.reject(new Error('the database is away')));
  });
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const first = sandbox.jobs.deliverCallback(job, { to });
  await started.promise;
  const meanwhile = await sandbox.jobs.deliverCallback(job, { to });
  handling.resolve();
  const failed = await first;
  const again = await sandbox.jobs.deliverCallback(job, { to });

  expect([meanwhile.status, failed.status, again.status]).toEqual([503, 500, 200]);
  expect(onEvent).toHaveBeenCalledTimes(2);
});

test('callbacks.handler() hands one of many at once over', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const responses = await Promise.all(Array.from({ length: 20 }, () => sandbox.jobs.deliverCallback(job, { to })));

  expect(onEvent).toHaveBeenCalledTimes(1);
  for (const { status } of responses) expect([200, 503]).toContain(status);
});

test('callbacks.handler() handles different callbacks beside each other', async () => {
  const { sandbox, client, job } = startApproved();
  const other = sandbox.jobs.start();
  sandbox.jobs.complete(other, 'rejected');
  const handling = deferred();
  const started = deferred();
  const to = client.callbacks.handler({
    confirm: false,
    onEvent: ({ jobId }) => {
      if (jobId !== job.jobId) return;
      started.resolve();
      return handling.promise;
    },
  });

  const first = sandbox.jobs.deliverCallback(job, { to });
  await started.promise;
  const second = await sandbox.jobs.deliverCallback(other, { to });
  handling.resolve();

  expect([second.status, await statusOf(first)]).toEqual([200, 200]);
});

test('callbacks.handler() responds with 503 to a body that breaks off, and takes it when it comes whole', async () => {
  const { client } = clientOf({});
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, onEvent });
  const broken = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode(postedResult().slice(0, 50))),
    pull: (controller) => controller.error(new TypeError('terminated')),
  });

  const first = await to(post(broken));
  const second = await to(post(postedResult()));

  expectComeAgain(first);
  expect(second.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('callbacks.handler() does not reject when the body was read before', async () => {
  const { client, sent } = clientOf({});
  const onEvent = listener();
  const request = post(postedResult());
  await request.text();

  const response = await client.callbacks.handler({ confirm: false, onEvent })(request);

  expect(response.ok).toBe(false);
  expect(onEvent).not.toHaveBeenCalled();
  expect(sent).toEqual([]);
});

test('callbacks.handler() responds with 503 when the signer throws', async () => {
  const signer: Signer = {
    name: 'broken',
    sign: () => '',
    verify: () => Promise.reject(new Error('out of order')),
  };
  const { client } = clientOf({}, { signer });
  const onEvent = listener();

  expectComeAgain(await client.callbacks.handler({ confirm: false, onEvent })(post(postedResult())));
  expect(onEvent).not.toHaveBeenCalled();
});

// Loggers -------------------------------------------------------------------

test.each([
  ['throws', broken],
  ['rejects', away],
])('callbacks.handler() responds as ever when its logger %s', async (_what, write) => {
  const logger = { debug: write, info: write, warn: write, error: write };
  const { sandbox, client, job } = startApproved({}, { logger });
  const to = client.callbacks.handler({ confirm: false, onEvent: listener() });

  const statuses = [
    await statusOf(sandbox.jobs.deliverCallback(job, { to, variant: 'stale' })),
    await statusOf(
      sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, onEvent: away }) }),
    ),
    await statusOf(sandbox.jobs.deliverCallback(job, { to })),
  ];

  expect(statuses).toEqual([401, 500, 200]);
});

test('callbacks.handler() works without a logger', async () => {
  const { service, sandbox, job } = startApproved();
  const client = new HostedClient({ ...sandbox.clientOptions, fetch: service.fetch });
  const to = client.callbacks.handler({ confirm: false, onEvent: listener() });

  expect(await statusOf(sandbox.jobs.deliverCallback(job, { to, variant: 'stale' }))).toBe(401);
  expect(await statusOf(sandbox.jobs.deliverCallback(job, { to }))).toBe(200);
});
