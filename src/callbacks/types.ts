/**
 * The public types of callbacks (docs/protocol.md §6).
 *
 * @module
 */

import type { HistoryEntry, JobRef } from '../jobs/types.js';

/**
 * A result that the service posted. The signature covers its time and the partner, not its body.
 *
 * @see §6 of docs/protocol.md
 */
export interface CallbackEvent extends JobRef {
  /**
   * The id of the result, the same however often and whenever it is sent: SHA-256, in hexadecimal digits,
   * over user id, job id, the service's job id, result code, result type, and whether it is final.
   */
  readonly id: string;
  /** Whether the same callback was received before. */
  readonly repeat: boolean;
  /** The reference id of the job's link; null if the service does not send it. */
  readonly linkId: string | null;
  /** The result, as it will be in the job's history. */
  readonly entry: HistoryEntry;
  /** When the service signed it; null if the timestamp is not a date, which only `maxAgeMs: false` accepts. */
  readonly signedAt: Date | null;
}

/**
 * A result that job status confirmed, with nothing from the callback's own body: `entry` and `linkId` are those
 * of the verified history, and the two ids are those of the request.
 *
 * @see §4.5 and §6 of docs/protocol.md
 */
export interface ConfirmedEvent extends Omit<CallbackEvent, 'entry'> {
  /**
   * The id of the result, the same however often it is sent. If `entry` is null: the same for one job and
   * one state of it.
   */
  readonly id: string;
  /** The reference id of the job's link, as in `entry`. */
  readonly linkId: string | null;
  /**
   * The result in the verified history that the callback is about: the one with the callback's `id`, or else
   * the only one with its `hostedJobId` and `resultCode`. Null if there is none: `status` then has all that
   * is known.
   */
  readonly entry: HistoryEntry | null;
}

/** Options of receiving callbacks. */
export interface ReceiveOptions {
  /**
   * How far the callback's timestamp may be in the past or future, in milliseconds. Default 300,000; `false`
   * accepts any age. A handler that confirms uses `maxHintAgeMs` instead. §6 shows no limit.
   */
  maxAgeMs?: number | false;
  /** The largest accepted body, in bytes. Default 8 MiB. */
  maxBytes?: number;
  /** Remembers received callbacks. Default: in memory, for this client, up to 10,000 callbacks. */
  replayGuard?: ReplayGuard;
}

/** Options of a handler: how it receives callbacks, and limits of the work that one can cause. */
export interface HandlerOptions extends ReceiveOptions {
  /** How long a body may take to arrive, in milliseconds; then the response is 408. Default 10,000. */
  bodyTimeoutMs?: number;
  /**
   * How long a delivery may take to handle, in milliseconds. After that the next delivery of the callback
   * counts as new, as `onEvent` may hang, or the process may have died. Default 300,000.
   */
  leaseMs?: number;
  /**
   * How many confirmations may run at once, including those of the client's other handlers. Default 10. Up
   * to 1,000 more wait, each for at most 10 seconds; then the response is 503.
   */
  maxConfirmations?: number;
  /**
   * How many jobs the confirmed callbacks of one signed time may be about; beyond that the response is 503.
   * Default 8, or 1,000 if that time is written in whole seconds.
   */
  maxJobsPerSignature?: number;
  /**
   * How far the timestamp of a confirmed callback may be in the past or future, in milliseconds. Default
   * 172,800,000, which is two days. Others are rejected.
   */
  maxHintAgeMs?: number;
  /**
   * Receives every delivery that does not end in 200. It is not awaited, and its errors are ignored.
   *
   * @param error - What went wrong: an error of this package, or what `onEvent` or the replay guard threw.
   * @param at - Where it went wrong, and the status of the response.
   */
  onError?: (
    error: unknown,
    at: {
      /**
       * The step that failed: `'read'` reading the body; `'verify'` verifying its signature; `'guard'` comparing
       * it with earlier callbacks; `'confirm'` fetching job status; `'handle'` running `onEvent`.
       */
      phase: 'read' | 'verify' | 'guard' | 'confirm' | 'handle';
      /** The HTTP status of the response. */
      status: number;
      /**
       * The callback as far as it is known: null before it is verified, with its own unsigned body until job
       * status confirms it, and the event of `onEvent` after that.
       */
      event: CallbackEvent | ConfirmedEvent | null;
    },
  ) => void;
}

/**
 * Remembers which body came with which signed timestamp, and whether it was handled. The default one, in
 * memory, serves a single process; implement it over your store if several processes receive callbacks.
 *
 * `begin` must be atomic for each key. Expired entries may be dropped.
 *
 * @see §5, §6 and "What is not known" of docs/protocol.md
 */
export interface ReplayGuard {
  /**
   * Records a callback, and returns what is known of it: `'new'` the caller handles it from now on; `'busy'`
   * another delivery is being handled, and its lease has not ended; `'repeat'` it was handled; `'conflict'`
   * the key came with another body.
   *
   * @param key - A digest of the signed timestamp, the partner and the environment. If the callback will be
   *   confirmed, also of the job's ids and the body: then no two bodies conflict.
   * @param bodyDigest - A digest of the body without its signature: the same whatever the order of its properties
   *   and the blanks between them.
   * @param expiresAt - Until when to remember it: when it would be too old to be accepted, or a day from now if
   *   any age is accepted.
   * @param leaseEndsAt - Until when it is `'busy'`, unless `commit` or `forget` is called before: after that the
   *   next delivery is `'new'`.
   * @returns What is known of it.
   */
  begin(
    key: string,
    bodyDigest: string,
    expiresAt: Date,
    leaseEndsAt: Date,
  ): Promise<'new' | 'busy' | 'repeat' | 'conflict'>;
  /**
   * Records that it was handled, even if its lease has ended.
   *
   * @param key - The key of `begin`.
   */
  commit(key: string): Promise<void>;
  /**
   * Records that handling failed: the same callback then counts as new, another body still as a conflict. Not
   * called after the end of the lease, as another delivery may be being handled by then.
   *
   * @param key - The key of `begin`.
   */
  forget(key: string): Promise<void>;
}
