// What handler() responds to a callback that it accepts or rejects, and its options.

import {
  type HostedClientOptions,
  HostedConfigError,
  HostedValidationError,
  hmacSha256,
  isHostedError,
} from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, deferred, now, type Reply, signed, stillClock, thrownBy } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { confirmedListener, listener, post, postedResult, start, startApproved, statusOf } from './handled-callback.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

failOnStrayRejections();

// 200 -----------------------------------------------------------------------

test('callbacks.handler() responds with 200 when a callback is accepted, and hands it over', async () => {
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

test('callbacks.handler() responds with 200 to a repeated callback, and does not hand it over again', async () => {
  const { sandbox, client, job } = startApproved();
  const onEvent = listener();
  const to = client.callbacks.handler({ confirm: false, onEvent });

  const statuses: number[] = [];
  for (let times = 0; times < 3; times++) statuses.push(await statusOf(sandbox.jobs.deliverCallback(job, { to })));

  expect(statuses).toEqual([200, 200, 200]);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('callbacks.handler() responds with 200 once an asynchronous onEvent is done, and no sooner', async () => {
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
])('callbacks.handler() responds with 400 to %s', async (_what, body) => {
  const { client } = clientOf({});
  const onEvent = listener();

  const response = await client.callbacks.handler({ confirm: false, onEvent })(post(body));

  expect(response.status).toBe(400);
  expect(await response.text()).toBe('');
  expect(onEvent).not.toHaveBeenCalled();
});

// 401 -----------------------------------------------------------------------

test.each(['forged', 'unsigned', 'stale'] as const)(
  'callbacks.handler() responds with 401 to a callback that is %s, and takes the genuine one after it',
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

test('callbacks.handler() responds with 401 to a callback that is altered after the genuine one', async () => {
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

test("callbacks.handler() responds with 401 to the other environment's callbacks", async () => {
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
  'callbacks.handler() responds with 405 to %s',
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

test('callbacks.handler() responds with 413 by the content-length, and reads nothing', async () => {
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
])('callbacks.handler() responds with 413 before it has read a body with %s whole', async (_what, headers) => {
  const { client } = clientOf({});
  const onEvent = listener();
  const { body, pulled } = longBody();

  const response = await client.callbacks.handler({ confirm: false, onEvent, maxBytes: 5_000 })(post(body, headers));

  expect(response.status).toBe(413);
  expect(pulled.bytes).toBeLessThanOrEqual(5_000 + 2 * chunkBytes);
  expect(pulled.cancelled).toBe(true);
  expect(onEvent).not.toHaveBeenCalled();
});

test('callbacks.handler() responds with 413 though the sender does not let itself be cancelled', async () => {
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
