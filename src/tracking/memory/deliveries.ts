/**
 * The statements that hand over completions, and store the results of deliveries, in memory.
 *
 * @module
 */

import { maxDebtSeconds, outcomes, states, steps } from '../rules.js';
import type { Failure } from '../run-handler.js';
import type { AttemptRow } from '../settle.js';
import { is, isIn, type Memory, type MemoryRow, sortRows, type Which } from './rows.js';

type Attempt = AttemptRow & Failure;

/** Creates the statements. */
export function createDeliveryStatements(memory: Memory) {
  const { now, fleet, list, listKeys, join, listDue, set } = memory;
  const { deadlineMs, maxAttempts } = memory.settings;
  const isSpent = ({ attempts }: MemoryRow) => attempts >= maxAttempts;
  const listDead = () => sortRows(list(is.dead), ({ ended_at }) => Number(ended_at));

  function listEnds(keys: string, ends: string, which: Which) {
    const ids = new Set<string | null>(JSON.parse(ends));
    return listKeys(keys, which, ({ end_id }) => ids.has(end_id));
  }

  /** Calls `apply` with each row that still has the end of its message, and whose delivery has the message. */
  function change(attempts: string, apply: (row: MemoryRow, attempt: Attempt) => void, which: Which = is.ending) {
    return join<Attempt>(attempts, is.ending, which).flatMap(({ row, entry }) => {
      const { end_id, retry_count } = entry;
      if (row.end_id !== end_id || memory.findHeld(end_id, retry_count) === null) return [];
      apply(row, entry);
      return [{ ...row, retry_count }];
    });
  }

  const begin = (attempts: string) =>
    change(attempts, (row, { attempt }) => set(row, {}, { attempts: Math.min(row.attempts + 1, attempt) }));

  return {
    deliver(keys: string, ends: string) {
      const found = listEnds(keys, ends, is.ending);
      const requests = found.filter((row) => row.outcome === outcomes.completed && !isSpent(row)).length;
      const isFree = memory.heldUntil() <= now() && fleet.problem_code === null;
      const isCharged = requests > 0 && isFree && memory.takeTokens(requests, maxDebtSeconds);
      const due = listDue();
      const has = { has_due: due.some(({ is_proven }) => is_proven), has_told_due: due.some(is.told) };
      const bucket = { ...has, rate: fleet.rate, tokens: isCharged ? fleet.tokens : null };
      return found.map((row) => {
        const [link] = list(is.link, ({ link_ref_id }) => link_ref_id === row.link_ref_id);
        return { ...row, ...bucket, is_spent: isSpent(row), trace: row.trace ?? link?.trace };
      });
    },

    begin,

    unbegin: (attempts: string) => change(attempts, (row) => set(row, {}, { attempts: row.attempts - 1 })),

    settle(doneKeys: string, doneEnds: string, beginning: string) {
      for (const row of listEnds(doneKeys, doneEnds, isIn(states.handingOver, states.dead))) set(row, steps.handle);
      return begin(beginning);
    },

    followAgain: (attempts: string) =>
      change(attempts, (row) => {
        const deadline = Math.max(Number(row.deadline), now() + deadlineMs);
        set(row, steps.followAgain, { due: now() + memory.drawWait(0), deadline });
      }),

    bury: (attempts: string) =>
      change(
        attempts,
        (row, { name, code }) => set(row, steps.bury, { failure_name: name, failure_code: code }),
        isSpent,
      ),

    deadLetters(limit: number, after: string | null) {
      const dead = listDead();
      const first = dead.findIndex(({ key }) => key === after) + 1;
      return dead.slice(first, first + limit).map((row) => ({ ...row, failed_at: row.ended_at }));
    },

    deadKeys: listDead,

    revive: (keys: string) => listKeys(keys, is.dead).map((row) => set(row, steps.revive)),
  };
}
