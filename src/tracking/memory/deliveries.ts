/**
 * The statements that hand over completions, and store the results of deliveries, in memory.
 *
 * @module
 */

import { kinds, maxDebtSeconds, outcomes, states } from '../rules.js';
import type { Row } from '../sql.js';
import { heldUntil, nextDue, randomWait, refill } from './fleet.js';
import { isTold, listRows, type Memory, type MemoryRow } from './rows.js';

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
  const { rows, messages, now, fleet } = memory;
  const { deadlineMs, maxAttempts } = memory.settings;

  /** Calls `apply` with each row that still has the end of its message, and whose delivery has the message. */
  function change(list: string, apply: (row: MemoryRow, attempt: Attempt) => void): readonly Row[] {
    return (JSON.parse(list) as readonly Attempt[]).flatMap((attempt) => {
      const row = rows.get(attempt.key);
      const message = messages.get(attempt.end_id);
      const isHeld = message?.isHeld === true && message.retryCount === attempt.retry_count;
      if (!isHeld || row?.end_id !== attempt.end_id || row.state !== states.handingOver) return [];
      apply(row, attempt);
      const { attempts, context } = row;
      return [{ end_id: attempt.end_id, retry_count: attempt.retry_count, attempts, context }];
    });
  }

  const begin = (list: string) =>
    change(list, (row, { attempt }) => {
      row.attempts = Math.min(row.attempts + 1, attempt);
    });

  /** Lists dead letters, oldest first. */
  const listDead = () =>
    [...rows.values()].filter((row) => row.state === states.dead).sort((one, other) => (isAfter(one, other) ? 1 : -1));

  return {
    deliver(keys: string, ends: string): readonly Row[] {
      const ids = new Set(JSON.parse(ends) as readonly string[]);
      const ending = listRows(memory, keys).filter(
        (row) => row.state === states.handingOver && ids.has(row.end_id ?? ''),
      );
      const found = ending.map((row) => ({ ...row, is_spent: row.attempts >= maxAttempts }));
      const requests = found.filter((row) => row.outcome === outcomes.completed && !row.is_spent).length;
      refill(memory);
      const isFree = (heldUntil(memory) ?? 0) <= now() && fleet.problem_code === null;
      const isCharged = requests > 0 && isFree && fleet.tokens - requests >= -fleet.rate * maxDebtSeconds;
      if (isCharged) {
        fleet.tokens -= requests;
        fleet.requests_sent += requests;
      }
      const isDue = (which: (row: MemoryRow) => boolean) =>
        (nextDue(memory, which) ?? Number.POSITIVE_INFINITY) <= now();
      const has_due = isDue((row) => row.is_proven);
      const bucket = {
        tokens: isCharged ? fleet.tokens : null,
        rate: fleet.rate,
        has_due,
        has_told_due: isDue(isTold),
      };
      const traceOf = ({ trace, link_ref_id: refId }: MemoryRow) => {
        if (trace !== null || refId === null) return trace;
        return [...rows.values()].find((row) => row.kind === kinds.link && row.link_ref_id === refId)?.trace ?? null;
      };
      return found.map((row) => ({ ...row, trace: traceOf(row), ...bucket }));
    },

    begin,

    unbegin: (list: string) =>
      change(list, (row) => {
        row.attempts -= 1;
      }),

    settle(doneKeys: string, doneEnds: string, beginning: string) {
      const ids = new Set(JSON.parse(doneEnds) as readonly string[]);
      for (const row of listRows(memory, doneKeys)) {
        const isOpen = row.state === states.handingOver || row.state === states.dead;
        if (!isOpen || !ids.has(row.end_id ?? '')) continue;
        Object.assign(row, { state: states.done, ended_at: now(), failure_name: null, failure_code: null });
      }
      return begin(beginning);
    },

    followAgain: (list: string) =>
      change(list, (row) => {
        const deadline = Math.max(row.deadline ?? 0, now() + deadlineMs);
        const due = now() + randomWait(memory, 0);
        Object.assign(row, {
          state: states.tracking,
          outcome: null,
          ended_at: null,
          end_id: null,
          step: 1,
          due,
          deadline,
        });
      }),

    bury(list: string): readonly Row[] {
      const dead = change(list, (row, { name, code }) => {
        if (row.attempts < maxAttempts) return;
        Object.assign(row, { state: states.dead, ended_at: now(), failure_name: name, failure_code: code });
      });
      return dead.filter(({ attempts }) => Number(attempts) >= maxAttempts);
    },

    deadLetters(limit: number, after: string | null): readonly Row[] {
      const dead = listDead();
      const last = dead.find(({ key }) => key === after);
      return dead
        .filter((row) => last === undefined || isAfter(row, last))
        .slice(0, limit)
        .map((row) => ({ ...row, failed_at: row.ended_at }));
    },

    deadKeys: (): readonly Row[] => listDead(),

    revive(keys: string): readonly Row[] {
      return listRows(memory, keys).flatMap((row) => {
        if (row.state !== states.dead) return [];
        const ended = { state: states.handingOver, ended_at: now(), end_id: crypto.randomUUID() };
        return [Object.assign(row, ended, { attempts: 0, failure_name: null, failure_code: null })];
      });
    },

    readInOrder: () => [],

    /** No message is lost. */
    findLost: () => [],
  };
}

/** Says whether a dead letter stands after another one in a list. */
function isAfter(row: MemoryRow, other: MemoryRow): boolean {
  const laterMs = Number(row.ended_at) - Number(other.ended_at);
  return laterMs > 0 || (laterMs === 0 && row.key > other.key);
}
