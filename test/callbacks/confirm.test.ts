// confirm(): the status and the event of a hint's job, for those who receive without a handler.

import { runInNewContext } from 'node:vm';
import { HostedNotFoundError, HostedSignatureError, HostedValidationError } from 'hosted-client';
import { expect, test } from 'vitest';
import { clientOf, now, recordingClock, rejection, signed } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { bodyOf, hint, type Says, startHandler } from './deliveries.js';

failOnStrayRejections();

/** Confirms a hint while a minute passes, and returns when requests were sent, and the signed time or the reason. */
async function confirmAt(says: readonly Says[], at = 0) {
  const { client, clock, log } = startHandler({ says });
  const confirming = client.callbacks.confirm({ ...hint, signedAt: new Date(now + at) }).then(
    ({ event, status }) => [status.state, event.signedAt.getTime() - now],
    (error: HostedSignatureError) => [error.reason, error.retryable],
  );
  await clock.advance(60_000);
  return [...log, ...(await confirming)];
}

test.each([
  ['a status is returned as it is', [{}], ['0 ask', 'succeeded', 0]],
  ['a status may be signed ten seconds before the hint', [{ at: -10_000 }], ['0 ask', 'succeeded', -10_000]],
  [
    'a status signed more than ten seconds before the hint is fetched once more after two seconds',
    [{ at: -10_001 }, { at: -10_000 }],
    ['0 ask', '2000 ask', 'succeeded', -10_000],
  ],
  ['a second one that is too old is the last', [{ at: -10_001 }], ['0 ask', '2000 ask', 'stale', true]],
  ['a pending status is returned at once, though the hint is final', [{ state: 'pending' }], ['0 ask', 'pending', 0]],
] as const)('callbacks.confirm(): %s', async (_what, says, expected) => {
  expect(await confirmAt(says)).toEqual(expected);
});

test('callbacks.confirm() returns the event that a handler would hand over', async () => {
  const { client, deliver, handed } = startHandler();
  await deliver();

  const { event, status } = await client.callbacks.confirm(await client.callbacks.receive(bodyOf()));

  expect([event, status]).toEqual(handed[0]);
});

test('callbacks.confirm() asks with history, and does not compare the times of a service that repeats ours', async () => {
  const { client, sent } = clientOf(signed({ job_complete: false }), { wire: { echoesTimestamp: true } });
  // As from another realm.
  const signedAt = runInNewContext(`new Date(${now + 60_000})`);

  expect((await client.callbacks.confirm({ ...hint, signedAt })).status.state).toBe('pending');

  const { timestamp, sec_key, partner_id, ...asked } = sent[0]?.body ?? {};
  expect(asked).toEqual({ user_id: 'user-1', job_id: 'job-1', history: true });
  expect([timestamp, sec_key, partner_id]).not.toContain(undefined);
});

test('callbacks.confirm() takes the options of a call, and its signal ends the wait for the second status', async () => {
  const { client, clock, sent } = startHandler({ says: [{ at: -10_001 }] });
  const aborting = new AbortController();
  const reason = new Error('enough');

  const confirming = rejection(
    client.callbacks.confirm(hint, { headers: { 'x-trace': 'trace-1' }, signal: aborting.signal }),
  );
  await clock.advance(1_000);
  aborting.abort(reason);

  expect(await confirming).toBe(reason);
  await clock.advance(10_000);
  expect(sent.map(({ init }) => new Headers(init.headers).get('x-trace'))).toEqual(['trace-1']);
  expect(await rejection(client.callbacks.confirm(hint, { signal: AbortSignal.abort(reason) }))).toBe(reason);
});

test('callbacks.confirm() rejects as jobs.status() does, and retries a request that fails', async () => {
  const unavailable = new Response(null, { status: 503, headers: { 'retry-after': '0' } });
  const retried = clientOf([unavailable, signed({ job_complete: false })], { clock: recordingClock() });
  const unknown = clientOf(Response.json({ error: 'no', code: '2304' }, { status: 400 })).client;
  const untrusted = clientOf({ job_complete: true, job_success: true }).client;

  expect((await retried.client.callbacks.confirm(hint)).status.state).toBe('pending');
  expect(await rejection(unknown.callbacks.confirm(hint), HostedNotFoundError)).toMatchObject({
    operation: 'jobs.status',
  });
  expect(await rejection(untrusted.callbacks.confirm(hint), HostedSignatureError)).toMatchObject({ reason: 'missing' });
});

test('callbacks.confirm() needs a status with a signed time', async () => {
  const body = { ...signed({ job_complete: false }, { timestamp: 'yesterday' }) };
  const { client } = clientOf(body, { maxResponseAgeMs: false });

  expect(await rejection(client.callbacks.confirm(hint), HostedSignatureError)).toMatchObject({
    reason: 'malformed',
    operation: 'jobs.status',
  });
});

const unreadable = {
  ...hint,
  get userId(): string {
    throw new Error('personal data');
  },
};

test.each([
  ['an empty object', {}, ['userId', 'jobId', 'signedAt']],
  ['a hint without a job', { ...hint, jobId: '' }, ['jobId']],
  ['a hint without its signed time', { ...hint, signedAt: undefined }, ['signedAt']],
  ['a hint whose time is a string', { ...hint, signedAt: hint.signedAt.toISOString() }, ['signedAt']],
  ['a hint whose time is invalid', { ...hint, signedAt: new Date(Number.NaN) }, ['signedAt']],
  ['null', null, ['']],
  ['undefined', undefined, ['']],
  ['a string', 'job-1', ['']],
  ['a hint that cannot be read', unreadable, ['']],
])('callbacks.confirm() refuses %s, and sends nothing', async (_what, given, paths) => {
  const { client, sent } = clientOf({});

  const error = await rejection(client.callbacks.confirm(given as never), HostedValidationError);

  expect(error.issues.map(({ path }) => path)).toEqual(paths);
  expect(error.message).toMatch(/^Cannot confirm a callback: /);
  expect(error.message).not.toContain('personal');
  expect(sent).toEqual([]);
});
