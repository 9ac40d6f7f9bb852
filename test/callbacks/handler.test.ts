// What handler() passes to onEvent, which bodies it reads, and what the handlers of one client share.

import { Readable } from 'node:stream';
import { type CallbackHandler, type HostedClient, hmacSha256 } from 'hosted-client';
import { afterEach, expect, test, vi } from 'vitest';
import { clientOf, now } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { bodyOf, start as notAwaited, post, startHandler, succeededStatus } from './deliveries.js';
import { confirmedListener, guardWith, listener, start, startApproved, statusOf } from './handled-callback.js';

afterEach(() => {
  vi.unstubAllGlobals();
});

failOnStrayRejections();

// What is accepted ----------------------------------------------------------

test('callbacks.handler() passes a callback on as the service sent it, and requests nothing with confirm: false', async () => {
  const { sandbox, client, job, warned } = startApproved();
  const onEvent = listener();

  const response = await sandbox.jobs.deliverCallback(job, {
    to: client.callbacks.handler({ confirm: false, onEvent }),
  });

  expect(response.status).toBe(200);
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

test.each(['hmac-sha256', 'ed25519'] as const)(
  'callbacks.handler() verifies callbacks in scheme %s',
  async (scheme) => {
    const { service, sandbox, client, job } = startApproved({ scheme, spelling: 'random' });
    const onEvent = listener();
    const to = client.callbacks.handler({ confirm: false, onEvent });
    const { production } = service;
    const other = production.jobs.start();
    production.jobs.complete(other, 'approved');

    const statuses = [
      await statusOf(sandbox.jobs.deliverCallback(job, { to, variant: 'forged' })),
      await statusOf(production.jobs.deliverCallback(other, { to })),
      await statusOf(sandbox.jobs.deliverCallback(job, { to })),
    ];

    expect(statuses).toEqual([401, 401, 200]);
    expect(onEvent).toHaveBeenCalledExactlyOnceWith(expect.objectContaining(job));
  },
);

test('callbacks.handler() passes on the id of the link from which a job came', async () => {
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
  const urls: string[] = [];
  vi.stubGlobal('fetch', (request: Request) => {
    urls.push(request.url);
    return handler(request);
  });

  const response = await sandbox.jobs.deliverCallback(job);

  expect(response.status).toBe(200);
  expect(urls).toEqual(['https://partner.test/results']);
  expect(onEvent).toHaveBeenCalledExactlyOnceWith(
    expect.objectContaining({ ...job, linkId: refId }),
    expect.objectContaining({ ...job, state: 'succeeded' }),
  );
});

test('callbacks of the mock service are confirmed if they are late, altered or padded', async () => {
  const { clock, sandbox, client, job } = start();
  sandbox.jobs.complete(job, 'rejected');
  const onEvent = confirmedListener();
  const to = client.callbacks.handler({ onEvent });

  for (const variant of [{ variant: 'altered' }, { padBytes: 1_500_000 }, { variant: 'stale' }, {}] as const) {
    expect(await statusOf(sandbox.jobs.deliverCallback(job, { to, ...variant }))).toBe(200);
    await clock.advance(1_000);
  }

  for (const [event, status] of onEvent.mock.calls) {
    expect(status).toMatchObject({ state: 'failed' });
    expect([undefined, '0811']).toContain(event.entry?.resultCode);
  }
});

// Bodies --------------------------------------------------------------------

test('callbacks.handler() reads a body whose characters arrive in parts, without a content type and on any path', async () => {
  const { client } = clientOf({});
  const onEvent = listener();
  const bytes = new TextEncoder().encode(bodyOf({ says: { FullName: 'Zoë Ngũgĩ 李' } }));
  const body = Readable.toWeb(Readable.from([...bytes].map((byte) => Uint8Array.of(byte))));
  const request = new Request('https://other.test/?a=b', { method: 'POST', body, duplex: 'half' } as RequestInit);

  const response = await client.callbacks.handler({ confirm: false, onEvent })(request);

  expect(response.status).toBe(200);
  expect(onEvent.mock.calls[0]?.[0].entry.identity?.fullName).toBe('Zoë Ngũgĩ 李');
});

const chunkBytes = 1_024;

test.each([
  ['no content-length', {}],
  ['a content-length that is too small', { 'content-length': '100' }],
  ['a content-length that is not a number', { 'content-length': 'many' }],
])('callbacks.handler() responds with 413 before it has read a whole body with %s', async (_what, headers) => {
  const { deliver } = startHandler({ handler: { maxBytes: 5_000 } });
  let pulledBytes = 0;
  // As a sender that cannot be cancelled.
  const cancel = vi.fn(() => new Promise<void>(() => undefined));
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    pulledBytes += chunkBytes;
    controller.enqueue(new Uint8Array(chunkBytes).fill(0x20));
    if (pulledBytes === 100 * chunkBytes) controller.close();
  };

  const response = await deliver({ body: new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), headers });

  expect(response.status).toBe(413);
  expect(pulledBytes).toBeLessThanOrEqual(5_000 + 2 * chunkBytes);
  expect(cancel).toHaveBeenCalledOnce();
});

test('callbacks.handler() accepts a body of exactly maxBytes', async () => {
  const body = bodyOf({ says: { FullName: 'Zoë' } });
  const bytes = Buffer.byteLength(body);
  const statusWith = (maxBytes: number) =>
    statusOf(startHandler({ handler: { maxBytes } }).deliver({ body, headers: { 'content-length': String(bytes) } }));

  expect([await statusWith(bytes - 1), await statusWith(bytes)]).toEqual([413, 200]);
});

test('callbacks.handler() accepts bodies of up to 8 MiB', async () => {
  const { deliver, handled } = startHandler({ confirm: false });
  const room = 8 * 1024 * 1024 - Buffer.byteLength(bodyOf({ says: { Photo: '' } }));

  expect(await statusOf(deliver({ says: { Photo: 'A'.repeat(room + 1) } }))).toBe(413);
  expect(await statusOf(deliver({ says: { Photo: 'A'.repeat(room) } }))).toBe(200);
  expect(handled[0]?.[0].entry?.extra.Photo).toHaveLength(room);
});

// The same callback ---------------------------------------------------------

const pair = JSON.parse(bodyOf()) as { signature: string };
const { signature, ...unsigned } = pair;

test.each([
  ['in another order', JSON.stringify(Object.fromEntries(Object.entries(pair).reverse()))],
  ['with blanks', JSON.stringify(pair, null, 2)],
  ['and signed with another key', bodyOf({ key: 'old-key' })],
  ['with its signature under the other name', JSON.stringify({ ...unsigned, sec_key: signature })],
])('a callback that is written again %s is the same', async (_how, body) => {
  for (const setup of [{}, { confirm: false }] as const) {
    const signer = hmacSha256({ apiKey: ['test-key', 'old-key'] });
    const { run, endings, handled } = startHandler({ ...setup, client: { signer } });

    await run([{}, { body }]);

    expect(endings()).toEqual(['200 accepted', '200 repeat']);
    expect(handled).toHaveLength(1);
  }
});

test('callbacks.receive() knows a result that is written again as a repeat, and another one as a conflict', async () => {
  const { callbacks } = clientOf({}).client;
  const body = JSON.parse(bodyOf({ says: { Actions: { a: '1', b: ['2', { c: 3, d: null }] } } })) as object;
  const reordered = {
    ...Object.fromEntries(Object.entries(body).reverse()),
    Actions: { b: ['2', { d: null, c: 3 }], a: '1' },
  };
  const another = { ...body, Actions: { a: '1', b: [{ c: 3, d: null }, '2'] } };

  expect((await callbacks.receive(JSON.stringify(body))).repeat).toBe(false);
  expect((await callbacks.receive(JSON.stringify(reordered, null, 1))).repeat).toBe(true);
  await expect(callbacks.receive(JSON.stringify(another))).rejects.toMatchObject({ reason: 'replayed' });
});

test('callbacks.handler() handles one of many deliveries at once', async () => {
  const { run, endings, handled } = startHandler({ confirm: false });

  await run(Array.from({ length: 20 }, () => notAwaited()));

  expect(handled).toHaveLength(1);
  expect(['200 accepted', '200 repeat', '503 busy']).toEqual(expect.arrayContaining(endings()));
});

// What handlers share -------------------------------------------------------

test('handlers and receive() of one client remember the same callbacks', async () => {
  const { client } = clientOf({});
  const onEvent = listener();
  const deliver = (posted: Request) => statusOf(client.callbacks.handler({ confirm: false, onEvent })(posted));

  await client.callbacks.receive(bodyOf());
  const statuses = [await deliver(post()), await deliver(post({ at: 1 })), await deliver(post({ at: 1 }))];

  expect(statuses).toEqual([200, 200, 200]);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('handlers with different guards each handle a confirmed callback', async () => {
  const { client } = clientOf(({ body }) => Response.json(succeededStatus(body)));
  const onEvent = vi.fn();

  for (let count = 0; count < 2; count++) {
    const handle = client.callbacks.handler({ onEvent, replayGuard: guardWith({}) });
    expect(await statusOf(handle(post()))).toBe(200);
  }

  expect(onEvent).toHaveBeenCalledTimes(2);
});

test('handlers of several clients that share a guard handle a callback once between them', async () => {
  const known = new Map<string, string>();
  const replayGuard = guardWith({
    begin: async (key, bodyDigest) => {
      const before = known.get(key);
      known.set(key, before ?? bodyDigest);
      return before === undefined ? 'new' : before === bodyDigest ? 'repeat' : 'conflict';
    },
  });
  const handlers = [0, 1].map(() => startHandler({ confirm: false, handler: { replayGuard } }));

  for (const { run } of handlers) await run([{}, { says: { ResultCode: '0811' } }]);

  expect(handlers.map(({ endings }) => endings())).toEqual([
    ['200 accepted', '401 replayed'],
    ['200 repeat', '401 replayed'],
  ]);
});

const anyGuard = () => guardWith({});

const receivers: readonly (readonly [what: string, open: (client: HostedClient) => CallbackHandler])[] = [
  ['a handler that confirms', (client) => client.callbacks.handler({ onEvent: () => undefined })],
  [
    'a handler that does not, whose guard accepts any body',
    (client) => client.callbacks.handler({ confirm: false, onEvent: () => undefined, replayGuard: anyGuard() }),
  ],
  [
    'receive(), whose guard accepts any body',
    (client) => async (request: Request) => {
      const error = await client.callbacks
        .receive(await request.text(), { maxAgeMs: false, replayGuard: anyGuard() })
        .then(
          () => null,
          (thrown: unknown) => thrown,
        );
      const message = expect.stringContaining('its signature was used for too many different jobs');
      if (error !== null)
        expect(error).toMatchObject({ code: 'signature', reason: 'replayed', retryable: true, message });
      return new Response(null, { status: error === null ? 200 : 503 });
    },
  ],
];

test.each(
  receivers.flatMap(([what, open]) =>
    (
      [
        ['with milliseconds', '2026-01-02T03:04:05.678Z', 503],
        ['with a fraction of zero', '2026-01-02T03:04:05.000Z', 503],
        ['as milliseconds', now, 503],
        ['as milliseconds in a string', String(now), 503],
        ['in seconds', '2026-01-02T03:04:05Z', 200],
        ['as seconds', Math.floor(now / 1_000), 200],
      ] as const
    ).map(([how, timestamp, status]) => [what, how, status, open, timestamp] as const),
  ),
)('%s gives a ninth job of one signed time that is written %s %d', async (_what, _how, status, open, timestamp) => {
  const { client } = clientOf(({ body }) => Response.json(succeededStatus(body)));
  const handle = open(client);
  const postJob = (job: number) => statusOf(handle(post({ job: `job-${job}`, timestamp })));

  for (let job = 1; job <= 8; job++) expect(await postJob(job)).toBe(200);

  expect(await postJob(9)).toBe(status);
  expect(await postJob(8)).toBe(200);
});

test('all handlers of a client count the jobs of a signed time together', async () => {
  const { client } = clientOf(({ body }) => Response.json(succeededStatus(body)));
  const options = { onEvent: () => undefined, maxJobsPerSignature: 2 };
  const confirming = client.callbacks.handler(options);
  const other = client.callbacks.handler({ ...options, confirm: false, replayGuard: anyGuard() });

  const statuses = [
    await statusOf(confirming(post({ job: 'job-1' }))),
    await statusOf(other(post({ job: 'job-2' }))),
    await statusOf(other(post({ job: 'job-1' }))),
    await statusOf(other(post({ job: 'job-3' }))),
  ];

  expect(statuses).toEqual([200, 200, 200, 503]);
});
