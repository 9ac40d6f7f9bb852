/**
 * The public methods of a tracker.
 *
 * @module
 */

import type { CallbackHandler, CallbackHint } from '../callbacks/types.js';
import type { JobRef } from '../jobs/types.js';
import type { Completion, DeadLetter, JobToTrack, Json, SqlRunner, TrackedJob, TrackerStats } from './types.js';

/** Follows each job until it has ended. Hands over the completion of each job to your handler at least once. */
export interface Tracker<C extends Json = Json> {
  /**
   * Tracks one job or many jobs with one SQL statement. A job that is already tracked is not changed. A job that has
   * ended is polled once more, but at most once each `maxDelayMs`: if its verdict has changed, it is handed over again. If a
   * job is known only from callbacks, it gets the context and the link of this call.
   *
   * @param jobs - The jobs, each with your own context.
   * @param options - Your transaction, if the statement must be part of it.
   * @returns The keys of the jobs, in the order of `jobs`. A completion has a key of its own.
   * @throws {HostedValidationError} when a job is invalid. The error lists every problem, and nothing is stored.
   * @throws {HostedStorageError} when the database cannot be used.
   *
   * @example In the same transaction as a row of your own
   * ```ts
   * await tracker.track({ userId, jobId, context: { customer: 17 } }, { db: transaction });
   * ```
   */
  track(
    jobs: JobToTrack<C> | readonly JobToTrack<C>[],
    options?: {
      /** Your transaction. The statement runs in it. Default: a connection of the tracker. */
      db?: SqlRunner;
    },
  ): Promise<readonly string[]>;
  /**
   * Tracks the jobs of a link. If a callback mentions a job of the link, the job is followed. Its completion has the
   * link's context if a verified status names the link, too. The link is polled as well, because its counters show whether
   * callbacks are missing. A link that is already tracked is not changed.
   *
   * @param refId - The reference id of the link.
   * @param options - The context of the link's jobs, the date until which the link is polled, and your transaction.
   * @throws {HostedValidationError} when the reference id or an option is invalid. The error lists every problem, and
   *   nothing is stored.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  trackLink(
    refId: string,
    options?: {
      /** The context for the completions of the link's jobs. JSON of at most 16 KiB. Default: null. */
      context?: C;
      /** The date until which the link is polled. Default: `deadlineMs` from now. */
      deadline?: Date;
      /** Your transaction. The statement runs in it. Default: a connection of the tracker. */
      db?: SqlRunner;
    },
  ): Promise<void>;
  /**
   * Stops tracking a job. After that, its completion is no longer handed over. But if the handler is already running,
   * it continues.
   *
   * @param job - Both ids.
   * @returns True if the tracker knew the job, and its completion was not handled yet.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  untrack(job: JobRef): Promise<boolean>;
  /**
   * Reads the state of a job from the database. It sends no request to the service.
   *
   * @param job - Both ids.
   * @returns The job, or null if the tracker does not know it.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  get(job: JobRef): Promise<TrackedJob<C> | null>;
  /**
   * Verifies and stores a callback. If the callback's job is followed, the tracker polls the job soon. The method
   * writes to the database only once, and sends no request. A callback may be up to two days old.
   *
   * @param body - The raw body of the request.
   * @param options - How large the body may be.
   * @returns The content of the callback. The signature does not cover the body, so the content is only a hint.
   * @throws {HostedError} when the client's `callbacks.receive` would throw it.
   * @throws {HostedSignatureError} when callbacks with the same signed time have named too many other jobs (8, or 1,000
   *   if the time is in whole seconds), or when 10,000 jobs that only callbacks have mentioned wait for their first poll.
   *   The error is `retryable`: respond with 503.
   * @throws {HostedStorageError} when the callback could not be stored. Respond with 503, so that the callback is
   *   redelivered.
   *
   * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
   */
  receive(
    body: string | Uint8Array,
    options?: {
      /** The largest accepted body, in bytes. Default 2 MiB. */
      maxBytes?: number;
    },
  ): Promise<CallbackHint>;
  /**
   * Creates a web-standard handler that does the same as `receive`. It responds with 200 when the callback is stored.
   * It responds with 400, 401, 405, 408 or 413 in the same cases as `callbacks.handler`. It responds with 503 and
   * `Retry-After` when the callback could not be stored or read, when the signer or the clock failed, or when callbacks
   * have named too many jobs (see `receive`).
   *
   * @param options - How large a callback may be.
   * @returns A function that takes a request and resolves with a response. It never rejects. For Express, Fastify and
   *   `node:http`, wrap it in `nodeHandler()` of `hosted-client/node`.
   *
   * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
   */
  handler(options?: {
    /** The largest accepted body, in bytes. Default 2 MiB. */
    maxBytes?: number;
  }): CallbackHandler;
  /**
   * Starts the work in this process. From now on, this process polls due jobs and hands over completions. The method
   * can be called only once. A process that never calls it can still track jobs and receive callbacks.
   *
   * @param handler - Handles a completion. If the handler rejects or takes too long, the completion is handed over
   *   again with the same key. Another process may do this.
   * @throws {HostedConfigError} when the method was already called, when the tracker was stopped, or when `handler` is
   * not a function.
   * @throws {HostedStorageError} when the database cannot be used.
   *
   * @example Handle each completion
   * ```ts
   * await tracker.onCompletion(async (completion) => {
   *   if (completion.outcome === 'completed') console.log(completion.key, completion.status.state);
   * });
   * ```
   */
  onCompletion(handler: (completion: Completion<C>) => void | Promise<void>): Promise<void>;
  /**
   * Works for a limited time: polls due jobs and hands over completions, for a cron job, AWS Lambda or a Cloud Run job.
   * Then nothing is left open: running requests and handlers have ended, and what has not begun can be taken by another
   * process at once. The connections that the tracker opened are closed; the next call opens new ones. A folder stays
   * open until `stop()`.
   *
   * @param options - The handler, and the time.
   * @returns What this call did. It also resolves when `signal` aborts.
   * @throws {HostedValidationError} when an option is invalid. The error lists every problem.
   * @throws {HostedConfigError} when this process works already, or when the tracker was stopped.
   * @throws {HostedStorageError} when the database cannot be used.
   *
   * @example Work for 50 seconds of each minute
   * ```ts
   * await tracker.work({ handler: (completion) => console.log(completion.key), forMs: 50_000 });
   * ```
   */
  work(options: {
    /**
     * Handles a completion, as in `onCompletion`.
     *
     * @param completion - The completion.
     */
    handler: (completion: Completion<C>) => void | Promise<void>;
    /**
     * How long new work is taken, in milliseconds. Requests and handlers that run then have 20 seconds to end. After that,
     * requests are broken off, and the signals of handlers abort.
     */
    forMs: number;
    /** Ends the work at once: requests are broken off, and the signals of handlers abort. */
    signal?: AbortSignal;
  }): Promise<{
    /** How many times a job or a link was polled. */
    polls: number;
    /** How many times the handler was called. */
    deliveries: number;
  }>;
  /**
   * Lists the dead letters, oldest first. A dead letter is a completion that was handed over `maxAttempts` times
   * without success.
   *
   * @param options - How many dead letters to list, and the key after which the list begins.
   * @returns The dead letters.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  deadLetters(options?: {
    /** The maximum number of dead letters to list. Default 100. */
    limit?: number;
    /**
     * The last key of the previous list. The new list begins after this key. If no key is given, the list begins with
     * the oldest dead letter. The same applies if the dead letter of the given key was retried or untracked in the
     * meantime.
     */
    after?: string;
  }): Promise<readonly DeadLetter<C>[]>;
  /**
   * Hands dead letters over again, each up to `maxAttempts` times. A dead letter keeps its key, unless its verdict has
   * changed: then it is handed over as the next revision, with a key of its own. A job that had expired is polled again
   * first.
   *
   * @param keys - The keys of the dead letters, or `'all'`.
   * @returns How many dead letters are handed over again.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  retry(keys: readonly string[] | 'all'): Promise<number>;
  /**
   * Counts the jobs, completions and requests of all processes. The counts are exact, because the method reads the whole
   * table `tracked`: about 0.2 s for a million rows. For metrics, use `instrument({ tracker })`, which reads a few rows.
   *
   * @returns The counts.
   * @throws {HostedStorageError} when the database cannot be used.
   */
  stats(): Promise<TrackerStats>;
  /**
   * Stops the tracker. The tracker takes no new work, waits for running requests and handlers, and closes the
   * connections that it opened. If you passed your own `pool`, close it after `stop()` has resolved.
   *
   * @param options - How long the tracker waits.
   */
  stop(options?: {
    /**
     * How long running requests and handlers may continue, in milliseconds. After this time, their signals abort.
     * Default 20,000.
     */
    timeoutMs?: number;
  }): Promise<void>;
}
