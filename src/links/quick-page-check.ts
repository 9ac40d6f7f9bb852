/**
 * Quick checks of the entries of the one response of size, a page of links (`validation/quick-check.ts` says what a
 * quick check is). They are written field by field: those that are derived from the schemas take five times as long.
 *
 * @module
 */

import { isRecord } from '../protocol/json.js';
import { isCount } from '../protocol/scalars.js';

/** Whether a link is accepted as it stands. Times and three of the URLs may be anything: what cannot be read is null. */
export function isOrdinaryLink(link: unknown): boolean {
  return (
    isPlain(link) &&
    isText(link.link) &&
    isText(link.link_url) &&
    isText(link.link_id) &&
    isText(link.ref_id) &&
    isText(link.name) &&
    isListOf(link.id_types, isOrdinaryIdType) &&
    (typeof link.is_single_use === 'boolean' || isAbsent(link.is_single_use)) &&
    isText(link.user_id) &&
    isListOf(link.user_ids, isText) &&
    isCountOrAbsent(link.total_jobs) &&
    isCountOrAbsent(link.failed_jobs) &&
    isCountOrAbsent(link.successful_jobs) &&
    isText(link.company_name) &&
    isText(link.partner_id)
  );
}

/** Whether an ID type is accepted as it stands. */
export function isOrdinaryIdType(entry: unknown): boolean {
  return isPlain(entry) && isText(entry.country) && isText(entry.id_type) && isText(entry.verification_method);
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

function isCountOrAbsent(value: unknown): boolean {
  return isAbsent(value) || isCount(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' || isAbsent(value);
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}
