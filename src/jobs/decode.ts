/**
 * Reads job records into the public types, each field once (docs/protocol.md §2.4, §4.5, and "Spellings").
 * `job_success` is the verdict. No code is mapped to a verdict, because the meaning of a code differs between products.
 *
 * @module
 */

import type { DecodeContext } from '../call/operation.js';
import { assumedMaxEntries, assumedSuccessCodes } from '../protocol/assumptions.js';
import { toDate } from '../protocol/date-time.js';
import { toUrl } from '../protocol/http-url.js';
import {
  extraOf,
  isAbsent,
  type Report,
  readBoolean,
  readCode,
  readList,
  readObject,
  readString,
  readVersion,
  reportWithin,
  toBoolean,
  toNumber,
  toStrings,
} from '../protocol/scalars.js';
import type { Properties } from '../runtime/untrusted-objects.js';
import type { HistoryEntry, JobRef, JobResult, JobStatus, PartnerParams } from './types.js';

/** Reads the response to a request for the status of a job. */
export function decodeStatus(wire: Properties, job: JobRef, context: DecodeContext): JobStatus {
  const { report, reportMismatch, signedAt } = context;
  const { brand, namesJob } = context.wire;
  const userId = readCode(wire.user_id, 'user_id', report);
  const jobId = readCode(wire.job_id, 'job_id', report);
  const isComplete = readBoolean(wire.job_complete, 'job_complete', report, 'required') === true;
  const isSuccess = toBoolean(wire.job_success);
  const code = readCode(wire.code, 'code', report);
  const message = typeof wire.result === 'string' && wire.result !== '' ? wire.result : null;
  const result = readStatusResult(wire.result, brand, report);
  const history = readHistory(wire.history, brand, report);
  const imageLinks = readImageLinks(wire.image_links, report);

  if (isComplete && isSuccess === null) {
    report('job_success', 'must be true, false, "true" or "false", because the job is complete');
  }
  const succeeds = isComplete && isSuccess === true;
  // No other code is known to come with a success (§7), and a code may mean that the job or the user has a problem.
  if (succeeds && code !== null && !assumedSuccessCodes.has(code)) {
    const codes = [...assumedSuccessCodes].join(' or ');
    reportMismatch('code', `must be ${codes} or missing, because the job has succeeded`);
  }
  // The signature does not cover the body, so the ids are compared with the requested ids. The ids of history entries
  // are not compared: even in genuine responses they may differ. Callers act on "succeeded", so this status must name
  // both ids: otherwise, it could belong to any user or job. A failed status may have very few fields.
  const named = result?.partnerParams;
  const compare = (
    field: 'user_id' | 'job_id',
    expected: string,
    ids: readonly [string | null, string | undefined | null],
  ) => {
    const [atTop, inParams] = ids;
    if (!isAbsent(atTop) && atTop !== expected) reportMismatch(field, mustBeRequested);
    if (!isAbsent(inParams) && inParams !== expected) reportMismatch(`result.PartnerParams.${field}`, mustBeRequested);
    if (succeeds && namesJob && ids.every(isAbsent)) reportMismatch(field, mustBeNamed);
  };
  compare('user_id', job.userId, [userId, named?.userId]);
  compare('job_id', job.jobId, [jobId, named?.jobId]);
  // §2.4: a job without a final status is pending, even if the response has other signs of success.
  const verdict = isComplete ? (succeeds ? succeeded : failed) : pending;
  return { ...verdict, userId: job.userId, jobId: job.jobId, code, message, result, imageLinks, history, signedAt };
}

const mustBeRequested = 'must be the id of the requested job';
const mustBeNamed = 'must be at the top of the response or in "result.PartnerParams", because the job has succeeded';

const pending = { state: 'pending', complete: false, success: false } as const;
const failed = { state: 'failed', complete: true, success: false } as const;
const succeeded = { state: 'succeeded', complete: true, success: true } as const;

/** The name of the field with the service's own job id: the brand word, then `JobID`. */
export function hostedJobIdField(brand: string): string {
  return `${brand.charAt(0).toUpperCase()}${brand.slice(1)}JobID`;
}

// The fields that have properties of their own.
const resultFields = [
  'ResultCode',
  'ResultText',
  'ResultType',
  'JSONVersion',
  'IsFinalResult',
  'IsMachineResult',
  'Actions',
  'PartnerParams',
];
const identityFields = ['FullName', 'DOB', 'IDNumber', 'IDType', 'Country', 'ExpirationDate'];
const namedInResult: ReadonlySet<string> = new Set(resultFields);
const namedInHistoryEntry: ReadonlySet<string> = new Set([...namedInResult, ...identityFields]);
const namedInPartnerParams: ReadonlySet<string> = new Set(['user_id', 'job_id', 'job_type', 'link_id']);
const noNames: ReadonlySet<string> = new Set();

/** Reads a result that the service posted to the callback URL: an entry of a job's history, or the body of a callback. */
export function decodeHistoryEntry(wire: Properties, brand: string, report: Report): HistoryEntry {
  const result = readResult(wire, brand, report, namedInHistoryEntry);
  const identity = {
    fullName: readString(wire.FullName, 'FullName', report),
    dateOfBirth: readString(wire.DOB, 'DOB', report),
    idNumber: readString(wire.IDNumber, 'IDNumber', ignore),
    idType: readString(wire.IDType, 'IDType', report),
    country: readString(wire.Country, 'Country', report),
    expirationDate: readString(wire.ExpirationDate, 'ExpirationDate', report),
  };
  const isKnown = Object.values(identity).some((value) => value !== null);
  return { ...result, identity: isKnown ? identity : null };
}

function readResult(wire: Properties, brand: string, report: Report, named: ReadonlySet<string>): JobResult {
  const idField = hostedJobIdField(brand);
  const hostedJobId = readCode(wire[idField], idField, ignore);
  const confidence = toNumber(wire.ConfidenceValue);
  const result = {
    resultCode: readCode(wire.ResultCode, 'ResultCode', report),
    resultText: readString(wire.ResultText, 'ResultText', report),
    resultType: readString(wire.ResultType, 'ResultType', report),
    hostedJobId,
    jsonVersion: readVersion(wire.JSONVersion, 'JSONVersion', report),
    isFinal: readBoolean(wire.IsFinalResult, 'IsFinalResult', report),
    isMachine: readBoolean(wire.IsMachineResult, 'IsMachineResult', report),
    confidence,
    actions: readActions(wire.Actions, report),
    partnerParams: readPartnerParams(wire.PartnerParams, report),
    // A confidence or an id that is there and cannot be read stays in `extra`.
    extra: extraOf(wire, named, { ConfidenceValue: confidence, [idField]: hostedJobId }),
  };
  // An ID number must be a string: if it was sent as a number, it may have lost digits.
  for (const field of ['IDNumber', 'SecondaryIDNumber']) readString(wire[field], field, report);
  return result;
}

const ignore: Report = () => false;

function readStatusResult(wire: unknown, brand: string, report: Report): JobResult | null {
  if (isAbsent(wire) || typeof wire === 'string' || isEmpty(wire)) return null;
  const fields = readObject(wire, 'result', report, 'must be an object or a string');
  return fields && readResult(fields, brand, reportWithin('result', report), namedInResult);
}

function readHistory(wire: unknown, brand: string, report: Report): readonly HistoryEntry[] | null {
  if (isAbsent(wire)) return null;
  if (isEmpty(wire)) return [];
  if (Array.isArray(wire)) {
    return readList(wire, 'history', report, {
      max: assumedMaxEntries.results,
      read(entry, reportEntry) {
        const fields = readObject(entry, '', reportEntry);
        return fields && decodeHistoryEntry(fields, brand, reportEntry);
      },
    });
  }
  const entry = readObject(wire, 'history', report, 'must be a list of results');
  return entry && [decodeHistoryEntry(entry, brand, reportWithin('history', report))];
}

function readPartnerParams(wire: unknown, report: Report): PartnerParams | null {
  const params = isAbsent(wire) || isEmptyList(wire) ? null : readObject(wire, 'PartnerParams', report);
  const reportParam = reportWithin('PartnerParams', report);
  return (
    params && {
      userId: readCode(params.user_id, 'user_id', reportParam),
      jobId: readCode(params.job_id, 'job_id', reportParam),
      jobType: readCode(params.job_type, 'job_type', reportParam),
      linkId: readCode(params.link_id, 'link_id', reportParam),
      extra: toStrings(extraOf(params, namedInPartnerParams)),
    }
  );
}

function readImageLinks(wire: unknown, report: Report): JobStatus['imageLinks'] {
  const links = isAbsent(wire) ? null : isEmptyList(wire) ? {} : readObject(wire, 'image_links', report);
  if (links === null) return null;
  const selfieImage = toUrl(links.selfie_image);
  return {
    selfieImage,
    expiresAt: selfieImage?.includes('X-Amz-') ? expiryOf(new URL(selfieImage)) : null,
    extra: extraOf(links, noNames, { selfie_image: selfieImage }),
  };
}

function readActions(wire: unknown, report: Report): JobResult['actions'] {
  return isAbsent(wire) || isEmptyList(wire) ? {} : toStrings(readObject(wire, 'Actions', report) ?? {});
}

// Some languages write an empty object as an empty list.
function isEmptyList(wire: unknown): boolean {
  return Array.isArray(wire) && wire.length === 0;
}

// The names of a list are not read: a list of millions of entries has as many.
function isEmpty(wire: unknown): boolean {
  if (typeof wire !== 'object' || wire === null || Array.isArray(wire)) return isEmptyList(wire);
  return Object.keys(wire).every((name) => name === '__proto__');
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
