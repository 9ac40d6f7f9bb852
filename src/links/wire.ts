/**
 * What travels when links are asked for and answered, checked member by member (docs/protocol.md
 * §2.1 to §2.3, §4.1 to §4.4). Unknown members pass.
 *
 * @module
 */

import * as z from 'zod/mini';
import { wireAnything, wireBoolean, wireCode, wireCount, wireText } from '../scalars.js';

const wireIdType = z.looseObject(
  { country: wireText, id_type: wireText, verification_method: wireText },
  'must be an object',
);

const wireIdTypes = z.nullish(z.array(wireIdType, 'must be a list'));

/** A link, in both spellings: `user_id` or `user_ids`, `link_url` or `link`. */
export const wireLink = z.looseObject(
  {
    link: wireText,
    link_url: wireText,
    link_id: wireCode,
    ref_id: wireCode,
    name: wireText,
    id_types: wireIdTypes,
    is_single_use: z.nullish(wireBoolean),
    callback_url: wireAnything,
    data_privacy_policy_url: wireAnything,
    logo_url: wireAnything,
    user_id: wireCode,
    user_ids: z.nullish(z.union([z.string(), z.array(wireCode)], 'must be a text or a list of texts')),
    total_jobs: z.nullish(wireCount),
    failed_jobs: z.nullish(wireCount),
    successful_jobs: z.nullish(wireCount),
    company_name: wireText,
    partner_id: wireCode,
    created_at: wireAnything,
    updated_at: wireAnything,
    expires_at: wireAnything,
    disabled_at: wireAnything,
  },
  'must be an object',
);

/** The answer to creating a link (§4.1). */
export const wireCreatedLink = z.looseObject({
  link: wireText,
  link_url: wireText,
  ref_id: wireCode,
  link_id: wireCode,
});

/** The answer to changing a link (§4.2). */
export const wireUpdatedLink = z.looseObject({
  link: wireText,
  link_url: wireText,
  ref_id: wireCode,
  link_id: wireCode,
  id_types: wireIdTypes,
  disabled_at: wireAnything,
});

/** A page of links (§4.4) with where it stands (§2.3). */
export const wireLinkPage = z.looseObject({
  links: z.array(wireLink, 'must be a list'),
  meta: z.looseObject(
    {
      currentPage: wireCount,
      limit: wireCount,
      totalCount: wireCount,
      totalPages: wireCount,
    },
    'must be an object',
  ),
});

export type WireIdType = z.infer<typeof wireIdType>;
export type WireLink = z.infer<typeof wireLink>;
export type WireCreatedLink = z.infer<typeof wireCreatedLink>;
export type WireUpdatedLink = z.infer<typeof wireUpdatedLink>;
export type WireLinkPage = z.infer<typeof wireLinkPage>;
