/**
 * The statements about problems, pauses, counts and housekeeping, in memory.
 *
 * @module
 */

import { maxDebtSeconds, outcomes, states } from '../rules.js';
import { is, isIn, type Memory, type MemoryRow, sortRows, type Which } from './rows.js';

/** Creates the statements. */
export function createFleetStatements({ rows, now, fleet, settings, list, nextDue, takeTokens }: Memory) {
  const count = (...which: readonly Which[]) => list(...which).length;

  /** Prefers a job or link that the service has responded about, and then one that was not polled. */
  function rankOf({ outcome, last_error, polls }: MemoryRow): number {
    if (outcome !== null) return 0;
    return last_error !== null ? 2 : polls === 0 ? 1 : 0;
  }

  return {
    control(key: string, kind: number, tokens: number) {
      const isOther = (row: MemoryRow) => row.key !== key && row.kind === kind;
      const isAsked = (row: MemoryRow) => is.over(row) || (row.due !== null && row.is_proven);
      const isKnown = ({ outcome }: MemoryRow) => outcome === null || outcome === outcomes.completed;
      const [other] = sortRows(list(isOther, isAsked, isKnown), rankOf);
      if (!other) return [];
      const mayAsk = fleet.asked_until <= now() && takeTokens(tokens, maxDebtSeconds);
      return [{ ...other, wait_ms: mayAsk ? Math.max(0, (-fleet.tokens / fleet.rate) * 1_000) : null }];
    },

    problem(code: string) {
      fleet.problem_code = code;
      fleet.problem_since ??= now();
      fleet.hold_until = Math.max(fleet.hold_until, now() + 1_000);
    },

    recovered() {
      Object.assign(fleet, { problem_code: null, problem_since: null, problem_looks: 0, hold_until: 0 });
    },

    hold(ms: number) {
      fleet.asked_until = Math.max(fleet.asked_until, now() + ms);
    },

    stats() {
      const counts = {
        heard: count(is.job, is.heard),
        tracking: count(is.job, is.followed),
        links: count(is.link, is.followed),
        overdue: count(({ due }) => due !== null && due < now()),
        handing_over: count(is.ending),
        dead: count(is.dead),
      };
      return [{ ...fleet, ...counts, oldest_ms: now() - nextDue() }];
    },

    gauges() {
      const jobs = JSON.stringify(
        Object.fromEntries(Object.values(states).map((state) => [state, count(isIn(state))])),
      );
      const ages = list(is.ending).map(({ ended_at }) => now() - Number(ended_at));
      return [{ ...fleet, jobs, overdue_ms: now() - nextDue(), waiting_ms: Math.max(0, ...ages) }];
    },

    keepHouse: () => [{ yes: 1 }],

    forget() {
      const refIds = new Set(list(is.link, is.followed).map((link) => link.link_ref_id));
      const isOld = ({ ended_at }: MemoryRow) => Number(ended_at) < now() - settings.retentionMs;
      const isFree = (row: MemoryRow) => !refIds.has(row.link_ref_id ?? row.told_link_ref_id);
      for (const { key } of list(isIn(states.done, states.untracked), isOld, isFree)) rows.delete(key);
    },

    forgetHeard() {
      const isOld = ({ told_at }: MemoryRow) => Number(told_at) < now() - settings.deadlineMs;
      for (const { key } of list(is.told, is.heard, isOld)) rows.delete(key);
    },
  };
}
