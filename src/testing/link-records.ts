/**
 * Links as the service writes them (docs/protocol.md §2.2, §4.1, §4.2).
 *
 * @module
 */

import { type Say, wireTime } from './dialect.js';
import type { StoredJob, StoredLink } from './store.js';

/** What creating a link answers (§4.1). */
export function wireCreatedLink(link: StoredLink): object {
  return { link: link.url, ref_id: link.refId };
}

/** What changing a link answers (§4.2). */
export function wireUpdatedLink(link: StoredLink, say: Say): object {
  return {
    disabled_at: link.disabledAt === null ? absent(say) : time(link.disabledAt, say),
    id_types: link.idTypes,
    link_url: link.url,
    ref_id: link.refId,
  };
}

/** What getting a link answers, and what stands in the list (§2.2). */
export function wireLink(link: StoredLink, jobs: readonly StoredJob[], partnerId: string, say: Say): object {
  return {
    link_url: link.url,
    ...ids(link.refId, say),
    name: link.name ?? absent(say),
    id_types: link.idTypes,
    is_single_use: link.isSingleUse === null ? absent(say) : flag(link.isSingleUse, say),
    callback_url: link.callbackUrl ?? absent(say),
    data_privacy_policy_url: link.dataPrivacyPolicyUrl,
    logo_url: link.logoUrl ?? absent(say),
    ...user(link.userId, say),
    total_jobs: count(jobs.length, say),
    failed_jobs: count(jobs.filter(({ outcome }) => outcome?.success === false).length, say),
    successful_jobs: count(jobs.filter(({ outcome }) => outcome?.success === true).length, say),
    company_name: link.companyName,
    partner_id: partnerId,
    created_at: time(link.createdAt, say),
    disabled_at: link.disabledAt === null ? absent(say) : time(link.disabledAt, say),
    expires_at: link.expiresAt ?? absent(say),
    updated_at: time(link.updatedAt, say),
  };
}

function absent(say: Say): null | undefined {
  return say<null | undefined>(null, null, undefined);
}

function ids(refId: string, say: Say): object {
  const both = { link_id: refId, ref_id: refId };
  return say<object>(both, both, { ref_id: refId }, { link_id: refId });
}

/** §2.2: the table has a string, the sample an array. In all else they are one. */
function user(userId: string, say: Say): object {
  return say<object>({ user_id: userId }, { user_ids: [userId] }, { user_id: userId, user_ids: [userId] });
}

function flag(value: boolean, say: Say): boolean | string {
  return say<boolean | string>(value, value, String(value), String(value).toUpperCase());
}

function count(value: number, say: Say): number | string {
  return say<number | string>(value, value, String(value));
}

function time(ms: number, say: Say): string {
  const text = wireTime(ms);
  return say(text, text, text.replace('Z', '+00:00'), text.replace('Z', '000Z'));
}
