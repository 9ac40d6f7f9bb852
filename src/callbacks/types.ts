/**
 * Callbacks as partners see them (docs/protocol.md §6).
 *
 * @module
 */

import type { HistoryEntry, JobRef } from '../jobs/types.js';

/**
 * A result that the service posted. Its signature covers when it was sent and to whom, not what it says.
 *
 * @see §6 of docs/protocol.md
 */
export interface CallbackEvent extends JobRef {
  /**
   * The same for one result however often it is sent, and whenever: SHA-256, in hexadecimal digits,
   * over user id, job id, the service's job id, result code, result type, and whether it is final.
   */
  readonly id: string;
  /** Whether this very callback was received before. */
  readonly repeat: boolean;
  /** The reference id of the link the job came from, where the service tells it. */
  readonly linkId: string | null;
  /** The result, as it will stand in the job's history. */
  readonly entry: HistoryEntry;
  /** When the service signed it; null where its timestamp is no date, which only any age lets pass. */
  readonly signedAt: Date | null;
}

/**
 * A result that job status confirmed. Nothing of it is the callback's own word: `entry` and `linkId` are
 * those of the verified history, and the two ids are those that were asked about.
 *
 * @see §4.5 and §6 of docs/protocol.md
 */
export interface ConfirmedEvent extends Omit<CallbackEvent, 'entry'> {
  /**
   * The same for one result however often it is sent. Where `entry` is null: the same for one job and
   * one state of it.
   */
  readonly id: string;
  /** The reference id of the link the job came from, as `entry` has it. */
  readonly linkId: string | null;
  /**
   * The result that the callback was about, out of the verified history: the one with the callback's own
   * `id`, or else the only one with its `hostedJobId` and `resultCode`. Null where there is none: `status`
   * then says all that is known.
   */
  readonly entry: HistoryEntry | null;
}

/** How to receive callbacks; every property may be left out. */
export interface ReceiveOptions {
  /**
   * How far the callback's timestamp may be from now, in milliseconds and both ways. Default 300,000;
   * `false` accepts any age. A handler that confirms uses `maxHintAgeMs` instead. §6 shows no limit.
   */
  maxAgeMs?: number | false;
  /** The largest body accepted, in bytes. Default 8 MiB. */
  maxBytes?: number;
  /** Remembers what was received. Default: the memory of this client, for 10,000 callbacks. */
  replayGuard?: ReplayGuard;
}

/** How a handler receives callbacks, and what bounds the work that one of them can cause. */
export interface HandlerOptions extends ReceiveOptions {
  /** How long a body may take to arrive, in milliseconds; then 408. Default 10,000. */
  bodyTimeoutMs?: number;
  /**
   * How long a delivery may be in hand, in milliseconds, before the next one of the same callback counts
   * as new: an `onEvent` that hangs, or a process that died, does not hold it for longer. Default 300,000.
   */
  leaseMs?: number;
  /**
   * How many confirmations may be in flight at once, those of the client's other handlers counted.
   * Default 10. Up to 1,000 more wait for their turn, each for 10 seconds at most; then 503.
   */
  maxConfirmations?: number;
  /**
   * How many jobs the callbacks of one signed time may be about, while they are confirmed; beyond that
   * 503. Default 8, or 1,000 where that time is written in whole seconds.
   */
  maxJobsPerSignature?: number;
  /**
   * How old, or how far ahead, a callback may be that is confirmed, in milliseconds. Default 172,800,000:
   * two days. One that is later than that is refused.
   */
  maxHintAgeMs?: number;
  /**
   * Receives everything that does not end in 200. What it throws is ignored, and nothing waits for it.
   *
   * @param error - What went wrong: an error of this package, or what `onEvent` or the replay guard threw.
   * @param at - Where it went wrong, and what the service was answered.
   */
  onError?: (
    error: unknown,
    at: {
      /**
       * What was being done: `'read'` the body was read; `'verify'` its signature was verified; `'guard'`
       * it was compared with what was received before; `'confirm'` job status was asked; `'handle'`
       * `onEvent` ran.
       */
      phase: 'read' | 'verify' | 'guard' | 'confirm' | 'handle';
      /** The HTTP status that the service was answered. */
      status: number;
      /**
       * The callback as far as it was known: null before it was verified, its own unsigned word until job
       * status was asked, and what `onEvent` was given after that.
       */
      event: CallbackEvent | ConfirmedEvent | null;
    },
  ) => void;
}

/**
 * Remembers what came under which signed timestamp, and whether it was handled. The one in memory serves
 * a single process; back it with your store when several receive.
 *
 * A store gives `begin` one answer at a time for a key, and may drop what has expired.
 *
 * @see §5 and §6 of docs/protocol.md; how long to remember is not shown there, and assumptions.ts holds the guess
 */
export interface ReplayGuard {
  /**
   * Notes that a callback came, and says what is known of it: `'new'` it is now being handled by the
   * caller; `'busy'` another delivery is being handled, and its lease has not ended; `'repeat'` it was
   * handled; `'conflict'` the key came with another body.
   *
   * @param key - A digest of what was signed: the timestamp, for this partner and environment. Where the
   *   callback will be confirmed, the job's ids and the body's digest are in it too, and no two bodies conflict.
   * @param bodyDigest - A digest of what the body says, its signature apart: the same whatever the order of
   *   its properties and the blanks between them.
   * @param expiresAt - Until when to remember it: when it would be too old to be accepted, or a day
   *   from now where any age is.
   * @param leaseEndsAt - Until when it is `'busy'`, unless `commit` or `forget` come before: after that
   *   the next delivery is `'new'`.
   * @returns What is known of it.
   */
  begin(
    key: string,
    bodyDigest: string,
    expiresAt: Date,
    leaseEndsAt: Date,
  ): Promise<'new' | 'busy' | 'repeat' | 'conflict'>;
  /**
   * Notes that it was handled, whether or not its lease has ended.
   *
   * @param key - The one that `begin` was given.
   */
  commit(key: string): Promise<void>;
  /**
   * Notes that handling failed: the same callback then counts as new, another body still as a conflict.
   * Not called once the lease has ended, as another delivery may be in hand by then.
   *
   * @param key - The one that `begin` was given.
   */
  forget(key: string): Promise<void>;
}
