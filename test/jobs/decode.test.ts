/** Job statuses as the wire spells them, and the one clean status each spelling comes out as. */

import { inspect } from 'node:util';
import { type HostedClientOptions, HostedResponseError, type JobStatus } from 'hosted-client';
import { expect, test } from 'vitest';
import { readableTimes, unreadableTimes } from '../fixtures/date-times.js';
import { job, jobInSampleSpelling, jobInTableSpelling, selfieAddress } from '../fixtures/records.js';
import { clientOf, now, type Reply, rejection, sign, signed } from '../support/fake-fetch.js';

const pending = { job_complete: false, job_success: false, code: '2314' };
const completed = { job_complete: true, job_success: true, code: '2302', user_id: job.userId, job_id: job.jobId };

const ask = (answer: Reply, options: Partial<HostedClientOptions> = {}) =>
  clientOf(answer, options).client.jobs.status({ ...job, imageLinks: true, history: true });
const status = (members: object, options?: Partial<HostedClientOptions>) => ask(signed(members), options);
const statusWith = (members: object) => status({ ...completed, ...members });

/** The result of a completed job, and the one entry of its history. */
async function resultsOf(members: object) {
  const { result, history } = await statusWith({ result: members, history: [members] });
  const [entry] = history ?? [];
  if (!result || !entry) throw new Error('expected a result and an entry');
  return [result, entry] as const;
}

/** A response as it is written, where an object of ours could not say it; signed at the test's time. */
function raw(members: string): Response {
  const timestamp = new Date(now).toISOString();
  const text = `{"timestamp":"${timestamp}","sec_key":"${sign(timestamp)}","user_id":"${job.userId}","job_id":"${job.jobId}",${members}}`;
  return new Response(text, { headers: { 'content-type': 'application/json' } });
}

/** The paths at which a response is refused for its shape. */
async function misshapenAt(promise: Promise<unknown>): Promise<readonly string[]> {
  const error = await rejection(promise);
  if (!(error instanceof HostedResponseError)) throw error;
  expect(error).toMatchObject({ code: 'response', reason: 'shape', outcome: 'answered' });
  return error.issues.map(({ path }) => path);
}

const nothing = {
  resultCode: null,
  resultText: null,
  resultType: null,
  hostedJobId: null,
  jsonVersion: null,
  isFinal: null,
  isMachine: null,
  confidence: null,
  actions: {},
  partnerParams: null,
  extra: {},
};

const fullStatus: JobStatus = {
  state: 'succeeded',
  complete: true,
  success: true,
  ...job,
  code: '2302',
  message: null,
  result: {
    ...nothing,
    resultText: 'Enroll User',
    resultType: 'SAIA',
    hostedJobId: '0000001897',
    jsonVersion: '1.0.0',
    isFinal: true,
    isMachine: false,
    confidence: 99.99,
    partnerParams: { ...job, jobType: '4', linkId: null, extra: {} },
  },
  imageLinks: { selfieImage: selfieAddress, expiresAt: new Date('2026-01-02T04:00:00.000Z'), extra: {} },
  history: [
    {
      ...nothing,
      resultCode: '0810',
      resultText: 'Enroll User',
      resultType: 'DIVA',
      hostedJobId: '0000001897',
      jsonVersion: '1.0.0',
      isFinal: true,
      confidence: 99.99,
      partnerParams: { ...job, jobType: '4', linkId: null, extra: { branch: 'north' } },
      identity: null,
    },
    {
      ...nothing,
      resultCode: '1012',
      resultText: 'ID Number Validated',
      resultType: 'ID Verification',
      hostedJobId: '0000001897',
      jsonVersion: '1.0.0',
      isFinal: true,
      partnerParams: { ...job, jobType: '4', linkId: null, extra: {} },
      identity: {
        fullName: 'Ada Example',
        dateOfBirth: '1990-01-01',
        idNumber: '00012345',
        idType: 'PASSPORT',
        country: 'NG',
        expirationDate: 'Not Available',
      },
    },
  ],
  signedAt: new Date(now),
};

// Whole records

test('jobs.status() reads every field of a status in the table spelling', async () => {
  expect(await ask(signed(jobInTableSpelling, { member: 'sec_key' }))).toEqual(fullStatus);
});

test('jobs.status() reads every field of a status in the sample spelling', async () => {
  expect(await ask(signed(jobInSampleSpelling, { member: 'signature' }))).toEqual(fullStatus);
});

test('jobs.status() reads fields that are missing as nothing', async () => {
  expect(await status({ job_complete: false })).toEqual({
    state: 'pending',
    complete: false,
    success: false,
    ...job,
    code: null,
    message: null,
    result: null,
    imageLinks: null,
    history: null,
    signedAt: new Date(now),
  });
});

test('jobs.status() reads fields of a result that are missing as nothing', async () => {
  const [result, entry] = await resultsOf({ ResultText: 'Enroll User' });

  expect(result).toEqual({ ...nothing, resultText: 'Enroll User' });
  expect(entry).toEqual({ ...nothing, resultText: 'Enroll User', identity: null });
});

// job_complete, job_success

const trueSpellings: [unknown][] = [[true], ['true'], ['TRUE'], ['True']];
const falseSpellings: [unknown][] = [[false], ['false'], ['FALSE'], ['False']];
const neither: [unknown][] = [[1], [0], ['1'], ['0'], ['yes'], [''], [[]], [{}]];

test.each(trueSpellings)('a job whose job_complete and job_success are %j has succeeded', async (yes) => {
  expect(await status({ ...completed, job_complete: yes, job_success: yes })).toMatchObject({
    state: 'succeeded',
    complete: true,
    success: true,
  });
});

test.each(falseSpellings)('a completed job whose job_success is %j has failed', async (no) => {
  expect(await status({ job_complete: true, job_success: no })).toMatchObject({
    state: 'failed',
    complete: true,
    success: false,
  });
});

test.each(falseSpellings)('a job whose job_complete is %j is pending', async (no) => {
  expect(await status({ job_complete: no, job_success: no })).toMatchObject({
    state: 'pending',
    complete: false,
    success: false,
  });
});

test.each<[unknown]>([[true], ['true'], [false], [null], [undefined], ['yes'], [1], [[]]])(
  'a job that is not complete is pending, whatever its job_success (%j)',
  async (job_success) => {
    expect(await status({ job_complete: false, job_success })).toMatchObject({
      state: 'pending',
      complete: false,
      success: false,
    });
  },
);

test.each<[unknown]>([...neither, [null], [undefined]])(
  'jobs.status() refuses job_complete %j instead of guessing',
  async (job_complete) => {
    expect(await misshapenAt(status({ ...completed, job_complete }))).toEqual(['job_complete']);
  },
);

test.each<[unknown]>([...neither, [null], [undefined]])(
  'jobs.status() refuses job_success %j of a completed job instead of guessing',
  async (job_success) => {
    expect(await misshapenAt(status({ ...completed, job_success }))).toEqual(['job_success']);
  },
);

test.each(['job_complete', 'job_success'])('jobs.status() refuses "%s" without showing its value', async (member) => {
  const error = await rejection(statusWith({ [member]: 'Ada Example' }), HostedResponseError);

  expect(error).toMatchObject({ reason: 'shape', message: expect.stringContaining(`"${member}"`) });
  expect(JSON.stringify(error) + inspect(error, { showHidden: true })).not.toContain('Ada Example');
});

// Booleans of results

const resultFlags = [
  ['IsFinalResult', 'isFinal'],
  ['IsMachineResult', 'isMachine'],
] as const;

test.each(resultFlags)('jobs.status() reads "%s" in every spelling', async (member, clean) => {
  for (const [yes] of trueSpellings) {
    for (const result of await resultsOf({ [member]: yes })) expect(result[clean]).toBe(true);
  }
  for (const [no] of falseSpellings) {
    for (const result of await resultsOf({ [member]: no })) expect(result[clean]).toBe(false);
  }
});

test.each(resultFlags)('jobs.status() does not take a missing or null "%s" for false', async (member, clean) => {
  for (const result of await resultsOf({ ResultText: 'x' })) expect(result[clean]).toBeNull();
  for (const result of await resultsOf({ [member]: null })) expect(result[clean]).toBeNull();
});

test.each(resultFlags)('jobs.status() refuses "%s" where it is neither', async (member) => {
  for (const value of [1, '1', 'yes', []]) {
    expect(await misshapenAt(statusWith({ result: { [member]: value } }))).toEqual([`result.${member}`]);
    expect(await misshapenAt(statusWith({ history: [{}, { [member]: value }] }))).toEqual([`history[1].${member}`]);
  }
});

// ConfidenceValue

test.each<[string, number | null]>([
  ['"97.000000"', 97],
  ['97', 97],
  ['97.0', 97],
  ['"99.99"', 99.99],
  ['99.99', 99.99],
  ['"100"', 100],
  ['0', 0],
  ['"0"', 0],
  ['""', null],
  ['"about 97"', null],
  ['"97 %"', null],
  ['"97.5x"', null],
  ['"97."', null],
  ['"0x61"', null],
  ['["97"]', null],
  ['"N/A"', null],
  ['"NaN"', null],
  ['"Infinity"', null],
  ['1e400', null],
  ['null', null],
  ['true', null],
  ['[]', null],
  ['{}', null],
])('jobs.status() reads ConfidenceValue %s as %j; what is no number stays in extra', async (written, confidence) => {
  const record = `{"ResultText":"Enroll User","ConfidenceValue":${written}}`;

  const read = await ask(raw(`"job_complete":true,"job_success":true,"result":${record},"history":[${record}]`));

  const isNothing = confidence !== null || written === '""' || written === 'null';
  const extra = isNothing ? {} : { ConfidenceValue: JSON.parse(written) as unknown };
  for (const result of [read.result, read.history?.[0]]) {
    expect(result?.confidence).toBe(confidence);
    expect(result?.extra).toStrictEqual(extra);
  }
});

// Codes

test.each<[unknown, string | null]>([
  ['2302', '2302'],
  [2302, '2302'],
  ['2307', '2307'],
  ['2310', '2310'],
  ['2314', '2314'],
  ['9999', '9999'],
  [9999, '9999'],
  [null, null],
  [undefined, null],
  ['', null],
])('jobs.status() reads code %j as %j', async (code, expected) => {
  expect((await status({ ...completed, job_success: false, code })).code).toBe(expected);
  expect((await status({ ...pending, code })).code).toBe(expected);
});

test.each([
  ['JSONVersion', 'must be a string or a number'],
  ['ResultCode', 'must be a string or an integer'],
])('jobs.status() says what a "%s" that is a list must be', async (field, message) => {
  const error = await rejection(statusWith({ result: { [field]: [], ResultText: 'x' } }), HostedResponseError);

  expect(error.issues).toEqual([{ path: `result.${field}`, message }]);
});

test.each<[unknown, string | null]>([
  ['0810', '0810'],
  ['810', '810'],
  [810, '810'],
  ['0001', '0001'],
  [1, '1'],
  ['1', '1'],
  [null, null],
  ['', null],
])('jobs.status() reads ResultCode %j as %j: no zero is invented or lost', async (ResultCode, expected) => {
  for (const result of await resultsOf({ ResultCode, ResultText: 'x' })) expect(result.resultCode).toBe(expected);
});

test.each<[unknown, string | null]>([
  [4, '4'],
  ['4', '4'],
  [undefined, null],
  [null, null],
])('jobs.status() reads job_type %j as %j', async (job_type, expected) => {
  for (const result of await resultsOf({ PartnerParams: { job_type } })) {
    expect(result.partnerParams?.jobType).toBe(expected);
  }
});

// result

test.each<[string, object]>([
  ['{}', { result: {} }],
  ['[]', { result: [] }],
  ['null', { result: null }],
  ['missing', {}],
])('jobs.status() reads a result that is %s as none', async (_case, members) => {
  expect(await statusWith(members)).toMatchObject({ state: 'succeeded', result: null, message: null });
  expect(await status({ ...pending, ...members })).toMatchObject({ state: 'pending', result: null, message: null });
});

test('a job whose result is {} and that had no success has failed', async () => {
  const read = await status({ job_complete: true, job_success: false, code: '2302', result: {}, history: [] });

  expect(read).toMatchObject({ state: 'failed', complete: true, success: false, result: null, history: [] });
});

test('a job whose result is a text, with code 2314, is pending, and says so in its message', async () => {
  const read = await status({ ...pending, result: 'No zip uploaded yet' });

  expect(read).toMatchObject({ state: 'pending', code: '2314', result: null, message: 'No zip uploaded yet' });
});

test('jobs.status() reads a result that is an empty text as none, and as no message', async () => {
  expect(await status({ ...pending, result: '' })).toMatchObject({ state: 'pending', result: null, message: null });
  expect(await statusWith({ result: '' })).toMatchObject({ state: 'succeeded', result: null, message: null });
});

test('a completed job whose result is a text says so in its message', async () => {
  const read = await statusWith({ result: 'Enroll User' });

  expect(read).toMatchObject({ state: 'succeeded', result: null, message: 'Enroll User' });
});

test('jobs.status() gives a result that is an object no message', async () => {
  const read = await statusWith({ result: { ResultText: 'Enroll User' } });

  expect(read).toMatchObject({ message: null, result: { resultText: 'Enroll User' } });
});

test.each([[4711], [['none']]])('jobs.status() refuses a result that is %j', async (result) => {
  const issues = [{ path: 'result', message: 'must be an object or a string' }];

  expect(await rejection(statusWith({ result }))).toMatchObject({ reason: 'shape', issues });
});

// history

test.each<[string, object, unknown]>([
  ['missing', {}, null],
  ['null', { history: null }, null],
  ['[]', { history: [] }, []],
  ['{}', { history: {} }, []],
])('jobs.status() reads a history that is %s as %j', async (_case, members, expected) => {
  expect((await statusWith(members)).history).toEqual(expected);
});

test('jobs.status() reads a history that is one object as a list of it', async () => {
  const history = { ResultCode: '0810', FullName: 'Ada Example' };

  const read = await statusWith({ history });

  expect(read.history).toHaveLength(1);
  expect(read.history?.[0]).toMatchObject({ resultCode: '0810', identity: { fullName: 'Ada Example' } });
});

test('jobs.status() keeps the order of the history', async () => {
  const history = ['0814', '0810', '1012'].map((ResultCode) => ({ ResultCode }));

  const read = await statusWith({ history });

  expect(read.history?.map(({ resultCode }) => resultCode)).toEqual(['0814', '0810', '1012']);
});

// Times

test.each(readableTimes)('jobs.status() reads the timestamp %s', async (timestamp, utc) => {
  const read = await ask(signed(pending, { timestamp }), { maxResponseAgeMs: false });

  expect(read.signedAt).toEqual(new Date(utc));
});

test.each(unreadableTimes.map((text) => [text]))(
  'jobs.status() reads the timestamp %j as no time',
  async (timestamp) => {
    const read = await ask(signed(pending, { timestamp }), { maxResponseAgeMs: false });

    expect(read.signedAt).toBeNull();
  },
);

test.each(['1990-01-01', '01/02/1990', 'NaN-NaN-NaN', 'Not Available', '1990-02-30'])(
  'jobs.status() keeps the dates of an identity as text: %s',
  async (date) => {
    const read = await statusWith({ history: [{ DOB: date, ExpirationDate: date }] });

    expect(read.history?.[0]?.identity).toMatchObject({ dateOfBirth: date, expirationDate: date });
  },
);

// Identity

test('jobs.status() gives an entry with any one field of an identity an identity', async () => {
  const read = await statusWith({ history: [{ ResultCode: '0810' }, { Country: 'NG' }] });

  expect(read.history?.map(({ identity }) => identity)).toEqual([
    null,
    { fullName: null, dateOfBirth: null, idNumber: null, idType: null, country: 'NG', expirationDate: null },
  ]);
});

test('jobs.status() keeps the zeros of an ID number', async () => {
  const read = await statusWith({ history: [{ IDNumber: '00000000000' }] });

  expect(read.history?.[0]?.identity?.idNumber).toBe('00000000000');
});

test.each(['12345678901', '12345678901234567890'])(
  'jobs.status() refuses the numeric ID number %s instead of rounding it',
  async (digits) => {
    const answer = raw(`"job_complete":true,"job_success":true,"history":[{},{"IDNumber":${digits}}]`);

    const error = await rejection(ask(answer), HostedResponseError);

    expect(error).toMatchObject({ reason: 'shape', issues: [{ path: 'history[1].IDNumber' }] });
    expect(JSON.stringify(error) + inspect(error, { showHidden: true })).not.toContain('12345678901');
  },
);

// HostedJobID

test('jobs.status() reads HostedJobID with its zeros', async () => {
  for (const result of await resultsOf({ HostedJobID: '0000001897' })) {
    expect(result).toMatchObject({ hostedJobId: '0000001897', extra: {} });
  }
});

test.each<[unknown, string | null, object]>([
  [1897, '1897', {}],
  ['1897', '1897', {}],
  ['', null, {}],
  [null, null, {}],
  [undefined, null, {}],
  [18.97, null, { HostedJobID: 18.97 }],
  [2 ** 53, null, { HostedJobID: 2 ** 53 }],
  [true, null, { HostedJobID: true }],
  [{ id: '1897' }, null, { HostedJobID: { id: '1897' } }],
  [['1897'], null, { HostedJobID: ['1897'] }],
])('jobs.status() reads HostedJobID %j as %j; what is no id stays in extra', async (HostedJobID, id, extra) => {
  for (const result of await resultsOf({ ResultText: 'x', HostedJobID })) {
    expect(result.hostedJobId).toBe(id);
    expect(result.extra).toStrictEqual(extra);
  }
});

test('jobs.status() reads the job id of another brand', async () => {
  const record = { AcmeJobID: '0000001897', HostedJobID: 'of somebody else' };

  const read = await status({ ...completed, result: record, history: [record] }, { wire: { brand: 'acme' } });

  for (const result of [read.result, read.history?.[0]]) {
    expect(result).toMatchObject({ hostedJobId: '0000001897', extra: { HostedJobID: 'of somebody else' } });
  }
});

// image_links

const presigned = (query: string) => `https://images.hosted.test/selfie.jpg?${query}`;

test.each<[string, string | null]>([
  ['X-Amz-Date=20260102T030405Z&X-Amz-Expires=3600', '2026-01-02T04:04:05.000Z'],
  ['X-Amz-Expires=60&X-Amz-Signature=0a&X-Amz-Date=20251231T235930Z', '2026-01-01T00:00:30.000Z'],
  ['X-Amz-Date=20260102T030405Z', null],
  ['X-Amz-Expires=3600', null],
  ['X-Amz-Date=20260230T030405Z&X-Amz-Expires=3600', null],
  ['X-Amz-Date=yesterday&X-Amz-Expires=3600', null],
  ['X-Amz-Date=20260102T030405Z&X-Amz-Expires=soon', null],
  ['X-Amz-Date=20260102T030405Z&X-Amz-Expires=-60', null],
  ['X-Amz-Date=20260102T030405Z&X-Amz-Expires=3600s', null],
  ['X-Amz-Date=20260102T030405Z&X-Amz-Expires=', null],
  ['X-Amz-Date=&X-Amz-Expires=3600', null],
  ['X-Amz-Date=on20260102T030405Z&X-Amz-Expires=3600', null],
  ['X-Amz-Date=20260102T030405Z0&X-Amz-Expires=3600', null],
  ['X-Amz-Date=2026-01-02T03:04:05Z&X-Amz-Expires=3600', null],
  ['x-amz-date=20260102T030405Z&x-amz-expires=3600', null],
  ['', null],
])('jobs.status() says when a selfie link expires: %s', async (query, expiresAt) => {
  const selfie_image = presigned(query);

  const read = await statusWith({ image_links: { selfie_image } });

  expect(read.imageLinks).toEqual({
    selfieImage: selfie_image,
    expiresAt: expiresAt === null ? null : new Date(expiresAt),
    extra: {},
  });
});

test.each(['image_link', 'javascript:alert(1)', 'ftp://images.hosted.test/1.jpg'])(
  'jobs.status() reads the selfie link %j as null and keeps its text in extra',
  async (selfie_image) => {
    const read = await statusWith({ image_links: { selfie_image } });

    expect(read.imageLinks).toEqual({ selfieImage: null, expiresAt: null, extra: { selfie_image } });
  },
);

test('jobs.status() keeps what else stands in image_links', async () => {
  const read = await statusWith({ image_links: { error: 'No image found' } });

  expect(read.imageLinks).toEqual({ selfieImage: null, expiresAt: null, extra: { error: 'No image found' } });
});

test('jobs.status() reads image_links without fields as such', async () => {
  for (const image_links of [{}, []]) {
    expect((await statusWith({ image_links })).imageLinks).toEqual({ selfieImage: null, expiresAt: null, extra: {} });
  }
});

test.each([[null], [undefined]])('jobs.status() reads image_links %j as none', async (image_links) => {
  expect((await statusWith({ image_links })).imageLinks).toBeNull();
});

// Actions, PartnerParams

test('jobs.status() reads actions by name', async () => {
  const Actions = { Liveness_Check: 'Passed', A_Check_Nobody_Knows: 'Maybe' };

  for (const result of await resultsOf({ Actions })) expect(result.actions).toEqual(Actions);
});

test.each([[undefined], [null], [{}], [[]]])('jobs.status() reads Actions %j as none', async (Actions) => {
  for (const result of await resultsOf({ Actions, ResultText: 'x' })) expect(result.actions).toEqual({});
});

test('jobs.status() writes fields that are no text as JSON, and leaves out what is null', async () => {
  const written = { A: 'Passed', B: 2, C: false, D: { of: [1, '2'] }, E: null, F: '' };
  const read = { A: 'Passed', B: '2', C: 'false', D: '{"of":[1,"2"]}', F: '' };

  for (const result of await resultsOf({ Actions: written, PartnerParams: { ...written, job_type: 4 } })) {
    expect(result.actions).toEqual(read);
    expect(result.partnerParams).toMatchObject({ jobType: '4', extra: read });
    expect(Object.keys(result.partnerParams?.extra ?? {})).toEqual(Object.keys(read));
  }
});

test('jobs.status() writes fields as JSON where none is a text', async () => {
  for (const result of await resultsOf({ Actions: { A: 2, B: true } })) {
    expect(result.actions).toEqual({ A: '2', B: 'true' });
  }
});

test.each([[undefined], [null], [[]]])('jobs.status() reads PartnerParams %j as none', async (PartnerParams) => {
  for (const result of await resultsOf({ PartnerParams, ResultText: 'x' })) expect(result.partnerParams).toBeNull();
});

test("jobs.status() keeps the partner's own fields beside those it knows", async () => {
  const PartnerParams = {
    user_id: job.userId,
    job_id: job.jobId,
    job_type: 6,
    link_id: 'abcd1234',
    order: 'A-1',
    ExpirationDate: 'Not Available',
  };

  for (const result of await resultsOf({ PartnerParams })) {
    expect(result.partnerParams).toEqual({
      ...job,
      jobType: '6',
      linkId: 'abcd1234',
      extra: { order: 'A-1', ExpirationDate: 'Not Available' },
    });
  }
});

// What has another shape

test.each<[string, object]>([
  ['job_complete', { job_complete: 'yes' }],
  ['job_success', { job_success: 'yes' }],
  ['code', { code: 23.02 }],
  ['user_id', { user_id: 8.1 }],
  ['job_id', { job_id: 8.1 }],
  ['result.ResultText', { result: { ResultText: 5 } }],
  ['result.ResultCode', { result: { ResultCode: 8.1 } }],
  ['result.IsFinalResult', { result: { IsFinalResult: 'yes' } }],
  ['result.JSONVersion', { result: { JSONVersion: true } }],
  ['result.Actions', { result: { Actions: 'none' } }],
  ['result.Actions', { result: { Actions: ['none'] } }],
  ['result.PartnerParams', { result: { PartnerParams: 'none' } }],
  ['result.PartnerParams', { result: { PartnerParams: ['none'] } }],
  ['result.PartnerParams.link_id', { result: { PartnerParams: { link_id: 8.1 } } }],
  ['history', { history: 'none' }],
  ['history[1]', { history: [{}, 'none'] }],
  ['history[0].IDNumber', { history: [{ IDNumber: 5 }] }],
  ['history[0].Country', { history: [{ Country: 5 }] }],
  ['history[0].ExpirationDate', { history: [{ ExpirationDate: 5 }] }],
  ['history.ResultCode', { history: { ResultCode: 8.1 } }],
  ['image_links', { image_links: 'none' }],
  ['image_links', { image_links: ['none'] }],
])('jobs.status() says of a misshapen "%s" what it must be', async (path, members) => {
  const error = await rejection(statusWith(members), HostedResponseError);

  expect(error).toMatchObject({ reason: 'shape', issues: [{ path, message: expect.stringMatching(/^must be /) }] });
});

// What nobody named

test('jobs.status() keeps fields of a result it does not know in extra, as they came', async () => {
  const unknown = { Source: 'WebAPI', KYCReceipt: null, ImageLinks: { id_card_image: 'x' }, Retries: 2 };

  for (const result of await resultsOf({ ResultText: 'x', ...unknown })) expect(result.extra).toEqual(unknown);
});

test('jobs.status() keeps the ID numbers that have no field of their own in extra', async () => {
  const [result, entry] = await resultsOf({ IDNumber: '00012345', SecondaryIDNumber: '00067890' });

  expect(result.extra).toEqual({ IDNumber: '00012345', SecondaryIDNumber: '00067890' });
  expect(entry).toMatchObject({ identity: { idNumber: '00012345' }, extra: { SecondaryIDNumber: '00067890' } });
  expect(Object.keys(entry.extra)).toEqual(['SecondaryIDNumber']);
});

const pair = { signature: 'planted-a', sec_key: 'planted-b' };
const deep = { ...pair, lists: [[{ ...pair, kept: 'deep' }], 'text', null] };

test('jobs.status() keeps no signature in any open record, at any depth', async () => {
  const PartnerParams = { ...pair, user_id: job.userId, job_id: job.jobId, order: 'A-1', Address: deep };
  const given = { ResultText: 'x', Source: 'WebAPI', Actions: { ...pair, Check: 'Passed', More: deep } };
  const kept = { lists: [[{ kept: 'deep' }], 'text', null] };

  for (const result of await resultsOf({ ...given, ...pair, PartnerParams, Address: deep })) {
    expect(result.extra).toEqual({ Source: 'WebAPI', Address: kept });
    expect(result.actions).toEqual({ Check: 'Passed', More: JSON.stringify(kept) });
    expect(result.partnerParams?.extra).toEqual({ order: 'A-1', Address: JSON.stringify(kept) });
    expect(JSON.stringify(result)).not.toContain('planted-');
  }
});

test('jobs.status() keeps no signature among the links of images', async () => {
  const image_links = { ...pair, id_card_image: 'https://images.hosted.test/1', more: { ...pair, kept: 1 } };

  const { imageLinks } = await statusWith({ image_links });

  expect(imageLinks?.extra).toEqual({ id_card_image: 'https://images.hosted.test/1', more: { kept: 1 } });
});

test('jobs.status() passes result types and codes it has never heard of', async () => {
  for (const result of await resultsOf({ ResultType: 'ORACLE', ResultCode: '7777' })) {
    expect(result).toMatchObject({ resultType: 'ORACLE', resultCode: '7777' });
  }
});

test('fields named __proto__, constructor and then touch no prototype and break no awaiting', async () => {
  const odd = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"then":"later"';
  const params = `{"user_id":"${job.userId}","__proto__":{"polluted":"yes"},"constructor":"c","then":"later"}`;
  const record = `{"ResultText":"x","Actions":{"__proto__":"x","then":"later"},"PartnerParams":${params},${odd}}`;

  const read = await ask(
    raw(
      `"job_complete":true,"job_success":true,"result":${record},"history":[${record}],"image_links":{${odd}},${odd}`,
    ),
  );

  expect(read).toMatchObject({ state: 'succeeded', result: { extra: {}, partnerParams: { userId: job.userId } } });
  for (const result of [read.result, read.history?.[0]]) {
    expect(result?.extra.then).toBe('later');
    expect(result?.actions.then).toBe('later');
    expect(result?.partnerParams?.extra.then).toBe('later');
    expect(result?.partnerParams?.extra.constructor).toBe('c');
    for (const value of [result, result?.extra, result?.actions, result?.partnerParams, result?.partnerParams?.extra]) {
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect('polluted' in Object(value)).toBe(false);
    }
  }
  expect(Object.getPrototypeOf(read)).toBe(Object.prototype);
  expect(Object.getPrototypeOf(read.imageLinks?.extra)).toBe(Object.prototype);
  expect('polluted' in {}).toBe(false);
});

test('what stands under __proto__ stands for no field', async () => {
  const undecided = raw('"job_complete":true,"__proto__":{"job_success":true}');
  const unknown = raw('"__proto__":{"job_complete":true,"job_success":true}');

  expect(await misshapenAt(ask(undecided))).toEqual(['job_success']);
  expect(await misshapenAt(ask(unknown))).toEqual(['job_complete']);
  const empty = '{"__proto__":{"ResultText":"x"}}';
  const read = await ask(raw(`"job_complete":true,"job_success":true,"result":${empty},"history":${empty}`));
  expect(read).toMatchObject({ result: null, history: [] });
});
