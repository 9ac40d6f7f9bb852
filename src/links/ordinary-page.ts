/**
 * The quick way through the one response of size, a page of links: an entry that is of the ordinary
 * kind needs neither a check by the schemas of `wire.ts`, which can tell what is wrong, nor a copy.
 *
 * @module
 */

import { isRecord } from '../json.js';
import { isCount } from '../scalars.js';

/** What each field of an ordinary entry is: never more than its schema accepts. */
type Rules<Name extends string> = Readonly<Record<Name, (value: unknown) => boolean>>;

/** An ordinary ID type. */
export const ordinaryIdType = { country: isText, id_type: isText, verification_method: isText };

const isOrdinaryIdType = entryTest(ordinaryIdType);

/** An ordinary link. */
export const ordinaryLink = {
  link: isText,
  link_url: isText,
  link_id: isText,
  ref_id: isText,
  name: isText,
  id_types: (value: unknown) => isListOf(value, isOrdinaryIdType),
  is_single_use: (value: unknown) => typeof value === 'boolean' || isAbsent(value),
  callback_url: isAnything,
  data_privacy_policy_url: isAnything,
  logo_url: isAnything,
  user_id: isText,
  user_ids: (value: unknown) => isListOf(value, isText),
  total_jobs: isCountOrAbsent,
  failed_jobs: isCountOrAbsent,
  successful_jobs: isCountOrAbsent,
  company_name: isText,
  partner_id: isText,
  created_at: isAnything,
  updated_at: isAnything,
  expires_at: isAnything,
  disabled_at: isAnything,
};

/** Longer lists are left to their schemas, which know how long one may be. */
const maxOrdinaryEntries = 2_000;

/**
 * Makes the test of ordinary entries of a list. Entries that are not copied inherit: where a field of
 * any of them could be inherited, none is ordinary.
 */
export function ordinaryEntries<Name extends string>(rules: Rules<Name>): () => (entry: unknown) => boolean {
  const isOrdinary = entryTest(rules);
  const names = [...Object.keys(rules), ...Object.keys(ordinaryIdType)];
  return () => (names.some((name) => name in Object.prototype) ? () => false : isOrdinary);
}

function entryTest(rules: Rules<string>): (entry: unknown) => boolean {
  const fields = Object.entries(rules);
  return (entry) =>
    isRecord(entry) &&
    // Its schema drops a field of that name, which a copy made by assignment would take for a prototype.
    !Object.hasOwn(entry, '__proto__') &&
    fields.every(([name, isOrdinary]) => isOrdinary(entry[name]));
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

function isAnything(): boolean {
  return true;
}
