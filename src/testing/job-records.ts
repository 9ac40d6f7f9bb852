/**
 * Jobs and their results as the service writes them (docs/protocol.md §2.4).
 *
 * @module
 */

import { type Spell, spellBoolean } from './dialect.js';
import type { StoredJob, StoredResult } from './store.js';

/** How jobs are written: the brand word in field names (see `wire.brand`), and the function that chooses spellings. */
export interface JobSpelling {
  readonly brand: string;
  readonly spell: Spell;
}

/** Which optional parts of a job's status are requested (§4.5). */
export interface JobStatusParts {
  readonly imageLinks: boolean;
  readonly history: boolean;
}

/** How long the URL of the selfie is valid. */
const selfieLifetimeSeconds = 3_600;

/** Writes the response of job status, not yet signed. */
export function writeJobStatus(job: StoredJob, parts: JobStatusParts, nowMs: number, spelling: JobSpelling): object {
  const { spell } = spelling;
  return {
    ...(job.results.length === 0 ? writeWaiting(job, spell) : writeState(job, spelling)),
    ...(parts.imageLinks && { image_links: { selfie_image: createSelfieUrl(job, nowMs) } }),
    ...(parts.history && { history: job.results.map((result) => writeEntry(job, result, spelling)) }),
  };
}

/**
 * Writes the status of a job without a result. The `result` of such a job is a string or an empty object, or is missing
 * (§2.4). In deployments, `job_complete` may also be the only property of a status. §2.4 does not show this.
 */
function writeWaiting(job: StoredJob, spell: Spell): object {
  return spell<object>(
    { ...writeIds(job), job_complete: false, job_success: false, code: '2314', result: 'No zip uploaded yet' },
    { ...writeIds(job), job_complete: false, job_success: false, code: '2302' },
    { job_complete: false },
    { ...writeIds(job), job_complete: 'false', job_success: 'false', code: 2314, result: {} },
  );
}

function writeState(job: StoredJob, spelling: JobSpelling): object {
  const { spell } = spelling;
  const final = job.outcome === null ? undefined : job.results[job.outcome.entry];
  return {
    ...writeIds(job),
    job_complete: spellBoolean(job.outcome !== null, spell),
    job_success: spellBoolean(job.outcome?.success === true, spell),
    code: spell<string | number>('2302', '2302', 2302),
    // `result` is the final status (§2.4), so a job under review has no `result`.
    result: final === undefined ? spell(null, undefined, {}) : writeFinalResult(job, final, spelling),
  };
}

/** Writes `result` of a completed job (§2.4). */
function writeFinalResult(job: StoredJob, result: StoredResult, spelling: JobSpelling): object {
  return {
    ...writeResult(result, job, spelling),
    PartnerParams: { ...writeIds(job), job_type: spelling.spell<string | number>('1', 1) },
    IsMachineResult: spelling.spell<string | boolean>('true', 'true', true),
  };
}

/** Writes an entry of the history. The body of a callback has the same properties (§2.4, §6). */
export function writeEntry(job: StoredJob, result: StoredResult, spelling: JobSpelling): Record<string, unknown> {
  return {
    ...writeResult(result, job, spelling),
    PartnerParams: {
      ...writeIds(job),
      job_type: spelling.spell<string | number>('1', '1', 1),
      ...(job.linkRefId !== null && { link_id: job.linkRefId }),
    },
    ...(result.type === 'ID Verification' && { ...identity, ...writeIdType(job) }),
  };
}

/** The data that is read from an ID. It is invented: ZZ is not a country, and no ID has this number. */
const identity = {
  FullName: 'Test Person',
  DOB: '1900-01-01',
  IDNumber: 'T00000000',
  IDType: 'PASSPORT',
  Country: 'ZZ',
  ExpirationDate: 'Not Available',
};

/** The properties of the ID type that the end user chose. Empty if it is not known. */
function writeIdType({ idType }: StoredJob): object {
  return idType === null ? {} : { IDType: idType.id_type, Country: idType.country };
}

function writeResult(result: StoredResult, job: StoredJob, { brand, spell }: JobSpelling): object {
  return {
    ResultCode: result.code,
    ResultText: result.text,
    ...(result.type !== null && { ResultType: result.type }),
    [`${brand.charAt(0).toUpperCase()}${brand.slice(1)}JobID`]: job.hostedJobId,
    JSONVersion: spell<string | undefined>('1.0.0', '1.0.0', undefined),
    // In the table and the sample of §2.4, this boolean and the number in the next line are strings.
    IsFinalResult: spell<string | boolean>(String(result.final), String(result.final), result.final),
    ConfidenceValue: spell<string | number>('99', '99', '99.000000', 99),
    // These fields were seen only in deployments.
    Actions: spell<object | undefined>(undefined, undefined, {
      Liveness_Check: 'Passed',
      Human_Review_Compare: 'Passed',
    }),
  };
}

function writeIds({ userId, jobId }: StoredJob): object {
  return { user_id: userId, job_id: jobId };
}

/** Creates a URL that is valid for an hour. It looks like a presigned URL of an object store. */
function createSelfieUrl(job: StoredJob, nowMs: number): string {
  const signedAt = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '');
  const signing = new URLSearchParams({
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Date': signedAt,
    'X-Amz-Expires': String(selfieLifetimeSeconds),
    'X-Amz-SignedHeaders': 'host',
    'X-Amz-Signature': '0'.repeat(64),
  });
  return `https://images.hosted.test/${job.hostedJobId}/selfie.jpg?${signing}`;
}
