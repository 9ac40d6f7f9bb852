/**
 * The statements that take due jobs and links, and store the results of their polls, in memory.
 *
 * @module
 */

import type { Note } from '../follow.js';
import { kinds, lastLookMs, lateWaitsOf, maxHoldMs, maxUnknownLooks, outcomes, states, steps } from '../rules.js';
import type { Row } from '../sql.js';
import { isLateCounted, isLinkProven, isOwner, isUnknown, type Memory, type MemoryRow, removeLink } from './rows.js';

/** Creates the statements. */
export function createPollStatements(memory: Memory) {
  const { rows, now, fleet, settings, list, listKeys, listDue, nextDue, set, open, heldUntil } = memory;
  const { firstLateMs, lateMs } = lateWaitsOf(settings);
  const isFollowed = ({ state }: MemoryRow) => state === states.tracking;

  /** Sets the date of the next poll of a row. */
  function take(row: MemoryRow): Row {
    const deadline = row.deadline ?? Number.POSITIVE_INFINITY;
    const isLate = deadline <= now();
    const isCounted = isLateCounted(row);
    const isLastLook = !row.is_proven && row.told_looks >= maxUnknownLooks - 1;
    const waitMs = isLastLook ? lastLookMs : Math.min(memory.drawWait(row.step), deadline - now());
    row.due = now() + (isLate ? (isCounted ? lateMs : firstLateMs) : waitMs);
    row.polls += 1;
    row.step = Math.min(row.step + 1, 300);
    if (row.told_looks > 0) row.told_looks = Math.min(row.told_looks + 1, 100);
    const late_looks = isCounted ? row.late_looks : 0;
    const late_ms = isCounted ? now() - Number(row.late_since) : 0;
    return { ...row, late_looks, late_ms, is_link_proven: isLinkProven(row), is_late: isLate };
  }

  function noteOf(row: MemoryRow, note: Note): void {
    const isUnlinked = note.is_proven && note.link_ref_id === null && !isLinkProven(row);
    row.last_error = note.last_error;
    if (note.first_answers > 0) row.told_looks = Math.min(row.told_looks + note.first_answers, 99);
    row.is_proven ||= note.is_proven && (note.link_ref_id === null || row.link_ref_id === note.link_ref_id);
    if (isUnlinked) removeLink(row);
    row.missing_seen = note.missing_seen ?? row.missing_seen;
    row.missing_told = note.missing_told ?? row.missing_told;
    if (note.soon_ms !== null) row.due = Math.min(Number(row.due), now() + note.soon_ms);
    if (!note.is_late) return;
    const isCounted = isLateCounted(row);
    row.late_looks = isCounted ? row.late_looks + 1 : 1;
    if (!isCounted) row.late_since = now();
  }

  return {
    claim(most: number): readonly Row[] {
      memory.takeTokens(0, 0);
      const due = heldUntil() <= now() ? listDue() : [];
      const { tokens } = fleet;
      const isProblem = fleet.problem_code !== null;
      const room = Math.max(0, Math.min(most, isProblem ? 1 : most, Math.floor(tokens)));
      const chosen = due.toSorted((one, other) => Number(one.due) - Number(other.due)).slice(0, room);
      const first_ms = Number(chosen[0]?.due) - now();
      if (chosen.length > 0) {
        memory.takeTokens(chosen.length, 0);
        const holdMs = Math.min(maxHoldMs, 1_000 * 2 ** Math.min(fleet.problem_looks, 6));
        fleet.hold_until = isProblem ? now() + holdMs : 0;
        fleet.problem_looks = isProblem ? fleet.problem_looks + 1 : 0;
      }
      const taken = chosen.map(take);
      const times = {
        now_ms: now(),
        clock_us: now() * 1_000,
        hold_ms: heldUntil() - now(),
        next_ms: nextDue() - now(),
      };
      return [{ ...fleet, ...times, first_ms, tokens: due.length > 0 ? tokens : null }, ...taken];
    },

    countJobs(keys: string): readonly Row[] {
      return listKeys(keys).map(({ key, link_ref_id: refId }) => {
        const own = list((row) => row.kind === kinds.job && row.link_ref_id === refId && !isUnknown(row));
        const told = list((row) => row.told_link_ref_id === refId && row.link_ref_id === null);
        return { key, known: own.length + told.length, has_heard: own.some(({ state }) => state === states.heard) };
      });
    },

    note(notes: string): readonly Row[] {
      for (const note of JSON.parse(notes) as readonly Note[]) {
        const row = rows.get(note.key);
        if (row && isFollowed(row)) noteOf(row, note);
      }
      return [];
    },

    giveUp: (keys: string): readonly Row[] =>
      listKeys(keys, (row) => isFollowed(row) && !row.is_proven).map((row) => {
        const told_looks = Math.max(row.told_looks, 1);
        return set(row, steps.keepHeard, { context: null, last_error: 'not_found', told_looks });
      }),

    relink(key: string, refId: string | null, linkKey: string | null): readonly Row[] {
      const row = rows.get(key);
      if (!row || !isFollowed(row) || isLinkProven(row)) return [];
      const owner = memory.findOwner(linkKey);
      const given = { link_ref_id: refId, is_proven: owner.isFollowed, context: owner.context };
      return [set(row, owner.isFollowed ? {} : steps.keepHeard, given)];
    },

    end: (_: string, outcome: number, ends: string): readonly Row[] =>
      (JSON.parse(ends) as readonly Pick<MemoryRow, 'key' | 'link_ref_id'>[]).flatMap(({ key, link_ref_id: refId }) => {
        const row = rows.get(key);
        if (!row || !isFollowed(row)) return [];
        const isProven = isLinkProven(row);
        if (!isProven && refId !== null && row.link_ref_id !== refId) return [];
        if (outcome === outcomes.expired && Number(row.deadline) > now()) return [];
        if (!isProven && refId === null) removeLink(row);
        else if (row.context === null && row.told_at !== null) {
          row.context = list((link) => isOwner(link) && link.link_ref_id === refId)[0]?.context ?? null;
        }
        return [set(row, steps.end, { outcome })];
      }),

    endErrors(errors: string): readonly Row[] {
      for (const { key, last_error } of JSON.parse(errors) as readonly Pick<MemoryRow, 'key' | 'last_error'>[]) {
        Object.assign(rows.get(key) ?? {}, { last_error });
      }
      return [];
    },

    giveBack: (keys: string): readonly Row[] =>
      listKeys(keys, isFollowed).map((row) => Object.assign(row, { due: Math.min(Number(row.due), now()) })),

    endLinks: (keys: string): readonly Row[] =>
      listKeys(keys, (row) => row.kind === kinds.link && isFollowed(row) && Number(row.deadline) <= now()).map((row) =>
        set(row, steps.endLink),
      ),

    addGap(key: string, linkKey: string, missing: number, told: number): readonly Row[] {
      const link = rows.get(linkKey);
      if (!link || link.missing >= missing) return [];
      Object.assign(link, { missing, missing_seen: missing - told, missing_told: told });
      if (rows.has(key)) return [];
      const { link_ref_id, context } = link;
      return [set(open(key, kinds.gap), steps.end, { outcome: outcomes.unheard, link_ref_id, context, missing })];
    },
  };
}
