/**
 * The token bucket, problems, pauses, counts and housekeeping, in memory.
 *
 * @module
 */

import { kinds, maxDebtSeconds, outcomes, states } from '../rules.js';
import type { Row } from '../sql.js';
import { isTold, type Memory, type MemoryRow } from './rows.js';

/** Adds the tokens of the time that has passed. The bucket has at most the tokens of a tenth of a second. */
export function refill({ fleet, now }: Memory): void {
  const burst = Math.max(1, fleet.rate / 10);
  fleet.tokens = Math.min(burst, fleet.tokens + ((now() - fleet.refilled_at) / 1_000) * fleet.rate);
  fleet.refilled_at = now();
}

/** The end of the pauses that the service or a problem have caused. Null if there is none. */
export function heldUntil({ fleet }: Memory): number | null {
  const { hold_until: held, asked_until: asked } = fleet;
  return held === null || asked === null ? (held ?? asked) : Math.max(held, asked);
}

/** The earliest date of a poll. Null if no poll is planned. */
export function nextDue({ rows }: Memory, which: (row: MemoryRow) => boolean = () => true): number | null {
  let next: number | null = null;
  for (const row of rows.values()) {
    if (row.due !== null && (next === null || row.due < next) && which(row)) next = row.due;
  }
  return next;
}

/** Draws a wait, in ms. It is at least half of the longest wait. */
export function randomWait({ settings, random }: Memory, step: number): number {
  const longest = Math.min(settings.maxDelayMs, settings.minDelayMs * settings.backoffFactor ** step);
  return Math.round(longest * (0.5 + random() / 2));
}

/** Creates the statements. */
export function createFleetStatements(memory: Memory) {
  const { rows, now, fleet, settings } = memory;
  const forgetAll = (isOld: (row: MemoryRow) => boolean) => {
    for (const row of [...rows.values()].filter(isOld)) rows.delete(row.key);
    return [];
  };

  /** Chooses another job or link. Prefers one that the service has responded about, and then one that was not polled. */
  function chooseOther(key: string, kind: number): MemoryRow | undefined {
    const isEnded = ({ state, outcome, ended_at }: MemoryRow) =>
      ended_at !== null && state !== states.untracked && (outcome ?? outcomes.completed) === outcomes.completed;
    const others = [...rows.values()].filter(
      (row) => row.key !== key && row.kind === kind && ((row.due !== null && row.is_proven) || isEnded(row)),
    );
    const hasFailed = ({ outcome, last_error }: MemoryRow) => outcome === null && last_error !== null;
    const isNew = ({ outcome, polls }: MemoryRow) => outcome === null && polls === 0;
    return others.find((row) => !hasFailed(row) && !isNew(row)) ?? others.find((row) => !hasFailed(row)) ?? others[0];
  }

  return {
    control(key: string, kind: number, tokens: number): readonly Row[] {
      const other = chooseOther(key, kind);
      if (!other) return [];
      refill(memory);
      const isFree = (fleet.asked_until ?? 0) <= now();
      if (!isFree || fleet.tokens - tokens < -fleet.rate * maxDebtSeconds) return [{ ...other, wait_ms: null }];
      fleet.tokens -= tokens;
      fleet.requests_sent += tokens;
      return [{ ...other, wait_ms: Math.max(0, (-fleet.tokens / fleet.rate) * 1_000) }];
    },

    problem(code: string) {
      fleet.problem_code = code;
      fleet.problem_since ??= now();
      fleet.hold_until = Math.max(fleet.hold_until ?? 0, now() + 1_000);
      return [];
    },

    recovered() {
      Object.assign(fleet, { problem_code: null, problem_since: null, problem_looks: 0, hold_until: null });
      return [];
    },

    hold(ms: number) {
      fleet.asked_until = Math.max(fleet.asked_until ?? 0, now() + ms);
      return [];
    },

    stats(): readonly Row[] {
      const all = [...rows.values()];
      const count = (state: number, kind?: number) =>
        all.filter((row) => row.state === state && (kind === undefined || row.kind === kind)).length;
      const overdue = all.filter(({ due }) => due !== null && due < now());
      const counts = {
        heard: count(states.heard, kinds.job),
        tracking: count(states.tracking, kinds.job),
        links: count(states.tracking, kinds.link),
        overdue: overdue.length,
        oldest_ms: Math.max(0, ...overdue.map(({ due }) => now() - Number(due))),
        handing_over: count(states.handingOver),
        dead: count(states.dead),
      };
      return [{ ...fleet, ...counts }];
    },

    gauges(): readonly Row[] {
      const all = [...rows.values()];
      const counts = new Map<number, number>();
      for (const { state } of all) counts.set(state, (counts.get(state) ?? 0) + 1);
      const ages = all.flatMap((row) => (row.state === states.handingOver ? now() - Number(row.ended_at) : []));
      const dueAt = nextDue(memory) ?? now();
      const jobs = JSON.stringify(Object.fromEntries(counts));
      return [{ ...fleet, jobs, overdue_ms: now() - dueAt, waiting_ms: Math.max(0, ...ages) }];
    },

    keepHouse: (): readonly Row[] => [{ yes: 1 }],

    forget() {
      const isFollowed = ({ kind, state }: MemoryRow) => kind === kinds.link && state === states.tracking;
      const followed = new Set([...rows.values()].filter(isFollowed).map((link) => link.link_ref_id));
      return forgetAll(
        (row) =>
          (row.state === states.done || row.state === states.untracked) &&
          Number(row.ended_at) < now() - settings.retentionMs &&
          !followed.has(row.link_ref_id ?? row.told_link_ref_id),
      );
    },

    forgetHeard: () =>
      forgetAll(
        (row) => isTold(row) && row.state === states.heard && Number(row.told_at) < now() - settings.deadlineMs,
      ),
  };
}
