/**
 * The statements that take due jobs and links, and store the results of their polls, in memory.
 *
 * @module
 */

import type { FurtherEnd, JobEnd, KeptEnd, Note } from '../poll/follow.js';
import { kinds, lastPollMs, maxCredit, maxHoldMs, maxUnknownPolls, minLateMs, outcomes, steps } from '../rules.js';
import type { Row } from '../sql.js';
import { is, type Memory, type MemoryRow, removeLink } from './rows.js';

/** Creates the statements. */
export function createPollStatements(memory: Memory) {
  const { rows, now, fleet, settings, list, find, listKeys, join, listDue, set, open, heldUntil, takeTokens } = memory;
  const isOver = ({ deadline }: MemoryRow) => deadline !== null && deadline <= now();

  /** Sets the date of the next poll of a row. */
  function take(row: MemoryRow): Row {
    const isCounted = is.lateCounted(row);
    const isLastPoll = !row.is_proven && row.mentioned_polls >= maxUnknownPolls - 1;
    const leftMs = is.ended(row) ? Number.POSITIVE_INFINITY : Number(row.deadline) - now();
    const waitMs = isLastPoll ? lastPollMs : Math.min(memory.drawWait(row.step), leftMs);
    const late_ms = isCounted ? now() - Number(row.late_since) : 0;
    row.due =
      now() + (leftMs > 0 ? waitMs : Math.min(settings.maxDelayMs, Math.max(minLateMs, Math.floor(late_ms / 8))));
    row.polls += 1;
    row.step += 1;
    if (row.mentioned_polls > 0) row.mentioned_polls += 1;
    return { ...row, late_ms, signed_ms: row.signed_at, is_link_proven: is.linkProven(row), is_late: leftMs <= 0 };
  }

  return {
    claim(most: number) {
      const { tokens, burst } = takeTokens(0);
      const isProblem = fleet.problem_code !== null;
      const due = heldUntil() <= now() ? listDue() : [];
      const room = Math.max(0, Math.min(isProblem ? 1 : most, Math.floor(tokens)));
      const chosen = due.toSorted((one, other) => Number(one.due) - Number(other.due)).slice(0, room);
      const first_ms = Number(chosen[0]?.due) - now();
      takeTokens(chosen.length);
      const credit = fleet.delivery_credit + chosen.length + 2 * chosen.filter(is.mentioned).length;
      fleet.delivery_credit = Math.min(Math.max(maxCredit, burst), credit);
      if (isProblem && chosen.length > 0) {
        fleet.hold_until = now() + Math.min(maxHoldMs, 1_000 * 2 ** fleet.problem_polls);
        fleet.problem_polls += 1;
      }
      const taken = chosen.map(take);
      if (chosen.length > 0) fleet.polled_at = now();
      const waits = {
        asked_ms: fleet.asked_until - now(),
        hold_ms: heldUntil() - now(),
        next_ms: memory.nextOf('due') - now(),
      };
      return [{ ...fleet, ...waits, first_ms, tokens: due.length > 0 ? tokens : null, taken: JSON.stringify(taken) }];
    },

    countJobs: (keys: string) =>
      listKeys(keys).map(({ key, link_ref_id: refId }) => {
        const own = list(is.job, (row) => row.link_ref_id === refId && !is.unknown(row));
        const mentioned = list((row) => row.mentioned_link_ref_id === refId && row.link_ref_id === null);
        return { key, known: own.length + mentioned.length, has_mentioned: own.some(is.heard) };
      }),

    note(notes: string) {
      for (const { row, entry: note } of join<Note>(notes, is.followed)) {
        const isUnlinked = note.has_status && note.link_ref_id === null && !is.linkProven(row);
        const isSame = row.last_error === note.last_error;
        row.last_error = note.last_error;
        row.mentioned_polls += note.first_answers;
        row.is_proven ||= note.is_proven && (note.link_ref_id === null || row.link_ref_id === note.link_ref_id);
        if (isUnlinked) removeLink(row);
        row.missing_seen = note.missing_seen ?? row.missing_seen;
        row.missing_mentioned = note.missing_mentioned ?? row.missing_mentioned;
        row.due = Math.min(Number(row.due), now() + (note.soon_ms ?? Number.POSITIVE_INFINITY));
        if (note.is_late && !(is.lateCounted(row) && isSame)) set(row, {}, { late_polls: 0, late_since: now() });
        if (note.is_late) row.late_polls += 1;
      }
    },

    giveUp: (keys: string) =>
      listKeys(keys, is.followed, is.mentioned).map((row) => {
        row.mentioned_polls ||= 1;
        return set(row, steps.keepMentioned, { context: null, last_error: 'not_found' });
      }),

    relink: (key: string, refId: string | null, linkKey: string | null) =>
      find(key, is.followed, (row) => !is.linkProven(row)).map((row) => {
        const owner = memory.findOwner(linkKey);
        const given = { link_ref_id: refId, is_proven: owner.isFollowed, context: owner.context };
        return set(row, owner.isFollowed ? {} : steps.keepMentioned, given);
      }),

    end: (ends: string) =>
      join<JobEnd>(ends, is.followed).flatMap(({ row, entry: { link_ref_id: refId, outcome, last_error } }) => {
        // Several polls of a job may have found its end.
        if (!is.followed(row)) return [];
        const isProven = is.linkProven(row);
        if (!isProven && refId !== null && row.link_ref_id !== refId) return [];
        if (outcome === outcomes.expired && !isOver(row)) return [];
        if (!isProven && refId === null) removeLink(row);
        else if (row.mentioned_at !== null) {
          row.context ??= list(is.owner, (link) => link.link_ref_id === refId)[0]?.context ?? null;
        }
        return [set(row, steps.end, { outcome, ...(outcome === outcomes.expired && { last_error }) })];
      }),

    endAgain: (ends: string) =>
      join<FurtherEnd>(ends, is.ended).flatMap(({ row, entry }) => {
        if (row.revision !== entry.revision || !is.ended(row)) return [];
        return [{ ...set(row, steps.end, { state_before: row.state }), outcome: outcomes.completed }];
      }),

    keepEnd(ends: string) {
      for (const { row, entry } of join<KeptEnd>(ends, is.ended)) {
        if (row.revision !== entry.revision) continue;
        const signedAt = memory.latestOf(row.signed_at, entry.signed_ms);
        if (entry.is_same) row.signed_at = signedAt;
        const failed = row.step < maxUnknownPolls ? row.due : null;
        const known = row.step <= 1 ? memory.recheck(row, signedAt, true) : null;
        const due = entry.signed_ms === null ? failed : known;
        Object.assign(row, { due, last_error: null });
      }
    },

    giveBack: (keys: string) =>
      listKeys(keys, ({ due }) => Number(due) > now()).map((row) => set(row, {}, { due: now() })),

    endLinks: (keys: string) => listKeys(keys, is.link, is.followed, isOver).map((row) => set(row, steps.endLink)),

    addGap: (key: string, linkKey: string, missing: number, mentioned: number) =>
      find(linkKey, (link) => link.missing < missing).flatMap((link) => {
        Object.assign(link, { missing, missing_seen: missing - mentioned, missing_mentioned: mentioned });
        if (rows.has(key)) return [];
        const { link_ref_id, context } = link;
        return [set(open(key, kinds.gap), steps.end, { outcome: outcomes.unheard, link_ref_id, context, missing })];
      }),
  };
}
