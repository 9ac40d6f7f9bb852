/**
 * Delivers completions: fetches messages, pays for the requests of their deliveries, and settles what they led to.
 *
 * @module
 */

import { createPlatformClock } from '../runtime/clock.js';
import { type Context, numberOf } from './context.js';
import type { Row } from './database.js';
import { beforeHandlerMs, type HandOver, queues } from './hand-over.js';
import type { Health } from './health.js';
import { createPause } from './pause.js';
import type { BossMessage } from './peers.js';
import { asksForStatus, createHandlerRunner, type Handling, type Plan, type Settled } from './run-handler.js';
import { createSettler } from './settle.js';
import type { Json } from './types.js';

/** The loop that delivers in one process. */
export interface Deliveries {
  /** There may be a message. */
  wake(): void;
  /** Takes no more messages, and resolves once the handlers under way have ended and are settled. */
  drain(): Promise<void>;
}

/** How often, in ms, an idle process looks for messages. */
const idleMs = 1_000;
/** How many messages are fetched at once: a worker that dies leaves them all to be delivered again. */
const maxFetched = 10;
/** How long, in ms, nothing is fetched where nothing can be asked. */
const heldMs = 1_000;
/** How long, in ms, it waits where settling has failed. */
const settleAgainMs = 250;

/** Starts the loop. */
export function createDeliveries<C extends Json>(
  context: Context,
  handOver: HandOver,
  health: Health,
  handling: Handling<C>,
): Deliveries {
  const { settings, database, statements } = context;
  const { boss } = handOver;
  const pause = createPause();
  const freed = createPause();
  const paying = createPause();
  const { sleep } = createPlatformClock();
  let isStopping = false;
  /** Those that a handler has, or soon has; and these together with those that are being settled. */
  let running = 0;
  let inHand = 0;
  /** The message of each completion in hand. */
  const messageOf = new Map<string, string>();
  /** Requests a second, of all processes; 1 until the database has said it. */
  let rate = 1;

  const settling = createSettler(context, handOver);
  const runHandler = createHandlerRunner(context, health, handling);
  const loop = run();
  return {
    wake: pause.wake,
    async drain() {
      isStopping = true;
      pause.wake();
      freed.wake();
      paying.wake();
      await loop;
      while (inHand > 0) await freed.sleep(60_000);
    },
  };

  async function run(): Promise<void> {
    while (!isStopping) {
      const { handlerConcurrency } = settings;
      // As many again may wait to be settled.
      const free = Math.min(handlerConcurrency - running, 2 * handlerConcurrency - inHand);
      if (free < 1) {
        await freed.sleep(60_000);
        continue;
      }
      // A second's requests at most: what is fetched is held, and its requests are paid.
      const most = Math.min(free, maxFetched, Math.max(1, Math.floor(rate)));
      const waitMs = await fetch(most).catch(() => null);
      if (isStopping) return;
      if (waitMs === null) await pause.sleep(idleMs);
      else if (waitMs > 0) await paying.sleep(waitMs);
    }
  }

  /** Takes up to `most` messages; resolves with how long to wait for the budget, in ms, or null where there is none. */
  async function fetch(most: number): Promise<number | null> {
    const beginBy = performance.now() + beforeHandlerMs;
    const messages = await boss.fetch(queues.completions, { batchSize: most, includeMetadata: true });
    if (messages.length === 0) return null;
    // They are held from here on: what fails now is delivered again when their lease is over.
    const rows = await database.run(statements.deliver, [JSON.stringify(messages.map(({ data }) => data.key))]);
    const [first] = rows;
    if (first) rate = numberOf(first, 'rate');
    const tokens = first === undefined || first.tokens === null ? null : numberOf(first, 'tokens');
    const owedMs = (least: number) => Math.max(0, (-least / rate) * 1_000);
    const asking = rows.filter(asksForStatus);
    const rowOf = new Map(rows.map((row) => [String(row.key), row]));
    for (const message of messages) {
      const { key } = message.data;
      // A second message of one completion is of no use. The same one comes again when its lease was over.
      const isSecond = (messageOf.get(key) ?? message.id) !== message.id;
      const row = isSecond ? undefined : rowOf.get(key);
      if (!isSecond) messageOf.set(key, message.id);
      // Each is sent once its own token is paid, so that they are not sent all at once.
      const later = row === undefined ? 0 : asking.length - 1 - asking.indexOf(row);
      inHand += 1;
      running += 1;
      void process(message, row, {
        waitMs: tokens === null ? null : owedMs(tokens + later),
        beginBy,
      }).finally(() => {
        inHand -= 1;
        if (!isSecond) messageOf.delete(key);
        freed.wake();
      });
    }
    if (asking.length === 0) return 0;
    // Of the budget, jobs that are due get as much as deliveries.
    return tokens === null ? heldMs : owedMs(tokens) * (first?.has_due === true ? 2 : 1);
  }

  // Where this fails, the lease ends, and it is delivered again.
  async function process(message: BossMessage, row: Row | undefined, plan: Plan): Promise<void> {
    try {
      await keepSettling(await handle(message, row, plan), plan.beginBy + settings.handlerTimeoutMs);
    } catch {}
  }

  // While the message is held, a database that is away is waited for: else a handler that has ended is called again.
  async function keepSettling(settled: Settled, heldUntil: number): Promise<void> {
    for (;;) {
      try {
        return await settling.add(settled);
      } catch (error) {
        if (performance.now() > heldUntil) throw error;
        await sleep(settleAgainMs, handling.signal);
      }
    }
  }

  // Settling takes no place of a handler.
  async function handle(message: BossMessage, row: Row | undefined, plan: Plan): Promise<Settled> {
    try {
      return row === undefined ? { is: 'gone', message } : await runHandler(message, row, plan);
    } finally {
      running -= 1;
      freed.wake();
    }
  }
}
