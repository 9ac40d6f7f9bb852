/**
 * Delivers completions: fetches messages, asks each job's status anew, runs the handler, and settles. A message is
 * settled in the transaction that says so in its row, so that neither can be true without the other.
 *
 * @module
 */

import { type HostedErrorCode, isHostedError } from '../errors/errors.js';
import type { CompletedJob } from '../jobs/types.js';
import { createPlatformClock } from '../runtime/clock.js';
import { createBatches } from './batches.js';
import { type Context, contextOf, numberOf, textOf } from './context.js';
import { beforeHandlerMs, type HandOver, queues } from './hand-over.js';
import type { Health } from './health.js';
import { requestMs } from './look.js';
import { createPause } from './pause.js';
import type { BossMessage } from './peers.js';
import { outcomes } from './schema.js';
import type { Row } from './store.js';
import type { Completion, Json } from './types.js';

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
/** How long, in ms, until it is tried again to settle. */
const settleAgainMs = 250;

/** A message, its row, and which delivery it is. */
interface Delivery {
  readonly message: BossMessage;
  readonly row: Row;
  readonly key: string;
  readonly attempt: number;
}

/** When a message is delivered. */
interface Plan {
  /** How long, in ms, its request waits for the budget; null where it may not be sent. */
  readonly waitMs: number | null;
  /** When the handler has to begin, by the monotonic clock: later, another process may have the message. */
  readonly beginBy: number;
}

/** What a delivery led to. */
type Settled =
  | { readonly is: 'gone'; readonly message: BossMessage }
  | { readonly is: 'done'; readonly delivery: Delivery; readonly message: BossMessage }
  | { readonly is: 'again'; readonly delivery: Delivery; readonly message: BossMessage }
  | { readonly is: 'failed'; readonly delivery: Delivery; readonly message: BossMessage; readonly error: Failure };

interface Failure {
  readonly name: string;
  readonly code: string | null;
}

/** Starts the loop. `signal` ends what is under way. */
export function createDeliveries<C extends Json>(
  context: Context,
  handOver: HandOver,
  health: Health,
  {
    handler,
    signal,
  }: { readonly handler: (completion: Completion<C>) => void | Promise<void>; readonly signal: AbortSignal },
): Deliveries {
  const { settings, store, statements, report } = context;
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

  const settling = createBatches<Settled>(settle);
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
    const rows = await store.run(statements.deliver, [JSON.stringify(messages.map(({ data }) => data.key))]);
    const [first] = rows;
    if (first) rate = numberOf(first, 'rate');
    const tokens = first === undefined || first.tokens === null ? null : numberOf(first, 'tokens');
    const owedMs = (least: number) => Math.max(0, (-least / rate) * 1_000);
    const asking = rows.filter(asks);
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
        await sleep(settleAgainMs, signal);
      }
    }
  }

  // Settling takes no place of a handler.
  async function handle(message: BossMessage, row: Row | undefined, plan: Plan): Promise<Settled> {
    try {
      return row === undefined ? { is: 'gone', message } : await deliver(message, row, plan);
    } finally {
      running -= 1;
      freed.wake();
    }
  }

  async function deliver(message: BossMessage, row: Row, { waitMs, beginBy }: Plan): Promise<Settled> {
    const attempt = numberOf(row, 'attempts') + message.retryCount + 1;
    const delivery: Delivery = { message, row, key: String(row.key), attempt };
    const status = asks(row) ? await fetchStatus(row, waitMs) : null;
    if (asks(row) && status === null) return { is: 'again', delivery, message };
    if (performance.now() > beginBy) throw new Error('its lease may be over');
    return runHandler(delivery, status);
  }

  /** The status as it is now; null where it cannot be had, or is pending: the job is then followed again. */
  async function fetchStatus(row: Row, waitMs: number | null): Promise<CompletedJob | null> {
    if (waitMs === null) return null;
    const query = { userId: textOf(row, 'user_id') ?? '', jobId: textOf(row, 'job_id') ?? '' };
    try {
      if (waitMs > 0) await sleep(waitMs, signal);
      const status = await settings.client.jobs.status(query, { signal, maxRetries: 0, totalTimeoutMs: requestMs });
      health.succeeded();
      return status.complete && !signal.aborted ? status : null;
    } catch (error) {
      if (isHostedError(error) && !signal.aborted) health.failed(error);
      return null;
    }
  }

  async function runHandler(delivery: Delivery, status: CompletedJob | null): Promise<Settled> {
    const { message } = delivery;
    const ending = new AbortController();
    const startedAt = performance.now();
    const onStop = () => ending.abort(signal.reason);
    if (signal.aborted) onStop();
    signal.addEventListener('abort', onStop);
    let isLate = false;
    let failure: Failure | null = null;
    const limit = setTimeout(() => {
      isLate = true;
      ending.abort(new Error('the time of the handler is over'));
    }, settings.handlerTimeoutMs);
    const aborted = new Promise<never>((_, reject) => {
      ending.signal.addEventListener('abort', () => reject(ending.signal.reason));
    });
    aborted.catch(() => undefined);
    try {
      const completion = toCompletion<C>(delivery, status, ending.signal);
      // One that does not listen to its signal may go on: it is handed over again all the same.
      await Promise.race([Promise.resolve().then(() => handler(completion)), aborted]);
    } catch (thrown) {
      failure = isLate ? timedOut : describe(thrown);
    } finally {
      clearTimeout(limit);
      signal.removeEventListener('abort', onStop);
    }
    const result = failure === null ? 'resolved' : isLate ? 'timed_out' : 'rejected';
    report({ type: 'delivery', attempt: delivery.attempt, result, durationMs: performance.now() - startedAt });
    return failure === null ? { is: 'done', delivery, message } : { is: 'failed', delivery, message, error: failure };
  }

  async function settle(items: readonly Settled[]): Promise<void> {
    const done = items.filter((item) => item.is === 'done');
    const again = items.filter((item) => item.is === 'again');
    const failed = items.filter((item) => item.is === 'failed');
    const finished = items.filter((item) => item.is !== 'failed').map(({ message }) => message);
    let dead: readonly (Settled & { readonly is: 'failed' })[] = [];
    await store.transaction(async (inside) => {
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
      // One whose lease has ended is delivered by another process: it is not this one's to bury.
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

/** Whether a delivery asks for a status. */
function asks(row: Row): boolean {
  return numberOf(row, 'outcome') === outcomes.completed;
}

function listKeys(items: readonly { readonly delivery: Delivery }[]): string {
  return JSON.stringify(items.map(({ delivery }) => delivery.key).sort());
}

function attemptOf({ id, retryCount }: BossMessage) {
  return { id, retryCount };
}

function toCompletion<C extends Json>(
  { row, key, attempt }: Delivery,
  status: CompletedJob | null,
  signal: AbortSignal,
): Completion<C> {
  const base = {
    key,
    context: contextOf<C>(row),
    linkRefId: textOf(row, 'link_ref_id'),
    attempt,
    signal,
  };
  const job = { userId: textOf(row, 'user_id') ?? '', jobId: textOf(row, 'job_id') ?? '' };
  if (status) return { ...base, outcome: 'completed', job, status };
  if (numberOf(row, 'outcome') === outcomes.unheard) {
    return { ...base, outcome: 'unheard', job: null, missing: numberOf(row, 'missing') };
  }
  return { ...base, outcome: 'expired', job, lastError: textOf(row, 'last_error') as HostedErrorCode | null };
}

const timedOut: Failure = { name: 'TimeoutError', code: null };

/** What is stored of an error: its message may name a person. A code is a name in letters, or a SQLSTATE. */
function describe(thrown: unknown): Failure {
  try {
    const { name, code } = Object(thrown) as { readonly name?: unknown; readonly code?: unknown };
    return {
      name: typeof name === 'string' && /^[A-Za-z_$][\w$]{0,63}$/.test(name) ? name : 'Error',
      code: typeof code === 'string' && /^(?:[A-Z0-9]{5}|[A-Za-z]\w{0,39})$/.test(code) ? code : null,
    };
  } catch {
    return { name: 'Error', code: null };
  }
}
