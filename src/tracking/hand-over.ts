/**
 * Passes completions to pg-boss, which queues them for delivery. The end of a job and its message are written in one
 * transaction. A message contains only the key of its completion. Its id is the id of the end.
 *
 * @module
 */

import type { HostedErrorCode } from '../errors/errors.js';
import { createBatches } from './batches.js';
import type { Context } from './context.js';
import type { Queue } from './peers.js';
import { requestMs } from './poll.js';
import { maxDebtSeconds, outcomes, queue } from './rules.js';
import type { Row, Transaction } from './sql.js';

/** The end of a job. */
export interface JobEnd {
  readonly key: string;
  /** The reference id of the job's link at the time of the last poll. Null if there is none, or if it is not proven. */
  readonly linkRefId: string | null;
  readonly outcome: 'completed' | 'expired';
  /** The error of the last poll. */
  readonly error: HostedErrorCode | null;
}

/**
 * The missing jobs of a link. The link counted these jobs as finished. But when the tracker reported them, no callback
 * had mentioned them yet.
 */
export interface Gap {
  readonly key: string;
  readonly linkKey: string;
  /** How many jobs are missing now, or were missing until a late callback mentioned them. */
  readonly missing: number;
  /**
   * The number of `missing` jobs that late callbacks have mentioned. These jobs still count in `missing`, because the
   * reported number never decreases.
   */
  readonly told: number;
}

/** Passes completions to pg-boss. */
export interface HandOver {
  readonly boss: Queue;
  end(end: JobEnd): Promise<void>;
  endGap(gap: Gap): Promise<void>;
  /** Sends the message of each completion. The rows have the key and the id of the end. */
  send(inside: Transaction, rows: readonly Row[]): Promise<void>;
  stop(): Promise<void>;
}

/**
 * How long, in ms, a delivery may take before its handler begins. This time includes the wait for the token bucket, the
 * delivery's request, and two statements.
 */
export const beforeHandlerMs = maxDebtSeconds * 1_000 + requestMs + 5_000;

/** Creates what hands completions over with a queue that has been started. It calls `sent` after each transaction that may end jobs. */
export function createHandOver({ database, statements, report }: Context, boss: Queue, sent: () => void): HandOver {
  // If there is a message with the same id already, pg-boss sends none.
  async function send(inside: Transaction, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    const messages = rows.map((row) => ({ id: String(row.end_id), data: { key: String(row.key) } }));
    await boss.insert(queue, messages, { db: inside.boss });
  }

  async function endJobs(
    inside: Transaction,
    outcome: 'completed' | 'expired',
    ends: readonly JobEnd[],
  ): Promise<number> {
    const ended = ends.filter((end) => end.outcome === outcome);
    if (ended.length === 0) return 0;
    const keys = ended.map(({ key }) => key).sort();
    const polled = ended.map(({ key, linkRefId, error }) => ({ key, link_ref_id: linkRefId, last_error: error }));
    const rows = await inside.run(statements.end, [JSON.stringify(keys), outcomes[outcome], JSON.stringify(polled)]);
    await send(inside, rows);
    return rows.length;
  }

  const ends = createBatches<JobEnd>(async (items) => {
    const counts = await database.transaction(async (inside) => ({
      completed: await endJobs(inside, 'completed', items),
      expired: await endJobs(inside, 'expired', items),
    }));
    sent();
    for (const outcome of ['completed', 'expired'] as const) {
      for (let at = 0; at < counts[outcome]; at++) report({ type: 'ended', outcome });
    }
  });

  return {
    boss,
    end: ends.add,
    async endGap({ key, linkKey, missing, told }) {
      const rows = await database.transaction(async (inside) => {
        const added = await inside.run(statements.addGap, [key, linkKey, missing, told]);
        await send(inside, added);
        return added;
      });
      sent();
      if (rows.length > 0) report({ type: 'ended', outcome: 'unheard' });
    },
    send,
    stop: () => boss.stop({ graceful: false, close: false }).catch(() => undefined),
  };
}
