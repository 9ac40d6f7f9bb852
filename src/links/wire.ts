/**
 * The shapes of responses about links, checked field by field (docs/protocol.md §2.1 to §2.3, §4.1 to
 * §4.4). Unknown fields pass.
 *
 * @module
 */

import * as z from 'zod/mini';
import { assumedMaxEntries } from '../protocol/assumptions.js';
import { wireAnything, wireBoolean, wireCode, wireCount, wireString } from '../protocol/scalars.js';
import { list, oneOf, record } from '../validation/structure.js';
import { isOrdinaryIdType, isOrdinaryLink } from './quick-page-check.js';

const wireIdType = record({ country: wireString, id_type: wireString, verification_method: wireString });
const wireIdTypes = z.nullish(list(wireIdType, { max: assumedMaxEntries.idTypes, isOrdinary: isOrdinaryIdType }));

/** The fields of {@link wireLink}. */
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
export type WireLink = z.infer<typeof wireLink>;
export type WireCreatedLink = z.infer<typeof wireCreatedLink>;
export type WireUpdatedLink = z.infer<typeof wireUpdatedLink>;
export type WireLinkPage = z.infer<typeof wireLinkPage>;
