/**
 * From the wire's links to clean ones (docs/protocol.md, "Spellings").
 *
 * @module
 */

import type { Issue } from '../errors/hosted-error.js';
import { extraOf, toBoolean, toCode, toCount, toDate, toText, toUrl } from '../protocol/scalars.js';
import type { CreatedLink, IdType, Link, PageMeta, UpdatedLink } from './types.js';
import type { WireCreatedLink, WireIdType, WireLink, WireLinkPage, WireUpdatedLink } from './wire.js';
import { linkFields } from './wire.js';

// An answer may hand our own request back: a signature is as good as a key within its five minutes.
const named: ReadonlySet<string> = new Set([...Object.keys(linkFields), 'signature', 'sec_key']);

/** A link that stands for itself: without an id or an address it means nothing. */
export function normaliseLink(wire: WireLink): { value: Link } | { issues: readonly Issue[] } {
  const url = toUrl(wire.link_url || wire.link);
  const refId = toCode(wire.ref_id) ?? toCode(wire.link_id);
  if (url === null || refId === null) return { issues: missing(url, 'link_url', refId) };
  const read = {
    callback_url: toUrl(wire.callback_url),
    data_privacy_policy_url: toUrl(wire.data_privacy_policy_url),
    logo_url: toUrl(wire.logo_url),
    created_at: toDate(wire.created_at),
    updated_at: toDate(wire.updated_at),
    expires_at: toDate(wire.expires_at),
    disabled_at: toDate(wire.disabled_at),
  };
  return {
    value: {
      url,
      linkId: toCode(wire.link_id) ?? refId,
      refId,
      name: toText(wire.name),
      idTypes: normaliseIdTypes(wire.id_types),
      isSingleUse: toBoolean(wire.is_single_use),
      callbackUrl: read.callback_url,
      dataPrivacyPolicyUrl: read.data_privacy_policy_url,
      logoUrl: read.logo_url,
      userIds: userIdsOf(wire),
      jobs: {
        total: toCount(wire.total_jobs),
        failed: toCount(wire.failed_jobs),
        successful: toCount(wire.successful_jobs),
      },
      companyName: toText(wire.company_name),
      partnerId: toCode(wire.partner_id),
      createdAt: read.created_at,
      updatedAt: read.updated_at,
      expiresAt: read.expires_at,
      disabledAt: read.disabled_at,
      state: stateOf(wire.disabled_at),
      extra: extraOf(wire, named, read),
    },
  };
}

/** The answer to creating a link. */
export function normaliseCreatedLink(wire: WireCreatedLink): { value: CreatedLink } | { issues: readonly Issue[] } {
  const url = toUrl(wire.link || wire.link_url);
  const refId = toCode(wire.ref_id) ?? toCode(wire.link_id);
  return url === null || refId === null ? { issues: missing(url, 'link', refId) } : { value: { url, refId } };
}

/** The answer to changing the link `refId`; one that names another link has been refused before. */
export function normaliseUpdatedLink(
  wire: WireUpdatedLink,
  refId: string,
): { value: UpdatedLink } | { issues: readonly Issue[] } {
  const url = toUrl(wire.link_url || wire.link);
  if (url === null) return { issues: missing(url, 'link_url', refId) };
  return {
    value: {
      refId,
      url,
      idTypes: normaliseIdTypes(wire.id_types),
      disabledAt: toDate(wire.disabled_at),
      state: stateOf(wire.disabled_at),
    },
  };
}

/** Where a page stands. */
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

// A time that cannot be read must never make a disabled link look active.
function stateOf(disabledAt: unknown): Link['state'] {
  return disabledAt === undefined || disabledAt === null || disabledAt === '' ? 'active' : 'disabled';
}

function missing(url: string | null, urlMember: string, refId: string | null): readonly Issue[] {
  return [
    ...(url === null ? [{ path: urlMember, message: 'must be an http(s) address' }] : []),
    ...(refId === null ? [{ path: 'ref_id', message: 'must be there' }] : []),
  ];
}
