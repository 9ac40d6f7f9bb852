/**
 * The `callbacks` namespace: receives the results that the service posts (docs/protocol.md §6).
 *
 * @module
 */

import { onceItSucceeds, type StartClient } from '../call/call.js';
import type { Telemetry } from '../events.js';
import type { JobStatus } from '../jobs/types.js';
import type { CallOptions } from '../options.js';
import { confirmHint } from './confirm.js';
import { createHandler, createReceiver } from './handler.js';
import { checkHint, readHandlerOptions, readReceiveOptions } from './options.js';
import { readHint } from './read-hint.js';
import type { CallbackHandler, CallbackHint, HandlerOptions, JobEvent, ReceiveOptions } from './types.js';

/**
 * Receives the results that the service posts. The signature of a callback covers its time and the partner, but not its
 * body. So the body is only a hint until the job's verified status confirms it.
 *
 * @see [§6](../../docs/protocol.md#6-events) of docs/protocol.md
 */
export interface Callbacks {
  /**
   * Verifies and parses a callback. The signature does not cover the body, so the result is only a hint that its job has
   * changed: pass it to `confirm`. Nothing is remembered, so a callback that is redelivered is returned again.
   *
   * With `receive` and `confirm`, you keep the order of a job's changes yourself. Store a verdict only if its `signedAt`
   * is later than the stored one, and make one-time effects idempotent by `event.id`. `handler` does the rest for you.
   *
   * @param body - The raw body of the request, as a string or bytes.
   * @param options - Limits of age and size.
   * @returns The hint. Only `signedAt` is signed.
   * @throws {HostedSignatureError} when the callback is not authentic, or is stale.
   * @throws {HostedResponseError} when the callback is too large, is not JSON, has an unexpected shape, or names no
   *   job.
   * @throws {HostedValidationError} when `body` is already parsed, or an option is out of range.
   * @throws {HostedConfigError} when the client's signer throws.
   * @throws {HostedTimeoutError} when the signer does not respond within 10 seconds; `retryable` is true.
   *
   * @example Without a handler
   * ```ts
   * const hint = await client.callbacks.receive(await request.text());
   * const { event, status } = await client.callbacks.confirm(hint);
   * console.log(`change ${event.id}: the job is ${status.state}`);
   * ```
   *
   * @see [§5](../../docs/protocol.md#5-authentication), [§6](../../docs/protocol.md#6-events) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  receive(body: string | Uint8Array, options?: ReceiveOptions): Promise<CallbackHint>;

  /**
   * Fetches the verified status of a callback's job, with history. If the status was signed more than ten seconds before
   * the callback, it is fetched once more after two seconds. A pending status is returned as it is. Like `jobs.status`,
   * `confirm` retries a request that fails; a handler does not.
   *
   * @param hint - What `receive` returned.
   * @param options - Options for these calls only.
   * @returns The status, and the event that identifies what it says.
   * @throws {HostedSignatureError} when both statuses are too old (`stale`); `retryable` is true.
   * @throws {HostedValidationError} when `hint` has no `signedAt`.
   * @throws {HostedError} when `jobs.status` would throw it.
   *
   * @example Confirm what was received
   * ```ts
   * const hint = await client.callbacks.receive(await request.text());
   * const { status } = await client.callbacks.confirm(hint);
   * console.log(status.state);
   * ```
   *
   * @see [§4.5](../../docs/protocol.md#45-job-status) and [§6](../../docs/protocol.md#6-events) of docs/protocol.md
   */
  confirm(
    hint: CallbackHint,
    options?: CallOptions,
  ): Promise<{
    /** Identifies what the status says. */
    event: JobEvent;
    /** The job's status, verified, with its history. */
    status: JobStatus;
  }>;

  /**
   * Creates a web-standard handler. For every callback, the handler fetches job status, with history, and passes each
   * change to `onEvent`, with the verified status. `onEvent` gets nothing from the callback's own body. For each job it
   * runs one at a time, in the order in which the service signed the statuses, and once for each change. Changes that
   * are faster than the handler asks are seen as one.
   *
   * The handler works with Hono, Next, Workers, Bun, Deno and everything else that has `Request` and `Response`. For
   * Express, Fastify and `node:http`, wrap it in `nodeHandler()` of `hosted-client/node`: without it, their requests get
   * 500.
   *
   * The handler responds with
   * - 200 when the change was handed over, now or before, or when the job is pending and has no result yet;
   * - 400 when the callback cannot be read;
   * - 401 when it is not authentic, or when its timestamp is further in the past or in the future than `maxHintAgeMs`
   *   allows;
   * - 405 when the method is not POST;
   * - 408 when its body does not arrive within `bodyTimeoutMs`;
   * - 413 when it is larger than `maxBytes`;
   * - 500 when `onEvent` rejects, or when the request is not a web-standard one;
   * - 503 with `Retry-After` when the service has to redeliver the callback: the status could not be fetched, is older
   *   than the callback or than what was handed over, or is pending although the callback is marked as final; the job has
   *   no turn within 10 seconds; the signed time has too many jobs in hand; the bodies being read take 64 MiB; the
   *   replay guard or the signer failed; the client's options are invalid.
   *
   * The body of the response is one word, the reason.
   *
   * Several deliveries about one job share a request, and two requests about it are at least a second apart. A process
   * that dies between your effect and the response hands the same change over again, so make one-time effects idempotent
   * by `event.id`. Keep verdicts by job, and store one only if its `event.signedAt` is later than the stored one: that
   * keeps the order even if an `onEvent` takes longer than `leaseMs`.
   *
   * @param options - The function `onEvent`, and limits.
   * @returns A function from request to response. It never rejects.
   * @throws {HostedConfigError} when `onEvent` is not a function.
   * @throws {HostedValidationError} when an option is out of range, or not known.
   *
   * @example Next's route handler, Hono, Bun, Deno or Workers
   * ```ts
   * export const POST = client.callbacks.handler({
   *   onEvent: async (event, status) => {
   *     // Runs once for each change of the job; when it rejects, the service redelivers the callback.
   *     console.log(`change ${event.id}: the job is ${status.state}`);
   *   },
   *   onError: (error, { phase, status }) => console.error(`responded with ${status}: ${phase} failed`, error),
   * });
   * ```
   *
   * @see [§4.5](../../docs/protocol.md#45-job-status), [§6](../../docs/protocol.md#6-events) and
   *   [What is not known](../../docs/protocol.md#what-is-not-known) of docs/protocol.md
   */
  handler(options: HandlerOptions): CallbackHandler;
}

/**
 * Creates the namespace. A handler whose client cannot be started reports to `unstarted`.
 *
 * @internal
 */
export function createCallbacks(start: StartClient, unstarted: Telemetry): Callbacks {
  const open = onceItSucceeds(() => createReceiver(start()));

  return {
    async receive(body, options) {
      const { client } = open();
      const settings = readReceiveOptions(options);
      return (await readHint(body, settings, client)).hint;
    },
    async confirm(hint, options) {
      const checked = checkHint(hint);
      const { client, fetchStatus } = open();
      return confirmHint(checked, () => fetchStatus(checked, options), client, options?.signal);
    },
    handler(options) {
      return createHandler(readHandlerOptions(options), { open, unstarted });
    },
  };
}
