/**
 * The statements that take due jobs and links, and store the results of their polls, in memory.
 *
 * @module
 */

import type { Note } from '../follow.js';
import { kinds, lastLookMs, lateWaitsOf, maxHoldMs, maxUnknownLooks, outcomes, states } from '../rules.js';
import type { Row } from '../sql.js';
import { heldUntil, nextDue, randomWait, refill } from './fleet.js';
import {
  findOwner,
  isLateCounted,
  isLinkProven,
  isOwner,
  isUnknown,
  listRows,
  type Memory,
  type MemoryRow,
  openRow,
  removeLink,
} from './rows.js';

/** Creates the statements. */
export function createPollStatements(memory: Memory) {
  const { rows, now, fleet, settings } = memory;
  const { firstLateMs, lateMs } = lateWaitsOf(settings);

  /** Chooses from due rows, the earliest first. During a problem, it chooses one. */
  function choose(due: readonly MemoryRow[], most: number): readonly MemoryRow[] {
    const tokens = fleet.problem_code === null ? Math.floor(fleet.tokens) : Math.min(1, Math.floor(fleet.tokens));
    return due
      .toSorted((one, other) => Number(one.due) - Number(other.due))
      .slice(0, Math.max(0, Math.min(most, tokens)));
  }

  /** Sets the date of the next poll of a row. */
  function take(row: MemoryRow): Row {
    const deadline = row.deadline ?? Number.POSITIVE_INFINITY;
    const isCounted = isLateCounted(row);
    const isLastLook = !row.is_proven && Number(row.told_looks) >= maxUnknownLooks - 1;
    if (deadline <= now()) row.due = now() + (isCounted ? lateMs : firstLateMs);
    else if (isLastLook) row.due = now() + lastLookMs;
    else row.due = Math.min(now() + randomWait(memory, row.step), deadline);
    row.polls += 1;
    row.step = Math.min(row.step + 1, 300);
    if (Number(row.told_looks) > 0) row.told_looks = Math.min(Number(row.told_looks) + 1, 100);
    const late_looks = isCounted ? row.late_looks : 0;
    const late_ms = isCounted ? now() - Number(row.late_since) : 0;
    return { ...row, late_looks, late_ms, is_link_proven: isLinkProven(row), is_late: deadline <= now() };
  }

  /** Takes tokens for the rows, and holds the next poll during a problem. */
  function charge(chosen: readonly MemoryRow[]): void {
    fleet.tokens -= chosen.length;
    fleet.requests_sent += chosen.length;
    const isProblem = fleet.problem_code !== null;
    fleet.hold_until = isProblem ? now() + Math.min(maxHoldMs, 1_000 * 2 ** Math.min(fleet.problem_looks, 6)) : null;
    fleet.problem_looks = isProblem ? fleet.problem_looks + 1 : 0;
  }

  function noteOf(row: MemoryRow, note: Note): void {
    const isUnlinked = note.is_proven && note.link_ref_id === null && !isLinkProven(row);
    row.last_error = note.last_error;
    if (note.first_answers > 0) row.told_looks = Math.min(Number(row.told_looks) + note.first_answers, 99);
    row.is_proven ||= note.is_proven && (note.link_ref_id === null || row.link_ref_id === note.link_ref_id);
    if (isUnlinked) removeLink(row);
    row.missing_seen = note.missing_seen ?? row.missing_seen;
    row.missing_told = note.missing_told ?? row.missing_told;
    if (note.soon_ms !== null) row.due = Math.min(row.due ?? Number.POSITIVE_INFINITY, now() + note.soon_ms);
    if (!note.is_late) return;
    const isCounted = isLateCounted(row);
    row.late_looks = isCounted ? row.late_looks + 1 : 1;
    if (!isCounted) row.late_since = now();
  }

  return {
    claim(most: number): readonly Row[] {
      refill(memory);
      const isFree = (heldUntil(memory) ?? 0) <= now();
      const due = [...rows.values()].filter((row) => row.due !== null && row.due <= now());
      const tokens = isFree && due.length > 0 ? fleet.tokens : null;
      const chosen = tokens === null ? [] : choose(due, most);
      const firstDue = Math.min(...chosen.map(({ due }) => Number(due)));
      if (chosen.length > 0) charge(chosen);
      const taken = chosen.map(take);
      const [held, next] = [heldUntil(memory), nextDue(memory)];
      const head = {
        problem_code: fleet.problem_code,
        rate: fleet.rate,
        tokens,
        now_ms: now(),
        clock_us: now() * 1_000,
      };
      const times = { hold_ms: held && held - now(), next_ms: next && next - now(), first_ms: firstDue - now() };
      return [{ ...head, ...times }, ...taken];
    },

    countJobs(keys: string): readonly Row[] {
      return listRows(memory, keys).map(({ key, link_ref_id: refId }) => {
        const jobs = [...rows.values()].filter((row) => row.kind === kinds.job && !isUnknown(row));
        const known = [...rows.values()].filter((row) => row.told_link_ref_id === refId && row.link_ref_id === null);
        const own = jobs.filter((row) => row.link_ref_id === refId);
        return { key, known: own.length + known.length, has_heard: own.some(({ state }) => state === states.heard) };
      });
    },

    note(notes: string) {
      for (const note of JSON.parse(notes) as readonly Note[]) {
        const row = rows.get(note.key);
        if (row?.state === states.tracking) noteOf(row, note);
      }
      return [];
    },

    giveUp(keys: string) {
      for (const row of listRows(memory, keys)) {
        if (row.state !== states.tracking || row.is_proven) continue;
        const told_looks = Math.max(Number(row.told_looks), 1);
        Object.assign(row, {
          state: states.heard,
          due: null,
          deadline: null,
          context: null,
          last_error: 'not_found',
          told_looks,
        });
      }
      return [];
    },

    relink(key: string, refId: string | null, linkKey: string | null): readonly Row[] {
      const row = rows.get(key);
      if (row?.state !== states.tracking || isLinkProven(row)) return [];
      const { isFollowed, context } = findOwner(memory, linkKey);
      Object.assign(row, { link_ref_id: refId, is_proven: isFollowed, context });
      if (!isFollowed) Object.assign(row, { state: states.heard, due: null, deadline: null });
      return [{ state: row.state }];
    },

    end(_: string, outcome: number, ends: string): readonly Row[] {
      return (JSON.parse(ends) as readonly Pick<MemoryRow, 'key' | 'link_ref_id'>[]).flatMap(
        ({ key, link_ref_id: refId }) => {
          const row = rows.get(key);
          const isSameLink = (job: MemoryRow) => isLinkProven(job) || refId === null || job.link_ref_id === refId;
          if (row?.state !== states.tracking || !isSameLink(row)) return [];
          if (outcome === outcomes.expired && Number(row.deadline) > now()) return [];
          if (refId === null && !isLinkProven(row)) removeLink(row);
          else if (row.context === null && row.told_at !== null) {
            row.context =
              [...rows.values()].find((link) => isOwner(link) && link.link_ref_id === refId)?.context ?? null;
          }
          const end_id = crypto.randomUUID();
          Object.assign(row, {
            state: states.handingOver,
            outcome,
            due: null,
            ended_at: now(),
            end_id,
            is_proven: true,
          });
          return [{ key, end_id }];
        },
      );
    },

    endErrors(errors: string) {
      for (const { key, last_error } of JSON.parse(errors) as readonly Pick<MemoryRow, 'key' | 'last_error'>[]) {
        Object.assign(rows.get(key) ?? {}, { last_error });
      }
      return [];
    },

    giveBack(keys: string) {
      for (const row of listRows(memory, keys))
        if (row.state === states.tracking) row.due = Math.min(row.due ?? now(), now());
      return [];
    },

    endLinks(keys: string) {
      for (const row of listRows(memory, keys)) {
        const isOver = row.kind === kinds.link && row.state === states.tracking && Number(row.deadline) <= now();
        if (isOver) Object.assign(row, { state: states.done, due: null, ended_at: now() });
      }
      return [];
    },

    addGap(key: string, linkKey: string, missing: number, told: number): readonly Row[] {
      const link = rows.get(linkKey);
      if (!link || link.missing >= missing) return [];
      Object.assign(link, { missing, missing_seen: missing - told, missing_told: told });
      if (rows.has(key)) return [];
      const end_id = crypto.randomUUID();
      const ended = { state: states.handingOver, outcome: outcomes.unheard, ended_at: now(), end_id };
      const { link_ref_id, context } = link;
      Object.assign(openRow(memory, key, kinds.gap), ended, { link_ref_id, context, missing });
      return [{ key, end_id }];
    },
  };
}
