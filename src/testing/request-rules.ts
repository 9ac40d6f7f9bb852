/**
 * What the members of a request must look like (docs/protocol.md §2.1, §4).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import { isoInstant } from './timestamps.js';

/** A JSON object as it came. */
export type Body = Readonly<Record<string, unknown>>;

/** What one member must be. */
export interface MemberRule {
  readonly member: string;
  readonly required: boolean;
  /** Completes "must be …". */
  readonly kind: string;
  holds(value: unknown): boolean;
}

/** What is wrong with a body, as the service puts it; null where nothing is. Never a value. */
export function findProblem(body: Body, rules: readonly MemberRule[]): string | null {
  for (const { member, required, kind, holds } of rules) {
    const value = body[member];
    if (value === undefined && required) return `Missing required parameter: ${member}`;
    if (value !== undefined && !holds(value)) return `Invalid parameter: ${member} must be ${kind}`;
  }
  return null;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const text = { kind: 'text', holds: isText };
const boolean = { kind: 'a boolean', holds: (value: unknown) => typeof value === 'boolean' };
const httpUrl = { kind: 'an absolute http(s) URL', holds: isHttpUrl };
const dateTime = {
  kind: 'an ISO 8601 date-time',
  holds: (value: unknown) => typeof value === 'string' && isoInstant(value) !== null,
};
const idTypes = {
  kind: 'a list of country, id_type and verification_method, with one method for each ID type of a country',
  holds: isIdTypeList,
};

/** §4.1. `callback_url` is marked as required there, and said to have a default: it may be absent. */
export const createLinkRules: readonly MemberRule[] = [
  { member: 'company_name', required: true, ...text },
  { member: 'data_privacy_policy_url', required: true, ...httpUrl },
  { member: 'callback_url', required: false, ...httpUrl },
  { member: 'name', required: false, ...text },
  { member: 'id_types', required: false, ...idTypes },
  { member: 'logo_url', required: false, ...httpUrl },
  { member: 'is_single_use', required: false, ...boolean },
  { member: 'user_id', required: false, ...text },
  { member: 'expires_at', required: false, ...dateTime },
];

/** §4.2 */
export const updateLinkRules: readonly MemberRule[] = [
  { member: 'is_disabled', required: false, ...boolean },
  { member: 'id_types', required: false, ...idTypes },
];

/** §4.4 */
export function listLinksRules(firstPage: number): readonly MemberRule[] {
  const holds = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= firstPage;
  return [{ member: 'page', required: false, kind: `a whole number of ${firstPage} or more`, holds }];
}

/** §4.5. Which members are required is not shown; without both ids there is no job to speak of. */
export function jobStatusRules(flags: Wire['jobFlags']): readonly MemberRule[] {
  const asText = { kind: '"true" or "false"', holds: (value: unknown) => value === 'true' || value === 'false' };
  const flag = flags === 'string' ? asText : boolean;
  return [
    { member: 'user_id', required: true, ...text },
    { member: 'job_id', required: true, ...text },
    { member: 'image_links', required: false, ...flag },
    { member: 'history', required: false, ...flag },
  ];
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isHttpUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !/^https?:\/\//i.test(value)) return false;
  return URL.canParse(value);
}

/** §2.1: the four there are. */
const verificationMethods = new Set<unknown>([
  'biometric_kyc',
  'doc_verification',
  'enhanced_document_verification',
  'enhanced_kyc',
]);

function isIdTypeList(value: unknown): boolean {
  if (!Array.isArray(value) || !value.every(isIdType)) return false;
  const methods = new Map<string, unknown>();
  return value.every((entry: Body) => {
    const key = JSON.stringify([entry.country, entry.id_type]);
    const method = methods.get(key) ?? entry.verification_method;
    methods.set(key, method);
    return method === entry.verification_method;
  });
}

/** An `id_type` may be the empty string: the service's "others". */
function isIdType(entry: unknown): boolean {
  if (!isObject(entry)) return false;
  const { country, id_type: idType, verification_method: method } = entry;
  return (
    typeof country === 'string' &&
    /^[A-Z]{2}$/.test(country) &&
    typeof idType === 'string' &&
    verificationMethods.has(method)
  );
}
