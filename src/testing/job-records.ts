/**
 * Jobs and their results as the service writes them (docs/protocol.md §2.4).
 *
 * @module
 */

import type { Say } from './dialect.js';
import type { StoredJob, StoredResult } from './store.js';

/** What it takes to write about a job. */
export interface JobWriting {
  readonly brand: string;
  readonly say: Say;
}

/** What of a job was asked for besides its state (§4.5). */
export interface JobWishes {
  readonly imageLinks: boolean;
  readonly history: boolean;
}

/** How long the link to the selfie lives, in seconds. */
const selfieLifetimeSeconds = 3_600;

/** The answer of job status, not yet signed. */
export function wireJobStatus(job: StoredJob, wishes: JobWishes, nowMs: number, writing: JobWriting): object {
  const { say } = writing;
  return {
    ...(job.results.length === 0 ? wireWaiting(job, say) : wireState(job, writing)),
    ...(wishes.imageLinks && { image_links: { selfie_image: selfieLink(job, nowMs) } }),
    ...(wishes.history && { history: job.results.map((result) => wireEntry(job, result, writing)) }),
  };
}

/** Before anything came in, deployments answer with a text, or with next to nothing; §2.4 shows neither. */
function wireWaiting(job: StoredJob, say: Say): object {
  return say<object>(
    { ...names(job), job_complete: false, job_success: false, code: '2314', result: 'No zip uploaded yet' },
    { ...names(job), job_complete: false, job_success: false, code: '2302' },
    { job_complete: false },
    { ...names(job), job_complete: 'false', job_success: 'false', code: 2314, result: {} },
  );
}

function wireState(job: StoredJob, writing: JobWriting): object {
  const { say } = writing;
  return {
    ...names(job),
    job_complete: flag(job.outcome !== null, say),
    job_success: flag(job.outcome?.success === true, say),
    code: say<string | number>('2302', '2302', 2302),
    // §2.4: result holds the final status, so that a job under review has none.
    result: job.outcome === null ? say(null, undefined, {}) : wireFinalResult(job, job.outcome.result, writing),
  };
}

/** `result` of a completed job (§2.4). */
function wireFinalResult(job: StoredJob, result: StoredResult, writing: JobWriting): object {
  return {
    ...wireResult(result, job, writing),
    PartnerParams: partnerParams(job, writing.say<string | number>('1', 1)),
    IsMachineResult: writing.say<string | boolean>('true', 'true', true),
  };
}

/** One entry of the history; the body of a callback is one too (§2.4, §6). */
export function wireEntry(job: StoredJob, result: StoredResult, writing: JobWriting): Record<string, unknown> {
  return {
    ...wireResult(result, job, writing),
    PartnerParams: {
      ...partnerParams(job, writing.say<string | number>('1', '1', 1)),
      ...(job.linkRefId !== null && { link_id: job.linkRefId }),
    },
    ...(result.type === 'ID Verification' && identity),
  };
}

/** What is read from an ID. Nobody's: ZZ is no country, and nobody has this number. */
const identity = {
  FullName: 'Test Person',
  DOB: '1900-01-01',
  IDNumber: 'T00000000',
  IDType: 'PASSPORT',
  Country: 'ZZ',
  ExpirationDate: 'Not Available',
};

function wireResult(result: StoredResult, job: StoredJob, { brand, say }: JobWriting): object {
  return {
    ResultCode: result.code,
    ResultText: result.text,
    ...(result.type !== null && { ResultType: result.type }),
    [`${brand.charAt(0).toUpperCase()}${brand.slice(1)}JobID`]: job.hostedJobId,
    JSONVersion: say<string | undefined>('1.0.0', '1.0.0', undefined),
    // §2.4: a string-encoded boolean and a string-encoded number, in table and sample alike.
    IsFinalResult: say<string | boolean>(String(result.final), String(result.final), result.final),
    ConfidenceValue: say<string | number>('99', '99', '99.000000', 99),
    // Seen in deployments alone.
    Actions: say<object | undefined>(undefined, undefined, {
      Liveness_Check: 'Passed',
      Human_Review_Compare: 'Passed',
    }),
  };
}

function partnerParams({ userId, jobId }: StoredJob, jobType: string | number): object {
  return { user_id: userId, job_id: jobId, job_type: jobType };
}

function names({ userId, jobId }: StoredJob): object {
  return { user_id: userId, job_id: jobId };
}

function flag(value: boolean, say: Say): boolean | string {
  return say<boolean | string>(value, value, String(value), String(value).toUpperCase());
}

/** An address that is good for an hour, presigned as object stores do it. */
function selfieLink(job: StoredJob, nowMs: number): string {
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
