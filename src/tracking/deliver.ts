/**
 * Delivers completions: fetches messages, takes a token from the token bucket for each status request, and stores the
 * results.
 *
 * @module
 */

import { maxTimerMs } from '../runtime/clock.js';
import { completeMessage, trace } from '../runtime/tracing-channel.js';
import { type Context, numberOf, textOf } from './context.js';
import { beforeHandlerMs, type HandOver } from './hand-over.js';
import type { Health } from './health.js';
import type { DeliveryMessage } from './instruments.js';
import { isKey } from './keys.js';
import { createPause, type Loop, letOthersRun } from './pause.js';
import type { BossMessage } from './peers.js';
import { outcomes, queue } from './rules.js';
import { asksForStatus, createHandlerRunner, type Handling, type Plan, type Settled } from './run-handler.js';
import { createSettler } from './settle.js';
import type { Row } from './sql.js';
import type { Json } from './types.js';

/** How often, in ms, an idle process checks for messages. */
const idleMs = 1_000;
/**
 * The largest number of messages in one fetch. It is small, because all messages that a worker fetched must be
 * delivered again if the worker dies.
 */
const maxFetched = 10;
/** How long, in ms, the loop waits if no request may be sent. */
const heldMs = 1_000;

/** Starts the loop. */
export function createDeliveries<C extends Json>(
  context: Context,
  handOver: HandOver,
  health: Health,
  handling: Handling<C>,
): Loop {
  const { settings, database, statements, storage, log, clock } = context;
  const { boss } = handOver;
  const pause = createPause(clock);
  const freed = createPause(clock);
  const paying = createPause(clock);
  let isStopping = false;
  let isStopped = false;
  /** How many messages are being handled, or will be handled soon. */
  let running = 0;
  /**
   * How many messages were fetched and are not finished: the messages that `running` counts, and the messages whose
   * results are being stored.
   */
  let inHand = 0;
  /** The limit of requests per second, for all processes together. It is 1 until the database has returned the rate. */
  let rate = 1;

  const settler = createSettler(context, handOver, handling.signal);
  const runHandler = createHandlerRunner(context, health, handling, { begin: settler.begin, keepLate });
  const loop = run();
  return {
    wake: pause.wake,
    isIdle: () => inHand === 0 && (pause.isSleeping() || paying.isSleeping()),
    async drain() {
      isStopping = true;
      pause.wake();
      freed.wake();
      paying.wake();
      await loop;
      while (inHand > 0) await freed.sleep(60_000);
      isStopped = true;
    },
  };

  async function run(): Promise<void> {
    while (!isStopping) {
      const { handlerConcurrency } = settings;
      // At most `handlerConcurrency` messages are handled at the same time. Together with the messages whose results
      // are being stored, there may be twice as many.
      const free = Math.min(handlerConcurrency - running, 2 * handlerConcurrency - inHand);
      if (free < 1) {
        await freed.sleep(60_000);
        continue;
      }
      // The loop fetches at most as many messages as the shared bucket gets tokens in one second, but at least one. More
      // messages would wait for tokens here, and no other process could deliver them.
      const most = Math.min(free, maxFetched, Math.max(1, Math.floor(rate)));
      const waitMs = await storage.watch('no completion is delivered', () => fetch(most)).catch(() => null);
      if (isStopping) return;
      if (waitMs === null) await pause.sleep(Math.min(boss.nextMs?.() ?? idleMs, maxTimerMs));
      else if (waitMs > 0) await paying.sleep(waitMs);
      else await letOthersRun();
    }
  }

  /**
   * Fetches up to `most` messages. If there are messages, resolves with the time to wait for the token bucket, in ms.
   * Otherwise, resolves with null.
   */
  async function fetch(most: number): Promise<number | null> {
    const beginBy = clock.elapsed() + beforeHandlerMs;
    const options = { batchSize: most, includeMetadata: true, db: database.boss } as const;
    const messages = await boss.fetch(queue, options);
    if (messages.length === 0) return null;
    // From here on, this process has the leases of the messages. If a step below fails, a message is delivered again
    // after its lease.
    const ours = messages.filter(({ data }) => isKey(keyIn(data)));
    const foreign = messages.length - ours.length;
    if (foreign > 0) log('warn', `messages of the queue that no tracker has sent are completed: ${foreign}`);
    const rows = await database.run(statements.deliver, [
      JSON.stringify(ours.map(({ data }) => keyIn(data))),
      JSON.stringify(ours.map(({ id }) => id)),
    ]);
    const [first] = rows;
    if (first) rate = numberOf(first, 'rate');
    const tokens = first === undefined || first.tokens === null ? null : numberOf(first, 'tokens');
    const owedMs = (least: number) => Math.max(0, (-least / rate) * 1_000);
    const asking = rows.filter(asksForStatus);
    const rowOf = new Map(rows.map((row) => [String(row.end_id), row]));
    for (const message of messages) {
      // Without a row, the completion of this message has gone: it was handled, or its job was untracked. Messages of
      // other programs have no row either.
      const row = rowOf.get(message.id);
      // Each request waits for its own token, so that the requests are not all sent at the same time.
      const later = row === undefined ? 0 : asking.length - 1 - asking.indexOf(row);
      running += 1;
      const waitMs = tokens === null ? null : owedMs(tokens + later);
      keep(process(message, row, { waitMs, beginBy }));
    }
    if (asking.length === 0) return 0;
    return tokens === null ? heldMs : owedMs(tokens) * shareOf(first);
  }

  /**
   * Returns the factor of the wait for tokens. If jobs are due, the wait is twice as long, so that polls get as many
   * tokens as deliveries. If all due jobs are jobs that only callbacks have mentioned, polls get a quarter of the tokens.
   */
  function shareOf(row: Row | undefined): number {
    if (row?.has_due === true) return 2;
    return row?.has_told_due === true ? 4 / 3 : 1;
  }

  /** Counts a message as one in hand until `work` has ended. */
  function keep(work: Promise<unknown>): void {
    inHand += 1;
    void work.finally(() => {
      inHand -= 1;
      freed.wake();
    });
  }

  // The message was given back when the time of the handler was over. If another handler of the completion has not begun
  // since, none begins after this.
  function keepLate(done: Settled): void {
    if (!isStopped) keep(settler.settle(done, clock.elapsed() + beforeHandlerMs).catch(() => undefined));
  }

  // If the result of a message cannot be stored before its lease ends, the message is delivered again.
  async function process(message: BossMessage, row: Row | undefined, plan: Plan): Promise<void> {
    const store = (settled: Settled) => settler.settle(settled, plan.beginBy + settings.handlerTimeoutMs);
    try {
      if (row === undefined) await store(await handle(message, row, plan));
      else
        await trace(
          'delivery',
          () => describe(row),
          async (told) => {
            const settled = await handle(message, row, plan);
            const isDead = await store(settled);
            if (told) completeMessage(told, readResult(settled, isDead));
          },
        );
    } catch {}
  }

  // While the result of a message is being stored, the message does not count against the limit of running handlers.
  async function handle(message: BossMessage, row: Row | undefined, plan: Plan): Promise<Settled> {
    try {
      return row === undefined ? { is: 'gone', message } : await runHandler(message, row, plan);
    } finally {
      running -= 1;
      freed.wake();
    }
  }
}

function describe(row: Row): DeliveryMessage {
  return {
    attempt: numberOf(row, 'attempts') + 1,
    outcome: outcomeNames[numberOf(row, 'outcome')] as DeliveryMessage['outcome'],
    causes: [textOf(row, 'told_trace') ?? [], textOf(row, 'trace') ?? []].flat(),
    ...{ result: null, durationMs: null, isDead: false, errorCode: null },
  };
}

function readResult(settled: Settled, isDead: boolean): Partial<DeliveryMessage> {
  const handled = 'handled' in settled ? settled.handled : null;
  const { result, durationMs } = handled ?? { result: 'not_begun' as const, durationMs: null };
  return { result, durationMs, isDead, errorCode: result === 'rejected' || result === 'timed_out' ? result : null };
}

const outcomeNames = Object.fromEntries(Object.entries(outcomes).map(([name, outcome]) => [outcome, name]));

function keyIn(data: unknown): unknown {
  return Object(data).key;
}
