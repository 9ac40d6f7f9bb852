/**
 * The statements that hand over completions, and store the results of deliveries, in memory.
 *
 * @module
 */

import { leaseMsOf, maxDebtSeconds, outcomes, states, steps } from '../rules.js';
import type { Failure } from '../run-handler.js';
import type { AttemptRow } from '../settle.js';
import { is, isIn, type Memory, type MemoryRow, sortRows, type Which } from './rows.js';

type Attempt = AttemptRow & Failure & { readonly wait_ms: number; readonly unbegun: number };

/** Creates the statements. */
export function createDeliveryStatements(memory: Memory) {
  const { now, fleet, list, listKeys, join, listDue, set } = memory;
  const { deadlineMs, maxAttempts } = memory.settings;
  const isSpent = ({ attempts }: MemoryRow) => attempts >= maxAttempts;
  const listDead = () => sortRows(list(is.dead), ({ ended_at }) => Number(ended_at));
  const isDeliverable: Which = ({ deliver_at }) => deliver_at !== null && deliver_at <= now();

  /** Calls `apply` with each row whose completion the delivery still has. */
  function change(attempts: string, apply: (row: MemoryRow, attempt: Attempt) => void, which: Which = is.ending) {
    return join<Attempt>(attempts, is.ending, which).flatMap(({ row, entry }) => {
      const { lease_id } = entry;
      if (row.lease_id !== lease_id) return [];
      apply(row, entry);
      return [{ ...row, lease_id }];
    });
  }

  return {
    deliver(most: number) {
      const found = sortRows(list(isDeliverable), ({ deliver_at }) => Number(deliver_at)).slice(0, most);
      const taken = found.map((row) => {
        set(row, {}, { deliver_at: now() + leaseMsOf(memory.settings), lease_id: crypto.randomUUID() });
        const [link] = list(is.link, ({ link_ref_id }) => link_ref_id === row.link_ref_id);
        return { ...row, is_spent: isSpent(row), trace: row.trace ?? link?.trace };
      });
      const requests = found.filter((row) => row.outcome === outcomes.completed && !isSpent(row)).length;
      const isFree = memory.heldUntil() <= now() && fleet.problem_code === null;
      const isCharged = requests > 0 && isFree && memory.takeTokens(requests, maxDebtSeconds);
      const due = listDue();
      const has = { has_due: due.some(({ is_proven }) => is_proven), has_told_due: due.some(is.told) };
      const next_ms = memory.nextOf('deliver_at') - now();
      const tokens = isCharged ? fleet.tokens : null;
      return [{ taken: JSON.stringify(taken), rate: fleet.rate, tokens, ...has, next_ms }];
    },

    settle(doneKeys: string, doneEnds: string, beginning: string) {
      const ends = new Set<string | null>(JSON.parse(doneEnds));
      const isOf: Which = ({ end_id }) => ends.has(end_id);
      for (const row of listKeys(doneKeys, isIn(states.handingOver, states.dead), isOf)) set(row, steps.handle);
      return change(beginning, (row, { attempt }) => {
        row.attempts = Math.min(row.attempts + 1, attempt);
      });
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

    giveUpLease: (attempts: string) =>
      change(attempts, (row, { wait_ms, unbegun }) =>
        set(row, {}, { deliver_at: now() + wait_ms, lease_id: null, attempts: row.attempts - unbegun }),
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
