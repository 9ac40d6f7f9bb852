// What handler() tells the service about a callback, what it hands over and how often, and what confirm() asks.

import { inspect } from 'node:util';
import {
  type CallbackEvent,
  type ConfirmedEvent,
  HostedClient,
  type HostedClientOptions,
  HostedConfigError,
  HostedNotFoundError,
  HostedSignatureError,
  HostedValidationError,
  hmacSha256,
  isHostedError,
  type JobRef,
  type JobStatus,
  type ReplayGuard,
  type Signer,
} from 'hosted-client';
import { createMockService, createTestClock, type MockFault, type MockServiceOptions } from 'hosted-client/testing';
import { afterEach, expect, test, vi } from 'vitest';
import {
  clientOf,
  deferred,
  now,
  type Reply,
  rejection,
  sign,
  signed,
  stillClock,
  thrownBy,
} from '../support/fake-fetch.js';
import { createPlanter, everything } from '../support/showings.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

const hour = 3_600_000;
const nowText = '2026-01-02T03:04:05.678Z';

type Handler = (request: Request) => Promise<Response>;

afterEach(() => {
  vi.unstubAllGlobals();
});

failOnStrayRejections();

/** A service with one job under way, and a client of it that does not try again. */
function start(options: MockServiceOptions = {}, clientOptions: Partial<HostedClientOptions> = {}) {
  const clock = createTestClock(now);
  const service = createMockService({ clock, ...options });
  const { sandbox } = service;
  const warned: string[] = [];
  const others: string[] = [];
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (message: string) => {
      warned.push(message);
    },
    error: (message: string) => {
      others.push(message);
    },
  };
  const client = new HostedClient({
    ...sandbox.clientOptions,
    fetch: service.fetch,
    maxRetries: 0,
    logger,
    ...clientOptions,
  });
  const job = sandbox.jobs.start();
  return { clock, service, sandbox, client, job, warned, others };
}

/** The same, with an approved job. */
function startApproved(options: MockServiceOptions = {}, clientOptions: Partial<HostedClientOptions> = {}) {
  const started = start(options, clientOptions);
  started.sandbox.jobs.complete(started.job, 'approved');
  return started;
}

/** A handler's listener that takes what comes. */
function listener() {
  return vi.fn<(event: CallbackEvent) => void>();
}

function confirmedListener() {
  return vi.fn<(event: ConfirmedEvent, status: JobStatus) => void>();
}

/** A callback as somebody other than the mock service may post it. */
function post(body: BodyInit | null, headers: Record<string, string> = {}): Request {
  return new Request('https://partner.test/callbacks', {
    method: 'POST',
    body,
    headers,
    duplex: 'half',
  } as RequestInit);
}

/** A result of a job, signed with the key of `clientOf` by node:crypto. */
function postedResult(members: object = {}, timestamp = nowText): string {
  const result = {
    ResultCode: '0810',
    ResultText: 'Enroll User',
    HostedJobID: '0000001111',
    PartnerParams: { user_id: 'user-1', job_id: 'job-1' },
  };
  return JSON.stringify({ ...result, ...members, timestamp, signature: sign(timestamp) });
}

async function statusOf(response: Promise<Response>): Promise<number> {
  return (await response).status;
}

function expectComeAgain(response: Response): void {
  expect(response.status).toBe(503);
  expect(response.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
}

// 200 -----------------------------------------------------------------------

test('callbacks.handler() answers 200 when a callback is accepted, and hands it over', async () => {
  const { sandbox, client, job, warned } = startApproved();
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const response = await sandbox.jobs.deliverCallback(job, { to });

  expect(response.status).toBe(200);
  expect(await response.text()).toBe('');
  expect(onEvent.mock.calls).toEqual([
    [
      {
        id: expect.stringMatching(/^[0-9a-f]{64}$/),
        repeat: false,
        ...job,
        linkId: null,
        signedAt: new Date(now),
        entry: expect.objectContaining({
          resultCode: '0810',
          resultText: 'Enroll User',
          isFinal: true,
          confidence: 99,
        }),
      },
    ],
  ]);
  expect(sandbox.requests).toEqual([]);
  expect(warned).toEqual([]);
});

test('callbacks.handler() answers 200 to a repeated callback, and does not hand it over again', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const statuses: number[] = [];
  for (let times = 0; times < 3; times++) statuses.push(await statusOf(sandbox.jobs.deliverCallback(job, { to })));

  expect(statuses).toEqual([200, 200, 200]);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('callbacks.handler() answers 200 once an asynchronous onEvent is done, and no sooner', async () => {
  const { sandbox, client, job } = startApproved();
  const handling = deferred();
  const started = deferred();
  let answered = false;
  const to = client.callbacks.handler({
    confirm: false,
    onEvent: () => {
      started.resolve();
      return handling.promise;
    },
  });

  const response = sandbox.jobs.deliverCallback(job, { to }).then((answer) => {
    answered = true;
    return answer;
  });
  await started.promise;
  await new Promise((resolve) => setImmediate(resolve));

  expect(answered).toBe(false);
  handling.resolve();
  expect((await response).status).toBe(200);
});

test('callbacks.handler() hands nothing over that receive() of the same client had', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();
  await client.callbacks.receive(await (await sandbox.jobs.callback(job)).text());

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, onEvent }),
  });

  expect(response.status).toBe(200);
  expect(onEvent).not.toHaveBeenCalled();
});

test.each(['hmac-sha256', 'ed25519'] as const)('callbacks.handler() takes callbacks in scheme %s', async (scheme) => {
  const { sandbox, client, job } = startApproved({ scheme, spelling: 'random' });
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const forged = await sandbox.jobs.deliverCallback(job, { to, variant: 'forged' });
  const genuine = await sandbox.jobs.deliverCallback(job, { to });

  expect([forged.status, genuine.status]).toEqual([401, 200]);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(job));
});

test('callbacks.handler() takes a callback of 1.5 MB', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, onEvent }),
    padBytes: 1_500_000,
  });

  expect(response.status).toBe(200);
  expect(onEvent.mock.calls[0]?.[0].entry.extra.Photo).toHaveLength(1_500_000);
});

test('callbacks.handler() reads a body whose characters come in parts', async () => {
  const { client } = clientOf({});
  const onEvent = listener();
  const bytes = new TextEncoder().encode(postedResult({ FullName: 'Zoë Ngũgĩ 李' }));
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });

  const response = await client.callbacks.handler({ confirm: false, onEvent })(post(body));

  expect(response.status).toBe(200);
  expect(onEvent.mock.calls[0]?.[0].entry.identity?.fullName).toBe('Zoë Ngũgĩ 李');
});

test('callbacks.handler() learns from a link which job came of it', async () => {
  const { sandbox, client } = start();
  const { refId } = await client.links.create({
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: 'https://partner.test/privacy',
    callbackUrl: 'https://partner.test/results',
  });
  const job = sandbox.jobs.start({ linkRefId: refId });
  sandbox.jobs.complete(job, 'approved');
  const onEvent = confirmedListener();
  const handler = client.callbacks.handler({ onEvent });
  const addresses: string[] = [];
  vi.stubGlobal('fetch', (request: Request) => {
    addresses.push(request.url);
    return handler(request);
  });

  const response = await sandbox.jobs.deliverCallback(job);

  expect(response.status).toBe(200);
  expect(addresses).toEqual(['https://partner.test/results']);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ ...job, linkId: refId }),
    expect.objectContaining({ ...job, state: 'succeeded' }),
  );
});

test('callbacks.handler() needs no content type and no path', async () => {
  const { client } = clientOf({});
  const request = new Request('https://other.test/?a=b', { method: 'POST', body: Buffer.from(postedResult()) });

  expect(await statusOf(client.callbacks.handler({ confirm: false, onEvent: listener() })(request))).toBe(200);
});

test('callbacks.handler() takes the old key while keys change', async () => {
  const { sandbox, job } = startApproved();
  const body = await (await sandbox.jobs.callback(job)).text();
  const oldKey = sandbox.clientOptions.apiKey ?? '';
  const handlerOf = (options: Partial<HostedClientOptions>) =>
    clientOf({}, options).client.callbacks.handler({ confirm: false, onEvent: listener() });

  const during = await handlerOf({ signer: hmacSha256({ apiKey: ['new-key', oldKey] }) })(post(body));
  const after = await handlerOf({ apiKey: 'new-key' })(post(body));

  expect([during.status, after.status]).toEqual([200, 401]);
});

// 400 -----------------------------------------------------------------------

test.each([
  ['no body', null],
  ['an empty body', ''],
  ['a form', 'ResultCode=0810'],
  ['JSON that breaks off', postedResult().slice(0, -1)],
  ['a list', `[${postedResult()}]`],
  ['bytes that are no UTF-8', Buffer.from(postedResult({ FullName: 'Zoë' }), 'latin1')],
  ['a result without a job', postedResult({ PartnerParams: {} })],
  ['a result of another shape', postedResult({ IDNumber: 12345 })],
])('callbacks.handler() answers 400 to %s', async (_what, body) => {
  const { client } = clientOf({});
  const onEvent = listener();

  const response = await client.callbacks.handler({ confirm: false, onEvent })(post(body));

  expect(response.status).toBe(400);
  expect(await response.text()).toBe('');
  expect(onEvent).not.toHaveBeenCalled();
});

// 401 -----------------------------------------------------------------------

test.each(['forged', 'unsigned', 'stale'] as const)(
  'callbacks.handler() answers 401 to a callback that is %s, and takes the genuine one after it',
  async (variant) => {
    const { sandbox, client, job } = startApproved();
    const onEvent = listener();
    const to = client.callbacks.handler({ confirm: false, onEvent });

    const refused = await sandbox.jobs.deliverCallback(job, { to, variant });
    expect(onEvent).not.toHaveBeenCalled();
    const accepted = await sandbox.jobs.deliverCallback(job, { to });

    expect([refused.status, accepted.status]).toEqual([401, 200]);
    expect(onEvent).toHaveBeenCalledTimes(1);
  },
);

test('callbacks.handler() answers 401 to a callback that is altered after the genuine one', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const statuses = [
    await statusOf(sandbox.jobs.deliverCallback(job, { to })),
    await statusOf(sandbox.jobs.deliverCallback(job, { to, variant: 'altered' })),
    await statusOf(sandbox.jobs.deliverCallback(job, { to, padBytes: 10 })),
    await statusOf(sandbox.jobs.deliverCallback(job, { to })),
  ];

  expect(statuses).toEqual([200, 401, 401, 200]);
  expect(onEvent.mock.calls.map(([event]) => event.entry.resultCode)).toEqual(['0810']);
});

test("callbacks.handler() answers 401 to the other environment's callbacks", async () => {
  const { service, client } = start();
  const { production } = service;
  const job = production.jobs.start();
  production.jobs.complete(job, 'approved');

  const response = await production.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, onEvent: listener() }),
  });

  expect(response.status).toBe(401);
});

test('callbacks.handler() warns once about a stale callback, and names maxAgeMs', async () => {
  const { sandbox, client, job, warned, others } = startApproved();
  const to = client.callbacks.handler({ confirm: false, onEvent: listener() });

  const response = await sandbox.jobs.deliverCallback(job, { to, variant: 'stale' });

  expect(response.status).toBe(401);
  expect(warned).toEqual([expect.stringContaining('maxAgeMs')]);
  expect(others).toEqual([]);
});

test('callbacks.handler() keeps to maxAgeMs', async () => {
  const { clock, sandbox, client, job } = startApproved();
  const onEvent = listener();
  const genuine = await sandbox.jobs.callback(job);
  await clock.advance(301_000);

  const within = (maxAgeMs: number | false) =>
    client.callbacks.handler({ confirm: false, onEvent, maxAgeMs })(genuine.clone());

  expect(await statusOf(client.callbacks.handler({ confirm: false, onEvent })(genuine.clone()))).toBe(401);
  expect(await statusOf(within(300_999))).toBe(401);
  expect(onEvent).not.toHaveBeenCalled();
  expect(await statusOf(within(301_000))).toBe(200);
  expect(await statusOf(within(false))).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

// 405 -----------------------------------------------------------------------

test.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
  'callbacks.handler() answers 405 to %s',
  async (method) => {
    const { client } = clientOf({});
    const onEvent = listener();
    const body = method === 'GET' || method === 'HEAD' ? null : postedResult();
    const request = new Request('https://partner.test/callbacks', { method, body });

    const response = await client.callbacks.handler({ confirm: false, onEvent })(request);

    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('POST');
    expect(request.bodyUsed).toBe(false);
    expect(onEvent).not.toHaveBeenCalled();
  },
);

// 413 -----------------------------------------------------------------------

const chunkBytes = 1_024;

/** A body of 100 KiB, and how much of it was asked for. */
function longBody() {
  const pulled = { bytes: 0, cancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        pulled.bytes += chunkBytes;
        controller.enqueue(new Uint8Array(chunkBytes).fill(0x20));
        if (pulled.bytes === 100 * chunkBytes) controller.close();
      },
      cancel: () => {
        pulled.cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, pulled };
}

test('callbacks.handler() answers 413 by the content-length, and reads nothing', async () => {
  const { client } = clientOf({});
  const onEvent = listener();
  const { body, pulled } = longBody();

  const response = await client.callbacks.handler({ confirm: false, onEvent, maxBytes: 5_000 })(
    post(body, { 'content-length': '5001' }),
  );

  expect(response.status).toBe(413);
  expect(pulled.bytes).toBe(0);
  expect(onEvent).not.toHaveBeenCalled();
});

test.each([
  ['no content-length', {}],
  ['a content-length that says less', { 'content-length': '100' }],
  ['a content-length that is no number', { 'content-length': 'many' }],
])('callbacks.handler() answers 413 before it has read a body with %s whole', async (_what, headers) => {
  const { client } = clientOf({});
  const onEvent = listener();
  const { body, pulled } = longBody();

  const response = await client.callbacks.handler({ confirm: false, onEvent, maxBytes: 5_000 })(post(body, headers));

  expect(response.status).toBe(413);
  expect(pulled.bytes).toBeLessThanOrEqual(5_000 + 2 * chunkBytes);
  expect(pulled.cancelled).toBe(true);
  expect(onEvent).not.toHaveBeenCalled();
});

test('callbacks.handler() answers 413 though the sender does not let itself be cancelled', async () => {
  const { client } = clientOf({});
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (let chunks = 0; chunks < 100; chunks++) controller.enqueue(new Uint8Array(chunkBytes));
    },
    cancel: () => new Promise(() => undefined),
  });

  expect(
    await statusOf(client.callbacks.handler({ confirm: false, onEvent: listener(), maxBytes: 5_000 })(post(body))),
  ).toBe(413);
});

test('callbacks.handler() takes a body of exactly maxBytes', async () => {
  const { client } = clientOf({});
  const body = postedResult({ FullName: 'Zoë' });
  const bytes = Buffer.byteLength(body);
  const within = (maxBytes: number) =>
    client.callbacks.handler({ confirm: false, onEvent: listener(), maxBytes })(
      post(body, { 'content-length': String(bytes) }),
    );

  expect(await statusOf(within(bytes - 1))).toBe(413);
  expect(await statusOf(within(bytes))).toBe(200);
});

test('callbacks.handler() takes bodies of up to 8 MiB', async () => {
  const { client } = clientOf({});
  const to = client.callbacks.handler({ confirm: false, onEvent: listener() });
  const limit = 8 * 1024 * 1024;
  const room = limit - Buffer.byteLength(postedResult({ Photo: '' }));

  expect(await statusOf(to(post(postedResult({ Photo: 'A'.repeat(room + 1) }))))).toBe(413);
  expect(await statusOf(to(post(postedResult({ Photo: 'A'.repeat(room) }))))).toBe(200);
});

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
])('callbacks.handler() answers 500 when onEvent %s, and hands the next delivery over', async (_what, fail) => {
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

test('callbacks.handler() answers 500 when onEvent rejects with a signature error', async () => {
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

test('callbacks.handler() answers 503 with Retry-After while the same callback is being handled', async () => {
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

test('callbacks.handler() answers 503 to a body that breaks off, and takes it when it comes whole', async () => {
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

test('callbacks.handler() does not reject when somebody has read the body before', async () => {
  const { client, sent } = clientOf({});
  const onEvent = listener();
  const request = post(postedResult());
  await request.text();

  const response = await client.callbacks.handler({ confirm: false, onEvent })(request);

  expect(response.ok).toBe(false);
  expect(onEvent).not.toHaveBeenCalled();
  expect(sent).toEqual([]);
});

test('callbacks.handler() answers 503 when the signer throws', async () => {
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

// Confirming ----------------------------------------------------------------

test('callbacks.handler() with confirm hands over the verified status of the job, with its history', async () => {
  const { sandbox, client, job } = start();
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });
  sandbox.jobs.complete(job, 'approved');
  const onEvent = confirmedListener();

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ onEvent }),
  });

  expect(response.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
  const [event, status] = onEvent.mock.calls[0] ?? [];
  expect(event).toMatchObject({ ...job, repeat: false, entry: { resultCode: '0810' } });
  expect(status).toMatchObject({ ...job, state: 'succeeded', complete: true, success: true });
  expect(status?.history?.map(({ resultCode }) => resultCode)).toEqual(['0814', '0810']);
  expect(sandbox.requests.map(({ operation, body }) => [operation, body])).toEqual([
    ['jobs.status', expect.objectContaining({ user_id: job.userId, job_id: job.jobId, history: true })],
  ]);
});

test('callbacks.handler() with confirm asks once for a callback that comes three times', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });

  for (let times = 0; times < 3; times++) expect(await statusOf(sandbox.jobs.deliverCallback(job, { to }))).toBe(200);

  expect(onEvent).toHaveBeenCalledTimes(1);
  expect(sandbox.requests).toHaveLength(1);
});

test('callbacks.handler() with confirm hands over a job that is still under review', async () => {
  const { sandbox, client, job } = start();
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });
  const onEvent = confirmedListener();

  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ onEvent }) });

  const [event, status] = onEvent.mock.calls[0] ?? [];
  expect(event?.entry).toMatchObject({ resultCode: '0814', isFinal: false });
  expect(status).toMatchObject({ state: 'pending', complete: false });
});

test('callbacks.handler() with confirm tells the truth beside an altered callback', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });

  const response = await sandbox.jobs.deliverCallback(job, { to, variant: 'altered' });

  expect(response.status).toBe(200);
  const [event, status] = onEvent.mock.calls[0] ?? [];
  expect(event?.entry).toBeNull();
  expect(status).toMatchObject({ state: 'succeeded', result: { resultCode: '0810' } });
});

test('callbacks.handler() with confirm takes a callback that comes an hour late, once', async () => {
  const { clock, sandbox, client, job, warned } = startApproved();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });
  const late = await sandbox.jobs.callback(job);
  await clock.advance(hour);

  const statuses = [await statusOf(to(late.clone())), await statusOf(to(late.clone()))];

  expect(statuses).toEqual([200, 200]);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ ...job, signedAt: new Date(now) }),
    expect.objectContaining({ state: 'succeeded' }),
  );
  expect(warned).toEqual([]);
});

test('callbacks.handler() with confirm takes the variant that is stale', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });

  const response = await sandbox.jobs.deliverCallback(job, { to, variant: 'stale' });

  expect(response.status).toBe(200);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ ...job, signedAt: new Date(now - hour) }),
    expect.objectContaining({ state: 'succeeded' }),
  );
});

test('callbacks.handler() with confirm takes an altered body under a late pair as one more hint', async () => {
  const { clock, sandbox, client, job } = startApproved();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });
  const late = await (await sandbox.jobs.callback(job, { variant: 'stale' })).text();

  const first = await to(post(late));
  await clock.advance(1_000);
  const altered = await to(post(late.replace('"ResultCode":"0810"', '"ResultCode":"0811"')));

  expect([first.status, altered.status]).toEqual([200, 200]);
  expect(onEvent.mock.calls.map(([{ entry }, { state }]) => [entry?.resultCode, state])).toEqual([
    ['0810', 'succeeded'],
    [undefined, 'succeeded'],
  ]);
});

test.each(['forged', 'unsigned'] as const)(
  'callbacks.handler() with confirm answers 401 to a callback that is %s, and asks nothing',
  async (variant) => {
    const { sandbox, client, job } = startApproved();
    const onEvent = confirmedListener();
    const to = client.callbacks.handler({ onEvent });

    const response = await sandbox.jobs.deliverCallback(job, { to, variant });

    expect(response.status).toBe(401);
    expect(onEvent).not.toHaveBeenCalled();
    expect(sandbox.requests).toEqual([]);
  },
);

test.each<[string, MockFault]>([
  ['answers 503', { kind: 'status', status: 503 }],
  ['answers 400', { kind: 'status', status: 400, body: { error: 'no', code: '2313' } }],
  ['answers 401', { kind: 'status', status: 401 }],
  ['answers 429', { kind: 'status', status: 429, retryAfter: '5' }],
  ['does not know the job yet', { kind: 'status', status: 400, body: { error: 'Job not found', code: '2304' } }],
  ['cannot be reached', { kind: 'network' }],
  ['breaks off', { kind: 'truncate' }],
  ['answers with a page', { kind: 'html' }],
  ["answers under another's signature", { kind: 'bad-signature' }],
  ['answers without signature', { kind: 'missing-signature' }],
  ['answers with an old signature', { kind: 'stale-timestamp' }],
])('callbacks.handler() answers 503 when job status %s, and confirms the next delivery', async (_what, fault) => {
  const { sandbox, client, job, warned } = startApproved();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });
  sandbox.failNext('jobs.status', fault);

  const failed = await sandbox.jobs.deliverCallback(job, { to });
  expect(onEvent).not.toHaveBeenCalled();
  const again = await sandbox.jobs.deliverCallback(job, { to });

  expectComeAgain(failed);
  expect(again.status).toBe(200);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ ...job, repeat: false, entry: expect.objectContaining({ resultCode: '0810' }) }),
    expect.objectContaining({ state: 'succeeded' }),
  );
  expect(warned.length).toBeGreaterThan(0);
});

test('callbacks.handler() with confirm never hands over a job that job status does not know', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });
  const body = (await (await sandbox.jobs.callback(job)).text()).replaceAll(job.jobId, 'another-job');

  const responses = [await to(post(body)), await to(post(body))];

  for (const response of responses) expectComeAgain(response);
  expect(onEvent).not.toHaveBeenCalled();
  expect(sandbox.requests).toHaveLength(2);
});

test.each<[string, Reply]>([
  ['another job', signed({ job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-2' })],
  ['another user', signed({ job_complete: true, job_success: true, user_id: 'user-2', job_id: 'job-1' })],
  [
    'a result of another job',
    signed({
      job_complete: true,
      job_success: true,
      result: { ResultCode: '0810', PartnerParams: { user_id: 'user-1', job_id: 'job-2' } },
    }),
  ],
])('callbacks.handler() with confirm never hands over what job status says of %s', async (_what, reply) => {
  const { client, sent } = clientOf(reply);
  const onEvent = confirmedListener();

  const response = await client.callbacks.handler({ onEvent })(post(postedResult()));

  expectComeAgain(response);
  expect(onEvent).not.toHaveBeenCalled();
  expect(sent).toHaveLength(1);
});

test('callbacks.handler() answers 503 while the same callback is being confirmed', async () => {
  const asked = deferred();
  const answer = deferred();
  const { client, sent } = clientOf(async () => {
    asked.resolve();
    await answer.promise;
    return Response.json(signed({ job_complete: true, job_success: true, job_id: 'job-1' }));
  });
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });

  const first = to(post(postedResult()));
  await asked.promise;
  const meanwhile = await to(post(postedResult()));
  answer.resolve();

  expectComeAgain(meanwhile);
  expect(await statusOf(first)).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
  expect(sent).toHaveLength(1);
});

test('callbacks.handler() with confirm asks again after onEvent has rejected', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = vi.fn<(event: ConfirmedEvent, status: JobStatus) => Promise<void>>();
  onEvent.mockRejectedValueOnce(new Error('the database is away'));
  const to = client.callbacks.handler({ onEvent });

  const statuses = [
    await statusOf(sandbox.jobs.deliverCallback(job, { to })),
    await statusOf(sandbox.jobs.deliverCallback(job, { to })),
  ];

  expect(statuses).toEqual([500, 200]);
  expect(sandbox.requests).toHaveLength(2);
});

// Several results -----------------------------------------------------------

const results = [
  { resultCode: '0814', resultText: 'Provisional Enroll - Under Review', final: false },
  { resultCode: '0810', resultText: 'Enroll User', resultType: 'SAIA', final: true },
  { resultCode: '1012', resultText: 'ID Number Validated', resultType: 'ID Verification', final: true },
];

test.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 2, 0]], [[0, 0, 1, 0, 2, 1, 2]]])(
  'callbacks.handler() hands over each of several results once, delivered as %j',
  async (order) => {
    const { sandbox, client, job } = start();
    for (const entry of results) sandbox.jobs.report(job, entry);
    const onEvent = listener();
    const to = client.callbacks.handler({ confirm: false, onEvent });

    for (const entry of order) expect(await statusOf(sandbox.jobs.deliverCallback(job, { to, entry }))).toBe(200);

    const firsts = [...new Set(order)];
    const events = onEvent.mock.calls.map(([event]) => event);
    expect(events.map(({ entry }) => [entry.resultCode, entry.resultText, entry.isFinal])).toEqual(
      firsts.map((index) => [results[index]?.resultCode, results[index]?.resultText, results[index]?.final]),
    );
    expect(events.map(({ jobId }) => jobId)).toEqual(firsts.map(() => job.jobId));
    expect(new Set(events.map(({ id }) => id)).size).toBe(3);
  },
);

test('callbacks.handler() with confirm tells of each result, and of the state at that time', async () => {
  const { sandbox, client, job } = start();
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });

  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });
  await sandbox.jobs.deliverCallback(job, { to });
  sandbox.jobs.complete(job, 'approved');
  await sandbox.jobs.deliverCallback(job, { to });
  sandbox.jobs.report(job, { resultCode: '1012', resultText: 'ID Number Validated', resultType: 'ID Verification' });
  await sandbox.jobs.deliverCallback(job, { to });

  const told = onEvent.mock.calls.map(([{ entry }, { state, history }]) => [entry?.resultCode, state, history?.length]);
  expect(told).toEqual([
    ['0814', 'pending', 1],
    ['0810', 'succeeded', 2],
    ['1012', 'succeeded', 3],
  ]);
});

// Guards --------------------------------------------------------------------

/** A guard that takes everything for new, apart from what a test wants of it. */
function guardWith(changes: Partial<ReplayGuard>) {
  const guard = {
    begin: vi.fn<ReplayGuard['begin']>(async () => 'new'),
    commit: vi.fn<ReplayGuard['commit']>(async () => undefined),
    forget: vi.fn<ReplayGuard['forget']>(async () => undefined),
  };
  return Object.assign(guard, changes);
}

const away = () => Promise.reject(new Error('the store is away'));
const broken = () => {
  throw new Error('the store is broken');
};

test('callbacks.handler() begins, hands over and commits, in this order', async () => {
  const { sandbox, client, job } = startApproved();
  const steps: string[] = [];
  const keys = new Set<string>();
  const step = (name: string, key: string) => {
    steps.push(name);
    keys.add(key);
  };
  const replayGuard: ReplayGuard = {
    begin: async (key) => {
      step('begin', key);
      return 'new';
    },
    commit: async (key) => step('commit', key),
    forget: async (key) => step('forget', key),
  };
  const onEvent = vi.fn<() => void>(() => {
    steps.push('handle');
  });

  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }) });
  onEvent.mockImplementationOnce(broken);
  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }) });

  expect(steps).toEqual(['begin', 'handle', 'commit', 'begin', 'forget']);
  expect(keys.size).toBe(1);
});

test.each([
  ['new', 200, 1],
  ['repeat', 200, 0],
  ['busy', 503, 0],
  ['conflict', 401, 0],
] as const)('callbacks.handler() takes what its guard knows as %s with %d', async (known, status, times) => {
  const { sandbox, client, job } = startApproved();
  const replayGuard = guardWith({ begin: async () => known });
  const onEvent = listener();

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }),
  });

  expect(response.status).toBe(status);
  expect(onEvent).toHaveBeenCalledTimes(times);
  expect(replayGuard.commit).toHaveBeenCalledTimes(times);
  expect(replayGuard.forget).not.toHaveBeenCalled();
});

test.each([
  ['rejects', away],
  ['throws', broken],
])('callbacks.handler() answers 503 when begin of its guard %s, and hands nothing over', async (_what, begin) => {
  const { sandbox, client, job, warned } = startApproved();
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, replayGuard: guardWith({ begin }), onEvent });

  const response = await sandbox.jobs.deliverCallback(job, { to });

  expectComeAgain(response);
  expect(onEvent).not.toHaveBeenCalled();
  expect(warned).toHaveLength(1);
});

test.each([
  ['rejects', away],
  ['throws', broken],
])('callbacks.handler() does not ask again for what was handled when commit of its guard %s', async (_what, commit) => {
  const { sandbox, client, job, warned } = startApproved();
  const onEvent = listener();
  const replayGuard = guardWith({ commit });

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }),
  });

  expect(response.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
  expect(replayGuard.forget).not.toHaveBeenCalled();
  expect(warned).toHaveLength(1);
});

test.each([
  ['rejects', away],
  ['throws', broken],
])('callbacks.handler() answers as ever when forget of its guard %s', async (_what, forget) => {
  const { sandbox, client, job } = startApproved();
  const replayGuard = guardWith({ forget });
  const handled = client.callbacks.handler({ confirm: false, replayGuard, onEvent: away });
  const confirmed = client.callbacks.handler({ replayGuard, onEvent: confirmedListener() });
  sandbox.failNext('jobs.status', { kind: 'network' });

  expect(await statusOf(sandbox.jobs.deliverCallback(job, { to: handled }))).toBe(500);
  expectComeAgain(await sandbox.jobs.deliverCallback(job, { to: confirmed }));
});

test('handlers that share a guard hand a callback over once between them', async () => {
  const { service, sandbox, client, job } = startApproved();
  const known = new Map<string, string>();
  const replayGuard = guardWith({
    begin: async (key, bodyDigest) => {
      const before = known.get(key);
      known.set(key, before ?? bodyDigest);
      return before === undefined ? 'new' : before === bodyDigest ? 'repeat' : 'conflict';
    },
  });
  const onEvent = listener();
  const another = new HostedClient({ ...sandbox.clientOptions, fetch: service.fetch });

  const first = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, replayGuard, onEvent }),
  });
  const to = another.callbacks.handler({ confirm: false, replayGuard, onEvent });
  const second = await sandbox.jobs.deliverCallback(job, { to });
  const altered = await sandbox.jobs.deliverCallback(job, { to, variant: 'altered' });

  expect([first.status, second.status, altered.status]).toEqual([200, 200, 401]);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('handlers of one client remember together', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();

  await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, onEvent }) });
  const again = await sandbox.jobs.deliverCallback(job, { to: client.callbacks.handler({ confirm: false, onEvent }) });

  expect(again.status).toBe(200);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

// Loggers -------------------------------------------------------------------

test.each([
  ['throws', broken],
  ['rejects', away],
])('callbacks.handler() answers as ever when its logger %s', async (_what, write) => {
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

// What must not show --------------------------------------------------------

/** A client with something planted wherever a callback or a setting takes it, and all that it and its answers told. */
function plantedHandling(reply: (plant: (what: string) => string, job: JobRef) => Reply) {
  const { planted, plant } = createPlanter();
  const told: unknown[] = [];
  const write = (message: string, details?: object) => {
    told.push(message, details);
  };
  const partner = plant('partner');
  const key = plant('key');
  const job = { userId: plant('user'), jobId: plant('job') };
  const { client, sent } = clientOf(reply(plant, job), {
    partnerId: partner,
    apiKey: key,
    baseUrls: { sandbox: `https://sandbox.hosted.test/${plant('path')}` },
    maxRetries: 0,
    logger: { debug: write, info: write, warn: write, error: write },
    onEvent: (event) => {
      told.push(event);
    },
  });
  const signature = (timestamp: string, signingKey = key) => {
    const made = sign(timestamp, signingKey, partner);
    planted.push(made);
    return made;
  };
  const members = () => ({
    ResultCode: plant('code'),
    ResultText: plant('text'),
    ResultType: plant('type'),
    HostedJobID: plant('hosted'),
    Actions: { [plant('action')]: plant('outcome') },
    PartnerParams: {
      user_id: job.userId,
      job_id: job.jobId,
      link_id: plant('link'),
      [plant('member')]: plant('value'),
    },
    FullName: plant('name'),
    DOB: plant('birth'),
    IDNumber: plant('number'),
    IDType: plant('document'),
    Country: plant('country'),
    ExpirationDate: plant('expiry'),
    Photo: plant('photo'),
    [plant('member')]: plant('value'),
  });
  const bodyOf = (changes: object = {}, { timestamp = nowText, signingKey = key } = {}) =>
    JSON.stringify({ ...members(), ...changes, timestamp, signature: signature(timestamp, signingKey) });
  /** Delivers, and looks for what was planted in all that was told and answered. */
  const deliver = async (handler: Handler, body: string, headers: Record<string, string> = {}): Promise<number> => {
    const response = await handler(post(body, headers));
    const answer = [await response.text(), inspect([...response.headers]), response.statusText];
    const requests = sent.flatMap(({ body: asked }) => [asked.sec_key, asked.signature]).filter((each) => each);
    const all = [...answer, ...told.flatMap((each) => [inspect(each, everything), JSON.stringify(each) ?? ''])].join(
      '\n',
    );
    expect([...planted, ...requests.map(String)].filter((value) => all.includes(value))).toEqual([]);
    return response.status;
  };
  return { client, plant, bodyOf, deliver, told };
}

test('callbacks.handler() tells nothing of a callback, whatever becomes of it', async () => {
  const { client, plant, bodyOf, deliver, told } = plantedHandling(() => ({}));
  const to = client.callbacks.handler({ confirm: false, onEvent: listener(), maxBytes: 5_000 });
  const body = bodyOf();
  const later = (milliseconds: number) => ({ timestamp: new Date(now + milliseconds).toISOString() });

  const statuses = [
    await deliver(to, body),
    await deliver(to, body),
    await deliver(to, bodyOf()),
    await deliver(to, bodyOf({}, { signingKey: plant('theirs') })),
    await deliver(to, bodyOf({ signature: plant('signature') })),
    await deliver(to, bodyOf({}, { timestamp: '2018-03-13T21:04:11.193Z' })),
    await deliver(to, bodyOf({ PartnerParams: { [plant('member')]: plant('value') } }, later(1))),
    await deliver(to, bodyOf({ ResultCode: { [plant('member')]: plant('value') } }, later(2))),
    await deliver(to, body.slice(0, -1)),
    await deliver(to, bodyOf({ Photo: 'A'.repeat(5_000) }, later(3))),
    await deliver(to, body, { 'content-length': '5001', authorization: plant('token') }),
  ];

  expect(statuses).toEqual([200, 200, 401, 401, 401, 401, 400, 400, 400, 413, 413]);
  expect(told.length).toBeGreaterThan(0);
});

test('callbacks.handler() tells nothing of what onEvent throws', async () => {
  const { client, plant, bodyOf, deliver, told } = plantedHandling(() => ({}));
  const talkative = (event: CallbackEvent) => {
    const cause = Object.assign(new Error(`${plant('cause')} ${event.userId}`), { event });
    return Object.assign(new Error(`${plant('message')} ${event.entry.identity?.fullName}`, { cause }), {
      name: plant('name'),
      [plant('member')]: event,
    });
  };
  const rejecting = client.callbacks.handler({ confirm: false, onEvent: (event) => Promise.reject(talkative(event)) });
  const throwing = client.callbacks.handler({
    confirm: false,
    onEvent: (event) => {
      throw talkative(event);
    },
  });

  const body = bodyOf();
  const statuses = [await deliver(rejecting, body), await deliver(throwing, body)];

  expect(statuses).toEqual([500, 500]);
  expect(told.filter((each) => typeof each === 'string' && each.startsWith('hosted-client: '))).toHaveLength(2);
});

test('callbacks.handler() tells nothing of what its guard throws', async () => {
  const { client, plant, bodyOf, deliver } = plantedHandling(() => ({}));
  const talkative = async (...given: unknown[]) => {
    throw Object.assign(new Error(`${plant('message')} ${given.join(' ')}`), { [plant('member')]: plant('value') });
  };
  const handlerOf = (replayGuard: ReplayGuard, onEvent: () => void | Promise<void> = () => undefined) =>
    client.callbacks.handler({ confirm: false, replayGuard, onEvent });
  const body = bodyOf();

  const statuses = [
    await deliver(handlerOf(guardWith({ begin: talkative })), body),
    await deliver(handlerOf(guardWith({ commit: talkative })), body),
    await deliver(handlerOf(guardWith({ forget: talkative }), away), body),
  ];

  expect(statuses).toEqual([503, 200, 500]);
});

test('callbacks.handler() tells nothing of what confirming finds', async () => {
  const { client, bodyOf, deliver, told } = plantedHandling((plant, job) => [
    () => Promise.reject(Object.assign(new TypeError(plant('message')), { cause: { code: plant('code') } })),
    Response.json({ error: plant('error'), code: '2304', [plant('member')]: plant('value') }, { status: 400 }),
    Response.json({ user_id: plant('user'), job_complete: true, FullName: plant('name') }),
    new Response(`<p>${job.userId} ${plant('page')}</p>`),
  ]);
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });
  const body = bodyOf();

  for (let times = 0; times < 4; times++) expect(await deliver(to, body)).toBe(503);

  expect(onEvent).not.toHaveBeenCalled();
  expect(told.length).toBeGreaterThan(8);
});

// confirm() -----------------------------------------------------------------

test('callbacks.confirm() asks job status for the job of an event, with history', async () => {
  const { sandbox, client, job } = start();
  sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });
  sandbox.jobs.complete(job, 'rejected');
  const event = await client.callbacks.receive(await (await sandbox.jobs.callback(job)).text());

  const status = await client.callbacks.confirm(event);

  expect(status).toMatchObject({ ...job, state: 'failed', success: false });
  expect(status.history?.map(({ resultCode }) => resultCode)).toEqual(['0814', '0811']);
  expect(sandbox.requests).toHaveLength(1);
  expect(sandbox.requests[0]?.body).toMatchObject({ user_id: job.userId, job_id: job.jobId, history: true });
});

const anyEvent: CallbackEvent = {
  id: '0'.repeat(64),
  repeat: false,
  userId: 'user-1',
  jobId: 'job-1',
  linkId: 'link-1',
  signedAt: new Date(now),
  entry: {
    resultCode: '0810',
    resultText: null,
    resultType: null,
    hostedJobId: null,
    jsonVersion: null,
    isFinal: null,
    isMachine: null,
    confidence: null,
    actions: {},
    partnerParams: null,
    identity: null,
    extra: {},
  },
};

test('callbacks.confirm() sends nothing of an event but its user and job', async () => {
  const { client, sent } = clientOf(signed({ job_complete: false }));

  await client.callbacks.confirm(anyEvent);

  const { timestamp, sec_key, partner_id, ...asked } = sent[0]?.body ?? {};
  expect(asked).toEqual({ user_id: 'user-1', job_id: 'job-1', history: true });
  expect([timestamp, sec_key, partner_id]).not.toContain(undefined);
});

test('callbacks.confirm() takes the options of a call', async () => {
  const { client, sent } = clientOf(signed({ job_complete: false }));
  const reason = new Error('enough');

  await client.callbacks.confirm(anyEvent, { headers: { 'x-trace': 'trace-1' } });
  const aborted = await rejection(client.callbacks.confirm(anyEvent, { signal: AbortSignal.abort(reason) }));

  expect(new Headers(sent[0]?.init.headers).get('x-trace')).toBe('trace-1');
  expect(aborted).toBe(reason);
  expect(sent).toHaveLength(1);
});

test('callbacks.confirm() rejects as jobs.status() does', async () => {
  const { client } = start();
  const unsigned = clientOf({ job_complete: true, job_success: true }).client;

  const unknown = await rejection(client.callbacks.confirm(anyEvent));
  const unbelieved = await rejection(unsigned.callbacks.confirm(anyEvent));

  expect(unknown).toBeInstanceOf(HostedNotFoundError);
  expect(unknown).toMatchObject({ code: 'not_found', operation: 'jobs.status' });
  expect(unbelieved).toBeInstanceOf(HostedSignatureError);
  expect(unbelieved).toMatchObject({ code: 'signature', reason: 'missing', operation: 'jobs.status' });
});

test.each([
  ['an empty object', {}],
  ['an event without a job', { ...anyEvent, jobId: '' }],
  ['null', null],
  ['nothing', undefined],
  ['a text', 'job-1'],
])('callbacks.confirm() rejects with HostedValidationError when it is given %s', async (_what, event) => {
  const { client, sent } = clientOf({});
  let confirming: Promise<unknown> | undefined;

  expect(() => {
    confirming = rejection(client.callbacks.confirm(event as CallbackEvent));
  }).not.toThrow();

  expect(await confirming).toBeInstanceOf(HostedValidationError);
  expect(await confirming).toMatchObject({ code: 'validation', outcome: 'not_sent' });
  expect(sent).toEqual([]);
});

// Options -------------------------------------------------------------------

test.each([
  ['maxAgeMs', -1],
  ['maxAgeMs', '300000'],
  ['maxAgeMs', true],
  ['maxBytes', 0],
  ['maxBytes', Number.NaN],
  ['replayGuard', {}],
  ['replayGuard', null],
  ['confirm', 'false'],
  ['confirm', null],
  ['bodyTimeoutMs', 0],
  ['bodyTimeoutMs', Number.POSITIVE_INFINITY],
  ['leaseMs', -1],
  ['maxConfirmations', 0],
  ['maxConfirmations', 1.5],
  ['maxJobsPerSignature', 0],
  ['maxHintAgeMs', false],
  ['onError', 'log'],
  ['onErrors', () => undefined],
])('callbacks.handler() names %s when it is %o', (option, value) => {
  const { client } = clientOf({});
  const options = { onEvent: listener(), [option]: value } as unknown as { onEvent: () => void };

  const error = thrownBy(() => client.callbacks.handler(options));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ code: 'validation', issues: [{ path: option }] });
});

test.each([
  ['no onEvent', {}],
  ['an onEvent that is null', { onEvent: null }],
  ['an onEvent that is no function', { onEvent: 'log', confirm: true }],
])('callbacks.handler() throws HostedConfigError for %s', (_what, options) => {
  const { client } = clientOf({});

  const error = thrownBy(() => client.callbacks.handler(options as unknown as { onEvent: () => void }));

  expect(error).toBeInstanceOf(HostedConfigError);
  expect(error).toMatchObject({ code: 'config', issues: [{ path: 'onEvent' }] });
});

test.each([
  ['none', undefined],
  ['null', null],
  ['a function', () => undefined],
  ['a text', 'onEvent'],
])('callbacks.handler() throws an error of this package when its options are %s', (_what, options) => {
  const { client } = clientOf({});

  const error = thrownBy(() => client.callbacks.handler(options as unknown as { onEvent: () => void }));

  expect(isHostedError(error)).toBe(true);
  expect(error).toMatchObject({ code: expect.stringMatching(/^(?:config|validation)$/) });
});

test('callbacks.handler() asks nothing before a callback comes', () => {
  const { client, sent } = clientOf({}, { clock: stillClock() });

  client.callbacks.handler({ onEvent: confirmedListener() });

  expect(sent).toEqual([]);
});

test('callbacks.handler() with confirm hands over two jobs whose results were signed in one millisecond', async () => {
  const reply: Reply = ({ body }) =>
    Response.json(signed({ job_complete: true, job_success: true, user_id: body.user_id, job_id: body.job_id }));
  const { client } = clientOf(reply);
  const seen: string[] = [];
  const handle = client.callbacks.handler({
    onEvent: (event) => {
      seen.push(event.jobId);
    },
  });
  const of = (jobId: string) =>
    post(postedResult({ PartnerParams: { user_id: 'user-1', job_id: jobId, job_type: '1' } }));

  const first = await handle(of('job-1'));
  const second = await handle(of('job-2'));

  expect([first.status, second.status]).toEqual([200, 200]);
  expect(seen).toEqual(['job-1', 'job-2']);
});
