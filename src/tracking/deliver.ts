/**
 * Delivers completions: fetches messages, asks each job's status anew, runs the handler, and settles. A message is
 * settled in the transaction that says so in its row, so that neither can be true without the other.
 *
 * @module
 */

import { type HostedErrorCode, isHostedError } from '../errors/errors.js';
import type { CompletedJob } from '../jobs/types.js';
import { createBatches } from './batches.js';
import { type Context, contextOf, numberOf, textOf } from './context.js';
import { type HandOver, queues } from './hand-over.js';
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
/** How long, in ms, a delivery waits for the budget; beyond that its job is followed again. */
const maxWaitMs = 10_000;

/** A message, its row, and which delivery it is. */
interface Delivery {
  readonly message: BossMessage;
  readonly row: Row;
  readonly key: string;
  readonly attempt: number;
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
  let isStopping = false;
  /** Those that a handler has, or soon has; and these together with those that are being settled. */
  let running = 0;
  let inHand = 0;

  const settling = createBatches<Settled>(settle);
  const loop = run();
  return {
    wake: pause.wake,
    async drain() {
      isStopping = true;
      pause.wake();
      freed.wake();
      await loop;
      while (inHand > 0) await freed.sleep(60_000);
    },
  };

  async function run(): Promise<void> {
    while (!isStopping) {
      const free = settings.handlerConcurrency - running;
      if (free < 1) {
        await freed.sleep(60_000);
        continue;
      }
      const fetched = await fetch(Math.min(free, maxFetched)).catch(() => 0);
      if (isStopping) return;
      if (fetched === 0) await pause.sleep(idleMs);
    }
  }

  async function fetch(most: number): Promise<number> {
    const messages = await boss.fetch(queues.completions, { batchSize: most, includeMetadata: true });
    if (messages.length === 0) return 0;
    // They are held from here on: what fails now is delivered again when their lease is over.
    const rows = await store.run(statements.deliver, [JSON.stringify(messages.map(({ data }) => data.key))]);
    const rowOf = new Map(rows.map((row) => [String(row.key), row]));
    for (const message of messages) {
      inHand += 1;
      running += 1;
      void process(message, rowOf.get(message.data.key)).finally(() => {
        inHand -= 1;
        freed.wake();
      });
    }
    return messages.length;
  }

  // Where settling fails, the lease ends, and it is delivered again.
  async function process(message: BossMessage, row: Row | undefined): Promise<void> {
    try {
      await settling.add(await handle(message, row));
    } catch {}
  }

  // Settling takes no place of a handler.
  async function handle(message: BossMessage, row: Row | undefined): Promise<Settled> {
    try {
      return row === undefined ? { is: 'gone', message } : await deliver(message, row);
    } finally {
      running -= 1;
      freed.wake();
    }
  }

  async function deliver(message: BossMessage, row: Row): Promise<Settled> {
    const attempt = numberOf(row, 'attempts') + message.retryCount + 1;
    const delivery: Delivery = { message, row, key: String(row.key), attempt };
    const isCompleted = numberOf(row, 'outcome') === outcomes.completed;
    const status = isCompleted ? await fetchStatus(row) : null;
    if (isCompleted && status === null) return { is: 'again', delivery, message };
    return runHandler(delivery, status);
  }

  /** The status as it is now; null where it cannot be had, or is pending: the job is then followed again. */
  async function fetchStatus(row: Row): Promise<CompletedJob | null> {
    if (row.tokens === null) return null;
    const owedMs = Math.max(0, (-numberOf(row, 'tokens') / numberOf(row, 'rate')) * 1_000);
    if (owedMs > maxWaitMs) return null;
    const query = { userId: textOf(row, 'user_id') ?? '', jobId: textOf(row, 'job_id') ?? '' };
    try {
      if (owedMs > 0) await createPause().sleep(owedMs);
      const status = await settings.client.jobs.status(query, { signal, maxRetries: 0, totalTimeoutMs: requestMs });
      health.succeeded();
      return status.complete ? status : null;
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

/** What is stored of an error: its message may name a person. */
function describe(thrown: unknown): Failure {
  try {
    const { name, code } = Object(thrown) as { readonly name?: unknown; readonly code?: unknown };
    return {
      name: typeof name === 'string' && /^[A-Za-z_$][\w$]{0,63}$/.test(name) ? name : 'Error',
      code: typeof code === 'string' && /^[A-Za-z0-9_]{1,40}$/.test(code) ? code : null,
    };
  } catch {
    return { name: 'Error', code: null };
  }
}
