/**
 * Converts links from the wire format into the public types (docs/protocol.md, "Spellings").
 *
 * @module
 */

import type { Decoded } from '../call/operation.js';
import { type Issue, maxIssues } from '../errors/hosted-error.js';
import { toDate } from '../protocol/date-time.js';
import { toUrl } from '../protocol/http-url.js';
import { extraOf, toBoolean, toCode, toCount } from '../protocol/scalars.js';
import type { CreatedLink, IdType, Link, PageMeta, UpdatedLink } from './types.js';
import type { WireCreatedLink, WireIdType, WireLink, WireLinkPage, WireUpdatedLink } from './wire.js';
import { linkFields } from './wire.js';

const namedFields: ReadonlySet<string> = new Set(Object.keys(linkFields));

/** Reads a link, or returns the issues if its URL or its id is missing. */
export function normaliseLink(wire: WireLink): Decoded<Link> {
  const link = readLink(wire, { callbackUrl: toUrl, dataPrivacyPolicyUrl: toUrl, logoUrl: toUrl });
  return link === null ? { reason: 'shape', issues: missingIn(wire) } : { value: link, reason: null };
}

/** Reads the links of a page, or returns the issues if a link has no URL or no id. */
export function normaliseLinks(wires: readonly WireLink[]): Decoded<readonly Link[]> {
  const links: Link[] = [];
  const issues: Issue[] = [];
  // The links of an account usually share these three URLs, so each reader keeps its last result.
  const read = { callbackUrl: createUrlReader(), dataPrivacyPolicyUrl: createUrlReader(), logoUrl: createUrlReader() };
  for (const [index, wire] of wires.entries()) {
    const link = readLink(wire, read);
    if (link !== null) links.push(link);
    else issues.push(...missingIn(wire).map(({ path, message }) => ({ path: `links[${index}].${path}`, message })));
    if (issues.length >= maxIssues) break;
  }
  return issues.length > 0 ? { reason: 'shape', issues } : { value: links, reason: null };
}

/** Creates a `toUrl` that keeps its last result: a repeated URL is not checked again. */
function createUrlReader(): typeof toUrl {
  let last: unknown = null;
  let url: string | null = null;
  return (wire) => {
    if (wire === last) return url;
    last = wire;
    url = toUrl(wire);
    return url;
  };
}

type UrlReaders = Readonly<Record<'callbackUrl' | 'dataPrivacyPolicyUrl' | 'logoUrl', typeof toUrl>>;

/** Reads a link; null if it has no id or no URL. */
function readLink(wire: WireLink, { callbackUrl, dataPrivacyPolicyUrl, logoUrl }: UrlReaders): Link | null {
  const idTypes = normaliseIdTypes(wire.id_types);
  const userIds = userIdsOf(wire);
  const state = stateOf(wire.disabled_at);
  const url = toUrl(wire.link_url || wire.link);
  const read = {
    callback_url: callbackUrl(wire.callback_url),
    data_privacy_policy_url: dataPrivacyPolicyUrl(wire.data_privacy_policy_url),
    logo_url: logoUrl(wire.logo_url),
    created_at: toDate(wire.created_at),
    updated_at: toDate(wire.updated_at),
    expires_at: toDate(wire.expires_at),
    disabled_at: toDate(wire.disabled_at),
  };
  const linkId = toCode(wire.link_id);
  const refId = toCode(wire.ref_id) ?? linkId;
  if (url === null || refId === null) return null;
  return {
    url,
    linkId: linkId ?? refId,
    refId,
    name: wire.name ?? null,
    idTypes,
    isSingleUse: toBoolean(wire.is_single_use),
    callbackUrl: read.callback_url,
    dataPrivacyPolicyUrl: read.data_privacy_policy_url,
    logoUrl: read.logo_url,
    userIds,
    jobs: {
      total: toCount(wire.total_jobs),
      failed: toCount(wire.failed_jobs),
      successful: toCount(wire.successful_jobs),
    },
    companyName: wire.company_name ?? null,
    partnerId: toCode(wire.partner_id),
    createdAt: read.created_at,
    updatedAt: read.updated_at,
    expiresAt: read.expires_at,
    disabledAt: read.disabled_at,
    state,
    extra: extraOf(wire, namedFields, read),
  };
}

/** Lists what a link lacks: one issue for a missing URL, and one for a missing id. */
function missingIn(wire: WireLink): readonly Issue[] {
  const refId = toCode(wire.ref_id) ?? toCode(wire.link_id);
  return listMissing(toUrl(wire.link_url || wire.link), 'link_url', refId);
}

export function normaliseCreatedLink(wire: WireCreatedLink): Decoded<CreatedLink> {
  const url = toUrl(wire.link || wire.link_url);
  const refId = toCode(wire.ref_id) ?? toCode(wire.link_id);
  if (url === null || refId === null) return { reason: 'shape', issues: listMissing(url, 'link', refId) };
  return { value: { url, refId }, reason: null };
}

/** Reads the response to a change of the link `refId`. A response about another link has already been rejected. */
export function normaliseUpdatedLink(wire: WireUpdatedLink, refId: string): Decoded<UpdatedLink> {
  const url = toUrl(wire.link_url || wire.link);
  if (url === null) return { reason: 'shape', issues: listMissing(url, 'link_url', refId) };
  return {
    value: {
      refId,
      url,
      idTypes: normaliseIdTypes(wire.id_types),
      disabledAt: toDate(wire.disabled_at),
      state: stateOf(wire.disabled_at),
    },
    reason: null,
  };
}

/** Reads a page's place in the list. */
export function normaliseMeta(wire: WireLinkPage['meta']): PageMeta {
  return {
    currentPage: toCount(wire.currentPage),
    limit: toCount(wire.limit),
    totalCount: toCount(wire.totalCount),
    totalPages: toCount(wire.totalPages),
  };
}

function normaliseIdTypes(wire: readonly WireIdType[] | null | undefined): readonly IdType[] {
  return (wire ?? []).map((entry) => ({
    country: entry.country ?? '',
    idType: entry.id_type ?? '',
    verificationMethod: entry.verification_method ?? '',
  }));
}

function userIdsOf({ user_id, user_ids }: WireLink): readonly string[] {
  if (typeof user_id === 'string' && user_id !== '' && !user_ids) return [user_id];
  const all = [user_id, ...(typeof user_ids === 'string' ? [user_ids] : (user_ids ?? []))].map(toCode);
  return [...new Set(all.filter((id) => id !== null))];
}

// A time that cannot be read must not make a disabled link look active.
function stateOf(disabledAt: unknown): Link['state'] {
  return disabledAt === undefined || disabledAt === null || disabledAt === '' ? 'active' : 'disabled';
}

function listMissing(url: string | null, urlField: string, refId: string | null): readonly Issue[] {
  return [
    ...(url === null ? [{ path: urlField, message: 'must be an http(s) URL' }] : []),
    ...(refId === null ? [{ path: 'ref_id', message: 'must be there' }] : []),
  ];
}
