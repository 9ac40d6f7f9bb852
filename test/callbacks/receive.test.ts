// What receive() reads of a callback: the job that it names, whether it is final, and when it was signed.

import { HostedClient, HostedResponseError, HostedValidationError } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { realResults } from '../fixtures/real-results.js';
import { clientOf, newLink, now, rejection, sign, stillClock } from '../support/fake-fetch.js';
import { bodyOf, hint, nowText, receiver } from './deliveries.js';

const ids = { user_id: 'user-1', job_id: 'job-1' };

async function expectResponseError(receiving: Promise<unknown>, reason: HostedResponseError['reason']) {
  const error = await rejection(receiving, HostedResponseError);
  expect(error).toMatchObject({ reason, status: null, operation: null, outcome: 'answered', attempts: 0 });
  return error;
}

// What is read --------------------------------------------------------------

test.each(realResults)('callbacks.receive() reads $what', async ({ payload, signing, signedAt, entry }) => {
  const { timestamp = nowText, member = 'signature' } = signing;
  const body = JSON.stringify({ ...payload, timestamp, [member]: sign(String(timestamp)) });

  const received = await receiver({ clock: stillClock(signedAt.getTime()) }).receive(body);

  const { userId, jobId, linkId } = entry.partnerParams ?? {};
  expect(received).toEqual({ userId, jobId, linkId, isFinal: entry.isFinal !== false, signedAt });
});

test.each(['table', 'sample', 'random'] as const)('callbacks.receive() reads spelling %s', async (spelling) => {
  for (const seed of [1, 2, 3, 4, 5]) {
    const { fetch, sandbox } = createMockService({ spelling, seed, clock: stillClock() });
    const { callbacks, links } = new HostedClient({ ...sandbox.clientOptions, fetch });
    const { refId } = await links.create(newLink);
    const job = sandbox.jobs.start({ linkRefId: refId });
    sandbox.jobs.report(job, { resultCode: '0814', resultText: 'Provisional Enroll - Under Review' });

    const received = await callbacks.receive(await (await sandbox.jobs.callback(job)).text());

    expect(received).toEqual({ ...job, linkId: refId, isFinal: false, signedAt: new Date(now) });
  }
});

test('callbacks.receive() sends nothing, and remembers nothing', async () => {
  const { client, sent } = clientOf({});
  const receive = (says: object) => client.callbacks.receive(bodyOf({ says }));

  expect([await receive({}), await receive({}), await receive({ ResultCode: '0811' })]).toEqual([hint, hint, hint]);
  expect((await receive({ PartnerParams: { ...ids, job_id: 'job-2' } })).jobId).toBe('job-2');
  expect(sent).toEqual([]);
});

test.each([
  ['says so as text', { IsFinalResult: 'false' }, false],
  ['says so', { IsFinalResult: false }, false],
  ['says so in capitals', { IsFinalResult: 'False' }, false],
  ['is under review', { IsFinalResult: 'true', ResultCode: '0814' }, false],
  ['says that it is final', { IsFinalResult: true }, true],
  ['says nothing of it', { IsFinalResult: undefined }, true],
  ['says something else', { IsFinalResult: 'no' }, true],
  ['has a code that is no string', { ResultCode: { toString: 1, valueOf: 1 } }, true],
])('a callback that %s is final or interim: %o', async (_what, says, isFinal) => {
  expect((await receiver().receive(bodyOf({ says }))).isFinal).toBe(isFinal);
});

test('callbacks.receive() reads no other field, whatever it has', async () => {
  const says = { ResultCode: {}, IDNumber: 12345678901, DOB: [], Actions: 'Passed', FullName: ['Peter', 'Parker'] };

  expect(await receiver().receive(bodyOf({ says }))).toEqual(hint);
});

// Strings and bytes ---------------------------------------------------------

const accented = bodyOf({ says: { PartnerParams: { ...ids, user_id: 'Zoë Ngũgĩ 李' } } });

test.each([
  ['a string', accented],
  ['bytes', new TextEncoder().encode(accented)],
  ['a Buffer', Buffer.from(accented)],
  ['a part of larger bytes', new TextEncoder().encode(`xx${accented}yy`).subarray(2, -2)],
  ['a string that begins with a byte order mark', `\u{feff}${accented}`],
  ['bytes that begin with a byte order mark', new TextEncoder().encode(`\u{feff}${accented}`)],
] as const)('callbacks.receive() accepts %s', async (_what, body) => {
  expect((await receiver().receive(body)).userId).toBe('Zoë Ngũgĩ 李');
});

test('callbacks.receive() reads bytes before the caller can change them', async () => {
  const bytes = new TextEncoder().encode(bodyOf());

  const receiving = receiver().receive(bytes);
  bytes.fill(0);

  expect(await receiving).toEqual(hint);
});

test('callbacks.receive() counts bytes, and accepts as many as maxBytes', async () => {
  const maxBytes = Buffer.byteLength(accented);
  expect(maxBytes).toBeGreaterThan(accented.length);

  expect(await receiver().receive(accented, { maxBytes })).toMatchObject({ jobId: 'job-1' });
  for (const body of [accented, Buffer.from(accented)]) {
    const error = await expectResponseError(receiver().receive(body, { maxBytes: maxBytes - 1 }), 'too_large');
    expect(error.message).toBe('Cannot receive a callback: it is larger than "maxBytes"');
  }
});

test('callbacks.receive() accepts bodies of up to 2 MiB, and with maxBytes of up to 64 MiB', async () => {
  const bodyWith = (bytes: number) =>
    Buffer.from(bodyOf({ says: { Photo: 'A'.repeat(bytes - Buffer.byteLength(bodyOf({ says: { Photo: '' } }))) } }));
  const largest = bodyWith(2 * 1024 * 1024);
  const larger = Buffer.concat([largest, Buffer.from(' ')]);

  expect(await receiver().receive(largest)).toEqual(hint);
  await expectResponseError(receiver().receive(larger), 'too_large');
  expect(await receiver().receive(larger, { maxBytes: 64 * 1024 * 1024 })).toEqual(hint);
});

// Bodies that cannot be read ------------------------------------------------

test.each([
  ['an empty string', ''],
  ['a string that is not JSON', 'ResultCode=0810'],
  ['bytes that are not UTF-8', Buffer.from(bodyOf({ says: { FullName: 'Zoë' } }), 'latin1')],
  ['JSON nested deeper than 64', bodyOf({ says: { Deep: JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) } })],
])('callbacks.receive() refuses %s as malformed', async (_what, body) => {
  const error = await expectResponseError(receiver().receive(body), 'malformed');

  expect(error.message).toBe('Cannot receive a callback: it is not JSON that can be read');
});

test.each(['null', '5', '"text"', `[${bodyOf()}]`])(
  'callbacks.receive() refuses JSON that is no object: %#',
  async (body) => {
    const { issues } = await expectResponseError(receiver().receive(body), 'shape');

    expect(issues).toEqual([{ path: '', message: expect.any(String) }]);
  },
);

const both = ['PartnerParams.user_id', 'PartnerParams.job_id'];

test.each([
  ['no PartnerParams', undefined, both],
  ['PartnerParams of null', null, both],
  ['empty PartnerParams', {}, both],
  ['PartnerParams that are an empty list', [], ['PartnerParams']],
  ['PartnerParams that are a string', 'user-1', ['PartnerParams']],
  ['no user id', { job_id: 'job-1' }, ['PartnerParams.user_id']],
  ['an empty user id', { job_id: 'job-1', user_id: '' }, ['PartnerParams.user_id']],
  ['a blank user id', { job_id: 'job-1', user_id: ' ' }, ['PartnerParams.user_id']],
  ['no job id', { user_id: 'user-1', job_id: null }, ['PartnerParams.job_id']],
  ['a job id that is an object', { user_id: 'user-1', job_id: {} }, ['PartnerParams.job_id']],
])('callbacks.receive() refuses a callback with %s', async (_what, PartnerParams, paths) => {
  const error = await expectResponseError(receiver().receive(bodyOf({ says: { PartnerParams } })), 'shape');

  expect(error.issues.map(({ path }) => path)).toEqual(paths);
  for (const path of paths) expect(error.message).toContain(`"${path}" must be `);
});

test.each(['user_id', 'job_id', 'link_id'])(
  'callbacks.receive() accepts a %s of up to 1,024 characters',
  async (name) => {
    const receiveWith = (length: number) =>
      receiver().receive(bodyOf({ says: { PartnerParams: { ...ids, [name]: 'a'.repeat(length) } } }));

    const error = await expectResponseError(receiveWith(1_025), 'shape');

    expect(error.issues).toEqual([{ path: `PartnerParams.${name}`, message: 'must have at most 1,024 characters' }]);
    expect(Object.values(await receiveWith(1_024))).toContain('a'.repeat(1_024));
  },
);

test.each([null, '', ' '])('callbacks.receive() needs no link id, and reads %o as none', async (link_id) => {
  expect(await receiver().receive(bodyOf({ says: { PartnerParams: { ...ids, link_id } } }))).toEqual(hint);
});

// What the caller gives -----------------------------------------------------

test.each([
  ['a parsed object', JSON.parse(bodyOf())],
  ['a parsed list', []],
  ['null', null],
  ['nothing', undefined],
  ['a number', 5],
  ['an ArrayBuffer', new ArrayBuffer(8)],
])('callbacks.receive() rejects with HostedValidationError when it is given %s', async (_what, body) => {
  const error = await rejection(receiver().receive(body), HostedValidationError);

  const message =
    'must be the raw body as a string or bytes, not a parsed body: for this route, use a parser of raw bodies, such as express.raw(), instead of the JSON parser';
  expect(error).toMatchObject({
    outcome: 'not_sent',
    message: `Cannot receive a callback: "body" ${message}`,
    issues: [{ path: 'body', message }],
  });
});
