/**
 * The link operations (docs/protocol.md §4.1 to §4.4).
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Operation } from '../call/operation.js';
import { routes } from '../protocol/routes.js';
import { isRecord, withoutUndefined } from '../runtime/untrusted-objects.js';
import { inputObject } from '../validation/check.js';
import {
  anyString,
  callbackUrl,
  dateTime,
  extraProperties,
  flag,
  httpUrl,
  integer,
  nonBlank,
  stringOf,
} from '../validation/input.js';
import { type DecodedPage, decodeCreatedLink, decodeLink, decodePage, decodeUpdatedLink } from './decode.js';
import { changedIdTypes, encodeIdType, newIdTypes } from './id-types.js';
import type { CreatedLink, Link, NewLink, UpdatedLink } from './types.js';

/** The field on the wire for each property of a new link (§4.1). */
const wireNames = {
  name: 'name',
  idTypes: 'id_types',
  callbackUrl: 'callback_url',
  companyName: 'company_name',
  dataPrivacyPolicyUrl: 'data_privacy_policy_url',
  logoUrl: 'logo_url',
  isSingleUse: 'is_single_use',
  userId: 'user_id',
  expiresAt: 'expires_at',
} satisfies Record<keyof Omit<NewLink, 'extra'>, string>;

/**
 * The fields that `extra` must not have: the fields above, the fields that signing adds, and names that would set a
 * prototype.
 */
const reservedFields: ReadonlySet<string> = new Set([
  ...Object.values(wireNames),
  'partner_id',
  'signature',
  'sec_key',
  'timestamp',
  '__proto__',
]);

// An id is a part of the request's path (§4.2, §4.3), so an id that is empty, is `..` or has a slash would reach
// another operation. An id that equals the list marker is rejected in `call/`, where the marker is known.
const linkId = stringOf(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, "_" or "-"');

const newLinkShape = {
  companyName: nonBlank,
  dataPrivacyPolicyUrl: httpUrl,
  callbackUrl,
  name: z.optional(anyString),
  idTypes: z.optional(newIdTypes),
  logoUrl: z.optional(httpUrl),
  isSingleUse: z.optional(flag),
  userId: z.optional(nonBlank),
  expiresAt: z.optional(dateTime),
  extra: z.optional(extraProperties(reservedFields)),
} satisfies Record<keyof NewLink, unknown>;

const newLink = inputObject(newLinkShape);

export const newLinkProperties: readonly string[] = Object.keys(newLinkShape);

/** §4.1 */
export const createLink: Operation<z.output<typeof newLink>, CreatedLink> = {
  name: 'links.create',
  route: routes['links.create'],
  request: newLink,
  encode: ({ extra, ...link }) => {
    const values = { ...link, callbackUrl: link.callbackUrl ?? undefined, idTypes: link.idTypes?.map(encodeIdType) };
    const names = Object.keys(wireNames) as (keyof typeof wireNames)[];
    const fields = Object.fromEntries(names.map((name) => [wireNames[name], values[name]]));
    return { body: withoutUndefined({ ...extra, ...fields }) };
  },
  decode: (response, _link, context) => decodeCreatedLink(response, context),
};

const changesShape = { isDisabled: z.optional(flag), idTypes: z.optional(changedIdTypes) };

export const linkChangesProperties: readonly string[] = Object.keys(changesShape);

const linkChanges = inputObject({ refId: linkId, ...changesShape }).check(
  z.refine((changes) => changes.isDisabled !== undefined || changes.idTypes !== undefined, {
    error: 'at least one of "isDisabled" and "idTypes" must be given',
    // This check also runs after other problems were found, so that all problems are reported at once.
    when: ({ value }) => isRecord(value),
  }),
);

/** §4.2 */
export const updateLink: Operation<z.output<typeof linkChanges>, UpdatedLink> = {
  name: 'links.update',
  route: routes['links.update'],
  request: linkChanges,
  encode: ({ refId, isDisabled, idTypes }) => ({
    linkId: refId,
    body: withoutUndefined({ is_disabled: isDisabled, id_types: idTypes?.map(encodeIdType) }),
  }),
  decode: (response, { refId, isDisabled }, context) =>
    decodeUpdatedLink(response, { refId, disables: isDisabled === true }, context),
};

const linkQuery = inputObject({ refId: linkId });

/** §4.3 */
export const getLink: Operation<z.output<typeof linkQuery>, Link> = {
  name: 'links.get',
  route: routes['links.get'],
  request: linkQuery,
  encode: ({ refId }) => ({ linkId: refId, body: {} }),
  decode: (response, { refId }, context) => decodeLink(response, refId, context),
};

const pageQuery = inputObject({ page: z.optional(integer(0)) });

/** §4.4 */
export const listLinks: Operation<z.output<typeof pageQuery>, DecodedPage> = {
  name: 'links.list',
  route: routes['links.list'],
  request: pageQuery,
  encode: ({ page }) => ({ body: withoutUndefined({ page }) }),
  decode: (response, _query, context) => decodePage(response, context),
};
