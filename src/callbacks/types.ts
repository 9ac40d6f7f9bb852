/**
 * The public types of callbacks (docs/protocol.md §6).
 *
 * @module
 */

import type { HistoryEntry, JobRef } from '../jobs/types.js';

/**
 * A result that the service posted. The signature covers the signed time and the partner, but not the result.
 *
 * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export interface CallbackEvent extends JobRef {
  /**
   * The id of the result, 64 hexadecimal digits. It stays the same when the result is sent again, because it depends only
   * on the job, the result's code and type, and on whether the result is final.
   */
  readonly id: string;
  /** Whether the same callback was received before. */
  readonly repeat: boolean;
  /** The reference id of the job's link; null if the service does not send it. */
  readonly linkId: string | null;
  /** The result, in the form of an entry of the job's history. */
  readonly entry: HistoryEntry;
  /** When the service signed the callback. It is null only if `maxAgeMs` is `false` and the timestamp is not a date. */
  readonly signedAt: Date | null;
}

/**
 * A result that the job's verified status confirms. Only the signed time is from the callback itself. `entry` and
 * `linkId` are from the verified history. `userId` and `jobId` are the ids with which the status was requested.
 *
 * @see [§4.5](../../docs/protocol.md#45-job-status) and [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export interface ConfirmedEvent extends Omit<CallbackEvent, 'entry'> {
  /**
   * The id of the result. It stays the same when the result is sent again. If `entry` is null, the id depends on the
   * job and its state only.
   */
  readonly id: string;
  /** The reference id of the job's link, from `entry`. */
  readonly linkId: string | null;
  /**
   * The result of this callback, from the verified history. If a result in the history has the callback's `id`, `entry`
   * is this result. If no result has this id, `entry` is the only result with the callback's `hostedJobId` and
   * `resultCode`. If there is no such result, or more than one, `entry` is null: in this case, use the `status` that
   * `onEvent` also gets.
   */
  readonly entry: HistoryEntry | null;
}

/** Options for receiving callbacks. */
export interface ReceiveOptions {
  /**
   * How far the callback's timestamp may be in the past or future, in milliseconds. Default 300,000; `false` accepts
   * any age. A handler that confirms uses `maxHintAgeMs` instead. The protocol (§6) shows no limit.
   */
  maxAgeMs?: number | false;
  /** The largest accepted body, in bytes. Default 8 MiB. */
  maxBytes?: number;
  /** Remembers received callbacks. The default guard keeps up to 10,000 callbacks in memory, for this client. */
  replayGuard?: ReplayGuard;
}

/** Options of a handler: how it receives callbacks, and how much work a callback can cause. */
export interface HandlerOptions extends ReceiveOptions {
  /** How long a body may take to arrive, in milliseconds; after that, the response is 408. Default 10,000. */
  bodyTimeoutMs?: number;
  /**
   * How long the handling of a delivery may take, in milliseconds. After that, the next delivery of the callback counts
   * as new, because `onEvent` may hang, or the process may have died. Default 300,000.
   */
  leaseMs?: number;
  /**
   * How many confirmations may run at the same time, in all handlers of the client together. Default 10. Up to 1,000
   * more confirmations may wait, each for at most 10 seconds. If 1,000 confirmations already wait, or if a confirmation
   * cannot start within the 10 seconds, the response is 503.
   */
  maxConfirmations?: number;
  /**
   * Callbacks with the same signed timestamp may name at most this many different jobs. A callback that names one more
   * job gets a 503 response. Default 8, or 1,000 if the timestamp is written in whole seconds. With `confirm: false`,
   * this limit matters only if your `replayGuard` accepts several bodies with the same timestamp.
   */
  maxJobsPerSignature?: number;
  /**
   * For a handler that confirms: how far the timestamp of a callback may be in the past or in the future, in
   * milliseconds. Default 172,800,000, which is two days. A callback outside this range is rejected.
   */
  maxHintAgeMs?: number;
  /**
   * Called for every delivery whose response is not 200. The handler does not wait for this function, and ignores its
   * errors.
   *
   * @param error - An error of this package, which `isHostedError` recognizes, or what `onEvent` or the replay guard
   *   threw.
   * @param at - The step that failed, and the status of the response.
   */
  onError?: (
    error: unknown,
    at: {
      /**
       * The step that failed: `'read'` means reading the body. `'verify'` means verifying the signature. `'guard'`
       * means comparing the callback with earlier callbacks. `'confirm'` means fetching job status. `'handle'` means
       * running `onEvent`.
       */
      phase: 'read' | 'verify' | 'guard' | 'confirm' | 'handle';
      /** The HTTP status of the response. */
      status: number;
      /**
       * The callback. Before the signature is verified, this is null. After that, it is the event from the callback's
       * own body. This body is not signed. After the job's verified status has confirmed the callback, this is the
       * event that `onEvent` gets.
       */
      event: CallbackEvent | ConfirmedEvent | null;
    },
  ) => void;
}

/** What a web framework may pass after the request. The response of another framework is not assignable to it. */
export interface WebContext {
  /** The response of Express and of Node's own server has this property. */
  readonly writeHead?: never;
  /** The request of Express and of Node's own server has this property. */
  readonly httpVersion?: never;
  /** The request and the reply of Fastify have this property. */
  readonly raw?: never;
}

/**
 * A handler of callbacks. It never rejects, and ignores all arguments after the request. For Express, Fastify and
 * Node's own server, wrap it in `nodeHandler()` of `hosted-client/node`: without it, their requests get status 500.
 */
export interface CallbackHandler {
  /**
   * Handles a request with a callback.
   *
   * @param request - The request.
   * @param context - What Next, Deno and Bun pass.
   * @returns The response.
   */
  (request: Request, context?: WebContext & object): Promise<Response>;
  /**
   * Handles a request with a callback in a Worker.
   *
   * @param request - The request.
   * @param env - The bindings of the Worker.
   * @param context - The context of the execution.
   * @returns The response.
   */
  (request: Request, env: unknown, context: WorkerContext): Promise<Response>;
}

/**
 * By this method, a Worker is told from other frameworks with three arguments.
 *
 * @inline
 */
interface WorkerContext {
  /**
   * Keeps the Worker alive.
   *
   * @param promise - What the Worker waits for.
   */
  waitUntil(promise: Promise<unknown>): void;
}

/**
 * Remembers which body came with which signed timestamp, and whether the callback was handled. The default guard works
 * in memory, for one process. If several processes receive callbacks, implement this interface with a store that they
 * share.
 *
 * `begin` must be atomic for each key. Expired entries may be dropped. Each method has 10 seconds to settle. If `begin`
 * takes longer, the callback has to be redelivered, and if it then still returns `'new'`, `forget` is called.
 *
 * @see [§5](../../docs/protocol.md#5-authentication), [§6](../../docs/protocol.md#6-events) and
 *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
 */
export interface ReplayGuard {
  /**
   * Records a callback, and returns what is known about it: `'new'` means that this delivery must be handled. `'busy'`
   * means that another delivery of the callback is being handled, and its lease has not ended. `'repeat'` means that
   * the callback was already handled. `'conflict'` means that the key was used with another body.
   *
   * @param key - A digest of the signed timestamp, the partner and the environment. In a handler that confirms, the
   *   digest also covers the job's ids and the body, so two bodies never conflict.
   * @param bodyDigest - A digest of the body without its signature. The order of the properties and the blanks between
   *   them do not change the digest.
   * @param expiresAt - The guard must remember the callback until this time. After that, the callback is too old to be
   *   accepted. If callbacks of any age are accepted, this time is a day from now.
   * @param leaseEndsAt - The callback is `'busy'` until this time, unless `commit` or `forget` is called earlier. After
   *   that, the next delivery is `'new'`.
   * @returns What is known about the callback.
   */
  begin(
    key: string,
    bodyDigest: string,
    expiresAt: Date,
    leaseEndsAt: Date,
  ): Promise<'new' | 'busy' | 'repeat' | 'conflict'>;
  /**
   * Records that the callback was handled, even if its lease has ended.
   *
   * @param key - The key that was passed to `begin`.
   */
  commit(key: string): Promise<void>;
  /**
   * Records that handling failed. After that, the same callback counts as new; another body with the same key is still
   * a conflict. `forget` is not called after the lease has ended, because another delivery may have started by then.
   *
   * @param key - The key that was passed to `begin`.
   */
  forget(key: string): Promise<void>;
}
