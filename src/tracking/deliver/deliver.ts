/**
 * Delivers completions: takes those that are due, with a token from the token bucket for each status request, and stores
 * the results.
 *
 * @module
 */

import { maxTimerMs } from '../../runtime/clock.js';
import { completeMessage, trace } from '../../runtime/tracing-channel.js';
import { numberOf, textOf } from '../columns.js';
import type { Context } from '../context.js';
import type { DeliveryMessage } from '../instruments.js';
import { createPause, type Loop, letOthersRun } from '../pause.js';
import type { Health } from '../poll/health.js';
import { beforeHandlerMs, outcomes } from '../rules.js';
import { assertFits } from '../schema/versions.js';
import type { Row } from '../sql.js';
import type { Json } from '../types.js';
import { asksForStatus, createHandlerRunner, type DeliveryResult, type Handling, type Plan } from './run-handler.js';
import { createResultStore } from './store-results.js';

/** How often, in ms, an idle process checks for completions. */
const idleMs = 1_000;
/**
 * The largest number of completions that are taken at once. It is small, because all that a worker has taken must be
 * delivered again if the worker dies.
 */
const maxTaken = 10;
/** How often, in ms, a handler that fails is logged. */
const warnMs = 60_000;
/** How long, in ms, the loop waits if no request may be sent. */
const heldMs = 1_000;

/** Starts the loop. */
export function createDeliveries<C extends Json>(context: Context, health: Health, handling: Handling<C>): Loop {
  const { settings, database, statements, storage, clock, log } = context;
  const pause = createPause(clock);
  const freed = createPause(clock);
  const paying = createPause(clock);
  // A storage of this process alone wakes the loop when work becomes due.
  const checkMs = database.watch ? maxTimerMs : idleMs;
  let isStopping = false;
  let warnedAt = Number.NEGATIVE_INFINITY;
  let isStopped = false;
  /** How many completions are being handled, or will be handled soon. */
  let running = 0;
  /** How many completions are not finished: those that `running` counts, and those whose results are being stored. */
  let inHand = 0;
  /** The limit of requests per second, for all processes together. It is 1 until the database has returned the rate. */
  let rate = 1;

  const results = createResultStore(context, handling.signal);
  const runHandler = createHandlerRunner(context, health, handling, { begin: results.begin, keepLate });
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
      // At most `handlerConcurrency` completions are handled at the same time. Together with those whose results are
      // being stored, there may be twice as many.
      const free = Math.min(handlerConcurrency - running, 2 * handlerConcurrency - inHand);
      if (free < 1) {
        await freed.sleep(60_000);
        continue;
      }
      // The loop takes at most as many completions as the shared bucket gets tokens in one second, but at least one. More
      // of them would wait for tokens here, and no other process could deliver them.
      const most = Math.min(free, maxTaken, Math.max(1, Math.floor(rate)));
      const wait = await storage
        .watch('no completion is delivered', () => take(most))
        .catch(() => ({ idleMs: checkMs }));
      if (isStopping) return;
      if ('idleMs' in wait) await pause.sleep(wait.idleMs);
      else if (wait.payMs > 0) await paying.sleep(wait.payMs);
      else await letOthersRun();
    }
  }

  /**
   * Takes up to `most` completions. Resolves with the time, in ms, to wait for the token bucket, or, if there are none, for
   * the next one.
   */
  async function take(most: number): Promise<{ readonly payMs: number } | { readonly idleMs: number }> {
    // If the requests of this process alone fail, others deliver.
    if (health.aloneMs() > 0) return { idleMs: heldMs };
    const beginBy = clock.elapsed() + beforeHandlerMs;
    // From here on, this process has the leases. If a step below fails, a completion is delivered again after its lease.
    const [fleet] = await database.run(statements.deliver, [most]);
    assertFits(fleet);
    const rows = JSON.parse(textOf(fleet, 'taken') ?? '[]') as readonly Row[];
    const nextMs = fleet.next_ms === null ? checkMs : numberOf(fleet, 'next_ms');
    rate = numberOf(fleet, 'rate');
    if (rows.length === 0) {
      // If completions are due, the tokens are the polls', or are still to come.
      const leastMs = nextMs > 0 ? 5 : Math.min(Math.max(1_000 / rate, 50), heldMs);
      return { idleMs: Math.min(Math.max(nextMs, leastMs), checkMs) };
    }
    const tokens = fleet.tokens === null ? null : numberOf(fleet, 'tokens');
    const owedMs = (least: number) => Math.max(0, (-least / rate) * 1_000);
    const asking = rows.filter(asksForStatus);
    for (const row of rows) {
      // Each request waits for its own token, so that the requests are not all sent at the same time.
      const later = asking.length - 1 - asking.indexOf(row);
      running += 1;
      const waitMs = tokens === null ? null : owedMs(tokens + later);
      keep(process(row, { waitMs, beginBy }));
    }
    if (asking.length === 0) return { payMs: 0 };
    if (tokens === null) return { payMs: heldMs };
    return { payMs: owedMs(tokens) };
  }

  /** Logs that a handler has failed, at most once a minute. */
  function warn({ delivery, error: { name, code } }: DeliveryResult & { readonly is: 'failed' }): void {
    const now = clock.elapsed();
    if (now - warnedAt < warnMs) return;
    warnedAt = now;
    const what = code === null ? name : `${name}, ${code}`;
    const attempt = `attempt ${delivery.attempt} of ${settings.maxAttempts}`;
    log('warn', `a handler failed in ${attempt} (${what}): see stats().failing`);
  }

  /** Counts a completion as one in hand until `work` has ended. */
  function keep(work: Promise<unknown>): void {
    inHand += 1;
    void work.finally(() => {
      inHand -= 1;
      freed.wake();
    });
  }

  // The completion was given back when the time of the handler was over. If another handler of it has not begun since, none
  // begins after this.
  function keepLate(done: DeliveryResult): void {
    if (!isStopped) keep(results.storeEnd(done, clock.elapsed() + beforeHandlerMs).catch(() => undefined));
  }

  // If the result cannot be stored before the lease ends, the completion is delivered again.
  async function process(row: Row, plan: Plan): Promise<void> {
    try {
      await trace(
        'delivery',
        () => describe(row),
        async (message) => {
          // While a result is being stored, the completion does not count against the limit of running handlers.
          const ended = await runHandler(row, plan).finally(() => {
            running -= 1;
            freed.wake();
          });
          if (ended?.is === 'failed') warn(ended);
          const isDead = ended !== null && (await results.storeEnd(ended, plan.beginBy + settings.handlerTimeoutMs));
          if (message) completeMessage(message, readResult(ended, isDead));
        },
      );
    } catch {}
  }
}

function describe(row: Row): DeliveryMessage {
  return {
    attempt: numberOf(row, 'attempts') + 1,
    outcome: outcomeNames[numberOf(row, 'outcome')] as DeliveryMessage['outcome'],
    causes: [textOf(row, 'callback_trace') ?? [], textOf(row, 'trace') ?? []].flat(),
    ...{ result: null, durationMs: null, isDead: false, errorCode: null },
  };
}

function readResult(ended: DeliveryResult | null, isDead: boolean): Partial<DeliveryMessage> {
  const handled = ended !== null && 'handled' in ended ? ended.handled : null;
  const { result, durationMs } = handled ?? { result: 'not_begun' as const, durationMs: null };
  return { result, durationMs, isDead, errorCode: result === 'rejected' || result === 'timed_out' ? result : null };
}

const outcomeNames = Object.fromEntries(Object.entries(outcomes).map(([name, outcome]) => [outcome, name]));
