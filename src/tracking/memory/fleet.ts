/**
 * The statements about problems, pauses, counts and housekeeping, in memory.
 *
 * @module
 */

import { kinds, maxDebtSeconds, outcomes, states } from '../rules.js';
import type { Row } from '../sql.js';
import { isTold, type Memory, type MemoryRow } from './rows.js';

/** Creates the statements. */
export function createFleetStatements({ rows, now, fleet, settings, list, nextDue, takeTokens }: Memory) {
  const forgetAll = (isOld: (row: MemoryRow) => boolean): readonly Row[] => {
    for (const { key } of list(isOld)) rows.delete(key);
    return [];
  };

  /** Chooses another job or link. Prefers one that the service has responded about, and then one that was not polled. */
  function chooseOther(key: string, kind: number): MemoryRow | undefined {
    const isAsked = ({ due, is_proven, ended_at, state }: MemoryRow) =>
      (due !== null && is_proven) || (ended_at !== null && state !== states.untracked);
    const isKnown = ({ outcome }: MemoryRow) => (outcome ?? outcomes.completed) === outcomes.completed;
    const rankOf = ({ outcome, last_error, polls }: MemoryRow) => {
      if (outcome !== null) return 0;
      return last_error !== null ? 2 : polls === 0 ? 1 : 0;
    };
    return list((row) => row.key !== key && row.kind === kind && isAsked(row) && isKnown(row)).toSorted(
      (one, other) => rankOf(one) - rankOf(other) || (one.key < other.key ? -1 : 1),
    )[0];
  }

  return {
    control(key: string, kind: number, tokens: number): readonly Row[] {
      const other = chooseOther(key, kind);
      if (!other) return [];
      const mayAsk = fleet.asked_until <= now() && takeTokens(tokens, maxDebtSeconds);
      return [{ ...other, wait_ms: mayAsk ? Math.max(0, (-fleet.tokens / fleet.rate) * 1_000) : null }];
    },

    problem(code: string) {
      fleet.problem_code = code;
      fleet.problem_since ??= now();
      fleet.hold_until = Math.max(fleet.hold_until, now() + 1_000);
      return [];
    },

    recovered() {
      Object.assign(fleet, { problem_code: null, problem_since: null, problem_looks: 0, hold_until: 0 });
      return [];
    },

    hold(ms: number) {
      fleet.asked_until = Math.max(fleet.asked_until, now() + ms);
      return [];
    },

    stats(): readonly Row[] {
      const count = (...which: readonly [state: number, kind?: number]) =>
        list(({ state, kind }) => state === which[0] && kind === (which[1] ?? kind)).length;
      const overdue = list(({ due }) => due !== null && due < now());
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
      const counts = new Map<number, number>();
      for (const { state } of rows.values()) counts.set(state, (counts.get(state) ?? 0) + 1);
      const ages = list(({ state }) => state === states.handingOver).map((row) => now() - Number(row.ended_at));
      const jobs = JSON.stringify(Object.fromEntries(counts));
      return [{ ...fleet, jobs, overdue_ms: now() - nextDue(), waiting_ms: Math.max(0, ...ages) }];
    },

    keepHouse: (): readonly Row[] => [{ yes: 1 }],

    forget() {
      const followed = list(({ kind, state }) => kind === kinds.link && state === states.tracking);
      const refIds = new Set(followed.map((link) => link.link_ref_id));
      const isOld = (row: MemoryRow) => Number(row.ended_at) < now() - settings.retentionMs;
      const isOver = ({ state }: MemoryRow) => state === states.done || state === states.untracked;
      return forgetAll((row) => isOver(row) && isOld(row) && !refIds.has(row.link_ref_id ?? row.told_link_ref_id));
    },

    forgetHeard: () =>
      forgetAll(
        (row) => isTold(row) && row.state === states.heard && Number(row.told_at) < now() - settings.deadlineMs,
      ),
  };
}
