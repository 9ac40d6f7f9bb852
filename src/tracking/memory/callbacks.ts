/**
 * The statement that stores a callback, in memory.
 *
 * @module
 */

import { kinds, maxToldJobs, states } from '../rules.js';
import { findOwner, isTold, type Memory, type MemoryRow, openRow } from './rows.js';

/** Creates the statement. */
export function createCallbackStatements(memory: Memory) {
  const { rows, now } = memory;
  const { minDelayMs, deadlineMs } = memory.settings;

  /** Says why a callback is not stored. */
  function refuse(known: MemoryRow | undefined, named: number, maxJobs: number): 'time' | 'full' | null {
    if (known) return null;
    if (named >= maxJobs) return 'time';
    return rows.size >= maxToldJobs && [...rows.values()].filter(isTold).length >= maxToldJobs ? 'full' : null;
  }

  /** Changes the row of a known job as the callback says. Returns false if nothing changes. */
  function change(
    row: MemoryRow,
    told: Pick<MemoryRow, 'link_ref_id' | 'told_signed_at' | 'told_trace'>,
    linkKey: string | null,
  ): boolean {
    const owner = findOwner(memory, linkKey);
    const isHeard = row.state === states.heard;
    const isAdopted = isHeard && owner.isFollowed;
    const soonest = Math.max(now(), Math.min(row.forced_at ?? Number.NEGATIVE_INFINITY, now()) + minDelayMs);
    const isBrought = isAdopted || (row.state === states.tracking && Number(row.due) > soonest);
    const isNewer = !row.is_proven && row.told_signed_at !== null && Number(told.told_signed_at) > row.told_signed_at;
    const isLinked = isHeard && row.link_ref_id === null && told.link_ref_id !== null;
    const toldLink =
      row.link_ref_id === null && !isLinked ? (row.told_link_ref_id ?? told.link_ref_id) : row.told_link_ref_id;
    if (!isBrought && !isNewer && !isLinked && row.told_link_ref_id === toldLink) return false;
    row.told_link_ref_id = toldLink;
    if (isAdopted || isLinked) row.link_ref_id = told.link_ref_id;
    if (isAdopted) Object.assign(row, { state: states.tracking, context: owner.context });
    if (isBrought) Object.assign(row, { due: soonest, forced_at: soonest, told_trace: told.told_trace, step: 0 });
    if (owner.isFollowed) row.deadline ??= now() + deadlineMs;
    if (isNewer) Object.assign(row, { told_signed_at: told.told_signed_at, told_looks: 0 });
    return true;
  }

  return {
    hear(
      key: string,
      userId: string,
      jobId: string,
      refId: string | null,
      linkKey: string | null,
      signedMs: number,
      maxJobs: number,
      trace: string | null,
    ) {
      const known = rows.get(key);
      const hasEnded = known !== undefined && known.ended_at !== null && known.state !== states.untracked;
      const isOfTime = (row: MemoryRow) =>
        row.told_signed_at === signedMs && isTold(row) && (row.state === states.heard || row.state === states.tracking);
      const named = known ? 0 : [...rows.values()].filter(isOfTime).length;
      const refusal = refuse(known, named, maxJobs);
      const told = { link_ref_id: refId, told_signed_at: signedMs, told_trace: trace };
      let isWritten = refusal === null;
      if (known) isWritten = change(known, told, linkKey);
      else if (refusal === null) {
        const { isFollowed, context } = findOwner(memory, linkKey);
        const followed = { state: states.tracking, due: now(), deadline: now() + deadlineMs };
        Object.assign(openRow(memory, key, kinds.job), told, isFollowed ? followed : { state: states.heard }, {
          ...{
            user_id: userId,
            job_id: jobId,
            context,
            told_at: now(),
            told_looks: 0,
            forced_at: now(),
            is_proven: false,
          },
        });
      }
      return [{ has_ended: hasEnded, is_written: isWritten, refusal }];
    },
  };
}
