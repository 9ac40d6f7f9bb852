/**
 * Runs one delivery: fetches the current status of the job, calls the handler, and returns the result.
 *
 * @module
 */

import { type HostedErrorCode, isHostedError } from '../../errors/client-errors.js';
import type { CompletedJob } from '../../jobs/types.js';
import { contextOf, numberOf, textOf } from '../columns.js';
import type { Context } from '../context.js';
import type { Handled } from '../instruments.js';
import { letOthersRun } from '../pause.js';
import type { Health } from '../poll/health.js';
import { jobOf } from '../rows.js';
import { outcomes, requestMs } from '../rules.js';
import type { Row } from '../sql.js';
import type { Completion, Json } from '../types.js';
import { type Compared, compareStatus, readHandedOver } from './compare-status.js';

/** The values that all deliveries of one process share. */
export interface Handling<C extends Json> {
  readonly handler: (completion: Completion<C>) => void | Promise<void>;
  /** Aborts the running requests and handlers. */
  readonly signal: AbortSignal;
}

/** Stores the progress of deliveries. */
interface Progress {
  /** Stores that the handler begins. Resolves with its attempt and context, or with null if it must not begin. */
  begin(delivery: Beginning, until: number): Promise<Row | null>;
  /** Stores the success of a handler whose failure was already returned, because it took too long. */
  keepLate(done: DeliveryResult): void;
}

/** A completion that this process has, and the number of this attempt, from 1. An attempt begins when the handler begins. */
export interface Delivery {
  readonly row: Row;
  readonly attempt: number;
}

/** A delivery whose handler may begin, and the end that the handler receives. */
export interface Beginning extends Delivery {
  readonly end: EndRow;
}

/** The end of a job, in the parameters of a statement. */
export interface EndRow {
  readonly end_id: string;
  readonly revision: number;
  readonly version: string | null;
  readonly signed_ms: number | null;
  readonly end_key: string;
}

/** The times of a delivery. */
export interface Plan {
  /** How long, in ms, the request for the status waits for the token bucket. Null if the request may not be sent. */
  readonly waitMs: number | null;
  /**
   * The latest time at which the handler may begin, by the monotonic clock. After this time, another process may
   * deliver the completion.
   */
  readonly beginBy: number;
}

/**
 * The result of a delivery:
 * - `returned`: the process stops before the handler begins, or was paused for so long that the lease may have ended.
 * - `again`: the status could not be fetched, or the job is pending.
 * - `unbegun`: it was stored that the handler begins. But this took so long that it was too late for the handler.
 * - `known`: a further end is the one that was handed over before.
 */
export type DeliveryResult =
  | { readonly is: 'returned' | 'again' | 'unbegun'; readonly delivery: Delivery }
  | { readonly is: 'known'; readonly delivery: Delivery; readonly signedMs: number | null }
  | { readonly is: 'done'; readonly delivery: Beginning; readonly handled: Handled }
  | {
      readonly is: 'failed';
      readonly delivery: Delivery;
      readonly error: Failure;
      /** Null if a process died during the last attempt. */
      readonly handled: Handled | null;
    };

/** The part of a handler's error that is stored. */
export interface Failure {
  readonly name: string;
  readonly code: string | null;
}

/**
 * Creates the function that delivers one completion. Its result is null if the completion has gone: it was handled, its
 * job was untracked, or another process has its lease.
 */
export function createHandlerRunner<C extends Json>(
  { settings, report, clock, onCall, keyOf }: Context,
  health: Health,
  { handler, signal }: Handling<C>,
  { begin, keepLate }: Progress,
): (row: Row, plan: Plan) => Promise<DeliveryResult | null> {
  return deliver;

  async function deliver(row: Row, { waitMs, beginBy }: Plan): Promise<DeliveryResult | null> {
    const attempts = numberOf(row, 'attempts');
    const delivery: Delivery = { row, attempt: attempts + 1 };
    // A process died during the last attempt.
    if (row.is_spent === true)
      return { is: 'failed', delivery: { row, attempt: attempts }, error: timedOut, handled: null };
    const status = asksForStatus(row) ? await fetchStatus(row, waitMs) : null;
    if (signal.aborted) return { is: 'returned', delivery };
    if (asksForStatus(row) && status === null) return { is: 'again', delivery };
    const compared = await compareStatus(readHandedOver(row), status);
    if (compared.is === 'older') return { is: 'again', delivery };
    if (compared.is === 'same' && isFurther(row)) return { is: 'known', delivery, signedMs: compared.signedMs };
    const beginning = await identify(delivery, compared);
    if (clock.elapsed() > beginBy) return { is: 'returned', delivery };
    const begun = await begin(beginning, beginBy);
    if (begun === null) return null;
    if (clock.elapsed() > beginBy) return { is: 'unbegun', delivery: beginning };
    const begins = { ...beginning, attempt: numberOf(begun, 'attempts') };
    const context = contextOf<C>(begun);
    return runHandler(begins, (ending) => toCompletion(begins, status, { context, signal: ending }));
  }

  /** Finds out which end of the job the handler would receive. Another version is the next end, whose attempts begin at 1. */
  async function identify(delivery: Delivery, { is, version, signedMs }: Compared): Promise<Beginning> {
    const { row } = delivery;
    const { userId, jobId } = jobOf(row);
    const isNext = is === 'changed';
    const revision = numberOf(row, 'revision') + (isNext ? 1 : 0);
    const isUnheard = numberOf(row, 'outcome') === outcomes.unheard;
    const end_key = isUnheard ? String(row.key) : await keyOf(['end', userId, jobId, revision, version]);
    const end = { end_id: String(row.end_id), revision, version, signed_ms: signedMs, end_key };
    return { ...delivery, ...(isNext && { attempt: 1 }), end };
  }

  /**
   * Fetches the current status. Returns null if the status cannot be fetched or the job is pending. In both cases, the
   * job is followed again.
   */
  async function fetchStatus(row: Row, waitMs: number | null): Promise<CompletedJob | null> {
    if (waitMs === null) return null;
    // The version covers the history.
    const query = { ...jobOf(row), history: true };
    try {
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      // The service may have asked for a pause meanwhile.
      if (health.heldMs() > 0) return null;
      const status = await settings.client.jobs.status(query, { signal, maxRetries: 0, totalTimeoutMs: requestMs });
      health.succeeded();
      return status.complete && !signal.aborted ? status : null;
    } catch (error) {
      if (isHostedError(error) && !signal.aborted) health.failed(error);
      return null;
    }
  }

  async function runHandler(
    delivery: Beginning,
    complete: (signal: AbortSignal) => Completion<C>,
  ): Promise<DeliveryResult> {
    const ending = new AbortController();
    const startedAt = clock.elapsed();
    const onStop = () => ending.abort(signal.reason);
    if (signal.aborted) onStop();
    signal.addEventListener('abort', onStop);
    let hasEnded = false;
    let isLate = false;
    let failure: Failure | null = null;
    const finish = (result: Handled['result']): Handled => ({ result, durationMs: clock.elapsed() - startedAt });
    // If the process was paused, the timer fires before the handler sees what has happened in the meantime.
    const endLate = () =>
      letOthersRun().then(() => {
        if (hasEnded) return;
        isLate = true;
        ending.abort(new Error('the handler took longer than "handlerTimeoutMs"'));
      });
    const cancelLimit = clock.setTimer(settings.handlerTimeoutMs, () => void endLate());
    const aborted = new Promise<never>((_, reject) => {
      ending.signal.addEventListener('abort', () => reject(ending.signal.reason));
    });
    aborted.catch(() => undefined);
    const running = Promise.resolve().then(() => handler(complete(ending.signal)));
    // A handler that ignores its signal may continue. If it has not succeeded by then, the completion is handed over
    // again.
    const ended = Promise.race([running, aborted]);
    onCall?.(ended);
    try {
      await ended;
    } catch (thrown) {
      failure = isLate ? timedOut : describe(thrown);
      running.then(
        () => keepLate({ is: 'done', delivery, handled: finish('resolved') }),
        () => undefined,
      );
    } finally {
      hasEnded = true;
      cancelLimit();
      signal.removeEventListener('abort', onStop);
    }
    const handled = finish(failure === null ? 'resolved' : isLate ? 'timed_out' : 'rejected');
    report({ type: 'delivery', attempt: delivery.attempt, ...handled });
    if (failure === null) return { is: 'done', delivery, handled };
    return { is: 'failed', delivery, error: failure, handled };
  }
}

/** Says whether a delivery needs a request for the status. */
export function asksForStatus(row: Row): boolean {
  return (numberOf(row, 'outcome') === outcomes.completed || isFurther(row)) && row.is_spent !== true;
}

/** Says whether the end follows one that was handed over, and no handler of it has begun. */
export function isFurther(row: Row): boolean {
  return row.state_before !== null && row.state_before !== undefined;
}

function toCompletion<C extends Json>(
  { row, attempt, end: { end_key: key, revision } }: Beginning,
  status: CompletedJob | null,
  given: Pick<Completion<C>, 'context' | 'signal'>,
): Completion<C> {
  const base = { ...given, key, linkRefId: textOf(row, 'link_ref_id'), revision, attempt };
  const job = jobOf(row);
  if (status) return { ...base, outcome: 'completed', job, status };
  if (numberOf(row, 'outcome') === outcomes.unheard) {
    return { ...base, outcome: 'unheard', job: null, missing: numberOf(row, 'missing') };
  }
  return { ...base, outcome: 'expired', job, lastError: textOf(row, 'last_error') as HostedErrorCode | null };
}

const timedOut: Failure = { name: 'TimeoutError', code: null };

/**
 * Returns the part of an error that is stored. The error's message is not stored, because it may contain a person's
 * name. A code is stored if it is a SQLSTATE, or a single word such as `not_found`.
 */
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
