/**
 * The statements about problems, pauses, counts and housekeeping, in memory.
 *
 * @module
 */

import { states } from '../rules.js';
import { is, isIn, type Memory, type MemoryRow, type Which } from './rows.js';

/** Creates the statements. */
export function createFleetStatements({ rows, now, fleet, settings, list, nextOf }: Memory) {
  const isBefore = (date: 'due' | 'deliver_at') => (row: MemoryRow) => row[date] !== null && Number(row[date]) < now();
  const paused = () =>
    fleet.asked_until > now() ? { paused_since: fleet.asked_at, paused_until: fleet.asked_until } : {};
  const count = (...which: readonly Which[]) => list(...which).length;

  return {
    problem(code: string) {
      fleet.problem_code = code;
      fleet.problem_since ??= now();
      fleet.hold_until = Math.max(fleet.hold_until, now() + 1_000);
      return [{ stored: 1 }];
    },

    recovered() {
      Object.assign(fleet, { problem_code: null, problem_since: null, problem_polls: 0, hold_until: 0 });
    },

    hold(ms: number) {
      if (now() + ms > fleet.asked_until) Object.assign(fleet, { asked_until: now() + ms, asked_at: now() });
    },

    stats() {
      const failing = list(is.ending, ({ attempts, state_before }) => attempts > 0 && state_before === null);
      const counts = {
        heard: count(is.job, is.heard),
        tracking: count(is.job, is.followed),
        links: count(is.link, is.followed),
        overdue: count(isBefore('due')) + count(isBefore('deliver_at')),
        failing: failing.length,
        handing_over: count(is.ending),
        dead: count(is.dead),
      };
      const oldest_ms = now() - Math.min(nextOf('due'), nextOf('deliver_at'));
      const failing_ms = Math.max(0, ...failing.map(({ ended_at }) => now() - Number(ended_at)));
      return [{ ...fleet, ...paused(), ...counts, oldest_ms, failing_ms }];
    },

    gauges() {
      const jobs = JSON.stringify(
        Object.fromEntries(Object.values(states).map((state) => [state, count(isIn(state))])),
      );
      const ages = list(is.ending).map(({ ended_at }) => now() - Number(ended_at));
      return [{ ...fleet, ...paused(), jobs, overdue_ms: now() - nextOf('due'), waiting_ms: Math.max(0, ...ages) }];
    },

    compare: () => [{}],

    keepHouse: () => [{ yes: 1 }],

    forget() {
      const refIds = new Set(list(is.link, is.followed).map((link) => link.link_ref_id));
      const isOld = ({ ended_at }: MemoryRow) => Number(ended_at) < now() - settings.retentionMs;
      const isFree = (row: MemoryRow) => !refIds.has(row.link_ref_id ?? row.mentioned_link_ref_id);
      for (const { key } of list(isIn(states.done, states.untracked), isOld, isFree)) rows.delete(key);
    },

    forgetMentioned() {
      const isOld = ({ mentioned_at }: MemoryRow) => Number(mentioned_at) < now() - settings.deadlineMs;
      for (const { key } of list(is.mentioned, is.heard, isOld)) rows.delete(key);
    },
  };
}
