/**
 * Converts job records from the wire format into the public types (docs/protocol.md, "Spellings"). `job_success` is the
 * verdict. No code is mapped to a verdict, because the meaning of a code differs between products.
 *
 * @module
 */

import type { DecodeContext, Decoded } from '../call/operation.js';
import { toDate } from '../protocol/date-time.js';
import { toUrl } from '../protocol/http-url.js';
import { extraOf, isCode, toBoolean, toCode, toNumber, toStrings } from '../protocol/scalars.js';
import type { HistoryEntry, JobRef, JobResult, JobStatus, PartnerParams } from './types.js';
import {
  partnerParamsFields,
  resultFields,
  type WireHistoryEntry,
  type WireJobStatus,
  type WireResult,
} from './wire.js';

const namedInResult: ReadonlySet<string> = new Set(
  Object.keys(resultFields).filter((name) => !name.endsWith('IDNumber')),
);
const identityNames = ['FullName', 'DOB', 'IDNumber', 'IDType', 'Country', 'ExpirationDate'];
const namedInHistoryEntry: ReadonlySet<string> = new Set([...namedInResult, ...identityNames]);
const namedInPartnerParams: ReadonlySet<string> = new Set(Object.keys(partnerParamsFields));
const namedInImageLinks: ReadonlySet<string> = new Set(['selfie_image']);

/**
 * Reads the status of a job, or returns the issues if the response does not say how the job ended. A response about
 * another job has already been rejected.
 */
export function normaliseStatus(
  wire: WireJobStatus,
  { userId, jobId }: JobRef,
  { wire: { brand, namesJob }, signedAt }: DecodeContext,
): Decoded<JobStatus> {
  const idField = hostedJobIdField(brand);
  const imageLinks = imageLinksOf(wire.image_links);
  const history = historyOf(wire.history, idField);
  const result = resultOf(wire.result, idField);
  const isComplete = toBoolean(wire.job_complete) === true;
  const isSuccess = toBoolean(wire.job_success);
  const namedJobId = toCode(wire.job_id) ?? result?.partnerParams?.jobId;
  if (isComplete && isSuccess === null) {
    const message = 'must be true, false, "true" or "false", because the job is complete';
    return { reason: 'shape', issues: [{ path: 'job_success', message }] };
  }
  // Callers act on "succeeded", so this status must name its job: without an id, it could belong to any job. A failed
  // status is not checked, because it may have very few fields.
  if (isComplete && isSuccess && namesJob && !namedJobId) {
    const message = 'must be at the top of the response or in "result.PartnerParams", because the job has succeeded';
    return { reason: 'mismatch', issues: [{ path: 'job_id', message }] };
  }
  // §2.4: a job without a final status is pending, even if the response has other signs of success.
  const { state, complete, success } = isComplete ? (isSuccess ? succeeded : failed) : pending;
  // TypeScript does not know that the three values belong together.
  const value = {
    state,
    complete,
    success,
    userId,
    jobId,
    code: toCode(wire.code),
    message: typeof wire.result === 'string' && wire.result !== '' ? wire.result : null,
    result,
    imageLinks,
    history,
    signedAt,
  } as JobStatus;
  return { value, reason: null };
}

const pending = { state: 'pending', complete: false, success: false } as const;
const failed = { state: 'failed', complete: true, success: false } as const;
const succeeded = { state: 'succeeded', complete: true, success: true } as const;

/**
 * Reads a result that the service posted to the callback URL. The result is an entry of a job's history or the body of
 * a callback.
 */
export function normaliseHistoryEntry(wire: WireHistoryEntry, brand: string): HistoryEntry {
  return historyEntryOf(wire, hostedJobIdField(brand));
}

/** The name of the field with the service's own job id: the brand word, then `JobID`. */
export function hostedJobIdField(brand: string): string {
  return `${brand.charAt(0).toUpperCase()}${brand.slice(1)}JobID`;
}

function normaliseResult(wire: WireResult, idField: string, named: ReadonlySet<string>): JobResult {
  const partnerParams = partnerParamsOf(wire.PartnerParams);
  // The schema does not know this field, because its name depends on an option. So the schema has not made it an own
  // property, and it could be inherited from a polluted prototype.
  const id = Object.hasOwn(wire, idField) ? (wire as Readonly<Record<string, unknown>>)[idField] : null;
  const hostedJobId = isCode(id) ? toCode(id) : null;
  const confidence = toNumber(wire.ConfidenceValue);
  return {
    resultCode: toCode(wire.ResultCode),
    resultText: wire.ResultText ?? null,
    resultType: wire.ResultType ?? null,
    hostedJobId,
    jsonVersion: toCode(wire.JSONVersion),
    isFinal: toBoolean(wire.IsFinalResult),
    isMachine: toBoolean(wire.IsMachineResult),
    confidence,
    actions: toStrings(wire.Actions ?? {}),
    partnerParams,
    extra: extraOf(wire, named, { ConfidenceValue: confidence, [idField]: hostedJobId }),
  };
}

function resultOf(wire: WireJobStatus['result'], idField: string): JobResult | null {
  if (typeof wire !== 'object' || wire === null || Array.isArray(wire) || hasOnly(undefined, wire)) return null;
  return normaliseResult(wire, idField, namedInResult);
}

function historyOf(wire: WireJobStatus['history'], idField: string): readonly HistoryEntry[] | null {
  if (wire === undefined || wire === null) return null;
  // In a checked record, a known field is undefined only if it is missing, because JSON has no undefined.
  const entries = Array.isArray(wire) ? wire : hasOnly(undefined, wire) ? [] : [wire];
  return entries.map((entry) => historyEntryOf(entry, idField));
}

function historyEntryOf(wire: WireHistoryEntry, idField: string): HistoryEntry {
  const identity = identityOf(wire);
  return { ...normaliseResult(wire, idField, namedInHistoryEntry), identity };
}

function identityOf(wire: WireHistoryEntry): HistoryEntry['identity'] {
  const identity = {
    fullName: wire.FullName ?? null,
    dateOfBirth: wire.DOB ?? null,
    idNumber: wire.IDNumber ?? null,
    idType: wire.IDType ?? null,
    country: wire.Country ?? null,
    expirationDate: wire.ExpirationDate ?? null,
  };
  return hasOnly(null, identity) ? null : identity;
}

/** Whether all own properties of a record have the value `blank`. */
function hasOnly(blank: null | undefined, record: object): boolean {
  for (const name in record) if (record[name as never] !== blank && Object.hasOwn(record, name)) return false;
  return true;
}

function partnerParamsOf(wire: WireResult['PartnerParams']): PartnerParams | null {
  if (!wire || Array.isArray(wire)) return null;
  return {
    userId: toCode(wire.user_id),
    jobId: toCode(wire.job_id),
    jobType: toCode(wire.job_type),
    linkId: toCode(wire.link_id),
    extra: toStrings(extraOf(wire, namedInPartnerParams)),
  };
}

function imageLinksOf(wire: WireJobStatus['image_links']): JobStatus['imageLinks'] {
  if (!wire) return null;
  const links: Readonly<Record<string, unknown>> = Array.isArray(wire) ? {} : wire;
  const selfieImage = toUrl(links.selfie_image);
  return {
    selfieImage,
    expiresAt: selfieImage?.includes('X-Amz-') ? expiryOf(new URL(selfieImage)) : null,
    extra: extraOf(links, namedInImageLinks, { selfie_image: selfieImage }),
  };
}

// A presigned URL has the time of its signing, in the basic ISO format, and the number of seconds for which it is
// valid.
function expiryOf(url: URL): Date | null {
  const signed = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(url.searchParams.get('X-Amz-Date') ?? '');
  const seconds = /^\d{1,9}$/.exec(url.searchParams.get('X-Amz-Expires') ?? '');
  if (!signed || !seconds) return null;
  const [, year, month, day, hour, minute, second] = signed;
  const start = toDate(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return start && new Date(start.getTime() + Number(seconds[0]) * 1000);
}
