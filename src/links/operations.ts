/**
 * The link operations (docs/protocol.md §4.1 to §4.4).
 *
 * @module
 */

import * as z from 'zod/mini';
import type { Operation } from '../call/operation.js';
import { routes } from '../protocol/routes.js';
import { isRecord, type Properties, withoutUndefined } from '../runtime/untrusted-objects.js';
import { copyOf, inputObject } from '../validation/check.js';
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
import { sentFields } from './fields.js';
import { changedIdTypes, newIdTypes } from './id-types.js';
import type { CreatedLink, Link, UpdatedLink } from './types.js';

/** The fields that `extra` must not have: those of properties, those that signing adds, and a name that sets a prototype. */
const reservedFields: ReadonlySet<string> = new Set([
  ...sentFields.filter(({ mayBeExtra }) => !mayBeExtra).map(({ wire }) => wire),
  'partner_id',
  'signature',
  'sec_key',
  'timestamp',
  '__proto__',
]);

// An id is a part of the request's path (§4.2, §4.3), so an id that is empty, is `..` or has a slash would reach
// another operation. An id that equals the list marker is rejected in `call/`, where the marker is known.
const linkId = stringOf(/^[A-Za-z0-9_-]{1,128}$/, 'must be 1 to 128 letters, digits, "_" or "-"');

const schemas = { text: anyString, code: nonBlank, url: httpUrl, flag, time: dateTime, idTypes: newIdTypes };

const newLinkShape = {
  ...Object.fromEntries(sentFields.map(({ name, kind, sent }) => [name, schemaOf(schemas[kind], sent)])),
  callbackUrl,
  extra: z.optional(extraProperties(reservedFields)),
};

function schemaOf(schema: z.ZodMiniType, sent: 'optional' | 'required') {
  return sent === 'optional' ? z.optional(schema) : schema === anyString ? nonBlank : schema;
}

const newLink = inputObject(newLinkShape);

/** Copies the input for a new link. */
export const newLinkCopy = copyOf(Object.keys(newLinkShape));

/** §4.1 */
export const createLink: Operation<Properties, CreatedLink> = {
  name: 'links.create',
  route: routes['links.create'],
  request: newLink,
  encode: (link) => {
    const fields = Object.fromEntries(sentFields.map(({ name, wire }) => [wire, link[name] ?? undefined]));
    return { body: { ...Object(link.extra), ...withoutUndefined(fields) } };
  },
  decode: (response, _link, context) => decodeCreatedLink(response, context),
};

const changesShape = { isDisabled: z.optional(flag), idTypes: z.optional(changedIdTypes) };

/** Copies the changes to a link. */
export const linkChangesCopy = copyOf(Object.keys(changesShape));

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
    body: withoutUndefined({ is_disabled: isDisabled, id_types: idTypes }),
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
