// What handler() passes on when job status has confirmed it, and what confirm() requests.

import { type CallbackEvent, HostedNotFoundError, HostedSignatureError, HostedValidationError } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, now, rejection, signed } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { confirmedListener, listener, start, statusOf } from './handled-callback.js';

failOnStrayRejections();

// Confirming ----------------------------------------------------------------

test('callbacks.handler() passes on the verified status of the job, with its history', async () => {
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

// Several results -----------------------------------------------------------

const results = [
  { resultCode: '0814', resultText: 'Provisional Enroll - Under Review', final: false },
  { resultCode: '0810', resultText: 'Enroll User', resultType: 'SAIA', final: true },
  { resultCode: '1012', resultText: 'ID Number Validated', resultType: 'ID Verification', final: true },
];

test.each([[[0, 1, 2]], [[2, 1, 0]], [[1, 2, 0]], [[0, 0, 1, 0, 2, 1, 2]]])(
  'callbacks.handler() passes on each of several results once, delivered as %j',
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

  const passed = onEvent.mock.calls.map(([{ entry }, { state, history }]) => [
    entry?.resultCode,
    state,
    history?.length,
  ]);
  expect(passed).toEqual([
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

  const error = await rejection(client.callbacks.confirm(event as never), HostedValidationError);

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

  const unknown = await rejection(client.callbacks.confirm(anyEvent), HostedNotFoundError);
  const untrusted = await rejection(unsigned.callbacks.confirm(anyEvent), HostedSignatureError);

  expect(unknown).toMatchObject({ operation: 'jobs.status' });
  expect(untrusted).toMatchObject({ reason: 'missing', operation: 'jobs.status' });
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
