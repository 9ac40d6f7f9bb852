/**
 * The rows of a tracker in memory, and what several of its statements ask about them.
 *
 * @module
 */

import type { TrackerSettings } from '../options.js';
import { kinds, states } from '../rules.js';

const dateColumns = ['due', 'deadline', 'late_since', 'forced_at', 'told_at', 'told_signed_at', 'ended_at'] as const;
const countColumns = ['polls', 'attempts', 'missing', 'missing_seen', 'missing_told', 'step', 'late_looks'] as const;
const textColumns = [
  'user_id',
  'job_id',
  'link_ref_id',
  'told_link_ref_id',
  'context',
  'end_id',
  'last_error',
  'failure_name',
  'failure_code',
  'trace',
  'told_trace',
] as const;

/** A row, with the columns of the table `tracked`. Dates are in ms since the epoch. */
export type MemoryRow = {
  readonly key: string;
  readonly kind: number;
  state: number;
  outcome: number | null;
  told_looks: number | null;
  is_proven: boolean;
} & Record<(typeof dateColumns)[number], number | null> &
  Record<(typeof countColumns)[number], number> &
  Record<(typeof textColumns)[number], string | null>;

/** A message of a completion. */
export interface Message {
  readonly id: string;
  readonly data: unknown;
  /** How many times the message was given back. */
  retryCount: number;
  /** True while a delivery has the message. */
  isHeld: boolean;
  startAfter: number;
}

/** Everything that a tracker in memory stores. */
export interface Memory {
  readonly settings: TrackerSettings;
  readonly rows: Map<string, MemoryRow>;
  readonly messages: Map<string, Message>;
  readonly now: () => number;
  readonly random: () => number;
  /** The columns of the table `fleet`. */
  readonly fleet: {
    readonly rate: number;
    tokens: number;
    refilled_at: number;
    requests_sent: number;
    hold_until: number | null;
    asked_until: number | null;
    problem_code: string | null;
    problem_since: number | null;
    problem_looks: number;
  };
}

/** Returns the row of a key. If there is none, adds an empty one. */
export function openRow({ rows }: Memory, key: string, kind: number): MemoryRow {
  const known = rows.get(key);
  if (known) return known;
  const row = {
    ...{ key, kind, state: states.tracking, outcome: null, told_looks: null, is_proven: true },
    ...fill(dateColumns, null),
    ...fill(countColumns, 0),
    ...fill(textColumns, null),
  };
  rows.set(key, row);
  return row;
}

function fill<Name extends string, Value>(names: readonly Name[], value: Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;
}

/** Returns the rows of a JSON list of keys. */
export function listRows({ rows }: Memory, keys: string): readonly MemoryRow[] {
  return (JSON.parse(keys) as readonly string[]).flatMap((key) => rows.get(key) ?? []);
}

/** Says whether only callbacks have mentioned a job. */
export function isTold({ is_proven, told_at }: MemoryRow): boolean {
  return !is_proven && told_at !== null;
}

/** Says whether the service does not know a job that only callbacks have mentioned. */
export function isUnknown({ is_proven, last_error }: MemoryRow): boolean {
  return !is_proven && last_error === 'not_found';
}

/** Says whether the link of a job needs no proof. */
export function isLinkProven({ told_at, is_proven, link_ref_id }: MemoryRow): boolean {
  return told_at === null || (is_proven && link_ref_id !== null);
}

/** Takes the link of a callback, and its context, from a job. The job still counts as a known job of this link. */
export function removeLink(row: MemoryRow): void {
  row.told_link_ref_id ??= row.link_ref_id;
  row.link_ref_id = null;
  row.context = null;
}

/** Says whether a link is tracked, or was tracked until its deadline. */
export function isOwner(link: MemoryRow | undefined): link is MemoryRow {
  return link?.kind === kinds.link && (link.state === states.tracking || link.state === states.done);
}

/** Says whether a job that only callbacks have mentioned is followed, and with which context. */
export function findOwner({ rows, settings }: Memory, linkKey: string | null) {
  const link = linkKey === null ? undefined : rows.get(linkKey);
  const isFollowed = isOwner(link) || settings.unknownJobs === 'track';
  return { isFollowed, context: isOwner(link) ? link.context : null };
}

/** Says whether failed polls after the deadline are counted. */
export function isLateCounted({ late_since, deadline }: MemoryRow): boolean {
  return late_since !== null && deadline !== null && late_since >= deadline;
}
