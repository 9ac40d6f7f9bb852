/**
 * Quick checks of the entries of the one response of size, a page of links (`validation/quick-check.ts` says what a
 * quick check is). They are written field by field: those that are derived from the schemas take five times as long.
 *
 * @module
 */

import { isRecord } from '../protocol/json.js';
import { isBooleanString, isCode, isCount, isCountString } from '../protocol/scalars.js';

/** Whether a link is accepted as it stands. Times and three of the URLs may have any value: unreadable ones become null. */
export function isOrdinaryLink(link: unknown): boolean {
  return (
    isPlain(link) &&
    isStringOrAbsent(link.link) &&
    isStringOrAbsent(link.link_url) &&
    isCodeOrAbsent(link.link_id) &&
    isCodeOrAbsent(link.ref_id) &&
    isStringOrAbsent(link.name) &&
    isListOf(link.id_types, isOrdinaryIdType) &&
    isBooleanOrAbsent(link.is_single_use) &&
    isCodeOrAbsent(link.user_id) &&
    (typeof link.user_ids === 'string' || isListOf(link.user_ids, isCodeOrAbsent)) &&
    isCountOrAbsent(link.total_jobs) &&
    isCountOrAbsent(link.failed_jobs) &&
    isCountOrAbsent(link.successful_jobs) &&
    isStringOrAbsent(link.company_name) &&
    isCodeOrAbsent(link.partner_id)
  );
}

/** Whether an ID type is accepted as it stands. */
export function isOrdinaryIdType(entry: unknown): boolean {
  return (
    isPlain(entry) &&
    isStringOrAbsent(entry.country) &&
    isStringOrAbsent(entry.id_type) &&
    isStringOrAbsent(entry.verification_method)
  );
}

/** Longer lists are left to their schemas, which know how long one may be. */
const maxOrdinaryEntries = 2_000;

// The schema drops a field called `__proto__`, which a copy made by assignment would take for a prototype.
function isPlain(value: unknown): value is Record<string, unknown> {
  return isRecord(value) && !Object.hasOwn(value, '__proto__');
}

function isListOf(value: unknown, isOrdinary: (entry: unknown) => boolean): boolean {
  if (isAbsent(value)) return true;
  return Array.isArray(value) && value.length <= maxOrdinaryEntries && value.every(isOrdinary);
}

function isCodeOrAbsent(value: unknown): boolean {
  return isCode(value) || isAbsent(value);
}

function isBooleanOrAbsent(value: unknown): boolean {
  return typeof value === 'boolean' || isAbsent(value) || isBooleanString(value);
}

function isCountOrAbsent(value: unknown): boolean {
  return isCount(value) || isAbsent(value) || isCountString(value);
}

function isStringOrAbsent(value: unknown): boolean {
  return typeof value === 'string' || isAbsent(value);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
