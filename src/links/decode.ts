/**
 * Reads responses about links into the public types, each field once (docs/protocol.md §2.1 to §2.3, §4.1 to §4.4, and
 * "Spellings").
 *
 * @module
 */

import type { DecodeContext } from '../call/operation.js';
import { assumedMaxAheadMs, assumedMaxEntries } from '../protocol/assumptions.js';
import { findEarliestTime, toDate } from '../protocol/date-time.js';
import { propertiesOf } from '../protocol/fields.js';
import { toUrl } from '../protocol/http-url.js';
import {
  areObjects,
  extraOf,
  isAbsent,
  isMissing,
  noFields,
  type Report,
  readCode,
  readCount,
  readList,
  readObject,
  reportWithin,
  toBoolean,
  toText,
} from '../protocol/scalars.js';
import type { Properties } from '../runtime/untrusted-objects.js';
import { linkFields } from './fields.js';
import type { CreatedLink, IdType, Link, PageMeta, UpdatedLink } from './types.js';

/** Reads the response to creating a link (§4.1). */
export function decodeCreatedLink(wire: Properties, { report }: DecodeContext): CreatedLink {
  const url = readUrl(wire, 'link', report);
  return { url, refId: requireId(wire, readIds(wire, report), report) };
}

/** Reads the response to changing the link `refId` (§4.2). `disables` says whether the change disables the link. */
export function decodeUpdatedLink(
  wire: Properties,
  { refId, disables }: { readonly refId: string; readonly disables: boolean },
  { now, report, reportMismatch }: DecodeContext,
): UpdatedLink {
  const url = readUrl(wire, 'link_url', report);
  const ids = readIds(wire, report);
  compareIds(ids, refId, reportMismatch);
  if (disables) {
    // §3: disabling sets `disabled_at`. To be safe, a link with any `disabled_at` is reported as disabled. But in the
    // response to a request that disables a link, only the id and a date prove success. The strings "false" and "null"
    // do not, and with a date in the future, the link is still active.
    const time = typeof wire.disabled_at === 'string' ? findEarliestTime(wire.disabled_at) : null;
    if (time === null || time - now > assumedMaxAheadMs) reportMismatch('disabled_at', mustBeDisabled);
    if (ids.ref_id === null && ids.link_id === null) reportMismatch('ref_id', mustBeThere);
  }
  return {
    refId,
    url,
    idTypes: readIdTypes(wire.id_types, ignore),
    disabledAt: toDate(wire.disabled_at),
    state: stateOf(wire.disabled_at),
  };
}

const mustBeDisabled = "must be a date, at most a day ahead of this machine's clock, if the link is disabled";
const mustBeThere = 'must be there if the link is disabled';

/** Reads the link `refId` (§4.3). */
export function decodeLink(wire: Properties, refId: string, context: DecodeContext): Link {
  const link = readLink(wire, context.report, { callbackUrl: toUrl, dataPrivacyPolicyUrl: toUrl, logoUrl: toUrl });
  compareIds(readIds(wire), refId, context.reportMismatch);
  return link;
}

/** A page of links and its place in the list. */
export type DecodedPage = ReturnType<typeof decodePage>;

/** Reads a page of links (§4.4) and its place in the list (§2.3). */
export function decodePage(wire: Properties, { report }: DecodeContext) {
  // The links of an account usually share these three URLs, so each reader keeps its last result.
  const read = { callbackUrl: createUrlReader(), dataPrivacyPolicyUrl: createUrlReader(), logoUrl: createUrlReader() };
  const links = readList(wire.links, 'links', report, {
    max: assumedMaxEntries.links,
    read(entry, reportEntry) {
      const link = readObject(entry, '', reportEntry);
      return link && readLink(link, reportEntry, read);
    },
  });
  const meta = readObject(wire.meta, 'meta', report);
  const reportMeta = reportWithin('meta', report);
  const countOf = (field: keyof PageMeta) => (meta ? readCount(meta[field], field, reportMeta, 'required') : 0);
  return {
    links,
    meta: {
      currentPage: countOf('currentPage'),
      limit: countOf('limit'),
      totalCount: countOf('totalCount'),
      totalPages: countOf('totalPages'),
    },
  };
}

/** Creates a `toUrl` that keeps its last result: a repeated URL is not checked again. */
function createUrlReader(): typeof toUrl {
  let last: unknown = null;
  let url: string | null = null;
  return (wire) => {
    if (wire !== last) url = toUrl(wire);
    last = wire;
    return url;
  };
}

type UrlReaders = Readonly<Record<'callbackUrl' | 'dataPrivacyPolicyUrl' | 'logoUrl', typeof toUrl>>;

const namedFields = propertiesOf(linkFields);

// The fields are written out, because a page has thousands of them, and a loop over the table takes twice as long.
function readLink(wire: Properties, report: Report, { callbackUrl, dataPrivacyPolicyUrl, logoUrl }: UrlReaders): Link {
  const url = readUrl(wire, 'link_url', report);
  const ids = readIds(wire, report);
  const refId = requireId(wire, ids, report);
  const unread: string[] = [];
  const link = {
    url,
    linkId: ids.link_id ?? refId,
    refId,
    name: toText(wire.name),
    idTypes: readIdTypes(wire.id_types, () => {
      unread[0] = 'id_types';
    }),
    isSingleUse: toBoolean(wire.is_single_use),
    callbackUrl: callbackUrl(wire.callback_url),
    dataPrivacyPolicyUrl: dataPrivacyPolicyUrl(wire.data_privacy_policy_url),
    logoUrl: logoUrl(wire.logo_url),
    userIds: readUserIds(wire, report),
    jobs: {
      total: readCount(wire.total_jobs, 'total_jobs', report),
      failed: readCount(wire.failed_jobs, 'failed_jobs', report),
      successful: readCount(wire.successful_jobs, 'successful_jobs', report),
    },
    companyName: toText(wire.company_name),
    partnerId: readCode(wire.partner_id, 'partner_id', report),
    createdAt: toDate(wire.created_at),
    updatedAt: toDate(wire.updated_at),
    expiresAt: toDate(wire.expires_at),
    disabledAt: toDate(wire.disabled_at),
    state: stateOf(wire.disabled_at),
    extra: noFields as Properties,
  };
  link.extra = extraOf(wire, namedFields, unread, link);
  return link;
}

type Ids = ReturnType<typeof readIds>;

function readIds(wire: Properties, report: Report = ignore) {
  return { ref_id: readCode(wire.ref_id, 'ref_id', report), link_id: readCode(wire.link_id, 'link_id', report) };
}

const ignore = () => false;

/** The reference id. If the service sent only `link_id`, both have the same value (§2.2). */
function requireId(wire: Properties, { ref_id, link_id }: Ids, report: Report): string {
  if (isMissing(wire.ref_id) && isMissing(wire.link_id)) report('ref_id', 'must be there');
  return ref_id ?? link_id ?? '';
}

/** Compares the ids with the requested one, because the signature does not cover the body (§5). */
function compareIds(ids: Ids, refId: string, reportMismatch: Report): void {
  for (const [field, id] of Object.entries(ids)) {
    if (id !== null && id !== refId) reportMismatch(field, 'must be the id of the requested link');
  }
}

/** Reads the URL of a link. `usual` is the field in which this response usually has it (§2.2, §4.1). */
function readUrl(wire: Properties, usual: 'link' | 'link_url', report: Report): string {
  const other = usual === 'link' ? wire.link_url : wire.link;
  const url = toUrl(isMissing(wire[usual]) ? other : wire[usual]);
  let isReported = false;
  for (const field of linkFields.url.wire) {
    if (typeof wire[field] === 'string' || isAbsent(wire[field])) continue;
    isReported = true;
    report(field, 'must be a string');
  }
  if (url === null && !isReported) report(usual, 'must be an http(s) URL');
  return url ?? '';
}

/**
 * Reads ID types. `keep` is called if the list, or a field of an entry, cannot be read: an ID type has no `extra`, so
 * that of the link keeps the whole list.
 */
function readIdTypes(wire: unknown, keep: () => unknown): readonly IdType[] {
  if (areObjects(wire, assumedMaxEntries.idTypes)) {
    return wire.map(({ country, id_type, verification_method }) => ({
      country: readWord(country, keep),
      idType: readWord(id_type, keep),
      verificationMethod: readWord(verification_method, keep),
    }));
  }
  if (!isMissing(wire)) keep();
  return [];
}

function readWord(wire: unknown, keep: () => unknown): string {
  if (typeof wire === 'string') return wire;
  if (!isAbsent(wire)) keep();
  return '';
}

/** Reads the users of a link from both fields, without duplicates. */
function readUserIds(wire: Properties, report: Report): readonly string[] {
  const one = readCode(wire.user_id, 'user_id', report);
  const many = readManyUserIds(wire.user_ids, report);
  const all = one === null ? many : [one, ...many];
  return all.length > 1 ? [...new Set(all)] : all;
}

function readManyUserIds(wire: unknown, report: Report): readonly string[] {
  if (isMissing(wire)) return [];
  if (typeof wire === 'string') return [wire];
  const read = (id: unknown, reportId: Report) => readCode(id, '', reportId);
  return readList(wire, 'user_ids', report, { max: assumedMaxEntries.users, read });
}

// A date that cannot be read must not make a disabled link look active.
function stateOf(disabledAt: unknown): Link['state'] {
  return isMissing(disabledAt) ? 'active' : 'disabled';
}
