/** Job statuses as the wire spells them, and the one clean status each spelling comes out as. */

import { inspect } from 'node:util';
import { type HostedClientOptions, HostedResponseError, type JobStatus } from 'hosted-client';
import { expect, test } from 'vitest';
import { versionOf } from '../../src/jobs/version.js';
import {
  emptyResult,
  fullEntry,
  fullResult,
  job,
  jobInSampleSpelling,
  jobInTableSpelling,
  selfieAddress,
} from '../fixtures/records.js';
import { clientOf, now, type Reply, rejection, sign, signed } from '../support/fake-fetch.js';

const wireJob = { user_id: job.userId, job_id: job.jobId };
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

const fullStatus: JobStatus = {
  state: 'succeeded',
  complete: true,
  success: true,
  ...job,
  code: '2302',
  message: null,
  result: fullResult,
  imageLinks: { selfieImage: selfieAddress, expiresAt: new Date('2026-01-02T04:00:00.000Z'), extra: {} },
  history: [{ ...fullResult, identity: null }, fullEntry],
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

  expect(result).toEqual({ ...emptyResult, resultText: 'Enroll User' });
  expect(entry).toEqual({ ...emptyResult, resultText: 'Enroll User', identity: null });
});

// job_complete, job_success

const neither: [unknown][] = [[1], [0], ['1'], ['0'], ['yes'], [''], [[]], [{}]];

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

test.each(resultFlags)(
  'jobs.status() does not guess what another "%s" means, and keeps it in extra',
  async (member, clean) => {
    for (const value of [1, '1', 'yes', []]) {
      for (const result of await resultsOf({ [member]: value })) {
        expect(result).toMatchObject({ [clean]: null, extra: { [member]: value } });
      }
    }
  },
);

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

// result

test.each([[4711], [true], [['none']]])('jobs.status() reads a result that is %j as none', async (result) => {
  expect(await statusWith({ result })).toMatchObject({ state: 'succeeded', result: null, message: null });
});

// history

// Times

// Identity

test.each(['IDNumber', 'SecondaryIDNumber'])(
  'jobs.status() reads no number as "%s", and keeps one in extra unless it was rounded',
  async (field) => {
    for (const [digits, extra] of [
      ['12345678901', { [field]: 12_345_678_901 }],
      ['12345678901234567890', {}],
      ['1.5', {}],
    ] as const) {
      const record = `{"ResultText":"x","Country":"NG","${field}":${digits}}`;
      const { result, history } = await ask(
        raw(`"job_complete":true,"job_success":true,"result":${record},"history":[${record}]`),
      );

      expect(result?.extra).toEqual({ Country: 'NG', ...extra });
      expect(history?.[0]).toMatchObject({ identity: { idNumber: null }, extra: {} });
      expect(history?.[0]?.extra).toStrictEqual(extra);
    }
  },
);

// HostedJobID

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

test('jobs.status() reads image_links without fields as such', async () => {
  for (const image_links of [{}, []]) {
    expect((await statusWith({ image_links })).imageLinks).toEqual({ selfieImage: null, expiresAt: null, extra: {} });
  }
});

// Actions, PartnerParams

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

// What has another shape

test.each<[string, object]>([
  ['job_complete', { job_complete: 'yes' }],
  ['job_success', { job_success: 'yes' }],
  ['code', { code: 23.02 }],
  ['user_id', { user_id: 8.1 }],
  ['job_id', { job_id: 8.1 }],
  ['result.PartnerParams', { result: { PartnerParams: 'none' } }],
  ['result.PartnerParams', { result: { PartnerParams: ['none'] } }],
  ['result.PartnerParams.user_id', { result: { PartnerParams: { user_id: 8.1 } } }],
  ['result.PartnerParams.job_id', { result: { PartnerParams: { job_id: {} } } }],
  ['result.PartnerParams.link_id', { result: { PartnerParams: { link_id: 8.1 } } }],
  ['history[1].PartnerParams', { history: [{}, { PartnerParams: 'none' }] }],
  ['history.PartnerParams.job_id', { history: { PartnerParams: { job_id: 8.1 } } }],
])('jobs.status() says of a misshapen "%s" what it must be', async (path, members) => {
  const error = await rejection(statusWith(members), HostedResponseError);

  expect(error).toMatchObject({ reason: 'shape', issues: [{ path, message: expect.stringMatching(/^must be /) }] });
});

// A field that cannot be read, and decides nothing

const lenientFields = [
  'ResultCode',
  'ResultText',
  'ResultType',
  'HostedJobID',
  'JSONVersion',
  'IsFinalResult',
  'IsMachineResult',
  'ConfidenceValue',
];
const identityFields = ['FullName', 'DOB', 'IDNumber', 'IDType', 'Country', 'ExpirationDate'];

test.each([...lenientFields, ...identityFields])(
  'jobs.status() reads a "%s" that is an object as nothing, and keeps it in extra',
  async (field) => {
    const written = { [field]: { odd: 1 } };

    const [result, entry] = await resultsOf(written);

    expect(result).toEqual({ ...emptyResult, extra: written });
    expect(entry).toEqual({ ...emptyResult, identity: null, extra: written });
  },
);

test.each([...lenientFields, 'Actions', 'PartnerParams'])('an empty "%s" of a result means nothing', async (field) => {
  for (const result of await resultsOf({ [field]: '' })) expect(result).toMatchObject({ ...emptyResult, extra: {} });
});

test('empty fields of an ID are no identity', async () => {
  const [, entry] = await resultsOf(Object.fromEntries(identityFields.map((field) => [field, ''])));

  expect(entry).toEqual({ ...emptyResult, identity: null });
});

test.each([['none'], [['none']], [5]])(
  'jobs.status() reads Actions %j as none, and keeps them in extra',
  async (Actions) => {
    for (const result of await resultsOf({ Actions }))
      expect(result).toMatchObject({ actions: {}, extra: { Actions } });
  },
);

test('jobs.status() writes a job_type that it cannot read as JSON', async () => {
  for (const { partnerParams } of await resultsOf({ PartnerParams: { ...wireJob, job_type: [4] } })) {
    expect(partnerParams).toEqual({ ...job, jobType: null, linkId: null, extra: { job_type: '[4]' } });
  }
});

test.each([['none'], [5], [true], [['none']], [[{}, 'none']], [[null]], [[[]]]])(
  'a history %j, which is no list of objects, leaves the one result',
  async (history) => {
    const result = { ResultCode: '0810', PartnerParams: wireJob };

    const read = await statusWith({ result, history });

    expect(read).toMatchObject({ state: 'succeeded', history: null, result: { resultCode: '0810' } });
    expect(await versionOf(read)).toBe(await versionOf(await statusWith({ result })));
  },
);

test.each([['none'], [5], [''], [['none']]])('jobs.status() reads image_links %j as none', async (image_links) => {
  expect(await statusWith({ image_links })).toMatchObject({ state: 'succeeded', imageLinks: null });
});

test.each(['result', 'history', 'image_links', 'code'])('an empty "%s" means nothing', async (field) => {
  expect(await statusWith({ code: undefined, [field]: '' })).toEqual(await statusWith({ code: undefined }));
});

// What nobody named

test('jobs.status() keeps the ID numbers that have no field of their own in extra', async () => {
  const [result, entry] = await resultsOf({ IDNumber: '00012345', SecondaryIDNumber: '00067890' });

  expect(result.extra).toEqual({ IDNumber: '00012345', SecondaryIDNumber: '00067890' });
  expect(entry).toMatchObject({ identity: { idNumber: '00012345' }, extra: { SecondaryIDNumber: '00067890' } });
  expect(Object.keys(entry.extra)).toEqual(['SecondaryIDNumber']);
});

test('jobs.status() names each id of a result that it refuses, by its path', async () => {
  const params = { user_id: {}, job_id: {}, job_type: {}, link_id: {} };

  const paths = await misshapenAt(statusWith({ history: [{ ResultCode: {}, FullName: {}, PartnerParams: params }] }));

  const ids = ['user_id', 'job_id', 'link_id'];
  expect([...paths].sort()).toEqual(ids.map((name) => `history[0].PartnerParams.${name}`).sort());
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
