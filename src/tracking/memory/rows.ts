/**
 * The rows of a tracker in memory, and what several of its statements ask about them.
 *
 * @module
 */

import type { TrackerSettings } from '../options.js';
import { burstSeconds, defaultRate, kinds, lagMs, type Step, states, unusedSeconds } from '../rules.js';

/** A row, with the columns of the table `tracked`. Dates are in ms since the epoch. */
export type MemoryRow = ReturnType<typeof createRow>;

/** Says whether a statement applies to a row. */
export type Which = (row: MemoryRow) => boolean;

/** Everything that a tracker in memory stores. */
export type Memory = ReturnType<typeof createMemory>;

/** Creates an empty memory. `random` gives a random number from 0 to 1. */
export function createMemory(settings: TrackerSettings, now: () => number, random: () => number) {
  const rows = new Map<string, MemoryRow>();
  /** The columns of the table `fleet`. A pause that ends at 0 is none. */
  const fleet = {
    rate: settings.maxRequestsPerSecond ?? defaultRate,
    tokens: 1,
    refilled_at: now(),
    requests_sent: 0,
    delivery_credit: 0,
    polled_at: null as number | null,
    asked_at: 0,
    hold_until: 0,
    asked_until: 0,
    problem_code: null as string | null,
    problem_since: null as number | null,
    problem_polls: 0,
  };

  /** Returns the rows to which all conditions apply, in the order in which they were added. */
  function list(...which: readonly Which[]): readonly MemoryRow[] {
    return [...rows.values()].filter((row) => which.every((applies) => applies(row)));
  }

  /** Returns the row of a key, in a list. The list is empty if there is none, or if a condition does not apply. */
  function find(key: string, ...which: readonly Which[]): readonly MemoryRow[] {
    const row = rows.get(key);
    return row && which.every((applies) => applies(row)) ? [row] : [];
  }

  /** Changes a row as a step says, and as `more` says. */
  function set(row: MemoryRow, step: Step, more: Partial<MemoryRow> = {}): MemoryRow {
    const late = new Map<unknown, Step[string]>([
      ['now', now()],
      ['deadline', now() + settings.deadlineMs],
      ['id', crypto.randomUUID()],
      ['state_before', row.state_before],
      ['recheck', recheck(row, row.signed_at)],
    ]);
    const changed = Object.entries(step).map(([column, value]) => [column, late.has(value) ? late.get(value) : value]);
    return Object.assign(row, Object.fromEntries(changed), more);
  }

  /**
   * The date of a further poll of a job that has ended, if a callback may be about a newer result than the status. A poll
   * that was made for a callback needs no other (`isAgain`) if its status was signed `lagMs` after the callback.
   */
  function recheck({ callback_signed_at: mentionedMs }: MemoryRow, signedMs: number | null, isAgain = false) {
    if (mentionedMs === null) return null;
    const laterMs = (signedMs ?? Number.NEGATIVE_INFINITY) - mentionedMs;
    return laterMs < lagMs || (laterMs === lagMs && !isAgain) ? now() + lagMs : null;
  }

  return {
    ...{ settings, rows, now, fleet, list, find, set, recheck },

    /** Returns the rows of a JSON list of keys. */
    listKeys: (keys: string, ...which: readonly Which[]) =>
      (JSON.parse(keys) as readonly string[]).flatMap((key) => find(key, ...which)),

    /** Returns each entry of a JSON list with the row of its key. */
    join: <Entry extends { readonly key: string }>(entries: string, ...which: readonly Which[]) =>
      (JSON.parse(entries) as readonly Entry[]).flatMap((entry) =>
        find(entry.key, ...which).map((row) => ({ row, entry })),
      ),

    /** The latest of the times at which two statuses were signed. */
    latestOf: (one: number | null, other: number | null) =>
      one === null || other === null ? (one ?? other) : Math.max(one, other),

    listDue: () => list(({ due }) => due !== null && due <= now()),

    /** The earliest date of a poll or a delivery. `Infinity` if none is planned. */
    nextOf: (column: 'due' | 'deliver_at') =>
      list().reduce((next, row) => Math.min(next, row[column] ?? Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY),

    /** Returns the row of a key. If there is none, adds an empty one. */
    open(key: string, kind: number): MemoryRow {
      const row = rows.get(key) ?? createRow(key, kind);
      rows.set(key, row);
      return row;
    },

    /** Says whether a job that only callbacks have mentioned is followed, and with which context. */
    findOwner(linkKey: string | null) {
      const [link] = find(linkKey ?? '', is.owner);
      return { isFollowed: link !== undefined || settings.unknownJobs === 'track', context: link?.context ?? null };
    },

    /** The end of the pauses that the service or a problem have caused. */
    heldUntil: () => Math.max(fleet.hold_until, fleet.asked_until),

    /** Takes tokens, and adds those of the time that has passed. Says how many there are, and whether they were unused. */
    takeTokens(count: number) {
      const unused = fleet.tokens + ((now() - fleet.refilled_at) / 1_000) * fleet.rate;
      const burst = Math.max(1, fleet.rate * burstSeconds);
      const isUnused = unused >= burst + fleet.rate * unusedSeconds;
      const tokens = Math.min(burst, unused);
      if (count > 0) Object.assign(fleet, { tokens: tokens - count, refilled_at: now() });
      fleet.requests_sent += count;
      return { tokens, burst, isUnused };
    },

    /** Draws a wait, in ms. It is at least half of the longest wait. */
    drawWait(step: number): number {
      const { maxDelayMs, minDelayMs, backoffFactor } = settings;
      const longest = Math.min(maxDelayMs, minDelayMs * backoffFactor ** step);
      return Math.round(longest * (0.5 + random() / 2));
    },
  };
}

/** Creates an empty row. Its columns are those of the table `tracked`. */
function createRow(key: string, kind: number) {
  return {
    ...{ key, kind, state: states.tracking as number, outcome: null as number | null },
    ...{ is_proven: true, is_retry: false },
    ...fill(0, ['polls', 'attempts', 'revision', 'missing', 'missing_seen', 'missing_mentioned', 'step']),
    ...fill(0, ['late_polls', 'mentioned_polls']),
    ...fill(noDate, ['due', 'deadline', 'late_since', 'forced_at', 'mentioned_at', 'callback_signed_at']),
    ...fill(noDate, ['ended_at', 'deliver_at', 'state_before', 'signed_at']),
    ...fill(noText, ['user_id', 'job_id', 'link_ref_id', 'mentioned_link_ref_id', 'end_id', 'lease_id', 'trace']),
    ...fill(noText, ['callback_trace', 'version', 'end_key']),
    ...fill(noText, ['context', 'last_error', 'failure_name', 'failure_code']),
  };
}

const noDate: number | null = null;
const noText: string | null = null;

function fill<Name extends string, Value>(value: Value, names: readonly Name[]): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;
}

/** Sorts rows by a number, and those with the same number by their keys. */
export function sortRows(rows: readonly MemoryRow[], orderOf: (row: MemoryRow) => number): readonly MemoryRow[] {
  return rows.toSorted((one, other) => orderOf(one) - orderOf(other) || (one.key < other.key ? -1 : 1));
}

/** Creates the condition that a row is in one of the given states. */
export function isIn(...wanted: readonly number[]): Which {
  return ({ state }) => wanted.includes(state);
}

/** The conditions of rows in statements. */
export const is = {
  job: ({ kind }) => kind === kinds.job,
  link: ({ kind }) => kind === kinds.link,
  heard: isIn(states.heard),
  followed: isIn(states.tracking),
  ending: isIn(states.handingOver),
  dead: isIn(states.dead),
  /** Whether a job has ended, and its completion is not being handed over. */
  ended: isIn(states.done, states.dead),
  /** Whether a job or link has ended, and was not untracked. */
  over: isIn(states.handingOver, states.done, states.dead),
  /** Whether a link is tracked, or was tracked until its deadline. */
  owner: ({ kind, state }) => kind === kinds.link && (state === states.tracking || state === states.done),
  /** Whether only callbacks have mentioned a job. */
  mentioned: ({ is_proven, mentioned_at }) => !is_proven && mentioned_at !== null,
  /** Whether the service does not know a job that only callbacks have mentioned. */
  unknown: ({ is_proven, last_error }) => !is_proven && last_error === 'not_found',
  /** Whether the link of a job needs no proof. */
  linkProven: ({ mentioned_at, is_proven, link_ref_id }) =>
    mentioned_at === null || (is_proven && link_ref_id !== null),
  /** Whether failed polls after the deadline are counted. */
  lateCounted: ({ late_since, deadline }) => late_since !== null && deadline !== null && late_since >= deadline,
} satisfies Readonly<Record<string, Which>>;

/** Takes the link of a callback, and its context, from a job. The job still counts as a known job of this link. */
export function removeLink(row: MemoryRow): void {
  row.mentioned_link_ref_id ??= row.link_ref_id;
  row.link_ref_id = null;
  row.context = null;
}
