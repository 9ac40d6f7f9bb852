/**
 * The statements that hand over completions, and store the results of deliveries, in memory.
 *
 * @module
 */

import type { EndRow, Failure } from '../deliver/run-handler.js';
import type { AttemptRow } from '../deliver/store-results.js';
import { leaseMsOf, outcomes, states, steps } from '../rules.js';
import { is, isIn, type Memory, type MemoryRow, sortRows, type Which } from './rows.js';

type Attempt = AttemptRow & Failure & EndRow & { readonly wait_ms: number; readonly is_same: boolean };

/** Creates the statements. */
export function createDeliveryStatements(memory: Memory) {
  const { now, fleet, list, join, listDue, set } = memory;
  const { deadlineMs, maxAttempts } = memory.settings;
  const isSpent = ({ attempts, state_before }: MemoryRow) => attempts >= maxAttempts && state_before === null;
  const asks = (row: MemoryRow) => (row.outcome === outcomes.completed || row.state_before !== null) && !isSpent(row);
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
      const isFree = memory.heldUntil() <= now() && fleet.problem_code === null;
      const { tokens, burst, isUnused } = memory.takeTokens(0);
      const isLimited = listDue().length > 0 && !isUnused;
      const credit = isLimited ? Math.floor(fleet.delivery_credit) : most;
      const room = isFree ? Math.max(0, Math.min(most, Math.floor(tokens + burst), credit)) : most;
      const byDate = sortRows(list(isDeliverable), ({ deliver_at }) => Number(deliver_at));
      const inOrder = [...byDate.filter(({ is_retry }) => !is_retry), ...byDate.filter(({ is_retry }) => is_retry)];
      const found = inOrder.slice(0, room);
      const requests = isFree ? found.filter(asks).length : 0;
      const taken = found.map((row) => {
        set(row, {}, { deliver_at: now() + leaseMsOf(memory.settings), lease_id: crypto.randomUUID() });
        const [link] = list(is.link, ({ link_ref_id }) => link_ref_id === row.link_ref_id);
        return { ...row, is_spent: isSpent(row), signed_ms: row.signed_at, trace: row.trace ?? link?.trace };
      });
      if (requests > 0) {
        memory.takeTokens(requests);
        fleet.delivery_credit = Math.max(0, fleet.delivery_credit - requests);
      }
      const next_ms = memory.nextOf('deliver_at') - now();
      return [{ taken: JSON.stringify(taken), rate: fleet.rate, tokens: requests > 0 ? fleet.tokens : null, next_ms }];
    },

    storeProgress(done: string, _: string, beginning: string) {
      for (const { row, entry } of join<Attempt>(done, isIn(states.handingOver, states.dead, states.tracking))) {
        const isOf = row.end_id === entry.end_id && row.revision === entry.revision && row.state_before === null;
        if (isOf) set(row, steps.handle);
      }
      return change(beginning, (row, { attempt, revision, version, signed_ms, end_key }) => {
        const outcome = version === null ? row.outcome : outcomes.completed;
        const signed_at = memory.latestOf(row.signed_at, signed_ms);
        const begun = { revision, version, signed_at, end_key, outcome, state_before: null };
        const attempts = Math.min(row.attempts + 1, attempt);
        Object.assign(row, { attempts, ...begun });
      });
    },

    followAgain: (attempts: string) =>
      change(
        attempts,
        (row) => {
          const deadline = Math.max(Number(row.deadline), now() + deadlineMs);
          set(row, steps.followAgain, { due: now() + memory.drawWait(0), deadline });
        },
        ({ state_before }) => state_before === null,
      ),

    restore: (attempts: string) =>
      change(
        attempts,
        (row, { is_same, signed_ms }) => {
          const signed_at = memory.latestOf(row.signed_at, signed_ms);
          const due = is_same ? memory.recheck(row, signed_at, true) : now() + memory.drawWait(0);
          set(row, steps.restore, { due, ...(is_same && { signed_at }) });
        },
        ({ state_before }) => state_before !== null,
      ),

    bury: (attempts: string) =>
      change(
        attempts,
        (row, { name, code }) => set(row, steps.bury, { failure_name: name, failure_code: code }),
        isSpent,
      ),

    giveUpLease: (attempts: string) =>
      change(attempts, (row, { wait_ms }) =>
        set(row, {}, { deliver_at: now() + wait_ms, lease_id: null, is_retry: row.is_retry || wait_ms > 0 }),
      ),

    deadLetters(limit: number, after: string | null) {
      const dead = listDead();
      const first = dead.findIndex(({ end_key }) => end_key === after) + 1;
      return dead.slice(first, first + limit).map((row) => ({ ...row, failed_at: row.ended_at }));
    },

    deadKeys: () => listDead().map(({ end_key: key }) => ({ key })),

    revive(keys: string) {
      const wanted = new Set<string | null>(JSON.parse(keys));
      return listDead()
        .filter(({ end_key }) => wanted.has(end_key))
        .map((row) => set(row, row.outcome === outcomes.expired ? steps.pollAgain : steps.revive));
    },
  };
}
