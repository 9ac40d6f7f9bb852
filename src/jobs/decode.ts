/**
 * Reads job records into the public types, each field once (docs/protocol.md §2.4, §4.5, and "Spellings").
 * `job_success` is the verdict. No code is mapped to a verdict, because the meaning of a code differs between products.
 *
 * @module
 */

import type { DecodeContext } from '../call/operation.js';
import { assumedMaxEntries, assumedSuccessCodes } from '../protocol/assumptions.js';
import { toDate } from '../protocol/date-time.js';
import { createReader, isEmptyList, propertiesOf } from '../protocol/fields.js';
import {
  areObjects,
  extraOf,
  isAbsent,
  isMissing,
  noFields,
  type Report,
  readList,
  readObject,
  reportWithin,
  toStrings,
  toText,
} from '../protocol/scalars.js';
import { isRecord, type Properties } from '../runtime/untrusted-objects.js';
import { identityFields, imageLinksFields, partnerParamsFields, resultFields, statusFields } from './fields.js';
import type { HistoryEntry, JobRef, JobResult, JobStatus, PartnerParams } from './types.js';

/** Reads the response to a request for the status of a job. */
export function decodeStatus(wire: Properties, job: JobRef, context: DecodeContext): JobStatus {
  const { report, reportMismatch, signedAt } = context;
  const { brand, namesJob } = context.wire;
  const { userId, jobId, complete, success, code } = readStatus(wire, [], report);
  const message = toText(wire.result);
  const result = readStatusResult(wire.result, brand, report);
  const history = readHistory(wire.history, brand, report);
  const imageLinks = readImageLinks(wire.image_links, report);

  if (complete === null) report('job_complete', 'must be true or false, or "true" or "false"');
  if (complete && success === null) {
    report('job_success', 'must be true, false, "true" or "false", because the job is complete');
  }
  const succeeds = complete === true && success === true;
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
  const verdict = complete ? (succeeds ? succeeded : failed) : pending;
  return { ...verdict, userId: job.userId, jobId: job.jobId, code, message, result, imageLinks, history, signedAt };
}

const mustBeRequested = 'must be the id of the requested job';
const mustBeNamed = 'must be at the top of the response or in "result.PartnerParams", because the job has succeeded';

const pending = { state: 'pending', complete: false, success: false } as const;
const failed = { state: 'failed', complete: true, success: false } as const;
const succeeded = { state: 'succeeded', complete: true, success: true } as const;

const readStatus = createReader(statusFields);
const readIdentity = createReader(identityFields);
const readParams = createReader(partnerParamsFields);
const readLinks = createReader(imageLinksFields);
const paramsProperties = propertiesOf(partnerParamsFields);
const linksProperties = propertiesOf(imageLinksFields);

/** The readers of results, one for each brand word. A process has one or two. */
const brands = new Map<string, ReturnType<typeof createBrand>>();

function createBrand(word: string) {
  const wire = `${word.charAt(0).toUpperCase()}${word.slice(1)}JobID`;
  const fields = { ...resultFields, hostedJobId: { ...resultFields.hostedJobId, wire } };
  return { read: createReader(fields), result: propertiesOf(fields), entry: propertiesOf(fields, identityFields) };
}

/** Reads a result that the service posted to the callback URL: an entry of a job's history, or the body of a callback. */
export function decodeHistoryEntry(wire: Properties, brand: string, report: Report): HistoryEntry {
  const unread: string[] = [];
  const identity = readIdentity(wire, unread, report);
  const isKnown = Object.values(identity).some((value) => value !== null);
  return { ...readResult(wire, { brand, kind: 'entry', unread, report }), identity: isKnown ? identity : null };
}

interface ResultContext {
  readonly brand: string;
  readonly kind: 'result' | 'entry';
  readonly unread: string[];
  readonly report: Report;
}

function readResult(wire: Properties, { brand: word, kind, unread, report }: ResultContext): JobResult {
  const brand = brands.get(word) ?? createBrand(word);
  brands.set(word, brand);
  const values = brand.read(wire, unread, report);
  return {
    ...values,
    actions: values.actions ?? {},
    partnerParams: readPartnerParams(wire.PartnerParams, report),
    extra: withoutRoundedNumbers(extraOf(wire, brand[kind], unread)),
  };
}

// An ID number must be a string. As a number, it may have lost digits, and one that surely has is of no use to anyone.
function withoutRoundedNumbers(extra: Properties): Properties {
  const isRounded = (name: string) => typeof extra[name] === 'number' && !Number.isSafeInteger(extra[name]);
  const rounded = ['IDNumber', 'SecondaryIDNumber'].filter(isRounded);
  if (rounded.length === 0) return extra;
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !rounded.includes(name)));
}

function readStatusResult(wire: unknown, brand: string, report: Report): JobResult | null {
  if (!isRecord(wire) || isEmpty(wire)) return null;
  return readResult(wire, { brand, kind: 'result', unread: [], report: reportWithin('result', report) });
}

function readHistory(wire: unknown, brand: string, report: Report): readonly HistoryEntry[] | null {
  if (isEmpty(wire)) return [];
  if (isRecord(wire)) return [decodeHistoryEntry(wire, brand, reportWithin('history', report))];
  const max = assumedMaxEntries.results;
  if (!areObjects(wire, max)) return null;
  const read = (entry: unknown, reportEntry: Report) => decodeHistoryEntry(entry as Properties, brand, reportEntry);
  return readList(wire, 'history', report, { max, read });
}

function readPartnerParams(wire: unknown, report: Report): PartnerParams | null {
  const params = isMissing(wire) || isEmptyList(wire) ? null : readObject(wire, 'PartnerParams', report);
  if (params === null) return null;
  const unread: string[] = [];
  const values = readParams(params, unread, reportWithin('PartnerParams', report));
  return { ...values, extra: toStrings(extraOf(params, paramsProperties, unread)) };
}

function readImageLinks(wire: unknown, report: Report): JobStatus['imageLinks'] {
  const links = isEmptyList(wire) ? noFields : wire;
  if (!isRecord(links)) return null;
  const unread: string[] = [];
  const { selfieImage } = readLinks(links, unread, report);
  return {
    selfieImage,
    expiresAt: selfieImage?.includes('X-Amz-') ? expiryOf(new URL(selfieImage)) : null,
    extra: extraOf(links, linksProperties, unread),
  };
}

// The names of a list are not read: a list of millions of entries has as many.
function isEmpty(wire: unknown): boolean {
  if (typeof wire !== 'object' || wire === null || Array.isArray(wire)) return isEmptyList(wire);
  return Object.keys(wire).every((name) => name === '__proto__');
}

// A presigned URL has the time of its signing, in the basic ISO format, and the number of seconds for which it is
// valid.
function expiryOf({ searchParams }: URL): Date | null {
  const basic = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;
  const signed = searchParams.get('X-Amz-Date') ?? '';
  const start = basic.test(signed) ? toDate(signed.replace(basic, '$1-$2-$3T$4:$5:$6Z')) : null;
  const seconds = searchParams.get('X-Amz-Expires') ?? '';
  return start && /^\d{1,9}$/.test(seconds) ? new Date(start.getTime() + Number(seconds) * 1000) : null;
}
