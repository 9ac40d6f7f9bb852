/** The command `listen --forward`: what it posts, to whom, and what it tells the service. */

import { createHmac } from 'node:crypto';
import type { CallbackEvent, ConfirmedEvent, HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import type { SandboxOutcome } from 'hosted-client/sandbox';
import { expect, test } from 'vitest';
import { forwardConfirmed } from '../../src/cli/forward-callback.ts';
import { finishedJob } from '../fixtures/real-payloads.js';
import { newLink, receiving, running, listening as serve } from '../sandbox/running.js';
import { clientOf, now, sign, signed } from '../support/fake-fetch.js';
import { listening, listeningTo } from './listening.js';
import { command } from './running.js';

/** A server with a handler of the client, as a user would put it behind `listen`. */
async function handling(client: HostedClient, confirm: boolean) {
  const events: (CallbackEvent | ConfirmedEvent)[] = [];
  const onEvent = (event: CallbackEvent | ConfirmedEvent) => void events.push(event);
  const handle = client.callbacks.handler({ confirm: confirm as true, onEvent });
  return { events, url: await serve(nodeHandler(handle)) };
}

/** Verifies a callback as a program without this package does (docs/protocol.md, sections 5 and 6). */
function isSigned({ timestamp, signature }: Readonly<Record<string, unknown>>, key: string, partner: string): boolean {
  return signature === createHmac('sha256', key).update(`${timestamp}${partner}sid_request`).digest('base64');
}

const outcomes: readonly SandboxOutcome[] = ['approved', 'rejected', 'review_approved', 'id_verified', 'id_not_found'];

test.each(outcomes.flatMap((outcome) => [true, false].map((confirm) => ({ outcome, confirm }))))(
  'a handler behind listen --forward works unchanged: $outcome, confirm $confirm',
  async ({ outcome, confirm }) => {
    const world = await running();
    const { events, url } = await handling(world.client, confirm);
    const { client, sandbox, play } = await listeningTo(world, '--forward', url);

    const { job } = await play(outcome);

    const { history } = await client.jobs.status({ ...job, history: true });
    const results = events.map(({ entry }) => [entry?.resultCode, entry?.identity]);
    expect(results).toEqual(history?.map(({ resultCode, identity }) => [resultCode, identity]));
    for (const event of events) expect(event).toMatchObject(job);
    for (const { attempts } of sandbox.callbacks) expect(attempts).toMatchObject([{ status: 200 }]);
  },
);

test('listen --forward posts the confirmed entry, in the form of a callback and with its pair', async () => {
  const { received, url } = await receiving();
  const { sandbox, client, play } = await listening('--forward', url);
  const { apiKey: key = '', partnerId: partner } = sandbox.clientOptions();

  const { job } = await play('id_verified');

  const status = await client.jobs.status({ ...job, history: true }).withResponse();
  const { history } = JSON.parse(status.response.rawBody()) as { history: readonly object[] };
  const results = received.map(({ body: { timestamp, signature, ...result } }) => {
    expect(isSigned({ timestamp, signature }, key, partner)).toBe(true);
    return result;
  });
  expect(results).toEqual(history);
  expect(results[0]).toMatchObject({ ResultCode: '1012', PartnerParams: { user_id: job.userId, job_id: job.jobId } });
  expect(new Set(received.map(({ body }) => body.timestamp)).size).toBe(2);
});

test.each([
  ['another result', 503, { ResultCode: '0810', ResultText: 'Enroll User' }],
  ['other data', 204, { ResultText: 'planted', FullName: 'planted', extra: 'planted' }],
])('listen --forward posts nothing of %s that was put into a body', async (_what, expected, changes) => {
  const { received, url } = await receiving(204);
  const { sandbox, client, url: listensAt, streams } = await listening('--forward', url);
  const { refId } = await client.links.create(newLink);
  const job = await sandbox.play(refId, 'rejected');
  const callback = await (await sandbox.service.sandbox.jobs.callback(job)).json();

  // The pair is genuine, and so is the job.
  const body = JSON.stringify({ ...callback, ...changes });
  const { status } = await fetch(listensAt, { method: 'POST', body });

  expect(status).toBe(expected);
  expect(received.map((each) => each.body)).toEqual(expected === 204 ? [callback] : []);
  const name = `not forwarded: the history of job ${job.jobId} of user ${job.userId} does not have this result`;
  expect(streams.stderr).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${expected === 204 ? 'forwarded to .*' : name}\n$`));
  expect(streams.stderr).not.toContain('planted');
});

test.each([
  ['forged', 'its signature does not match its timestamp'],
  ['unsigned', 'it is not signed'],
] as const)('listen --forward posts no callback that is %s, and says so in one line', async (variant, why) => {
  const { received, url } = await receiving();
  const { sandbox, client, url: listensAt, streams } = await listening('--forward', url);
  const { refId } = await client.links.create(newLink);
  const job = await sandbox.play(refId, 'approved');
  const callback = await sandbox.service.sandbox.jobs.callback(job, { variant });

  const { status } = await fetch(listensAt, { method: 'POST', body: await callback.text() });

  expect(status).toBe(401);
  expect(received).toEqual([]);
  expect(streams.stderr).toMatch(/^\d\d:\d\d:\d\d responded with 401: Cannot receive a callback: [^\n]+\n$/);
  expect(streams.stderr).toContain(why);
});

test('listen --forward posts a repeat once, also when it is signed again or altered', async () => {
  const { received, url } = await receiving();
  const { sandbox, play, url: listensAt, streams } = await listening('--forward', url);
  const { job } = await play('approved');
  const callback = await (await sandbox.service.sandbox.jobs.callback(job)).json();
  const { apiKey: key = '', partnerId: partner } = sandbox.clientOptions();
  const timestamp = new Date().toISOString();
  const again = { ...callback, timestamp, signature: sign(timestamp, key, partner) };
  const post = async (body: object) => (await fetch(listensAt, { method: 'POST', body: JSON.stringify(body) })).status;

  await sandbox.resend(1);
  const statuses = [await post(again), await post({ ...again, ResultText: 'planted' })];

  expect(sandbox.callbacks.map(({ state }) => state)).toEqual(['delivered', 'delivered']);
  // A second body of one signed time may be confirmed a second later.
  expect(statuses).toEqual([200, 503]);
  expect(received).toHaveLength(1);
  expect(streams.stderr.match(/repeat: this callback was received before/g)).toHaveLength(2);
});

test('listen --forward has a callback sent again until it is taken there', async () => {
  const { received, url } = await receiving(500);
  const { sandbox, play, streams } = await listening('--forward', url);

  await play('approved');
  await sandbox.resend(1);

  expect(sandbox.callbacks).toMatchObject([
    { state: 'delivered', attempts: [{ status: 500 }, { status: 200 }] },
    { state: 'delivered', attempts: [{ status: 200 }] },
  ]);
  expect(received).toHaveLength(2);
  expect(received[1]).toEqual(received[0]);
  expect(streams.stderr.match(/forwarded to/g)).toHaveLength(2);
});

test('listen --forward to where nothing responds says so, and responds with 502', async () => {
  const { sandbox, play, streams } = await listening('--forward', 'http://127.0.0.1:9/hook?token=hidden');

  await play('approved');

  expect(sandbox.callbacks[0]?.attempts[0]?.status).toBe(502);
  expect(streams.stderr).toContain('not forwarded: no response from http://127.0.0.1:9\n');
  expect(streams.stderr).not.toContain('token=hidden');
});

const isoNow = new Date(now).toISOString();
const [, , validated] = finishedJob.history;
const job = { userId: 'user-1', jobId: 'job-1' };

/** Forwards a posted callback whose result the client has confirmed with this history. */
async function forwarded(history: unknown, pair: object, code = '1012') {
  const result = { ...finishedJob.result, PartnerParams: { user_id: job.userId, job_id: job.jobId } };
  const { client } = clientOf(signed({ ...finishedJob, result, history }));
  const events: ConfirmedEvent[] = [];
  const handle = client.callbacks.handler({ onEvent: (event) => void events.push(event) });
  const posted = {
    ...validated,
    ...pair,
    ResultCode: code,
    FullName: 'planted',
    PartnerParams: { user_id: job.userId, job_id: job.jobId, link_id: 'planted' },
  };
  const body = new TextEncoder().encode(JSON.stringify(posted));
  expect((await handle(new Request('https://partner.test/', { method: 'POST', body }))).status).toBe(200);
  const { received, url } = await receiving();
  const said: string[] = [];
  const receiver = { url, signal: new AbortController().signal, say: (text: string) => void said.push(text) };
  const [event] = events;
  const { status } = await forwardConfirmed(body, event as ConfirmedEvent, { client, receiver });
  return { status, said, body: received[0]?.body };
}

test.each([
  ['signature', { timestamp: isoNow, signature: sign(isoNow) }],
  ['sec_key', { timestamp: isoNow, sec_key: sign(isoNow) }],
  ['both', { timestamp: isoNow, signature: sign(isoNow), sec_key: sign(isoNow) }],
  ['a number as its time', { timestamp: now, signature: sign(String(now)) }],
])('a forwarded entry has the pair of the callback, and no other: %s', async (_what, pair) => {
  const entry = { ...validated, timestamp: '2018-03-13T21:04:11.193Z', signature: 'other', sec_key: 'other' };

  const { body } = await forwarded([entry], pair);

  const { timestamp: _time, signature: _one, sec_key: _other, ...rest } = body ?? {};
  expect(body).toEqual({ ...rest, ...pair });
});

test.each([
  ['among others', finishedJob.history],
  ['alone, without a list', validated],
])('a forwarded entry is that of the history %s, with the ids of its job', async (_what, history) => {
  const pair = { timestamp: isoNow, signature: sign(isoNow) };

  const { body } = await forwarded(history, pair);

  // In real histories, the user id is another one.
  const PartnerParams = { ...validated?.PartnerParams, user_id: job.userId, job_id: job.jobId };
  expect(validated?.PartnerParams.user_id).not.toBe(job.userId);
  expect(body).toEqual({ ...validated, PartnerParams, ...pair });
});

test('an entry without partner params is forwarded with the ids of its job', async () => {
  const { PartnerParams: _none, ...entry } = validated ?? ({} as never);

  const { body } = await forwarded([entry], { timestamp: isoNow, signature: sign(isoNow) });

  expect(body).toMatchObject({ ResultCode: '1012', PartnerParams: { user_id: job.userId, job_id: job.jobId } });
});

test('a result that no entry has is not forwarded, and is named', async () => {
  const { status, said, body } = await forwarded(
    finishedJob.history,
    { timestamp: isoNow, signature: sign(isoNow) },
    '0811',
  );

  expect({ status, body }).toEqual({ status: 503, body: undefined });
  expect(said).toEqual(['not forwarded: the history of job job-1 of user user-1 does not have this result']);
});

// --unverified

test.each(['genuine', 'altered', 'forged', 'unsigned'] as const)(
  'listen --forward --unverified posts a callback that is %s as it came, each time, and says so',
  async (variant) => {
    const { received, url } = await receiving(204, 500, 401);
    const { sandbox, client, url: listensAt, streams } = await listening('--forward', url, '--unverified');
    const { refId } = await client.links.create(newLink);
    const played = await sandbox.play(refId, 'approved');
    const options = variant === 'genuine' ? {} : { variant };
    // Blanks that a parser would lose.
    const body = ` ${await (await sandbox.service.sandbox.jobs.callback(played, options)).text()}\n`;
    const before = sandbox.requests.length;

    const statuses: number[] = [];
    for (let time = 0; time < 3; time++) {
      const headers = { 'content-type': 'text/plain' };
      statuses.push((await fetch(listensAt, { method: 'POST', headers, body })).status);
    }

    expect(statuses).toEqual([204, 500, 401]);
    expect(received.map(({ text }) => text)).toEqual([body, body, body]);
    expect(received[0]?.type).toBe('text/plain');
    expect(streams.stderr.match(/ forwarded without verification to http:\/\/127\.0\.0\.1:\d+: \d+\n/g)).toHaveLength(
      3,
    );
    expect(streams.stdout.trim().split('\n')).toHaveLength(1);
    expect(sandbox.requests).toHaveLength(before);
  },
);

test('listen --forward --unverified forwards nothing but posts', async () => {
  const { received, url } = await receiving();
  const { url: listensAt, streams } = await listening('--forward', url, '--unverified');

  const response = await fetch(listensAt);

  expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  expect(received).toEqual([]);
  expect(streams.stderr).toContain('responded with 405');
});

test('listen --unverified without --forward is a wrong use', async () => {
  expect(await command(['listen', '--unverified'])).toEqual({
    code: 2,
    stdout: '',
    stderr: '--unverified needs --forward URL\n',
  });
});
