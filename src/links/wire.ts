/**
 * The shapes of responses about links, checked field by field (docs/protocol.md §2.1 to §2.3, §4.1 to §4.4). Unknown
 * fields are kept.
 *
 * @module
 */

import * as z from 'zod/mini';
import { assumedMaxEntries } from '../protocol/assumptions.js';
import {
  isCode,
  isCount,
  isCountString,
  toBoolean,
  wireAnything,
  wireBoolean,
  wireCode,
  wireCount,
  wireString,
} from '../protocol/scalars.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { list, oneOf, record } from '../validation/structure.js';

const wireIdType = record({ country: wireString, id_type: wireString, verification_method: wireString });
const wireIdTypes = z.nullish(list(wireIdType, { max: assumedMaxEntries.idTypes }));

export const linkFields = {
  link: wireString,
  link_url: wireString,
  link_id: wireCode,
  ref_id: wireCode,
  name: wireString,
  id_types: wireIdTypes,
  is_single_use: z.nullish(wireBoolean),
  callback_url: wireAnything,
  data_privacy_policy_url: wireAnything,
  logo_url: wireAnything,
  user_id: wireCode,
  user_ids: z.nullish(
    oneOf(
      { string: z.string(), list: list(wireCode, { max: assumedMaxEntries.users }) },
      'must be a string or a list of strings',
    ),
  ),
  total_jobs: z.nullish(wireCount),
  failed_jobs: z.nullish(wireCount),
  successful_jobs: z.nullish(wireCount),
  company_name: wireString,
  partner_id: wireCode,
  created_at: wireAnything,
  updated_at: wireAnything,
  expires_at: wireAnything,
  disabled_at: wireAnything,
};

/** A link, in both spellings: `user_id` or `user_ids`, `link_url` or `link`. */
export const wireLink = record(linkFields);

/** The response to creating a link (§4.1). */
export const wireCreatedLink = record({ link: wireString, link_url: wireString, ref_id: wireCode, link_id: wireCode });

/** The response to changing a link (§4.2). */
export const wireUpdatedLink = record({
  link: wireString,
  link_url: wireString,
  ref_id: wireCode,
  link_id: wireCode,
  id_types: wireIdTypes,
  disabled_at: wireAnything,
});

/** A page of links (§4.4) and its place in the list (§2.3). */
export const wireLinkPage = record({
  links: list(wireLink, { max: assumedMaxEntries.links, isOrdinary: isOrdinaryLink }),
  meta: record({ currentPage: wireCount, limit: wireCount, totalCount: wireCount, totalPages: wireCount }),
});

export type WireIdType = z.infer<typeof wireIdType>;
/** Only the fields above, so that `normalise.ts` cannot read a field that has no shape. */
export type WireLink = { readonly [Field in keyof typeof linkFields]?: z.infer<(typeof linkFields)[Field]> };
export type WireCreatedLink = z.infer<typeof wireCreatedLink>;
export type WireUpdatedLink = z.infer<typeof wireUpdatedLink>;
export type WireLinkPage = z.infer<typeof wireLinkPage>;

// The quick checks of a page's entries (`validation/quick-check.ts` says what a quick check is). Pages are large, and
// checks that are derived from a schema take five times as long. So these checks are written field by field.

/**
 * Whether a link is accepted unchanged. Times, and the URLs of the callback, the privacy policy and the logo, are not
 * checked here: an unreadable value becomes null later.
 */
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

/** Whether an ID type is accepted unchanged. */
function isOrdinaryIdType(entry: unknown): boolean {
  return (
    isPlain(entry) &&
    isStringOrAbsent(entry.country) &&
    isStringOrAbsent(entry.id_type) &&
    isStringOrAbsent(entry.verification_method)
  );
}

/**
 * The length of the longest list that a quick check accepts. The schema checks longer lists, and limits their length.
 */
const maxOrdinaryEntries = 2_000;

// An object with a field `__proto__` does not pass. The schema then drops this field, because assigning `__proto__` to a
// copy would set the copy's prototype.
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
  return isAbsent(value) || toBoolean(value) !== null;
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
