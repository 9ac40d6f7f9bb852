/**
 * The statement that stores a callback, in memory.
 *
 * @module
 */

import { kinds, maxMentionedJobs, states, steps } from '../rules.js';
import { is, isIn, type Memory, type MemoryRow } from './rows.js';

/** Creates the statement. */
export function createCallbackStatements({ rows, now, list, find, set, recheck, open, findOwner, settings }: Memory) {
  const { minDelayMs, deadlineMs } = settings;
  type Mention = Pick<MemoryRow, 'link_ref_id' | 'callback_trace'> & { readonly callback_signed_at: number };

  /** Says why a new job is not stored. */
  function refuse({ callback_signed_at: signedAt }: Mention, maxJobs: number): 'time' | 'full' | null {
    const isOfTime = (row: MemoryRow) => row.callback_signed_at === signedAt;
    if (list(isOfTime, is.mentioned, isIn(states.heard, states.tracking), ({ polls }) => polls === 0).length >= maxJobs)
      return 'time';
    return rows.size >= maxMentionedJobs && list(is.mentioned).length >= maxMentionedJobs ? 'full' : null;
  }

  /** Changes the row of a known job as the callback says. Returns false if nothing changes. */
  function change(row: MemoryRow, mention: Mention, owner: ReturnType<typeof findOwner>): boolean {
    const isAdopted = is.heard(row) && owner.isFollowed;
    const soonest = Math.max(now(), Math.min(row.forced_at ?? Number.NEGATIVE_INFINITY, now()) + minDelayMs);
    const isBrought = isAdopted || (row.state === states.tracking && Number(row.due) > soonest);
    const isNewer = row.callback_signed_at === null || mention.callback_signed_at > row.callback_signed_at;
    const isLinked = is.heard(row) && row.link_ref_id === null && mention.link_ref_id !== null;
    const known = row.mentioned_link_ref_id;
    if (row.link_ref_id === null && !isLinked) row.mentioned_link_ref_id ??= mention.link_ref_id;
    if (isAdopted || isLinked) row.link_ref_id = mention.link_ref_id;
    if (isAdopted) Object.assign(row, { state: states.tracking, context: owner.context });
    if (isBrought)
      Object.assign(row, { due: soonest, forced_at: soonest, callback_trace: mention.callback_trace, step: 0 });
    if (isNewer) row.callback_signed_at = mention.callback_signed_at;
    if (isNewer && !row.is_proven) row.mentioned_polls = 0;
    const recheckAt = isNewer && is.ended(row) ? recheck(row, row.signed_at) : null;
    if (recheckAt !== null) set(row, steps.recheck, { due: recheckAt, callback_trace: mention.callback_trace });
    const isWritten = isBrought || isNewer || isLinked || row.mentioned_link_ref_id !== known;
    if (isWritten && owner.isFollowed) row.deadline ??= now() + deadlineMs;
    return isWritten;
  }

  return {
    storeCallback(
      key: string,
      user_id: string,
      job_id: string,
      refId: string | null,
      linkKey: string | null,
      signedMs: number,
      maxJobs: number,
      trace: string | null,
    ) {
      const mention = { link_ref_id: refId, callback_signed_at: signedMs, callback_trace: trace };
      const owner = findOwner(linkKey);
      const [known] = find(key);
      if (known) return [{ is_written: change(known, mention, owner), refusal: null }];
      const refusal = refuse(mention, maxJobs);
      if (refusal === null) {
        const { context, isFollowed } = owner;
        const row = { ...mention, user_id, job_id, context, mentioned_at: now(), forced_at: now(), is_proven: false };
        set(open(key, kinds.job), isFollowed ? steps.follow : steps.keepMentioned, row);
      }
      return [{ is_written: refusal === null, refusal }];
    },
  };
}
