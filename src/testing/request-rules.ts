/**
 * Rules for the properties of a request (docs/protocol.md §2.1, §4).
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import { parseIsoTime } from './timestamps.js';

/** A JSON object, as received. */
export type Body = Readonly<Record<string, unknown>>;

/** What a property must be. */
export interface PropertyRule {
  readonly property: string;
  readonly required: boolean;
  /** The text after "must be" in a message. */
  readonly expected: string;
  accepts(value: unknown): boolean;
}

/**
 * Says in the service's words what is wrong with a body; null if the body is right. The message contains no value from
 * the body.
 */
export function findProblem(body: Body, rules: readonly PropertyRule[]): string | null {
  for (const { property, required, expected, accepts } of rules) {
    const value = body[property];
    if (value === undefined && required) return `Missing required parameter: ${property}`;
    if (value !== undefined && !accepts(value)) return `Invalid parameter: ${property} must be ${expected}`;
  }
  return null;
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const string = { expected: 'a string that is not empty', accepts: isNonEmptyString };
const boolean = { expected: 'a boolean', accepts: (value: unknown) => typeof value === 'boolean' };
const httpUrl = { expected: 'an absolute http(s) URL', accepts: isHttpUrl };
const dateTime = {
  expected: 'an ISO 8601 date-time',
  accepts: (value: unknown) => typeof value === 'string' && parseIsoTime(value) !== null,
};
const idTypes = {
  expected:
    'a list of objects with country, id_type and verification_method; the same country and id_type must always have the same verification_method',
  accepts: isIdTypeList,
};

/** §4.1 marks `callback_url` as required, but says that it has a default. So it may be absent. */
export const createLinkRules: readonly PropertyRule[] = [
  { property: 'company_name', required: true, ...string },
  { property: 'data_privacy_policy_url', required: true, ...httpUrl },
  { property: 'callback_url', required: false, ...httpUrl },
  { property: 'name', required: false, ...string },
  { property: 'id_types', required: false, ...idTypes },
  { property: 'logo_url', required: false, ...httpUrl },
  { property: 'is_single_use', required: false, ...boolean },
  { property: 'user_id', required: false, ...string },
  { property: 'expires_at', required: false, ...dateTime },
];

/** §4.2 */
export const updateLinkRules: readonly PropertyRule[] = [
  { property: 'is_disabled', required: false, ...boolean },
  { property: 'id_types', required: false, ...idTypes },
];

/** §4.4 */
export function listLinksRules(firstPage: number): readonly PropertyRule[] {
  const accepts = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= firstPage;
  return [{ property: 'page', required: false, expected: `an integer of ${firstPage} or more`, accepts }];
}

/**
 * §4.5. The documents do not show which properties are required. Here both ids are required, because a job is
 * identified only by both together.
 */
export function jobStatusRules(flags: Wire['jobFlags']): readonly PropertyRule[] {
  const accepts = (value: unknown) => value === 'true' || value === 'false';
  const flag = flags === 'string' ? { expected: '"true" or "false"', accepts } : boolean;
  return [
    { property: 'user_id', required: true, ...string },
    { property: 'job_id', required: true, ...string },
    { property: 'image_links', required: false, ...flag },
    { property: 'history', required: false, ...flag },
  ];
}

function isNonEmptyString(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isHttpUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !/^https?:\/\//i.test(value)) return false;
  return URL.canParse(value);
}

/** §2.1 */
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

/** An `id_type` may be the empty string, which means "others". */
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
