/**
 * The fields that a partner may send with a link, a row for each: what a request must have, how the value is kept and
 * written, and what a seeded link has (docs/protocol.md §2.1, §2.2, §4.1).
 *
 * @module
 */

import type { NewLink } from '../links/types.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { type Spell, spellBoolean, spellNull } from './dialect.js';
import { type Body, boolean, type PropertyRule, string } from './request-rules.js';
import { parseIsoTime } from './timestamps.js';

/** An ID type in its form on the wire (§2.1). */
export interface WireIdType {
  readonly country: string;
  readonly id_type: string;
  readonly verification_method: string;
}

interface LinkField extends PropertyRule {
  /** Reads a value that was accepted, or is missing. */
  read(value: unknown): unknown;
  write(value: unknown, spell: Spell): unknown;
  readonly seed: unknown;
}

const plain = {
  required: false,
  read: (value: string | null = null) => value,
  write: (value: unknown, spell: Spell) => value ?? spellNull(spell),
};

const text = { ...plain, ...string };
const httpUrl = { ...plain, expected: 'an absolute http(s) URL', accepts: isHttpUrl };
const dateTime = {
  ...plain,
  expected: 'an ISO 8601 date-time',
  accepts: (value: unknown) => typeof value === 'string' && parseIsoTime(value) !== null,
};
const flag = {
  ...boolean,
  read: (value: boolean | null = null) => value,
  write: (value: unknown, spell: Spell) => (typeof value === 'boolean' ? spellBoolean(value, spell) : spellNull(spell)),
};
const idTypes = {
  ...plain,
  expected:
    'a list of objects with country, id_type and verification_method; the same country and id_type must always have the same verification_method',
  accepts: isIdTypeList,
  read: (entries: readonly WireIdType[] = []): readonly WireIdType[] =>
    entries.map(({ country, id_type, verification_method }) => ({ country, id_type, verification_method })),
};

/** The callback URL for links that have none: the partner's default (§6). */
export const defaultCallbackUrl = 'https://partner.hosted.test/callbacks';

const privacyUrl = 'https://partner.hosted.test/privacy';
const passport = { country: 'NG', id_type: 'PASSPORT', verification_method: 'doc_verification' };

const linkFields = {
  companyName: { ...text, property: 'company_name', required: true, seed: 'Example Partner' },
  dataPrivacyPolicyUrl: { ...httpUrl, property: 'data_privacy_policy_url', required: true, seed: privacyUrl },
  // §4.1 marks it as required, but says that it has a default. So it may be absent.
  callbackUrl: { ...httpUrl, property: 'callback_url', seed: defaultCallbackUrl },
  name: { ...text, property: 'name', seed: null },
  idTypes: { ...idTypes, property: 'id_types', seed: [passport] },
  logoUrl: { ...httpUrl, property: 'logo_url', seed: null },
  isSingleUse: { ...flag, property: 'is_single_use', seed: false },
  userId: { ...text, property: 'user_id', seed: null },
  expiresAt: { ...dateTime, property: 'expires_at', seed: null },
} as const satisfies Readonly<Record<Exclude<keyof NewLink, 'extra'>, LinkField>>;

type ValueOf<Field extends LinkField> = Field extends { readonly required: true }
  ? NonNullable<ReturnType<Field['read']>>
  : ReturnType<Field['read']>;

/** The values of a new link. A value is null if the request does not have it. */
export type LinkDraft = { readonly [Name in keyof typeof linkFields]: ValueOf<(typeof linkFields)[Name]> };

/** §4.1 */
export const createLinkRules: readonly PropertyRule[] = Object.values(linkFields);

/** §4.2 */
export const updateLinkRules: readonly PropertyRule[] = [{ ...flag, property: 'is_disabled' }, linkFields.idTypes];

const rows = Object.entries<LinkField>(linkFields);

/** What a seeded link has. */
export const seedDraft = mapFields(({ seed }) => seed);

/** Reads a link from a checked body. */
export function readDraft(body: Body): LinkDraft {
  return mapFields(({ property, read }) => read(body[property]));
}

function mapFields(map: (field: LinkField) => unknown): LinkDraft {
  return Object.fromEntries(rows.map(([name, field]) => [name, map(field)])) as unknown as LinkDraft;
}

/** Writes the fields of a response. */
export function writeFields(link: LinkDraft, spell: Spell): object {
  return Object.fromEntries(
    rows.map(([name, { property, write }]) => [property, write(link[name as keyof LinkDraft], spell)]),
  );
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
  if (!isRecord(entry)) return false;
  const { country, id_type: idType, verification_method: method } = entry;
  return (
    typeof country === 'string' &&
    /^[A-Z]{2}$/.test(country) &&
    typeof idType === 'string' &&
    verificationMethods.has(method)
  );
}
