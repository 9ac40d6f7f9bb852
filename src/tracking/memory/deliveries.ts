/**
 * The statements that hand over completions, and store the results of deliveries, in memory.
 *
 * @module
 */

import { kinds, maxDebtSeconds, outcomes, states, steps } from '../rules.js';
import type { Row } from '../sql.js';
import { isTold, type Memory, type MemoryRow } from './rows.js';

interface Attempt {
  readonly key: string;
  readonly end_id: string;
  readonly attempt: number;
  readonly retry_count: number;
  readonly name: string;
  readonly code: string | null;
}

/** Creates the statements. */
export function createDeliveryStatements(memory: Memory) {
  const { rows, messages, now, fleet, list, listKeys, listDue, set } = memory;
  const { deadlineMs, maxAttempts } = memory.settings;
  const isEnding = ({ state }: MemoryRow) => state === states.handingOver;
  const isDead = ({ state }: MemoryRow) => state === states.dead;
  const listEnds = (keys: string, ends: string) => {
    const ids = new Set(JSON.parse(ends) as readonly string[]);
    return listKeys(keys, (row) => ids.has(row.end_id ?? ''));
  };

  /** Calls `apply` with each row that still has the end of its message, and whose delivery has the message. */
  function change(attempts: string, apply: (row: MemoryRow, attempt: Attempt) => void): readonly Row[] {
    return (JSON.parse(attempts) as readonly Attempt[]).flatMap((attempt) => {
      const { key, end_id, retry_count } = attempt;
      const row = rows.get(key);
      const message = messages.get(end_id);
      const isHeld = message?.isHeld === true && message.retryCount === retry_count;
      if (!isHeld || row?.end_id !== end_id || !isEnding(row)) return [];
      apply(row, attempt);
      return [{ ...row, end_id, retry_count }];
    });
  }

  const begin = (attempts: string) =>
    change(attempts, (row, { attempt }) => {
      row.attempts = Math.min(row.attempts + 1, attempt);
    });

  const listDead = (): readonly MemoryRow[] => list(isDead).toSorted((one, other) => (isAfter(one, other) ? 1 : -1));

  return {
    deliver(keys: string, ends: string): readonly Row[] {
      const found = listEnds(keys, ends)
        .filter(isEnding)
        .map((row) => ({ ...row, is_spent: row.attempts >= maxAttempts }));
      const requests = found.filter((row) => row.outcome === outcomes.completed && !row.is_spent).length;
      const isFree = memory.heldUntil() <= now() && fleet.problem_code === null;
      const isCharged = requests > 0 && isFree && memory.takeTokens(requests, maxDebtSeconds);
      const due = listDue();
      const has = { has_due: due.some(({ is_proven }) => is_proven), has_told_due: due.some(isTold) };
      const bucket = { ...has, rate: fleet.rate, tokens: isCharged ? fleet.tokens : null };
      const linkOf = (refId: string | null) => list((row) => row.kind === kinds.link && row.link_ref_id === refId)[0];
      return found.map((row) => ({ ...row, ...bucket, trace: row.trace ?? linkOf(row.link_ref_id)?.trace ?? null }));
    },

    begin,

    unbegin: (attempts: string) =>
      change(attempts, (row) => {
        row.attempts -= 1;
      }),

    settle(doneKeys: string, doneEnds: string, beginning: string): readonly Row[] {
      for (const row of listEnds(doneKeys, doneEnds)) if (isEnding(row) || isDead(row)) set(row, steps.handle);
      return begin(beginning);
    },

    followAgain: (attempts: string) =>
      change(attempts, (row) => {
        const deadline = Math.max(row.deadline ?? 0, now() + deadlineMs);
        set(row, steps.followAgain, { due: now() + memory.drawWait(0), deadline });
      }),

    bury: (attempts: string): readonly Row[] =>
      change(attempts, (row, { name, code }) => {
        if (row.attempts >= maxAttempts) set(row, steps.bury, { failure_name: name, failure_code: code });
      }).filter(({ state }) => state === states.dead),

    deadLetters(limit: number, after: string | null): readonly Row[] {
      const dead = listDead();
      const last = dead.findIndex(({ key }) => key === after);
      return dead.slice(last + 1, last + 1 + limit).map((row) => ({ ...row, failed_at: row.ended_at }));
    },

    deadKeys: (): readonly Row[] => listDead(),

    revive: (keys: string): readonly Row[] => listKeys(keys, isDead).map((row) => set(row, steps.revive)),
  };
}

/** Says whether a dead letter stands after another one in a list. */
function isAfter(row: MemoryRow, other: MemoryRow): boolean {
  const laterMs = Number(row.ended_at) - Number(other.ended_at);
  return laterMs > 0 || (laterMs === 0 && row.key > other.key);
}
