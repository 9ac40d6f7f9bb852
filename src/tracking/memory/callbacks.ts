/**
 * The statement that stores a callback, in memory.
 *
 * @module
 */

import { kinds, maxDropped, maxToldJobs, states } from '../rules.js';
import { findOwner, isOwner, isTold, type Memory, type MemoryRow, openRow } from './rows.js';

/** Creates the statement. */
export function createCallbackStatements(memory: Memory) {
  const { rows, now } = memory;
  const { minDelayMs, deadlineMs } = memory.settings;

  /** Lists the jobs that may be deleted for a new one: the oldest signed time first. */
  function listVictims(told: readonly MemoryRow[]): readonly MemoryRow[] {
    const refIds = new Set([...rows.values()].filter(isOwner).map((link) => link.link_ref_id));
    const dropped = (which: (row: MemoryRow) => boolean) =>
      told
        .filter(which)
        .sort((one, other) => Number(one.told_signed_at) - Number(other.told_signed_at))
        .slice(0, maxDropped);
    const isFound = ({ told_looks }: MemoryRow) => Number(told_looks) > 0;
    return [
      ...dropped((row) => row.state === states.heard && !isFound(row) && !refIds.has(row.link_ref_id)),
      ...dropped((row) => row.state === states.heard && isFound(row)),
      ...dropped((row) => row.state === states.tracking && isFound(row)),
    ];
  }

  /** Says why a callback is not stored. Deletes other jobs for a new one if there are too many. */
  function refuse(known: MemoryRow | undefined, turn: number, maxJobs: number): 'time' | 'full' | null {
    if (known) return null;
    if (turn >= maxJobs) return 'time';
    if (rows.size < maxToldJobs) return null;
    const told = [...rows.values()].filter(isTold);
    const excess = Math.min(maxDropped, told.length - maxToldJobs + 1);
    const victims = excess > 0 ? listVictims(told).slice(0, excess) : [];
    for (const { key } of victims) rows.delete(key);
    return excess > 0 && victims.length === 0 ? 'full' : null;
  }

  /** Changes the row of a known job as the callback says. Returns false if nothing changes. */
  function change(
    row: MemoryRow,
    told: Pick<MemoryRow, 'link_ref_id' | 'told_signed_at' | 'told_turn'>,
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
    if (isBrought) Object.assign(row, { due: soonest, forced_at: soonest, step: 0 });
    if (owner.isFollowed) row.deadline ??= now() + deadlineMs;
    if (isNewer) Object.assign(row, { told_signed_at: told.told_signed_at, told_turn: told.told_turn, told_looks: 0 });
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
    ) {
      const known = rows.get(key);
      const hasEnded = known !== undefined && known.ended_at !== null && known.state !== states.untracked;
      const isOfTime = (row: MemoryRow) =>
        row.told_signed_at === signedMs && isTold(row) && (row.state === states.heard || row.state === states.tracking);
      const turn = known?.is_proven ? 0 : [...rows.values()].filter(isOfTime).length;
      const refusal = refuse(known, turn, maxJobs);
      const told = { link_ref_id: refId, told_signed_at: signedMs, told_turn: turn };
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
