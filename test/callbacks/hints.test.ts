// What one signed pair is worth to those who post under it again: bounds on requests, jobs and what is remembered.

import { HostedClient, HostedSignatureError, hmacSha256, type ReplayGuard } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';
import { clientOf, deferred, manualClock, now, sign, signed } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { expectLimit, listener, post, recordErrors, statusOf, succeeded } from './hint.js';

const nowText = '2026-01-02T03:04:05.678Z';
const day = 24 * 60 * 60 * 1000;

failOnStrayRejections();

// A second body -------------------------------------------------------------

test('a forged body that came first does not cost the genuine one', async () => {
  const clock = manualClock();
  const { client, sent } = clientOf(succeeded(clock.now), { clock });
  const onEvent = listener();
  const handle = client.callbacks.handler({ onEvent });

  const forged = await handle(post({ properties: { ResultCode: '0811', FullName: 'Mallory' } }));
  clock.advance(1_000);
  const genuine = await handle(post());
  const again = await handle(post());

  expect([forged.status, genuine.status, again.status]).toEqual([200, 200, 200]);
  expect(onEvent.mock.calls.map(([{ entry }]) => entry?.resultCode)).toEqual([undefined, '0810']);
  expect(sent).toHaveLength(2);
});

test('a second body that leads to the same result gets 200, and not handed over again', async () => {
  const clock = manualClock();
  const { client } = clientOf(succeeded(clock.now), { clock });
  const onEvent = listener();
  const handle = client.callbacks.handler({ onEvent });

  const statuses: number[] = [];
  for (let count = 0; count < 5; count++) {
    statuses.push(await statusOf(handle(post({ properties: { FullName: `Mallory ${count}` } }))));
    clock.advance(1_000);
  }

  expect(statuses).toEqual([200, 200, 200, 200, 200]);
  expect(onEvent).toHaveBeenCalledTimes(1);
});

test.each([
  ['in another order', (body: object) => Object.fromEntries(Object.entries(body).reverse())],
  ['with blanks between', (body: object) => body],
  ['signed anew with another key', (body: object) => ({ ...body, signature: sign(nowText, 'old-key') })],
  [
    'with its signature under the other name',
    ({ signature, ...body }: Record<string, unknown>) => ({ ...body, sec_key: signature }),
  ],
])('a callback that is written anew %s is the same', async (how, rewrite) => {
  const signer = hmacSha256({ apiKey: ['test-key', 'old-key'] });
  const body = JSON.parse(await post().text()) as Record<string, unknown>;
  const blanks = how === 'with blanks between' ? 2 : 0;
  const again = new Request('https://partner.test/', {
    method: 'POST',
    body: JSON.stringify(rewrite(body), null, blanks),
  });

  for (const confirm of [true, false] as const) {
    const { client } = clientOf(succeeded(), { signer });
    const onEvent = vi.fn<() => void>();
    const handle = confirm
      ? client.callbacks.handler({ confirm, onEvent })
      : client.callbacks.handler({ confirm, onEvent });

    expect([await statusOf(handle(post())), await statusOf(handle(again.clone()))]).toEqual([200, 200]);
    expect(onEvent).toHaveBeenCalledTimes(1);
  }
});

test('callbacks.receive() knows a result that is written anew as a repeat, and another one as a conflict', async () => {
  const { callbacks } = clientOf({}).client;
  const body = JSON.parse(await post({ properties: { Actions: { a: '1', b: ['2', { c: 3, d: null }] } } }).text());
  const reordered = {
    ...Object.fromEntries(Object.entries(body).reverse()),
    Actions: { b: ['2', { d: null, c: 3 }], a: '1' },
  };
  const another = { ...body, Actions: { a: '1', b: [{ c: 3, d: null }, '2'] } };

  expect((await callbacks.receive(JSON.stringify(body))).repeat).toBe(false);
  expect((await callbacks.receive(JSON.stringify(reordered, null, 1))).repeat).toBe(true);
  await expect(callbacks.receive(JSON.stringify(another))).rejects.toMatchObject({ reason: 'replayed' });
});

test('handlers with guards of their own each hand a callback over', async () => {
  const { client } = clientOf(succeeded());
  const guardOf = (): ReplayGuard => ({
    begin: async () => 'new',
    commit: async () => undefined,
    forget: async () => undefined,
  });
  const first = listener();
  const second = listener();

  const statuses = [
    await statusOf(client.callbacks.handler({ onEvent: first, replayGuard: guardOf() })(post())),
    await statusOf(client.callbacks.handler({ onEvent: second, replayGuard: guardOf() })(post())),
  ];

  expect(statuses).toEqual([200, 200]);
  expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 1]);
});

test('the guard is told of sixteen bodies of one job under one signed time, and of no more', async () => {
  const clock = manualClock();
  const { client, sent } = clientOf(succeeded(clock.now), { clock });
  const keys = new Set<string>();
  const replayGuard: ReplayGuard = {
    begin: async (key) => {
      keys.add(key);
      return 'new';
    },
    commit: async () => undefined,
    forget: async () => undefined,
  };
  const onEvent = listener();
  const handle = client.callbacks.handler({ onEvent, replayGuard });

  const statuses = new Set<number>();
  for (let count = 0; count < 100; count++) {
    statuses.add(await statusOf(handle(post({ properties: { ResultCode: `09${count}` } }))));
    clock.advance(1_000);
  }
  const genuine = await handle(post());
  const again = await handle(post());

  expect(statuses).toEqual(new Set([200]));
  expect([genuine.status, again.status]).toEqual([200, 200]);
  expect(keys.size).toBe(16);
  expect(sent).toHaveLength(101);
  expect(onEvent.mock.calls.map(([{ entry }]) => entry?.resultCode)).toEqual([undefined, '0810']);
});

test('a body that the guard is not told of gets 503 while it is handled, and is new after it failed', async () => {
  const clock = manualClock();
  const { client } = clientOf(succeeded(clock.now), { clock });
  const handling = deferred();
  const started = deferred();
  const seen: (string | null | undefined)[] = [];
  const handle = client.callbacks.handler({
    onEvent: ({ entry }) => {
      seen.push(entry?.resultCode);
      if (entry === null) return;
      started.resolve();
      return seen.filter((code) => code === '0810').length > 1
        ? undefined
        : handling.promise.then(() => Promise.reject(new Error('the database is away')));
    },
  });
  for (let count = 0; count < 16; count++) {
    await handle(post({ properties: { ResultCode: `08${count}x` } }));
    clock.advance(1_000);
  }

  const first = statusOf(handle(post()));
  await started.promise;
  clock.advance(1_000);
  const meanwhile = await statusOf(handle(post()));
  handling.resolve();
  const failed = await first;
  const again = await statusOf(handle(post()));

  expect([meanwhile, failed, again]).toEqual([503, 500, 200]);
  expect(seen).toEqual([undefined, '0810', '0810']);
});

// A new signature -----------------------------------------------------------

const laterText = '2026-01-02T03:05:00.000Z';

test('a result that is redelivered under a new signature gets 200, and not handed over again', async () => {
  const { client } = clientOf(succeeded());
  const onEvent = listener();
  const handle = client.callbacks.handler({ onEvent });
  const posts = [post(), post({ timestamp: laterText }), post({ timestamp: '2026-01-02T03:06:00.000Z' })];

  for (const each of posts) expect(await statusOf(handle(each))).toBe(200);

  expect(onEvent).toHaveBeenCalledTimes(1);
});

test('a result whose onEvent rejected is handed over again under a new signature, and then no more', async () => {
  const { client } = clientOf(succeeded());
  const onEvent = listener().mockRejectedValueOnce(new Error('the database is away'));
  const handle = client.callbacks.handler({ onEvent });

  const statuses = [
    await statusOf(handle(post())),
    await statusOf(handle(post({ timestamp: laterText }))),
    await statusOf(handle(post({ timestamp: '2026-01-02T03:06:00.000Z' }))),
  ];

  expect(statuses).toEqual([500, 200, 200]);
  expect(onEvent).toHaveBeenCalledTimes(2);
});

test('a result that is in hand gets 503 under a new signature, until its lease has ended', async () => {
  const clock = manualClock();
  const { client } = clientOf(succeeded(clock.now), { clock });
  const { errors, onError } = recordErrors();
  const hung = deferred();
  let calls = 0;
  const onEvent = () => {
    calls += 1;
    return calls === 1 ? hung.promise : undefined;
  };
  const handle = client.callbacks.handler({ onEvent, onError, leaseMs: 10_000 });

  const first = statusOf(handle(post()));
  await vi.waitFor(() => expect(calls).toBe(1));
  clock.advance(9_999);
  const meanwhile = await statusOf(handle(post({ timestamp: laterText })));
  clock.advance(1_001);
  const later = await statusOf(handle(post({ timestamp: laterText })));
  hung.resolve();

  expect([meanwhile, later, await first]).toEqual([503, 200, 200]);
  expect(errors).toMatchObject([{ error: { reason: 'replayed', retryable: true }, phase: 'guard', status: 503 }]);
  expect(calls).toBe(2);
});

test('a result is handed over again once its job is in another state', async () => {
  let success = false;
  const { client } = clientOf(({ body: { user_id, job_id } }) => {
    const history = [{ ResultCode: '0810', HostedJobID: '0000001111', PartnerParams: { user_id, job_id } }];
    const record = { job_complete: true, job_success: success, user_id, job_id, history };
    return Response.json(signed(record, { timestamp: nowText }));
  });
  const onEvent = listener();
  const handle = client.callbacks.handler({ onEvent });

  await handle(post());
  success = true;
  await handle(post({ timestamp: laterText }));

  expect(onEvent.mock.calls.map(([, { state }]) => state)).toEqual(['failed', 'succeeded']);
});

test('callbacks without an entry in the history are each handed over, under each signed time', async () => {
  const { client } = clientOf(succeeded());
  const onEvent = listener();
  const handle = client.callbacks.handler({ onEvent });

  await handle(post({ properties: { ResultCode: '0811' } }));
  await handle(post({ timestamp: laterText, properties: { ResultCode: '0812' } }));

  expect(onEvent.mock.calls.map(([{ entry }]) => entry)).toEqual([null, null]);
});

// Time ----------------------------------------------------------------------

test.each([-1, 1])('a callback is a hint for two days and no longer, both ways (%d)', async (direction) => {
  const { errors, onError } = recordErrors();
  const { client } = clientOf(succeeded());
  const handle = client.callbacks.handler({ onEvent: listener(), onError });
  const signedAt = (ms: number) => new Date(now + direction * ms).toISOString();

  const statuses = [
    await statusOf(handle(post({ timestamp: signedAt(2 * day) }))),
    await statusOf(handle(post({ timestamp: signedAt(2 * day + 1) }))),
  ];

  expect(statuses).toEqual([200, 401]);
  expect(errors).toMatchObject([{ error: { reason: 'stale' }, phase: 'verify', status: 401 }]);
});

test('callbacks.handler() keeps to maxHintAgeMs, and not to maxAgeMs, where it confirms', async () => {
  const { client } = clientOf(succeeded());
  const handle = client.callbacks.handler({ onEvent: listener(), maxHintAgeMs: 10_000, maxAgeMs: false });
  const signedAgo = (ms: number) => post({ timestamp: new Date(now - ms).toISOString() });

  expect([await statusOf(handle(signedAgo(10_000))), await statusOf(handle(signedAgo(10_001)))]).toEqual([200, 401]);
});

// Requests ------------------------------------------------------------------

test('one job is asked about once a second under one signed time, and then gets 503', async () => {
  const clock = manualClock();
  const { client, sent } = clientOf(succeeded(clock.now), { clock });
  const { errors, onError } = recordErrors();
  const handle = client.callbacks.handler({ onEvent: listener(), onError });
  const body = (count: number) => post({ properties: { ResultText: `text ${count}` } });

  const statuses: number[] = [];
  for (const [count, ms] of [0, 999, 1, 999, 1].entries()) {
    clock.advance(ms);
    statuses.push(await statusOf(handle(body(count))));
  }

  expect(statuses).toEqual([200, 503, 200, 503, 200]);
  expect(sent).toHaveLength(3);
  expect(errors).toEqual([
    { error: expect.any(HostedSignatureError), phase: 'guard', status: 503 },
    { error: expect.any(HostedSignatureError), phase: 'guard', status: 503 },
  ]);
});

test('two results of one job that were signed at two times are both asked about at once', async () => {
  const { client, sent } = clientOf(succeeded());
  const handle = client.callbacks.handler({ onEvent: listener() });

  const statuses = [
    await statusOf(handle(post())),
    await statusOf(handle(post({ timestamp: '2026-01-02T03:04:05.679Z', properties: { ResultCode: '1012' } }))),
  ];

  expect(statuses).toEqual([200, 200]);
  expect(sent).toHaveLength(2);
});

test('a callback that failed is asked about again at once, one time, where nothing else came under its pair', async () => {
  const clock = manualClock();
  const { client, sent } = clientOf(() => new Response(null, { status: 503 }), { clock });
  const handle = client.callbacks.handler({ onEvent: listener() });

  for (let count = 0; count < 5; count++) expect(await statusOf(handle(post()))).toBe(503);
  expect(sent).toHaveLength(2);
  clock.advance(1_000);
  for (let count = 0; count < 5; count++) expect(await statusOf(handle(post()))).toBe(503);

  expect(sent).toHaveLength(3);
});

test('a delivery that the guard failed on does not use up the repeat', async () => {
  const clock = manualClock();
  const { client, sent } = clientOf([new Response(null, { status: 503 }), succeeded(clock.now)], { clock });
  let begun = 0;
  const replayGuard: ReplayGuard = {
    begin: async () => {
      begun += 1;
      if (begun === 2) throw new Error('the store is away');
      return 'new';
    },
    commit: async () => undefined,
    forget: async () => undefined,
  };
  const handle = client.callbacks.handler({ onEvent: listener(), replayGuard });

  const statuses: number[] = [];
  for (let count = 0; count < 3; count++) statuses.push(await statusOf(handle(post())));

  expect(statuses).toEqual([503, 503, 200]);
  expect(sent).toHaveLength(2);
});

test.each([
  [8, 'with milliseconds', nowText],
  [8, 'with a fraction of nought', '2026-01-02T03:04:05.000Z'],
  [8, 'as milliseconds', now],
  [8, 'as milliseconds in text', String(now)],
])('at most %d jobs are asked about under one signed time that is written %s', (most, _how, timestamp) =>
  expectLimit(most, timestamp),
);

test('callbacks.handler() keeps to maxJobsPerSignature', async () => {
  const { client, sent } = clientOf(succeeded());
  const handle = client.callbacks.handler({ onEvent: listener(), maxJobsPerSignature: 2 });

  const statuses: number[] = [];
  for (const jobId of ['job-1', 'job-2', 'job-3']) statuses.push(await statusOf(handle(post({ jobId }))));

  expect(statuses).toEqual([200, 200, 503]);
  expect(sent).toHaveLength(2);
});

test('handlers of one client share the bounds', async () => {
  const { client, sent } = clientOf(succeeded());
  const statuses: number[] = [];
  for (let job = 0; job < 10; job++) {
    const handle = client.callbacks.handler({ onEvent: listener() });
    statuses.push(await statusOf(handle(post({ jobId: `job-${job}` }))));
  }

  expect(statuses.filter((status) => status === 503)).toHaveLength(2);
  expect(sent).toHaveLength(8);
});

// Leases --------------------------------------------------------------------

test.each([true, false] as const)(
  'an onEvent that hangs frees its callback after the lease (confirm: %s)',
  async (confirm) => {
    const clock = manualClock();
    const { client } = clientOf(succeeded(clock.now), { clock });
    const hung = deferred();
    let calls = 0;
    const onEvent = () => {
      calls += 1;
      return calls === 1 ? hung.promise : undefined;
    };
    const options = { leaseMs: 60_000, maxAgeMs: day };
    const handle = confirm
      ? client.callbacks.handler({ ...options, confirm, onEvent })
      : client.callbacks.handler({ ...options, confirm, onEvent });

    const first = statusOf(handle(post()));
    await vi.waitFor(() => expect(calls).toBe(1));
    clock.advance(59_999);
    expect(await statusOf(handle(post()))).toBe(503);
    clock.advance(1);
    expect(await statusOf(handle(post()))).toBe(200);

    expect(calls).toBe(2);
    expect(await statusOf(handle(post()))).toBe(200);
    expect(calls).toBe(2);
    hung.resolve();
    expect(await first).toBe(200);
  },
);

test('a lease of five minutes is the default, and is told to the guard', async () => {
  const clock = createTestClock(now);
  const { client } = clientOf(succeeded(), { clock });
  const begin = vi.fn(async () => 'repeat' as const);
  const none = async () => undefined;
  const replayGuard = { begin, commit: none, forget: none };

  await client.callbacks.handler({ onEvent: listener(), replayGuard })(post());
  await client.callbacks.handler({ onEvent: listener(), replayGuard, leaseMs: 1_000 })(post());
  await client.callbacks.receive(await post().text(), { replayGuard });

  const times = begin.mock.calls.map((given) => (given as readonly unknown[])[3]);
  expect(times).toEqual([new Date(now + 300_000), new Date(now + 1_000), new Date(now + 300_000)]);
});

test.each([
  ['fails after its lease', () => Promise.reject(new Error('too late')), ['begin']],
  ['ends after its lease', () => Promise.resolve(), ['begin', 'commit']],
])('a handler that %s does not forget what another may have in hand', async (_what, end, told) => {
  const clock = manualClock();
  const { client } = clientOf(succeeded(clock.now), { clock });
  const steps: string[] = [];
  const replayGuard = {
    begin: async () => {
      steps.push('begin');
      return 'new' as const;
    },
    commit: async () => void steps.push('commit'),
    forget: async () => void steps.push('forget'),
  };
  const handling = deferred();
  const started = deferred();
  const handle = client.callbacks.handler({
    replayGuard,
    leaseMs: 1_000,
    onEvent: () => {
      started.resolve();
      return handling.promise.then(end);
    },
  });

  const response = handle(post());
  await started.promise;
  clock.advance(1_000);
  handling.resolve();
  await response;

  expect(steps).toEqual(told);
});

test('a first delivery that ends after its lease leaves the second one alone', async () => {
  const clock = manualClock();
  const { client } = clientOf(succeeded(clock.now), { clock });
  const failing = [deferred(), deferred()] as const;
  let calls = 0;
  const handle = client.callbacks.handler({
    leaseMs: 10_000,
    onEvent: async () => {
      calls += 1;
      await failing[calls - 1]?.promise;
      if (calls < 3) throw new Error('the database is away');
    },
  });

  const first = statusOf(handle(post()));
  await vi.waitFor(() => expect(calls).toBe(1));
  clock.advance(10_000);
  const second = statusOf(handle(post()));
  await vi.waitFor(() => expect(calls).toBe(2));
  failing[0].resolve();

  expect(await first).toBe(500);
  // The second one is still in hand.
  expect(await statusOf(handle(post()))).toBe(503);
  failing[1].resolve();
  expect(await second).toBe(500);
  clock.advance(1_000);
  expect(await statusOf(handle(post()))).toBe(200);
});

// The testing kit -----------------------------------------------------------

test('callbacks of the testing kit are confirmed where they are late, altered and padded', async () => {
  const clock = createTestClock(now);
  const service = createMockService({ clock });
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();
  service.sandbox.jobs.complete(job, 'rejected');
  const onEvent = listener();
  const to = client.callbacks.handler({ onEvent });

  const statuses: number[] = [];
  for (const variant of [{ variant: 'altered' }, { padBytes: 1_500_000 }, { variant: 'stale' }, {}] as const) {
    statuses.push(await statusOf(service.sandbox.jobs.deliverCallback(job, { to, ...variant })));
    await clock.advance(1_000);
  }

  expect(statuses).toEqual([200, 200, 200, 200]);
  for (const [event, status] of onEvent.mock.calls) {
    expect(status).toMatchObject({ state: 'failed' });
    expect([undefined, '0811']).toContain(event.entry?.resultCode);
  }
});
