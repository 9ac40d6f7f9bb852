/**
 * From the wire's job records to clean ones (docs/protocol.md, "Spellings"). No code is mapped to a
 * verdict: what one means differs between products, and `job_success` is the verdict.
 *
 * @module
 */

import { extraOf, toBoolean, toCode, toDate, toNumber, toText, toTexts, toUrl } from '../protocol/scalars.js';
import type { HistoryEntry, JobResult, JobStatus, PartnerParams } from './types.js';
import {
  partnerParamsFields,
  resultFields,
  type WireHistoryEntry,
  type WireJobStatus,
  type WireResult,
} from './wire.js';

// Signatures are as good as keys to whoever gets them within their five minutes.
const signatures = ['signature', 'sec_key'];
const results = Object.keys(resultFields).filter((name) => !name.endsWith('IDNumber'));
const ofResult: ReadonlySet<string> = new Set([...results, ...signatures]);
const identities = ['FullName', 'DOB', 'IDNumber', 'IDType', 'Country', 'ExpirationDate'];
const ofHistoryEntry: ReadonlySet<string> = new Set([...ofResult, ...identities]);
const ofPartnerParams: ReadonlySet<string> = new Set(Object.keys(partnerParamsFields));
const ofImageLinks: ReadonlySet<string> = new Set(['selfie_image']);

/** What an answer says of the job, apart from its state. */
export function normaliseRecord(wire: WireJobStatus, brand: string) {
  return {
    code: toCode(wire.code),
    message: typeof wire.result === 'string' && wire.result !== '' ? wire.result : null,
    result: resultOf(wire.result, brand),
    imageLinks: imageLinksOf(wire.image_links),
    history: historyOf(wire.history, brand),
  } satisfies Partial<JobStatus>;
}

/** A result as it was sent to the callback: in a job's history, or as a callback itself. */
export function normaliseHistoryEntry(wire: WireHistoryEntry, brand: string): HistoryEntry {
  const identity = {
    fullName: toText(wire.FullName),
    dateOfBirth: toText(wire.DOB),
    idNumber: toText(wire.IDNumber),
    idType: toText(wire.IDType),
    country: toText(wire.Country),
    expirationDate: toText(wire.ExpirationDate),
  };
  const known = Object.values(identity).some((value) => value !== null);
  return { ...normaliseResult(wire, brand, ofHistoryEntry), identity: known ? identity : null };
}

/** The member that carries the service's own id of a job: the brand word, then `JobID`. */
export function hostedJobIdMember(brand: string): string {
  return `${brand.charAt(0).toUpperCase()}${brand.slice(1)}JobID`;
}

function normaliseResult(wire: WireResult, brand: string, named: ReadonlySet<string>): JobResult {
  const idMember = hostedJobIdMember(brand);
  // The brand word is the user's to say, so the schema does not know this field, and it could be inherited.
  // What is no id stays in `extra`.
  const id = Object.hasOwn(wire, idMember) ? (wire as Record<string, unknown>)[idMember] : null;
  const isId = id === null || typeof id === 'string' || Number.isSafeInteger(id);
  const confidence = toNumber(wire.ConfidenceValue);
  const isNamed = { has: (name: string) => named.has(name) || (isId && name === idMember) };
  return {
    resultCode: toCode(wire.ResultCode),
    resultText: toText(wire.ResultText),
    resultType: toText(wire.ResultType),
    hostedJobId: isId ? toCode(id as string | number | null) : null,
    jsonVersion: toCode(wire.JSONVersion),
    isFinal: toBoolean(wire.IsFinalResult),
    isMachine: toBoolean(wire.IsMachineResult),
    confidence,
    actions: toTexts(wire.Actions ?? {}),
    partnerParams: partnerParamsOf(wire.PartnerParams),
    extra: extraOf(wire, isNamed, { ConfidenceValue: confidence }),
  };
}

function resultOf(wire: WireJobStatus['result'], brand: string): JobResult | null {
  if (typeof wire !== 'object' || wire === null || Array.isArray(wire) || isEmpty(wire)) return null;
  return normaliseResult(wire, brand, ofResult);
}

function historyOf(wire: WireJobStatus['history'], brand: string): readonly HistoryEntry[] | null {
  if (wire === undefined || wire === null) return null;
  const entries = Array.isArray(wire) ? wire : isEmpty(wire) ? [] : [wire];
  return entries.map((entry) => normaliseHistoryEntry(entry, brand));
}

// Known fields that are missing are there, and undefined; JSON has no other undefined.
function isEmpty(wire: object): boolean {
  return Object.values(wire).every((value) => value === undefined);
}

function partnerParamsOf(wire: WireResult['PartnerParams']): PartnerParams | null {
  if (!wire || Array.isArray(wire)) return null;
  return {
    userId: toCode(wire.user_id),
    jobId: toCode(wire.job_id),
    jobType: toCode(wire.job_type),
    linkId: toCode(wire.link_id),
    extra: toTexts(extraOf(wire, ofPartnerParams)),
  };
}

function imageLinksOf(wire: WireJobStatus['image_links']): JobStatus['imageLinks'] {
  if (!wire) return null;
  const links: Readonly<Record<string, unknown>> = Array.isArray(wire) ? {} : wire;
  const selfieImage = toUrl(links.selfie_image);
  return {
    selfieImage,
    expiresAt: selfieImage?.includes('X-Amz-') ? expiryOf(new URL(selfieImage)) : null,
    extra: extraOf(links, ofImageLinks, { selfie_image: selfieImage }),
  };
}

// A presigned address says when it was signed, in basic ISO form, and for how many seconds.
function expiryOf(url: URL): Date | null {
  const signed = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(url.searchParams.get('X-Amz-Date') ?? '');
  const seconds = /^\d{1,9}$/.exec(url.searchParams.get('X-Amz-Expires') ?? '');
  if (!signed || !seconds) return null;
  const [, year, month, day, hour, minute, second] = signed;
  const start = toDate(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return start && new Date(start.getTime() + Number(seconds[0]) * 1000);
}
