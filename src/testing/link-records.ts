/**
 * Links as the service writes them (docs/protocol.md §2.2, §4.1, §4.2).
 *
 * @module
 */

import { type Spell, spellNull, writeTime } from './dialect.js';
import { writeFields } from './link-fields.js';
import type { StoredJob, StoredLink } from './store.js';

/** Writes the response to a request that creates a link (§4.1). */
export function writeCreatedLink(link: StoredLink): object {
  return { link: link.url, ref_id: link.refId };
}

/** Writes the response to a request that changes a link (§4.2). */
export function writeUpdatedLink(link: StoredLink, spell: Spell): object {
  return {
    disabled_at: writeLinkTime(link.disabledAt, spell),
    id_types: link.idTypes,
    link_url: link.url,
    ref_id: link.refId,
  };
}

/** Writes a link, alone or as an entry of the list (§2.2). */
export function writeLink(link: StoredLink, jobs: readonly StoredJob[], partnerId: string, spell: Spell): object {
  return {
    link_url: link.url,
    ...writeIds(link.refId, spell),
    ...writeFields(link, spell),
    ...writeUser(link.userId, spell),
    total_jobs: writeCount(jobs.length, spell),
    failed_jobs: writeCount(jobs.filter(({ outcome }) => outcome?.success === false).length, spell),
    successful_jobs: writeCount(jobs.filter(({ outcome }) => outcome?.success === true).length, spell),
    partner_id: partnerId,
    created_at: writeLinkTime(link.createdAt, spell),
    disabled_at: writeLinkTime(link.disabledAt, spell),
    updated_at: writeLinkTime(link.updatedAt, spell),
  };
}

function writeIds(refId: string, spell: Spell): object {
  const both = { link_id: refId, ref_id: refId };
  return spell<object>(both, both, { ref_id: refId }, { link_id: refId });
}

/**
 * Writes the user of a link. In §2.2, the table has the user id as a string (`user_id`), and the sample has an array
 * (`user_ids`). The table and the sample do not differ in other fields.
 */
function writeUser(userId: string, spell: Spell): object {
  return spell<object>(
    { user_id: userId },
    { user_id: undefined, user_ids: [userId] },
    { user_id: userId, user_ids: [userId] },
  );
}

function writeCount(value: number, spell: Spell): number | string {
  return spell<number | string>(value, value, String(value));
}

function writeLinkTime(ms: number | null, spell: Spell): string | null | undefined {
  if (ms === null) return spellNull(spell);
  const iso = writeTime(ms);
  return spell(iso, iso, iso.replace('Z', '+00:00'), iso.replace('Z', '000Z'));
}
