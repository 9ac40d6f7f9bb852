/**
 * Stores the results of deliveries. The result of a delivery and the new state of its message are written in one
 * transaction, so they always agree.
 *
 * @module
 */

import { type Batches, createBatches } from './batches.js';
import { type Context, numberOf } from './context.js';
import { type HandOver, queues } from './hand-over.js';
import type { BossMessage } from './peers.js';
import type { Delivery, Settled } from './run-handler.js';

/** Creates the batches that store the results of deliveries. `add` rejects if the database cannot be reached. */
export function createSettler({ database, statements, report }: Context, { boss }: HandOver): Batches<Settled> {
  return createBatches(settle);

  async function settle(items: readonly Settled[]): Promise<void> {
    const done = items.filter((item) => item.is === 'done');
    const again = items.filter((item) => item.is === 'again');
    const failed = items.filter((item) => item.is === 'failed');
    const finished = items.filter((item) => item.is !== 'failed').map(({ message }) => message);
    let dead: readonly (Settled & { readonly is: 'failed' })[] = [];
    await database.transaction(async (inside) => {
      const within = { db: inside.boss };
      if (done.length > 0) await inside.run(statements.settle, [listKeys(done)]);
      if (again.length > 0) {
        const rows = again.map(({ delivery, message }) => ({
          key: delivery.key,
          attempts: numberOf(delivery.row, 'attempts') + message.retryCount,
        }));
        await inside.run(statements.followAgain, [JSON.stringify(rows), listKeys(again)]);
      }
      if (finished.length > 0) await boss.complete(queues.completions, finished.map(attemptOf), null, within);
      // If the lease of a message has ended, another process delivers the message. Then this process must not turn the
      // completion into a dead letter.
      dead = [];
      for (const item of failed) {
        const { affected } = await boss.fail(queues.completions, [attemptOf(item.message)], { ...item.error }, within);
        if (affected > 0 && item.message.retryCount >= item.message.retryLimit) dead = [...dead, item];
      }
      if (dead.length > 0) {
        const rows = dead.map(({ delivery, error }) => ({ key: delivery.key, attempts: delivery.attempt, ...error }));
        await inside.run(statements.bury, [JSON.stringify(rows), listKeys(dead)]);
      }
    });
    for (const { delivery } of dead) report({ type: 'dead', attempts: delivery.attempt });
  }
}

function listKeys(items: readonly { readonly delivery: Delivery }[]): string {
  return JSON.stringify(items.map(({ delivery }) => delivery.key).sort());
}

function attemptOf({ id, retryCount }: BossMessage) {
  return { id, retryCount };
}
