// What handler() hands over once job status has confirmed it, and what confirm() asks.

import {
  type CallbackEvent,
  type ConfirmedEvent,
  HostedNotFoundError,
  HostedSignatureError,
  HostedValidationError,
  type JobStatus,
} from 'hosted-client';
import type { MockFault } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';
import { clientOf, deferred, now, type Reply, rejection, signed } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  confirmedListener,
  expectComeAgain,
  listener,
  post,
  postedResult,
  start,
  startApproved,
  statusOf,
} from './handled-callback.js';

const hour = 3_600_000;

failOnStrayRejections();

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
  'callbacks.handler() with confirm responds with 401 to a callback that is %s, and asks nothing',
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
  ['responds with 503', { kind: 'status', status: 503 }],
  ['responds with 400', { kind: 'status', status: 400, body: { error: 'no', code: '2313' } }],
  ['responds with 401', { kind: 'status', status: 401 }],
  ['responds with 429', { kind: 'status', status: 429, retryAfter: '5' }],
  ['does not know the job yet', { kind: 'status', status: 400, body: { error: 'Job not found', code: '2304' } }],
  ['cannot be reached', { kind: 'network' }],
  ['breaks off', { kind: 'truncate' }],
  ['responds with a page', { kind: 'html' }],
  ["responds under another's signature", { kind: 'bad-signature' }],
  ['responds without signature', { kind: 'missing-signature' }],
  ['responds with an old signature', { kind: 'stale-timestamp' }],
])('callbacks.handler() responds with 503 when job status %s, and confirms the next delivery', async (_what, fault) => {
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

test('callbacks.handler() responds with 503 while the same callback is being confirmed', async () => {
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

test('callbacks.handler() with confirm reports each result, and of the state at that time', async () => {
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

test('callbacks.confirm() of an event that cannot be read says so once, and sends nothing', async () => {
  const { client, sent } = clientOf({});
  const event = {
    jobId: 'job-1',
    get userId(): string {
      throw new Error('personal data');
    },
  };

  const error = await rejection(client.callbacks.confirm(event as never));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ issues: [{ path: '', message: 'must be an object with "userId" and "jobId"' }] });
  expect(sent).toHaveLength(0);
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
  const untrusted = await rejection(unsigned.callbacks.confirm(anyEvent));

  expect(unknown).toBeInstanceOf(HostedNotFoundError);
  expect(unknown).toMatchObject({ code: 'not_found', operation: 'jobs.status' });
  expect(untrusted).toBeInstanceOf(HostedSignatureError);
  expect(untrusted).toMatchObject({ code: 'signature', reason: 'missing', operation: 'jobs.status' });
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
