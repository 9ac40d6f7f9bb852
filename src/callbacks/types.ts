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

/** How to receive callbacks; every member may be left out. */
export interface ReceiveOptions {
  /**
   * How far the callback's timestamp may be from now, in milliseconds and both ways. Default 300,000;
   * `false` accepts any age, and so does `confirm`, whatever stands here. §6 shows no limit.
   */
  maxAgeMs?: number | false;
  /** The largest body accepted, in bytes. Default 8 MiB. */
  maxBytes?: number;
  /** Remembers what was received. Default: the memory of this client, up to 10,000 callbacks. */
  replayGuard?: ReplayGuard;
}

/**
 * Remembers which signed timestamp came with which body, and whether it was handled. The one in memory
 * serves a single process; back it with your store when several receive.
 *
 * Two jobs whose results are signed in the same millisecond look like one callback with two bodies:
 * the second is refused, unless `confirm` lets job status decide.
 *
 * A store gives `begin` one answer at a time for a key, and may drop what has expired.
 *
 * @see §5 and §6 of docs/protocol.md; how long to remember is not shown there, and assumptions.ts holds the guess
 */
export interface ReplayGuard {
  /**
   * Notes that a callback came, and says what is known of it: `'new'` it is now being handled by
   * whoever asked; `'busy'` somebody else is handling it; `'repeat'` it was handled; `'conflict'` the
   * key came with another body.
   *
   * @param key - A digest of what was signed: the timestamp, for this partner and environment; with
   *   `confirm` the job's ids are in it too.
   * @param bodyDigest - A digest of the body.
   * @param expiresAt - Until when to remember it: when it would be too old to be accepted, or a day
   *   from now where any age is.
   * @returns What is known of it.
   */
  begin(key: string, bodyDigest: string, expiresAt: Date): Promise<'new' | 'busy' | 'repeat' | 'conflict'>;
  /**
   * Notes that it was handled.
   *
   * @param key - The one that `begin` was given.
   */
  commit(key: string): Promise<void>;
  /**
   * Notes that handling failed: the same callback then counts as new, another body still as a conflict.
   *
   * @param key - The one that `begin` was given.
   */
  forget(key: string): Promise<void>;
}
