// What is in the version of a status, and which link a status names. The digests are by node:crypto.

import { createHash } from 'node:crypto';
import type { JobRef, JobStatus } from 'hosted-client';
import { expect, test } from 'vitest';
import { linkIdOf, versionOf } from '../../src/jobs/version.js';
import {
  documentCallback,
  documentResult,
  finishedJob,
  finishedWithoutSuccess,
  jobWithActions,
  pendingMinimal,
  textResult,
} from '../fixtures/real-payloads.js';
import { clientOf, signed } from '../support/fake-fetch.js';

const job: JobRef = { userId: 'user-1', jobId: 'job-1' };

/** The status of a record, as a client reads it. */
function statusOf(record: object, ref: JobRef = job): Promise<JobStatus> {
  const { signature, sec_key, ...unsigned } = record as Record<string, unknown>;
  return clientOf(signed(unsigned), { wire: { namesJob: false } }).client.jobs.status({ ...ref, history: true });
}

const sha256 = (value: unknown) => createHash('sha256').update(JSON.stringify(value)).digest('hex');

const { result } = finishedJob;
const finishedRef = { userId: result.PartnerParams.user_id, jobId: result.PartnerParams.job_id };
const completed = { job_complete: true, job_success: true, user_id: 'user-1', job_id: 'job-1' };

test.each<[what: string, record: object, ref: JobRef, version: readonly unknown[]]>([
  [
    'a finished job, by its history and not by its result',
    finishedJob,
    finishedRef,
    [
      'succeeded',
      ['0000000857', '1210', 'DIVA', true, null, null],
      ['0000000857', '0814', null, null, null, null],
      ['0000000857', '1012', 'ID Verification', null, 'BVN', 'Nigeria'],
    ],
  ],
  [
    'a job with actions',
    jobWithActions,
    { userId: 'HBBBBBBH57g', jobId: 'HBBBBBBHg' },
    ['succeeded', ['0000001111', '0810', 'SAIA', true, null, null]],
  ],
  [
    'a job without a history, by its one result',
    { ...finishedJob, history: undefined },
    finishedRef,
    ['succeeded', ['0000001897', null, 'SAIA', true, null, null]],
  ],
  [
    'a job with an empty history, by its one result',
    { ...finishedJob, history: [] },
    finishedRef,
    ['succeeded', ['0000001897', null, 'SAIA', true, null, null]],
  ],
  [
    'a job whose history says nothing, by its one result',
    { ...finishedJob, history: [{}, { ResultText: 'Under review' }] },
    finishedRef,
    ['succeeded', ['0000001897', null, 'SAIA', true, null, null]],
  ],
  [
    'a document check without ResultType and IsFinalResult',
    { ...completed, history: [documentResult] },
    job,
    ['succeeded', ['0000000046', '0810', null, null, 'PASSPORT', 'NG']],
  ],
  ['a job that ended without success', finishedWithoutSuccess, job, ['failed']],
  ['a pending job', pendingMinimal, job, ['pending']],
  ['a pending job with a message', { job_complete: false, result: textResult }, job, ['pending']],
  ['a pending job with an empty entry', { job_complete: false, history: [{}] }, job, ['pending']],
  [
    'a pending job under review',
    { job_complete: false, history: [{ ResultCode: '0814' }] },
    job,
    ['pending', [null, '0814', null, null, null, null]],
  ],
])('the version of %s', async (_what, record, ref, version) => {
  expect(await versionOf(await statusOf(record, ref))).toBe(sha256(version));
});

/** The version of the document check after a change of its entry, of its status, or of both. */
async function documentVersion(entry: object, record: object = {}): Promise<string> {
  return versionOf(await statusOf({ ...completed, history: [{ ...documentCallback, ...entry }], ...record }));
}

test.each([
  ['the state', {}, { job_success: false }],
  ['HostedJobID', { HostedJobID: '0000000100' }, {}],
  ['ResultCode', { ResultCode: '0811' }, {}],
  ['ResultType', { ResultType: 'Document Verification' }, {}],
  ['IsFinalResult', { IsFinalResult: 'true' }, {}],
  ['IDType', { IDType: 'BVN' }, {}],
  ['Country', { Country: 'KE' }, {}],
  ['a further entry', {}, { history: [documentCallback, documentCallback] }],
])('a change of %s is another version', async (_what, entry, record) => {
  expect(await documentVersion(entry, record)).not.toBe(await documentVersion({}));
});

test.each([
  ['its time', { timestamp: '2026-01-02T03:04:06.000Z' }, {}],
  ['its text', { ResultText: 'Document verified' }, {}],
  ['its person', { FullName: 'Peter Parker', DOB: '1990-01-01', IDNumber: '1', ExpirationDate: '2031-01-01' }, {}],
  ['its confidence and checks', { ConfidenceValue: '99', Actions: { Liveness_Check: 'Completed' } }, {}],
  ['its machine and record version', { IsMachineResult: 'true', JSONVersion: '1.0.1' }, {}],
  ['its own fields', { Gender: 'M', ImageLinks: { selfie_image: 'https://images.test/2' }, Source: 'WebAPI' }, {}],
  ['its PartnerParams', { PartnerParams: { user_id: 'user-2' } }, {}],
  ['the code and images of the status', {}, { code: null, image_links: { selfie_image: 'https://images.test/1' } }],
  ['the result beside a history', {}, { result: { ...jobWithActions.result, PartnerParams: undefined } }],
])('%s is in no version', async (_what, entry, record) => {
  expect(await documentVersion(entry, record)).toBe(await documentVersion({}));
});

test('IsFinalResult as a string and as a boolean is the same version', async () => {
  expect(await documentVersion({ IsFinalResult: 'false' })).toBe(await documentVersion({ IsFinalResult: false }));
});

test('the order of the history is in the version', async () => {
  const [first, second] = [documentCallback, { ...documentCallback, ResultCode: '0811' }];

  const versions = await Promise.all([
    documentVersion({}, { history: [first, second] }),
    documentVersion({}, { history: [second, first] }),
  ]);

  expect(new Set(versions).size).toBe(2);
});

test('failed → succeeded → failed has three versions with a growing history, and two without', async () => {
  const codes = ['0811', '0810', '0811'];
  const entries = codes.map((ResultCode) => ({ ResultCode }));
  const verdicts = codes.map((code) => ({ ...completed, job_success: code === '0810' }));

  const grown = verdicts.map(async (verdict, at) =>
    versionOf(await statusOf({ ...verdict, history: entries.slice(0, at + 1) })),
  );
  const bare = verdicts.map(async (verdict, at) => versionOf(await statusOf({ ...verdict, result: entries[at] })));

  expect(new Set(await Promise.all(grown)).size).toBe(3);
  const [failed, succeeded, again] = await Promise.all(bare);
  expect(again).toBe(failed);
  expect(succeeded).not.toBe(failed);
});

// Links ---------------------------------------------------------------------

const own = { user_id: 'user-1', job_id: 'job-1' };
const entryOf = (PartnerParams: object) => ({ ResultCode: '0810', PartnerParams });
const linked = (link_id: string | null, ids: object = own) => entryOf({ ...ids, link_id });

test.each<[what: string, record: object, linkId: string | null]>([
  ['that of the result', { result: linked('link-1'), history: [linked('link-2')] }, 'link-1'],
  ['that of the entries, if the result names none', { result: linked(null), history: [linked('link-2')] }, 'link-2'],
  [
    'that of the entries, if the result names an empty one',
    { result: linked(''), history: [linked('link-2')] },
    'link-2',
  ],
  ['that of the entries, if there is no result', { history: [linked('link-1'), linked('link-1')] }, 'link-1'],
  ['that of the entries which name one', { history: [linked(null), linked('link-1'), linked('')] }, 'link-1'],
  ['none, if the entries name different ones', { history: [linked('link-1'), linked('link-2')] }, null],
  ['none, if no entry names one', { history: [linked(null), entryOf(own)] }, null],
  ["not that of another user's entry", { history: [linked('link-1', { ...own, user_id: 'user-2' })] }, null],
  ["not that of another job's entry", { history: [linked('link-1', { ...own, job_id: 'job-2' })] }, null],
  ['not that of an entry without both ids', { history: [linked('link-1', { job_id: 'job-1' })] }, null],
  [
    'its own, beside an entry of another user',
    { history: [linked('link-2', { ...own, user_id: 'user-2' }), linked('link-1')] },
    'link-1',
  ],
  ['none, without results', {}, null],
])('the link of a status is %s', async (_what, record, linkId) => {
  expect(linkIdOf(await statusOf({ ...completed, ...record }))).toBe(linkId);
});
