/**
 * The rows of a tracker in memory, and what several of its statements ask about them.
 *
 * @module
 */

import type { TrackerSettings } from '../options.js';
import { defaultRate, kinds, type Step, states } from '../rules.js';

const dateColumns = ['due', 'deadline', 'late_since', 'forced_at', 'told_at', 'told_signed_at', 'ended_at'] as const;
const countColumns = ['polls', 'attempts', 'missing', 'missing_seen', 'missing_told', 'step', 'late_looks'] as const;
const idColumns = ['user_id', 'job_id', 'link_ref_id', 'told_link_ref_id', 'end_id'] as const;
const textColumns = ['context', 'last_error', 'failure_name', 'failure_code', 'trace', 'told_trace'] as const;

/** A row, with the columns of the table `tracked`. Dates are in ms since the epoch. */
export type MemoryRow = {
  readonly key: string;
  readonly kind: number;
  state: number;
  outcome: number | null;
  told_looks: number;
  is_proven: boolean;
} & Record<(typeof dateColumns)[number], number | null> &
  Record<(typeof countColumns)[number], number> &
  Record<(typeof idColumns | typeof textColumns)[number], string | null>;

/** Says whether a statement applies to a row. */
type Which = (row: MemoryRow) => boolean;

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
export type Memory = ReturnType<typeof createMemory>;

/** Creates an empty memory. `random` gives a random number from 0 to 1. */
export function createMemory(settings: TrackerSettings, now: () => number, random: () => number) {
  const rows = new Map<string, MemoryRow>();
  const messages = new Map<string, Message>();
  /** The columns of the table `fleet`. A pause that ends at 0 is none. */
  const fleet = {
    rate: settings.maxRequestsPerSecond ?? defaultRate,
    tokens: 1,
    refilled_at: now(),
    requests_sent: 0,
    hold_until: 0,
    asked_until: 0,
    problem_code: null as string | null,
    problem_since: null as number | null,
    problem_looks: 0,
  };

  let running: Promise<unknown> = Promise.resolve();

  /** Runs work after all other work of this kind. */
  function runAlone<T>(work: () => Promise<T>): Promise<T> {
    const done = running.then(work);
    running = done.catch(() => undefined);
    return done;
  }

  const list = (which: Which = () => true): readonly MemoryRow[] => [...rows.values()].filter(which);

  /** Changes a row as a step says, and as `more` says. */
  function set(row: MemoryRow, step: Step, more: Partial<MemoryRow> = {}): MemoryRow {
    const late: Step = { now: now(), deadline: now() + settings.deadlineMs, id: crypto.randomUUID() };
    const changed = Object.entries(step).map(([column, value]) => [column, late[String(value)] ?? value]);
    return Object.assign(row, Object.fromEntries(changed), more);
  }

  return {
    settings,
    rows,
    messages,
    now,
    random,
    fleet,
    list,
    set,
    runAlone,

    /** Returns the rows of a JSON list of keys. */
    listKeys(keys: string, which: Which = () => true): readonly MemoryRow[] {
      return (JSON.parse(keys) as readonly string[]).flatMap((key) => rows.get(key) ?? []).filter(which);
    },

    /** The earliest date of a poll. `Infinity` if no poll is planned. */
    nextDue(): number {
      let next = Number.POSITIVE_INFINITY;
      for (const { due } of rows.values()) if (due !== null) next = Math.min(next, due);
      return next;
    },

    listDue: () => list(({ due }) => due !== null && due <= now()),

    /** Returns the row of a key. If there is none, adds an empty one. */
    open(key: string, kind: number): MemoryRow {
      const row: MemoryRow = rows.get(key) ?? {
        ...{ key, kind, state: states.tracking, outcome: null, told_looks: 0, is_proven: true },
        ...fill(dateColumns, null),
        ...fill(countColumns, 0),
        ...fill([...idColumns, ...textColumns], null),
      };
      rows.set(key, row);
      return row;
    },

    /** Says whether a job that only callbacks have mentioned is followed, and with which context. */
    findOwner(linkKey: string | null) {
      const link = rows.get(linkKey ?? '');
      const isFollowed = isOwner(link) || settings.unknownJobs === 'track';
      return { isFollowed, context: isOwner(link) ? link.context : null };
    },

    /** The end of the pauses that the service or a problem have caused. */
    heldUntil: () => Math.max(fleet.hold_until, fleet.asked_until),

    /** Takes tokens, if a deficit of as many seconds allows it, and adds those of the time that has passed. */
    takeTokens(count: number, debtSeconds: number): boolean {
      const passed = (now() - fleet.refilled_at) / 1_000;
      const burst = Math.max(1, fleet.rate / 10);
      fleet.tokens = Math.min(burst, fleet.tokens + passed * fleet.rate);
      fleet.refilled_at = now();
      if (fleet.tokens - count < -fleet.rate * debtSeconds) return false;
      fleet.tokens -= count;
      fleet.requests_sent += count;
      return true;
    },

    /** Draws a wait, in ms. It is at least half of the longest wait. */
    drawWait(step: number): number {
      const { maxDelayMs, minDelayMs, backoffFactor } = settings;
      const longest = Math.min(maxDelayMs, minDelayMs * backoffFactor ** step);
      return Math.round(longest * (0.5 + random() / 2));
    },
  };
}

function fill<Name extends string, Value>(names: readonly Name[], value: Value): Record<Name, Value> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, Value>;
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

/** Says whether a link is tracked, or was tracked until its deadline. */
export function isOwner(link: MemoryRow | undefined): link is MemoryRow {
  return link?.kind === kinds.link && (link.state === states.tracking || link.state === states.done);
}

/** Takes the link of a callback, and its context, from a job. The job still counts as a known job of this link. */
export function removeLink(row: MemoryRow): void {
  row.told_link_ref_id ??= row.link_ref_id;
  row.link_ref_id = null;
  row.context = null;
}

/** Says whether failed polls after the deadline are counted. */
export function isLateCounted({ late_since, deadline }: MemoryRow): boolean {
  return late_since !== null && deadline !== null && late_since >= deadline;
}
