/**
 * Reads responses about links into the public types, each field once (docs/protocol.md §2.1 to §2.3, §4.1 to §4.4, and
 * "Spellings").
 *
 * @module
 */

import type { DecodeContext } from '../call/operation.js';
import { assumedMaxAheadMs, assumedMaxEntries } from '../protocol/assumptions.js';
import { findEarliestTime, toDate } from '../protocol/date-time.js';
import { toUrl } from '../protocol/http-url.js';
import {
  extraOf,
  isAbsent,
  isMissing,
  type Report,
  readBoolean,
  readCode,
  readCount,
  readList,
  readObject,
  readString,
  reportWithin,
} from '../protocol/scalars.js';
import type { Properties } from '../runtime/untrusted-objects.js';
import type { CreatedLink, IdType, Link, PageMeta, UpdatedLink } from './types.js';

/** A page of links and its place in the list. */
export interface DecodedPage {
  readonly links: readonly Link[];
  readonly meta: PageMeta;
}

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
    idTypes: readIdTypes(wire.id_types, report),
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

/** Reads a page of links (§4.4) and its place in the list (§2.3). */
export function decodePage(wire: Properties, { report }: DecodeContext): DecodedPage {
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

/** The fields that have properties of their own. */
const namedFields: ReadonlySet<string> = new Set([
  'callback_url',
  'data_privacy_policy_url',
  'logo_url',
  'created_at',
  'updated_at',
  'expires_at',
  'disabled_at',
  'link',
  'link_url',
  'link_id',
  'ref_id',
  'name',
  'id_types',
  'is_single_use',
  'user_id',
  'user_ids',
  'total_jobs',
  'failed_jobs',
  'successful_jobs',
  'company_name',
  'partner_id',
]);

function readLink(wire: Properties, report: Report, { callbackUrl, dataPrivacyPolicyUrl, logoUrl }: UrlReaders): Link {
  const url = readUrl(wire, 'link_url', report);
  const ids = readIds(wire, report);
  const refId = requireId(wire, ids, report);
  // A value that is there and cannot be read stays in `extra`.
  const read = {
    callback_url: callbackUrl(wire.callback_url),
    data_privacy_policy_url: dataPrivacyPolicyUrl(wire.data_privacy_policy_url),
    logo_url: logoUrl(wire.logo_url),
    created_at: toDate(wire.created_at),
    updated_at: toDate(wire.updated_at),
    expires_at: toDate(wire.expires_at),
    disabled_at: toDate(wire.disabled_at),
  };
  return {
    url,
    linkId: ids.link_id ?? refId,
    refId,
    name: readString(wire.name, 'name', report),
    idTypes: readIdTypes(wire.id_types, report),
    isSingleUse: readBoolean(wire.is_single_use, 'is_single_use', report),
    callbackUrl: read.callback_url,
    dataPrivacyPolicyUrl: read.data_privacy_policy_url,
    logoUrl: read.logo_url,
    userIds: readUserIds(wire, report),
    jobs: {
      total: readCount(wire.total_jobs, 'total_jobs', report),
      failed: readCount(wire.failed_jobs, 'failed_jobs', report),
      successful: readCount(wire.successful_jobs, 'successful_jobs', report),
    },
    companyName: readString(wire.company_name, 'company_name', report),
    partnerId: readCode(wire.partner_id, 'partner_id', report),
    createdAt: read.created_at,
    updatedAt: read.updated_at,
    expiresAt: read.expires_at,
    disabledAt: read.disabled_at,
    state: stateOf(wire.disabled_at),
    extra: extraOf(wire, namedFields, read),
  };
}

type Ids = ReturnType<typeof readIds>;

function readIds(wire: Properties, report: Report = ignore) {
  return { ref_id: readCode(wire.ref_id, 'ref_id', report), link_id: readCode(wire.link_id, 'link_id', report) };
}

const ignore: Report = () => false;

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
  const link = readString(wire.link, 'link', report);
  const linkUrl = readString(wire.link_url, 'link_url', report);
  const url = toUrl(usual === 'link' ? link || linkUrl : linkUrl || link);
  const isReported = (link === null && !isAbsent(wire.link)) || (linkUrl === null && !isAbsent(wire.link_url));
  if (url === null && !isReported) report(usual, 'must be an http(s) URL');
  return url ?? '';
}

function readIdTypes(wire: unknown, report: Report): readonly IdType[] {
  if (isAbsent(wire)) return [];
  return readList(wire, 'id_types', report, { max: assumedMaxEntries.idTypes, read: readIdType });
}

function readIdType(wire: unknown, report: Report): IdType | null {
  const entry = readObject(wire, '', report);
  return (
    entry && {
      country: readString(entry.country, 'country', report) ?? '',
      idType: readString(entry.id_type, 'id_type', report) ?? '',
      verificationMethod: readString(entry.verification_method, 'verification_method', report) ?? '',
    }
  );
}

/** Reads the users of a link from both fields, without duplicates. */
function readUserIds(wire: Properties, report: Report): readonly string[] {
  const one = readCode(wire.user_id, 'user_id', report);
  const many = readManyUserIds(wire.user_ids, report);
  const all = one === null ? many : [one, ...many];
  return all.length > 1 ? [...new Set(all)] : all;
}

function readManyUserIds(wire: unknown, report: Report): readonly string[] {
  if (isAbsent(wire) || wire === '') return [];
  if (typeof wire === 'string') return [wire];
  return readList(wire, 'user_ids', report, {
    max: assumedMaxEntries.users,
    message: 'must be a string or a list of strings',
    read: (id, reportId) => readCode(id, '', reportId),
  });
}

// A date that cannot be read must not make a disabled link look active.
function stateOf(disabledAt: unknown): Link['state'] {
  return isMissing(disabledAt) ? 'active' : 'disabled';
}
