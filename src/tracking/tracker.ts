/**
 * The public face of a tracker.
 *
 * @module
 */

import type { CallbackEvent } from '../callbacks/types.js';
import type { JobRef } from '../jobs/types.js';
import type { Completion, DeadLetter, JobToTrack, Json, SqlRunner, TrackedJob, TrackerStats } from './types.js';

/** Follows jobs until each has ended, and hands every end over at least once. */
export interface Tracker<C extends Json = Json> {
  /**
   * Tracks one job or many, in one statement. A job that is already tracked stays as it is. A job that only callbacks
   * have mentioned gets this context and this link.
   *
   * @param jobs - The jobs, each with a context of your own.
   * @param options - Whether it is part of a transaction of yours.
   * @returns The keys of their completions, in their order.
   * @throws {HostedValidationError} when a job is invalid, with every problem; nothing is then stored.
   * @throws {HostedStorageError} when the database cannot be used.
   *
   * @example Together with a row of your own
   * ```ts
   * await tracker.track({ userId, jobId, context: { customer: 17 } }, { db: transaction });
   * ```
   */
  track(
    jobs: JobToTrack<C> | readonly JobToTrack<C>[],
    options?: {
      /** Your transaction: the statement runs in it. Default: a connection of the tracker's. */
      db?: SqlRunner;
    },
  ): Promise<readonly string[]>;
  /**
   * Tracks the jobs of a link: those that callbacks tell of get its context, and the link's own counters tell of
   * jobs that no callback has mentioned. A link that is already tracked stays as it is.
   *
   * @param refId - The reference id of the link.
   * @param options - The context of its jobs, until when it is looked at, and a transaction of yours.
   * @throws {HostedValidationError} when something is invalid, with every problem; nothing is then stored.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  trackLink(
    refId: string,
    options?: {
      /** What its jobs are handed over with. JSON of at most 16 KiB. Default: null. */
      context?: C;
      /** Until when the link is looked at. Default: `deadlineMs` from now. */
      deadline?: Date;
      /** Your transaction: the statement runs in it. Default: a connection of the tracker's. */
      db?: SqlRunner;
    },
  ): Promise<void>;
  /**
   * Forgets a job: no completion of it is handed over any more, unless its handler already runs.
   *
   * @param job - Both ids.
   * @returns Whether there was one whose completion was not handled yet.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  untrack(job: JobRef): Promise<boolean>;
  /**
   * Tells where a job stands; nothing is asked of the service.
   *
   * @param job - Both ids.
   * @returns The job; null where nothing is known of it.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  get(job: JobRef): Promise<TrackedJob<C> | null>;
  /**
   * Verifies a callback and brings its job's next look forward: one write, no request. One that is up to two days
   * late counts too. `repeat` says whether its job had ended before.
   *
   * @param body - The raw body of the request.
   * @param options - How large it may be.
   * @returns What the callback says. Its body is not signed: a hint.
   * @throws {HostedError} when `callbacks.receive` would, for the same reasons, but never on a repeat.
   * @throws {HostedStorageError} when it could not be stored: respond with 503, so that it is redelivered.
   *
   * @see §6 of docs/protocol.md
   */
  receive(
    body: string | Uint8Array,
    options?: {
      /** The largest accepted body, in bytes. Default 8 MiB. */
      maxBytes?: number;
    },
  ): Promise<CallbackEvent>;
  /**
   * Creates the same as a web-standard handler: 200 once it is stored; 400, 401, 405, 408, 413 as
   * `callbacks.handler`; 503 with `Retry-After` when it could not be stored.
   *
   * @param options - How large a callback may be.
   * @returns A function from request to response. It never rejects.
   *
   * @see §6 of docs/protocol.md
   */
  handler(options?: {
    /** The largest accepted body, in bytes. Default 8 MiB. */
    maxBytes?: number;
  }): (request: Request) => Promise<Response>;
  /**
   * Begins to work in this process: looks at due jobs, and hands completions over. Once; a process that never calls
   * it tracks and receives.
   *
   * @param handler - Handles a completion. When it rejects or takes too long, the completion is handed over again,
   *   under the same key, perhaps by another process.
   * @throws {HostedConfigError} when it is called twice, or without a function.
   * @throws {HostedStorageError} when the database cannot be used.
   *
   * @example Act on what is handed over
   * ```ts
   * await tracker.onCompletion(async (completion) => {
   *   if (completion.outcome === 'completed') console.log(completion.key, completion.status.state);
   * });
   * ```
   */
  onCompletion(handler: (completion: Completion<C>) => void | Promise<void>): Promise<void>;
  /**
   * Lists completions that were handed over `maxAttempts` times in vain, oldest first.
   *
   * @param options - How many, and after which.
   * @returns The dead letters.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  deadLetters(options?: {
    /** How many at most. Default 100. */
    limit?: number;
    /**
     * The last key seen: those after it are listed. From the oldest by default, and where this one was retried or
     * untracked since.
     */
    after?: string;
  }): Promise<readonly DeadLetter<C>[]>;
  /**
   * Hands dead letters over again, each under its old key, with all attempts before it.
   *
   * @param keys - Which, or `'all'`.
   * @returns How many.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  retry(keys: readonly string[] | 'all'): Promise<number>;
  /**
   * Counts, over all processes. It reads the whole table.
   *
   * @returns The counts.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  stats(): Promise<TrackerStats>;
  /**
   * Takes no new work, waits for requests and handlers that are running, and closes what it opened. If you passed your
   * own `pool`, close it after `stop()` has resolved.
   *
   * @param options - How long it waits.
   */
  stop(options?: {
    /** Milliseconds until the signals of requests and handlers abort. Default 30,000. */
    timeoutMs?: number;
  }): Promise<void>;
}
