/**
 * The `callbacks` namespace: receives the results that the service posts (docs/protocol.md §6).
 *
 * @module
 */

import { callAfter, onceItSucceeds, type Start } from '../call/call.js';
import { addCallerFrames } from '../errors/caller-frames.js';
import type { Telemetry } from '../events.js';
import { jobStatus } from '../jobs/operations.js';
import type { JobStatus } from '../jobs/types.js';
import { readIds } from '../jobs/wait-input.js';
import type { CallOptions } from '../options.js';
import { createHandler, createReceiver, receiveCallback } from './handler.js';
import { readHandlerOptions, readReceiveOptions } from './options.js';
import type { CallbackEvent, CallbackHandler, ConfirmedEvent, HandlerOptions, ReceiveOptions } from './types.js';

/**
 * Receives the results that the service posts. The signature of a callback covers its time and the partner, but not its
 * body. So the body is only a hint until the job's verified status confirms it.
 *
 * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export interface Callbacks {
  /**
   * Verifies and parses a callback. Throws if the callback is not signed by the service, is too old, or was received
   * before with another body. If the callback is redelivered, it is returned with `repeat: true`. The signature does
   * not cover the body: treat the body as a hint, and call `confirm`.
   *
   * While another delivery of the callback is being handled, `receive` rejects with a `retryable` error. In this case,
   * respond with 503, so that the service redelivers the callback. If the handling has not ended after five minutes,
   * the callback counts as new again, because the process that handled it may have died. In a handler, `leaseMs` sets
   * this limit.
   *
   * A callback that `receive` has returned counts as handled, also in handlers with `confirm: false`. If your code may
   * fail to handle the callback, use `handler`: after a failure, the next delivery counts as new.
   *
   * @param body - The raw body of the request, as a string or bytes.
   * @param options - Limits of age and size, and the replay guard.
   * @returns The result; `repeat` says whether the callback was received before.
   * @throws {HostedSignatureError} when the callback is not authentic, is stale, or is replayed with another body;
   *   `retryable` is true when another delivery of the callback is being handled, or when your `replayGuard` accepts more
   *   jobs with the same signed time than a service would send.
   * @throws {HostedResponseError} when the callback is too large, is not JSON, has an unexpected shape, or names no
   *   job.
   * @throws {HostedValidationError} when `body` is already parsed, or an option is out of range.
   * @throws {HostedConfigError} when the client's signer throws.
   * @throws {HostedTimeoutError} when the replay guard or the signer does not respond within 10 seconds; `retryable` is
   *   true.
   *
   * @example Without a handler
   * ```ts
   * const event = await client.callbacks.receive(await request.text());
   * if (!event.repeat) console.log(event.jobId, event.entry.resultText);
   * ```
   *
   * @see [§5](../../docs/protocol.md#5-authentication), [§6](../../docs/protocol.md#6-events) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  receive(body: string | Uint8Array, options?: ReceiveOptions): Promise<CallbackEvent>;

  /**
   * Creates a web-standard handler. For every callback, the handler fetches job status, with history, and passes the
   * verified response to `onEvent`. `onEvent` gets nothing from the callback's own body. The handler works with Hono,
   * Next, Workers, Bun, Deno and everything else that has `Request` and `Response`. For Express, Fastify and
   * `node:http`, wrap it in `nodeHandler()` of `hosted-client/node`: without it, their requests get 500.
   *
   * The handler responds with
   * - 200 when the callback is accepted, or was accepted before;
   * - 400 when it cannot be read;
   * - 401 when it is not authentic, or when its timestamp is further in the past or in the future than `maxHintAgeMs`
   *   allows;
   * - 405 when the method is not POST;
   * - 408 when its body does not arrive within `bodyTimeoutMs`;
   * - 413 when it is larger than `maxBytes`;
   * - 500 when `onEvent` rejects, or when the request is not a web-standard one;
   * - 503 with `Retry-After` when the service has to redeliver the callback later. The possible reasons are: another
   *   delivery of the callback is being handled; the confirmation failed; a limit for confirmations is exceeded; the
   *   callback is marked as final, but its job is still pending; the replay guard or the signer did not respond within
   *   10 seconds; the replay guard, the signer, the clock or the connection failed; the client's options are invalid.
   *
   * `onEvent` gets each result of the job's history once, even if the service redelivers it with a new signature, and
   * again only if the job's state has changed since then. Each client remembers the latest 10,000 results for each
   * `replayGuard`; another client or process may pass a result on again, with the same `event.id`.
   *
   * After a response with 500 or 503, the next delivery counts as new. `onError` is called for every delivery whose
   * response is not 200.
   *
   * @param options - The function `onEvent`, which gets the callbacks, and the limits for receiving them.
   * @returns A function from request to response. It never rejects.
   * @throws {HostedConfigError} when `onEvent` is not a function.
   * @throws {HostedValidationError} when an option is out of range.
   *
   * @example Act on what job status says
   * ```ts
   * export const POST = client.callbacks.handler({
   *   onEvent: async (event, status) => {
   *     // Runs once for each callback; when it rejects, the service redelivers it.
   *     console.log(`result ${event.id}: the job is ${status.state}`);
   *   },
   *   onError: (error, { phase, status }) => console.error(`responded with ${status}: ${phase} failed`, error),
   * });
   * ```
   *
   * @see [§4.5](../../docs/protocol.md#45-job-status), [§6](../../docs/protocol.md#6-events) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  handler(
    options: HandlerOptions & {
      /** Job status is fetched before `onEvent` runs. Default `true`. */
      confirm?: true;
      /**
       * Receives each callback once, after the job's verified status has confirmed it. The response is sent when
       * `onEvent` has finished.
       */
      onEvent: (event: ConfirmedEvent, status: JobStatus) => void | Promise<void>;
    },
  ): CallbackHandler;
  /**
   * Creates a web-standard handler that passes callbacks on as they are, **with a body that nothing confirms**. The
   * signature covers only the time and the partner, so anyone who has seen one callback can forge others. Job status is
   * not fetched.
   *
   * Write `confirm: false` directly in the call, because the literal `false` decides the type of `onEvent`. If the
   * options are in a separate object, TypeScript widens `false` to `boolean`, and the call does not compile;
   * `false as const` prevents this.
   *
   * The handler responds like a handler that confirms. It also responds with 401 when the timestamp of the callback is
   * further in the past or in the future than `maxAgeMs` allows, or when the signature of the callback was received
   * before with another body. Two results that are signed in the same millisecond have the same signature, so the
   * handler rejects the second one.
   *
   * @param options - The function `onEvent`, which gets the callbacks, and the limits for receiving them.
   * @returns A function from request to response. It never rejects.
   * @throws {HostedConfigError} when `onEvent` is not a function.
   * @throws {HostedValidationError} when an option is out of range.
   *
   * @example Log that something happened
   * ```ts
   * const handle = client.callbacks.handler({
   *   confirm: false,
   *   onEvent: (event) => {
   *     console.log(`unconfirmed: result ${event.id} of link ${event.linkId}`);
   *   },
   * });
   * ```
   *
   * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md; it does not show how late a callback may be, so
   *   assumptions.ts has a guess
   */
  handler(
    options: HandlerOptions & {
      /**
       * Job status is not fetched. Without this option, the handler confirms, so an unconfirmed body is never passed on
       * by mistake.
       */
      confirm: false;
      /** Receives each callback once, with its posted content. The response is sent when `onEvent` has finished. */
      onEvent: (event: CallbackEvent) => void | Promise<void>;
    },
  ): CallbackHandler;

  /**
   * Fetches the verified status of a callback's job, with history, because the callback's signature does not cover its
   * body. Like `jobs.status`, `confirm` retries the request; a handler does not retry it.
   *
   * @param event - The callback. Its `userId` and `jobId` identify the job.
   * @param options - Options for this call only.
   * @returns The job's status, verified.
   * @throws {HostedError} when `jobs.status` would throw it.
   *
   * @example Confirm what was received
   * ```ts
   * const event = await client.callbacks.receive(await request.text());
   * const status = await client.callbacks.confirm(event);
   * console.log(status.state);
   * ```
   *
   * @see [§4.5](../../docs/protocol.md#45-job-status) and [§6](../../docs/protocol.md#6-events) of docs/protocol.md
   */
  confirm(event: CallbackEvent, options?: CallOptions): Promise<JobStatus>;
}

/**
 * Creates the namespace. A handler whose client cannot be started reports to `unstarted`.
 *
 * @internal
 */
export function createCallbacks(start: Start, unstarted: Telemetry): Callbacks {
  const call = callAfter(start);
  const open = onceItSucceeds(() => createReceiver(start()));

  return {
    async receive(body, options) {
      const receiver = open();
      const settings = readReceiveOptions(options);
      try {
        return await receiveCallback(body, settings, receiver);
      } catch (error) {
        throw addCallerFrames(error);
      }
    },
    handler(options: HandlerOptions) {
      return createHandler(readHandlerOptions(options), { open, unstarted });
    },
    confirm(event, options) {
      // The input check rejects null, and an id in the place of the event.
      const ids = readIds(event);
      return call(jobStatus, typeof event === 'string' ? event : ids && { ...ids, history: true }, options);
    },
  };
}
