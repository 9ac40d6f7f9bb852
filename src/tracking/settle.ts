/**
 * Stores that handlers begin, and the results of deliveries. The result of a delivery and the new state of its message
 * are written in one transaction, so they always agree.
 *
 * @module
 */

import { createBatches } from './batches.js';
import { type Context, numberOf } from './context.js';
import type { HandOver } from './hand-over.js';
import type { BossMessage } from './peers.js';
import { queue } from './rules.js';
import type { Delivery, Settled } from './run-handler.js';
import type { Row, Transaction } from './sql.js';

/** Stores the progress of deliveries. */
export interface Settler {
  /**
   * Stores that a handler begins. Resolves with the number of the attempt and the context, in a row, or with null if the
   * handler must not begin.
   * Rejects if this could not be stored before the time `until`.
   */
  begin(delivery: Delivery, until: number): Promise<Row | null>;
  /**
   * Stores the result of a delivery. Resolves with true if its completion has become a dead letter. Rejects if the result
   * could not be stored before the time `until`.
   */
  settle(settled: Settled, until: number): Promise<boolean>;
}

/** A step of a delivery. */
type Step = Settled | { readonly is: 'begins'; readonly delivery: Delivery; readonly message: BossMessage };

/** The rows of the handlers that may begin. */
type Begun = ReadonlyMap<string, Row>;

/** What a batch has stored: the handlers that may begin, and the attempts of each new dead letter, by its message. */
interface Stored {
  readonly begun: Begun;
  readonly dead: ReadonlyMap<string, number>;
}

/** After these steps, the message is not needed any more. A failed delivery needs it, except after the last attempt. */
const ending: ReadonlySet<Step['is']> = new Set(['gone', 'done', 'again']);

/** How long, in ms, the process waits before it tries again to store something. */
const againMs = 250;

/** Creates the batches that store the progress of deliveries. `signal` ends the waits for the database. */
export function createSettler(
  { settings, database, statements, report, storage, clock, random }: Context,
  { boss }: HandOver,
  signal: AbortSignal,
): Settler {
  const batches = createBatches(store);
  return {
    async begin(delivery, until) {
      const { begun } = await keepAdding({ is: 'begins', delivery, message: delivery.message }, until);
      return begun.get(fetchOf(delivery)) ?? null;
    },
    async settle(settled, until) {
      return (await keepAdding(settled, until)).dead.has(settled.message.id);
    },
  };

  // Tries again until `until`, because the database may be unreachable for a while.
  async function keepAdding(step: Step, until: number): Promise<Stored> {
    const effect = step.is === 'begins' ? 'no handler is called' : 'no result of a handler is stored';
    for (;;) {
      try {
        return await storage.watch(effect, () => batches.add(step));
      } catch (error) {
        if (clock.elapsed() > until) throw error;
        await clock.sleep(againMs, signal);
      }
    }
  }

  async function store(steps: readonly Step[]): Promise<Stored> {
    const beginning = deliveriesOf(steps, 'begins');
    const begins = [listAttempts(beginning), listKeys(beginning)];
    if (beginning.length === steps.length)
      return { begun: readBegun(await database.run(statements.begin, begins)), dead: new Map() };
    const stored = await database.transaction(async (inside) => {
      const done = deliveriesOf(steps, 'done');
      const rows = await inside.run(statements.settle, [listKeys(done), listEnds(done), ...begins]);
      const again = deliveriesOf(steps, 'again');
      if (again.length > 0) await inside.run(statements.followAgain, [listAttempts(again), listKeys(again)]);
      const unbegun = deliveriesOf(steps, 'unbegun');
      if (unbegun.length > 0) await inside.run(statements.unbegin, [listAttempts(unbegun), listKeys(unbegun)]);
      const failed = steps.filter((item) => item.is === 'failed');
      const dead = await bury(inside, failed);
      const failing = failed.filter(({ message }) => !dead.has(message.id));
      const finished = steps.filter(({ is, message }) => ending.has(is) || (is === 'failed' && dead.has(message.id)));
      // pg-boss changes a message only if no process has fetched it since.
      const within = { db: inside.boss };
      if (finished.length > 0) await boss.complete(queue, finished.map(attemptOf), null, within);
      const returned = [...failing, ...unbegun, ...steps.filter(({ is }) => is === 'returned')].map(attemptOf);
      if (returned.length > 0) await boss.fail(queue, returned, null, within);
      for (const { message, delivery } of failing) {
        const startAfter = retryMs(delivery.attempt) / 1_000;
        await boss.update(queue, undefined, { ...within, id: message.id, startAfter });
      }
      return { begun: readBegun(rows), dead };
    });
    for (const attempts of stored.dead.values()) report({ type: 'dead', attempts });
    return stored;
  }

  /** Buries completions after their last attempt. Returns the attempts of each one, by the id of its message. */
  async function bury(
    inside: Transaction,
    failed: readonly (Settled & { readonly is: 'failed' })[],
  ): Promise<ReadonlyMap<string, number>> {
    const last = failed.filter(({ delivery }) => delivery.attempt >= settings.maxAttempts);
    if (last.length === 0) return new Map();
    const rows = last.map(({ delivery, error }) => ({ ...attemptRow(delivery), ...error }));
    const keys = listKeys(last.map(({ delivery }) => delivery));
    const dead = await inside.run(statements.bury, [JSON.stringify(rows), keys]);
    return new Map(dead.map((row) => [String(row.end_id), numberOf(row, 'attempts')]));
  }

  /** Calculates the wait before the next attempt. It is random, so that not all failed completions come at once. */
  function retryMs(attempt: number): number {
    const least = settings.minRetryMs * 2 ** Math.min(attempt - 1, 30);
    return Math.min(settings.maxRetryMs, Math.round(least * (1 + random())));
  }
}

function deliveriesOf(steps: readonly Step[], is: 'begins' | 'done' | 'again' | 'unbegun'): readonly Delivery[] {
  return steps.flatMap((step) => (step.is === is ? [step.delivery] : []));
}

function readBegun(rows: readonly Row[]): Begun {
  return new Map(rows.map((row) => [`${row.end_id} ${row.retry_count}`, row]));
}

/** Distinguishes deliveries of the same message: after its lease, the same process may fetch it again. */
function fetchOf({ message }: Delivery): string {
  return `${message.id} ${message.retryCount}`;
}

/** A delivery in the parameters of a statement. */
export type AttemptRow = ReturnType<typeof attemptRow>;

function attemptRow({ key, message, attempt }: Delivery) {
  return { key, end_id: message.id, attempt, retry_count: message.retryCount };
}

function listAttempts(deliveries: readonly Delivery[]): string {
  return JSON.stringify(deliveries.map(attemptRow));
}

function listKeys(deliveries: readonly Delivery[]): string {
  return JSON.stringify(deliveries.map(({ key }) => key).sort());
}

function listEnds(deliveries: readonly Delivery[]): string {
  return JSON.stringify(deliveries.map(({ message }) => message.id));
}

function attemptOf({ message: { id, retryCount } }: { readonly message: BossMessage }) {
  return { id, retryCount };
}
