/**
 * The public types of callbacks (docs/protocol.md §6).
 *
 * @module
 */

import type { JobRef, JobStatus } from '../jobs/types.js';

/**
 * What a verified callback says. Only `signedAt` is signed: the rest is a hint that the job may have changed.
 *
 * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export interface CallbackHint extends JobRef {
  /** The reference id of the job's link; null if the callback does not name it. Nothing proves it. */
  readonly linkId: string | null;
  /** False if the callback calls itself interim, by `IsFinalResult` or by the code 0814. */
  readonly isFinal: boolean;
  /** When the service signed the callback. */
  readonly signedAt: Date;
}

/**
 * A change of a job that its signed status confirms.
 *
 * @see [§4.5](../../docs/protocol.md#45-job-status) and [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export interface JobEvent extends JobRef {
  /**
   * The id of the change, 64 hexadecimal digits: SHA-256 over the environment, the partner, both ids of the job, and the
   * version of its status. The version covers the state and the results of the history, but no times, texts and image
   * links. The id is the same however often the service sends the result, and another one for each version. Make
   * one-time effects idempotent with it. Keep verdicts by job: a job that returns to an earlier version has its id again.
   */
  readonly id: string;
  /**
   * The reference id of the job's link: the `refId` that `links.create` returned, by which you find your customer if you
   * stored it. It is that of `status.result` or, without
   * one, of the history entries that name both ids of the job. It is null if they name no link, or different ones.
   */
  readonly linkId: string | null;
  /**
   * When the service signed the status. It never decreases from one version of a job to the next, as long as the replay
   * guard remembers the job.
   */
  readonly signedAt: Date;
}

/** Options for receiving callbacks. */
export interface ReceiveOptions {
  /**
   * How far the timestamp of a callback may be in the past or in the future, in milliseconds. Default 172,800,000, which
   * is two days. A callback outside this range is rejected. The protocol (§6) shows no limit.
   */
  maxHintAgeMs?: number;
  /** The largest accepted body, in bytes; at most 64 MiB. Default 2 MiB: genuine callbacks have up to 1.5 MB. */
  maxBytes?: number;
}

/** Options of a handler: what it calls, and how much work callbacks may cause. */
export interface HandlerOptions extends ReceiveOptions {
  /**
   * Receives each change of a job, once unless it fails: for each job one at a time, in the order of `event.signedAt`. The response is
   * sent when it has finished. If it rejects, the response is 500, and the change counts as new when the service
   * redelivers the callback.
   *
   * @param event - Whose status it is, and the id of the change.
   * @param status - The verified status, with the history.
   */
  onEvent: (event: JobEvent, status: JobStatus) => void | Promise<void>;
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
       * means the limit of jobs, the turn of the job, or the replay guard. `'confirm'` means fetching job status and
       * comparing it. `'handle'` means running `onEvent`.
       */
      phase: 'read' | 'verify' | 'guard' | 'confirm' | 'handle';
      /** The HTTP status of the response. */
      status: number;
      /**
       * What is known of the callback. Before the signature is verified, this is null. After that, it is the hint from
       * the body, which is not signed. If `onEvent` rejected, it is the event that `onEvent` got.
       */
      event: CallbackHint | JobEvent | null;
    },
  ) => void;
  /**
   * Remembers the version of each job that was handed over last. The default guard keeps 10,000 jobs in memory, for this
   * client. If several processes receive callbacks, give them one that they share, such as `postgresReplayGuard`.
   */
  replayGuard?: ReplayGuard;
  /** How long a body may take to arrive, in milliseconds; after that, the response is 408. Default 10,000. */
  bodyTimeoutMs?: number;
  /**
   * How long `onEvent` may take until the next change of the same job may be handed over, in milliseconds: it may hang,
   * or its process may have died. An `onEvent` that takes longer may overlap with the next. Default 300,000.
   */
  leaseMs?: number;
  /** How many requests for job status may be in flight, for all handlers of the client together. Default 10. */
  maxConfirmations?: number;
  /**
   * How many jobs callbacks with the same signed timestamp may have in hand at once. Beyond this limit, the response is
   * 503. Default 8, or 1,000 if the timestamp is written in whole seconds.
   */
  maxJobsPerSignature?: number;
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
   * @param context - The context of the execution: by this method, a Worker is told from other frameworks with three
   *   arguments.
   * @returns The response.
   */
  (
    request: Request,
    env: unknown,
    context: {
      /**
       * Keeps the Worker alive.
       *
       * @param promise - What the Worker waits for.
       */
      waitUntil(promise: Promise<unknown>): void;
    },
  ): Promise<Response>;
}

/**
 * Remembers for each job which version of its status was handed over last, and whether it is being handed over now. The
 * default guard works in memory, for one process. If several processes receive callbacks, give their handlers a guard
 * that they share: `postgresReplayGuard` of `hosted-client/tracking`, or your own with a store that they share.
 *
 * There is one version for each key: a new one replaces the one before it. `begin` must be atomic for each key. Leases
 * are counted by the guard's own clock, so the clocks of the processes may differ.
 *
 * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export interface ReplayGuard {
  /**
   * Asks whether a version of a job's status must be handed over now. The first of these that applies is the result:
   *
   * - `'busy'`: a version of this job is being handed over, and its lease has not ended. The handler asks again.
   * - `'known'`: this version was handed over.
   * - `'older'`: the key has another version, and this one was not signed more than two seconds after it, because the
   *   content of a status may be that much older than its signature; or the key has this version, which may have had its
   *   effect, with a later time.
   * - `'new'`: this version must be handed over. It is now the version of the key, and its lease begins. So it is if the
   *   guard does not know the key, and if the key has this version, was not committed, and its lease has ended.
   *
   * Whatever the result, if the key has this version, and `signedAt` is later than before, the later time is kept.
   *
   * @param key - A digest of the environment, the partner and the ids of the user and the job.
   * @param version - The version of the job's status.
   * @param leaseMs - How long the lease lasts, in milliseconds, unless `commit` or `forget` ends it earlier.
   * @param keepMs - How long the guard must remember the key, in milliseconds from now. A full guard in memory may forget
   *   it earlier, unless a lease runs. A version that was forgotten is handed over again, with the same id.
   * @returns Whether the version must be handed over.
   */
  begin(
    key: string,
    version: {
      /** The id of the event. */
      id: string;
      /** When the service signed the status. */
      signedAt: Date;
    },
    leaseMs: number,
    keepMs: number,
  ): Promise<'new' | 'known' | 'older' | 'busy'>;
  /**
   * Records that the version was handed over, and ends its lease; also if the lease has ended. If the key has another
   * version by now, nothing changes.
   *
   * @param key - The key that was passed to `begin`.
   * @param version - The version that was passed to `begin`.
   */
  commit(
    key: string,
    version: {
      /** The id of the event. */
      id: string;
      /** When the service signed the status. */
      signedAt: Date;
    },
  ): Promise<void>;
  /**
   * Records that handing over failed, by ending the lease: the same version is `'new'` at once. It stays the version of
   * the key, because it may have had its effect; the one before it is not restored. If the version was committed, or if
   * the key has another version by now, nothing changes.
   *
   * @param key - The key that was passed to `begin`.
   * @param version - The version that was passed to `begin`.
   */
  forget(
    key: string,
    version: {
      /** The id of the event. */
      id: string;
      /** When the service signed the status. */
      signedAt: Date;
    },
  ): Promise<void>;
}
