/**
 * Stores that handlers begin, and the results of deliveries. Each result is one statement, which changes nothing if the
 * delivery has lost its completion, so it can be sent again.
 *
 * @module
 */

import { createBatches, listOf } from '../batches.js';
import { numberOf } from '../columns.js';
import type { Context } from '../context.js';
import type { Row } from '../sql.js';
import { type Beginning, type Delivery, type DeliveryResult, isFurther } from './run-handler.js';

/** A step of a delivery. */
type Step = DeliveryResult | { readonly is: 'begins'; readonly delivery: Beginning };

/** How long, in ms, the process waits before it tries again to store something. */
const againMs = 250;

/** Creates the batches that store the progress of deliveries. `signal` ends the waits for the database. */
export function createResultStore(
  { settings, database, statements, report, storage, clock, random }: Context,
  signal: AbortSignal,
) {
  const batches = createBatches(store);
  return {
    /**
     * Stores that a handler begins. Resolves with the number of the attempt and the context, in a row, or with null if
     * the handler must not begin. Rejects if this could not be stored before the time `until`.
     */
    async begin(delivery: Beginning, until: number): Promise<Row | null> {
      const { begun } = await keepAdding({ is: 'begins', delivery }, until);
      return begun.get(leaseIn(delivery.row)) ?? null;
    },
    /**
     * Stores the result of a delivery. Resolves with true if its completion has become a dead letter. Rejects if the
     * result could not be stored before the time `until`.
     */
    async storeEnd(ended: DeliveryResult, until: number): Promise<boolean> {
      return (await keepAdding(ended, until)).dead.has(leaseIn(ended.delivery.row));
    },
  };

  // Tries again until `until`, because the database may be unreachable for a while. A row that is locked makes
  // its whole batch fail, so each step is then stored alone.
  async function keepAdding(step: Step, until: number) {
    const effect = step.is === 'begins' ? 'no handler is called' : 'no result of a handler is stored';
    let add = batches.add;
    for (;;) {
      try {
        return await storage.watch(effect, () => add(step));
      } catch (error) {
        if (clock.elapsed() > until) throw error;
        await clock.sleep(againMs, signal);
        add = (alone) => store([alone]);
      }
    }
  }

  /** Stores steps. Returns, by the leases, the handlers that may begin, and the new dead letters. */
  async function store(steps: readonly Step[]) {
    const of = <Is extends Step['is']>(is: Is) =>
      steps.filter((step): step is Step & { readonly is: Is } => step.is === is);
    const [done, begins] = [of('done'), of('begins')];
    let begun: readonly Row[] = [];
    if (done.length + begins.length > 0) {
      const endOf = ({ delivery }: { readonly delivery: Beginning }) => delivery.end;
      begun = await database.run(statements.storeProgress, [...toLists(done, endOf), ...toLists(begins, endOf)]);
    }
    const [again, failed] = [of('again'), of('failed')];
    const further = again.filter(({ delivery }) => isFurther(delivery.row));
    const first = again.filter((step) => !further.includes(step));
    await write(statements.followAgain, first);
    await write(statements.restore, [...further, ...of('known')], (step) => ({
      is_same: step.is === 'known',
      signed_ms: step.is === 'known' ? step.signedMs : null,
    }));
    const last = failed.filter(({ delivery }) => delivery.attempt >= settings.maxAttempts);
    const dead = await write(statements.bury, last, ({ error }) => error);
    for (const row of dead) report({ type: 'dead', attempts: numberOf(row, 'attempts') });
    await write(statements.giveUpLease, [...failed, ...of('returned')], ({ is, delivery }) => ({
      wait_ms: is === 'failed' ? retryMs(delivery.attempt) : 0,
    }));
    await write(statements.giveBackUnbegun, of('unbegun'), ({ delivery }) => delivery.row);
    return { begun: new Map(begun.map((row) => [leaseIn(row), row])), dead: new Set(dead.map(leaseIn)) };
  }

  async function write<S extends Step>(
    text: string,
    steps: readonly S[],
    more: (step: S) => object = () => ({}),
  ): Promise<readonly Row[]> {
    return steps.length === 0 ? [] : database.run(text, toLists(steps, more));
  }

  /** Calculates the wait before the next attempt. It is random, so that not all failed completions come at once. */
  function retryMs(attempt: number): number {
    const least = settings.minRetryMs * 2 ** Math.min(attempt - 1, 30);
    return Math.min(settings.maxRetryMs, Math.round(least * (1 + random())));
  }
}

const leaseIn = (row: Row) => String(row.lease_id);

/** A delivery in the parameters of a statement. */
export type AttemptRow = Readonly<ReturnType<typeof toAttempt>>;

function toAttempt({ row, attempt }: Delivery) {
  return { key: String(row.key), lease_id: leaseIn(row), attempt };
}

function toLists<S extends Step>(steps: readonly S[], more: (step: S) => object) {
  return listOf(steps.map((step) => ({ ...toAttempt(step.delivery), ...more(step) })));
}
