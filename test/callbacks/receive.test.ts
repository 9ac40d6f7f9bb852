// What receive() reads: strings and bytes, ids of results, bodies that cannot be read, and what the caller gives.

import { HostedValidationError, type ReceiveOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { expectResponseError, idOf, posted, receiver, result } from './posted-callback.js';

// Text and bytes ------------------------------------------------------------

const accented = { ...result, FullName: 'Zoë Ngũgĩ 李' };

test.each([
  ['text', (body: string) => body],
  ['bytes', (body: string) => new TextEncoder().encode(body)],
  ['a Buffer', (body: string) => Buffer.from(body)],
  ['a part of larger bytes', (body: string) => new TextEncoder().encode(`xx${body}yy`).subarray(2, -2)],
  ['text that begins with a byte order mark', (body: string) => `\u{feff}${body}`],
  ['bytes that begin with a byte order mark', (body: string) => new TextEncoder().encode(`\u{feff}${body}`)],
] as const)('callbacks.receive() accepts %s', async (_what, bodyOf) => {
  const event = await receiver().receive(bodyOf(posted(accented)));

  expect(event).toMatchObject({ userId: 'user-1', jobId: 'job-1', repeat: false });
  expect(event.entry.identity?.fullName).toBe('Zoë Ngũgĩ 李');
});

test('callbacks.receive() takes a byte order mark from the beginning alone', async () => {
  const body = posted({ ...result, FullName: 'Zo\u{feff}ë' });

  for (const given of [body, new TextEncoder().encode(body)]) {
    expect((await receiver().receive(given)).entry.identity?.fullName).toBe('Zo\u{feff}ë');
  }
});

test('callbacks.receive() knows a text again as bytes', async () => {
  const callbacks = receiver();

  await callbacks.receive(posted(accented));
  const again = await callbacks.receive(new TextEncoder().encode(posted(accented)));

  expect(again.repeat).toBe(true);
});

// Ids -----------------------------------------------------------------------

test('callbacks.receive() gives one result one id, however often it is signed anew', async () => {
  const callbacks = receiver();

  const first = await callbacks.receive(posted(result));
  const later = await callbacks.receive(posted(result, { timestamp: '2026-01-02T03:05:00.000Z' }));
  const spelled = { ...result, IsFinalResult: true, FullName: 'Peter Parker' };
  const other = await callbacks.receive(posted(spelled, { timestamp: '2026-01-02T03:06:00.000Z', member: 'sec_key' }));

  expect(first.id).toBe(idOf('user-1', 'job-1', '0000001111', '0810', 'SAIA', true));
  expect([later.id, other.id]).toEqual([first.id, first.id]);
  expect([first.repeat, later.repeat, other.repeat]).toEqual([false, false, false]);
});

test.each([
  [
    'user',
    { PartnerParams: { ...result.PartnerParams, user_id: 'user-2' } },
    idOf('user-2', 'job-1', '0000001111', '0810', 'SAIA', true),
  ],
  [
    'job',
    { PartnerParams: { ...result.PartnerParams, job_id: 'job-2' } },
    idOf('user-1', 'job-2', '0000001111', '0810', 'SAIA', true),
  ],
  ['job id of the service', { HostedJobID: '0000002222' }, idOf('user-1', 'job-1', '0000002222', '0810', 'SAIA', true)],
  ['result code', { ResultCode: '1012' }, idOf('user-1', 'job-1', '0000001111', '1012', 'SAIA', true)],
  ['result type', { ResultType: 'DIVA' }, idOf('user-1', 'job-1', '0000001111', '0810', 'DIVA', true)],
  ['finality', { IsFinalResult: 'false' }, idOf('user-1', 'job-1', '0000001111', '0810', 'SAIA', false)],
] as const)('callbacks.receive() gives another id to another %s', async (_what, change, expected) => {
  const callbacks = receiver();

  const one = await callbacks.receive(posted(result));
  const other = await callbacks.receive(posted({ ...result, ...change }, { timestamp: '2026-01-02T03:05:00.000Z' }));

  expect(other.id).toBe(expected);
  expect(other.id).not.toBe(one.id);
});

// Bodies that cannot be read ------------------------------------------------

test('callbacks.receive() counts bytes, and accepts as many as maxBytes', async () => {
  const body = posted(accented);
  const bytes = Buffer.byteLength(body);
  expect(bytes).toBeGreaterThan(body.length);

  const event = await receiver().receive(body, { maxBytes: bytes });
  const asText = await expectResponseError(receiver().receive(body, { maxBytes: bytes - 1 }), 'too_large');
  await expectResponseError(receiver().receive(Buffer.from(body), { maxBytes: bytes - 1 }), 'too_large');

  expect(event.userId).toBe('user-1');
  expect(asText.message).toContain('maxBytes');
  expect(asText.message).not.toContain('maxResponseBytes');
  expect(asText).toMatchObject({ status: null, issues: [], operation: null, outcome: 'answered', retryable: false });
});

test('callbacks.receive() accepts bodies of up to 8 MiB', async () => {
  const limit = 8 * 1024 * 1024;
  const room = limit - Buffer.byteLength(posted({ ...result, Photo: '' }));
  const largest = Buffer.from(posted({ ...result, Photo: 'A'.repeat(room) }));
  expect(largest).toHaveLength(limit);

  expect((await receiver().receive(largest)).userId).toBe('user-1');
  await expectResponseError(receiver().receive(Buffer.concat([largest, Buffer.from(' ')])), 'too_large');
});

test.each([
  ['an empty text', ''],
  ['a text that is no JSON', 'ResultCode=0810'],
  ['a page', '<html></html>'],
  ['JSON that breaks off', posted(result).slice(0, -1)],
  ['JSON with something after it', `${posted(result)}{}`],
  ['bytes that are no UTF-8', Buffer.from(posted({ ...result, FullName: 'Zoë' }), 'latin1')],
  ['bytes in UTF-16', Buffer.from(`\u{feff}${posted(result)}`, 'utf16le')],
  ['no bytes', new Uint8Array()],
  ['JSON nested deeper than 64', posted({ ...result, Deep: JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) })],
])('callbacks.receive() refuses %s as malformed', async (_what, body) => {
  const error = await expectResponseError(receiver().receive(body), 'malformed');

  expect(error.message).toBe('Cannot receive a callback: it is not JSON that can be read');
  expect(error).toMatchObject({ status: null, operation: null, outcome: 'answered', attempts: 0 });
});

test.each(['null', 'true', '5', '"text"', '[]', `[${posted(result)}]`])(
  'callbacks.receive() refuses JSON that is no object: %#',
  async (body) => {
    const error = await expectResponseError(receiver().receive(body), 'shape');

    expect(error.issues).toEqual([{ path: '', message: expect.any(String) }]);
  },
);

test.each([
  ['no PartnerParams', undefined, ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['PartnerParams of null', null, ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['empty PartnerParams', {}, ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['PartnerParams that are an empty list', [], ['PartnerParams.user_id', 'PartnerParams.job_id']],
  ['no user id', { job_id: 'job-1' }, ['PartnerParams.user_id']],
  ['an empty user id', { job_id: 'job-1', user_id: '' }, ['PartnerParams.user_id']],
  ['a blank user id', { job_id: 'job-1', user_id: ' ' }, ['PartnerParams.user_id']],
  ['no job id', { user_id: 'user-1', job_id: null }, ['PartnerParams.job_id']],
  ['a job id that is an object', { user_id: 'user-1', job_id: {} }, ['PartnerParams.job_id']],
])('callbacks.receive() refuses a callback with %s', async (_what, PartnerParams, paths) => {
  const error = await expectResponseError(receiver().receive(posted({ ...result, PartnerParams })), 'shape');

  expect(error.issues.map(({ path }) => path)).toEqual(paths);
  for (const path of paths) expect(error.message).toMatch(new RegExp(`"${path}" must be (?:there|a string)`));
});

test.each(['user_id', 'job_id', 'link_id'])(
  'callbacks.receive() accepts a %s of up to 1,024 characters',
  async (name) => {
    const withId = (length: number) =>
      posted({ ...result, PartnerParams: { ...result.PartnerParams, [name]: 'a'.repeat(length) } });

    const error = await expectResponseError(receiver().receive(withId(1_025)), 'shape');

    expect(error.issues).toEqual([{ path: `PartnerParams.${name}`, message: 'must have at most 1,024 characters' }]);
    await expect(receiver().receive(withId(1_024))).resolves.toMatchObject({ id: expect.any(String) });
  },
);

test.each([null, '', ' '])(
  'callbacks.receive() needs no link id, and takes %o for one that is not there',
  async (id) => {
    const PartnerParams = { ...result.PartnerParams, link_id: id };

    await expect(receiver().receive(posted({ ...result, PartnerParams }))).resolves.toMatchObject({ jobId: 'job-1' });
  },
);

test.each([
  ['ResultCode', {}],
  ['ResultText', 5],
  ['IsFinalResult', 'yes'],
  ['IsMachineResult', 1],
  ['IDNumber', 12345678901],
  ['FullName', ['Peter', 'Parker']],
  ['DOB', 19900101],
  ['PartnerParams', 'user-1'],
  ['Actions', 'Passed'],
])('callbacks.receive() names %s when it is of another shape', async (member, value) => {
  const error = await expectResponseError(receiver().receive(posted({ ...result, [member]: value })), 'shape');

  expect(error.issues.map(({ path }) => path)).toEqual([member]);
});

// What the caller gives -----------------------------------------------------

test.each([
  ['a parsed object', JSON.parse(posted(result))],
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

test.each([
  ['maxAgeMs', 0],
  ['maxAgeMs', -1],
  ['maxAgeMs', 1.5],
  ['maxAgeMs', Number.NaN],
  ['maxAgeMs', Number.POSITIVE_INFINITY],
  ['maxAgeMs', '300000'],
  ['maxAgeMs', true],
  ['maxAgeMs', null],
  ['maxBytes', 0],
  ['maxBytes', -1],
  ['maxBytes', 10.5],
  ['maxBytes', '10'],
  ['maxBytes', false],
  ['replayGuard', null],
  ['replayGuard', {}],
  ['replayGuard', { begin: async () => 'new', commit: async () => undefined }],
])('callbacks.receive() names %s when it is %o', async (option, value) => {
  const error = await rejection(receiver().receive(posted(result), { [option]: value }), HostedValidationError);

  expect(error).toMatchObject({ issues: [{ path: option }] });
  expect(error.message).toContain(`"${option}"`);
});

test('callbacks.receive() names every bad option at once', async () => {
  const options = { maxAgeMs: -1, maxBytes: 0, replayGuard: {} } as unknown as ReceiveOptions;

  const error = await rejection(receiver().receive(posted(result), options), HostedValidationError);

  const paths = error.issues.map(({ path }) => path);
  expect(paths.sort()).toEqual(['maxAgeMs', 'maxBytes', 'replayGuard']);
});

test.each([
  ['undefined', undefined],
  ['null', null],
])('callbacks.receive() takes options of %s as none, whatever stands on Object.prototype', async (_what, options) => {
  const prototype = Object.prototype as Record<string, unknown>;
  // With this option, every callback would be too large.
  prototype.maxBytes = 1;
  try {
    expect((await receiver().receive(posted(result), options as unknown as ReceiveOptions)).userId).toBe('user-1');
  } finally {
    delete prototype.maxBytes;
  }
});

test('callbacks.receive() takes an option that is undefined as left out', async () => {
  const options = { maxAgeMs: undefined, maxBytes: undefined, replayGuard: undefined } as unknown as ReceiveOptions;

  expect((await receiver().receive(posted(result), options)).userId).toBe('user-1');
});

const { PartnerParams: params, ...others } = result;
const { user_id: userId, job_id: jobId } = params;

test.each([
  ['the fields', { ...others, partnerParams: params }, ['PartnerParams', 'partnerParams']],
  ['the fields at every depth', { ...others, partnerParams: { userId, jobId } }, ['PartnerParams', 'partnerParams']],
  ['the ids', { ...others, PartnerParams: { userId, jobId } }, ['PartnerParams.user_id', 'userId']],
  ['one id', { ...others, PartnerParams: { ...params, job_id: undefined, jobId } }, ['PartnerParams.job_id', 'jobId']],
])('callbacks.receive() says that %s were renamed', async (_, body, [path, name]) => {
  const error = await rejection(receiver().receive(posted(body)));

  expect(error).toMatchObject({ code: 'response', reason: 'shape' });
  expect(error).toHaveProperty('issues.0', {
    path,
    message: `is named "${name}": a parser or middleware has renamed fields, so pass the body as it was sent`,
  });
});

test.each([
  ['PartnerParams', { ...result, PartnerParams: null, partnerParams: params }, 'PartnerParams.user_id'],
  ['user_id', { ...result, PartnerParams: { ...params, userId, job_id: ' ' } }, 'PartnerParams.job_id'],
  ['job_id', { ...result, PartnerParams: { ...params, jobId, user_id: ' ' } }, 'PartnerParams.user_id'],
])('callbacks.receive() does not say that %s was renamed if it is there, too', async (_name, body, path) => {
  const error = await rejection(receiver().receive(posted(body)));

  expect(error).toHaveProperty('issues.0', { path, message: 'must be there' });
});
