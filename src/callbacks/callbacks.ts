/**
 * The `callbacks` namespace: what partners call when the service posts a result (docs/protocol.md §6).
 *
 * @module
 */

import type { Call } from '../call/call.js';
import { HostedConnectionError } from '../errors/errors.js';
import type { Telemetry } from '../events.js';
import { jobStatus } from '../jobs/operations.js';
import type { JobRef, JobStatus } from '../jobs/types.js';
import type { CallOptions } from '../options.js';
import { lazy } from '../runtime/lazy.js';
import { readProperty } from '../runtime/prototype.js';
import type { Settings } from '../settings.js';
import { createDeliveryReports } from './delivery.js';
import { createHandler } from './handler.js';
import { readHandlerOptions, readReceiveOptions } from './options.js';
import { createReplayGuard } from './replay-guard.js';
import type { CallbackEvent, ConfirmedEvent, HandlerOptions, ReceiveOptions } from './types.js';

/**
 * Results that the service posts. The signature of one covers when it was sent and to whom, not its
 * body: what it says is a hint, until job status confirms it.
 *
 * @see §6 of docs/protocol.md
 */
export interface Callbacks {
  /**
   * Verifies a callback, and reads it: signed by the service, fresh, and not under a signature that came
   * with another body. A repeat is given as one, and not thrown. Its body is not covered by the signature:
   * take it for a hint, and ask `confirm`.
   *
   * One that another delivery has in hand is neither new nor a repeat: handling may still fail there, or its
   * process may have died. It rejects with an error that is `retryable`; answer the service 503, so that the
   * callback is redelivered. After at most five minutes, or `leaseMs` of the handler that has it, it is new.
   *
   * The callback counts as handled from then on, here and by handlers that do not confirm. Where handling
   * may fail, `handler` is the better choice: it takes the next delivery as new.
   *
   * @param body - The raw text or bytes of the request, as received.
   * @param options - How old and how large it may be, and what remembers it.
   * @returns The result that was posted; `repeat` tells whether it was received before.
   * @throws {HostedSignatureError} when it is not authentic, stale, or replayed with another body;
   *   with `retryable` true when another delivery of it is being handled.
   * @throws {HostedResponseError} when it is too large, no JSON, of another shape, or names no job.
   * @throws {HostedValidationError} when `body` was parsed already, or an option is out of range.
   * @throws {HostedConfigError} when the client's signer throws instead of answering.
   * @throws {HostedConnectionError} when the code that receives, loaded with the first callback, could not be loaded.
   *
   * @example Without a handler
   * ```ts
   * const event = await client.callbacks.receive(await request.text());
   * if (!event.repeat) console.log(event.jobId, event.entry.resultText);
   * ```
   *
   * @see §5 and §6 of docs/protocol.md; how late a callback may be is not shown there, and assumptions.ts holds the guess
   */
  receive(body: string | Uint8Array, options?: ReceiveOptions): Promise<CallbackEvent>;

  /**
   * Makes a web-standard handler that asks job status, with history, about every callback, and hands over
   * what its verified response says: nothing of the callback's own body. For Hono, Next, Workers, Bun, Deno
   * and whatever speaks `Request` and `Response`.
   *
   * It answers
   * - 200 when the callback is accepted, or was before;
   * - 400 when it cannot be read;
   * - 401 when it is not authentic, or older than `maxHintAgeMs`;
   * - 405 to anything but POST;
   * - 408 when its body does not arrive within `bodyTimeoutMs`;
   * - 413 when it is larger than `maxBytes`;
   * - 500 when `onEvent` rejects;
   * - 503 with `Retry-After` when the same callback is being handled right now, when confirming it failed or
   *   would be too much, when it calls itself final and its job is still pending, and when the replay
   *   guard, the signer or the connection failed.
   *
   * A result of the job's history is handed over once in each state of its job, also when it is redelivered
   * under a new signature. The latest 10,000 of them are remembered in this process, for each `replayGuard`,
   * and not in the guard: that one remembers callbacks, each with its signed time. Another process may hand
   * such a result over again, under the same `event.id`.
   *
   * After 500 and 503 the next delivery counts as new. `onError` is given everything that is not a 200.
   *
   * @param options - What to do with a callback, and how to receive it.
   * @returns A function from request to response. It never rejects.
   * @throws {HostedConfigError} when `onEvent` is not a function.
   * @throws {HostedValidationError} when an option is out of range.
   *
   * @example Act on what job status says
   * ```ts
   * export const POST = client.callbacks.handler({
   *   onEvent: async (event, status) => {
   *     // Runs once for each callback; when it rejects, the service delivers again.
   *     console.log(`result ${event.id}: the job is ${status.state}`);
   *   },
   *   onError: (error, { phase, status }) => console.error(`answered ${status}: ${phase} failed`, error),
   * });
   * ```
   *
   * @see §4.5 and §6 of docs/protocol.md; when the service delivers again is not shown there, and assumptions.ts holds the guess
   */
  handler(
    options: HandlerOptions & {
      /** Job status is asked before `onEvent` runs. Default `true`. */
      confirm?: true;
      /** Receives each callback once, as job status has it. The service is answered when it is done. */
      onEvent: (event: ConfirmedEvent, status: JobStatus) => void | Promise<void>;
    },
  ): (request: Request) => Promise<Response>;
  /**
   * Makes a web-standard handler that hands callbacks over as they come, **with a body that nothing
   * confirms**: the signature covers the time and the partner alone, so any caller that has seen one callback
   * can write others. Job status is not asked.
   *
   * It answers as one that confirms does, and also 401 when the callback is older than `maxAgeMs`, or under
   * a signature that came with another body before: of two jobs whose results are signed in the same
   * millisecond, the second is refused.
   *
   * @param options - What to do with a callback, and how to receive it.
   * @returns A function from request to response. It never rejects.
   * @throws {HostedConfigError} when `onEvent` is not a function.
   * @throws {HostedValidationError} when an option is out of range.
   *
   * @example Note that something happened
   * ```ts
   * const handle = client.callbacks.handler({
   *   confirm: false,
   *   onEvent: (event) => {
   *     console.log(`unconfirmed: result ${event.id} of link ${event.linkId}`);
   *   },
   * });
   * ```
   *
   * @see §6 of docs/protocol.md; how late a callback may be is not shown there, and assumptions.ts holds the guess
   */
  handler(
    options: HandlerOptions & {
      /** Job status is not asked: to be written, so that an unsigned body is never handed over by leaving it out. */
      confirm: false;
      /** Receives each callback once, as it was posted. The service is answered when it is done. */
      onEvent: (event: CallbackEvent) => void | Promise<void>;
    },
  ): (request: Request) => Promise<Response>;

  /**
   * Asks job status, with history, for the signed truth about a callback's job: the callback's body
   * is not covered by its signature. An ordinary call, which is retried as `jobs.status` is; what a handler
   * asks is asked once.
   *
   * @param event - The callback; its two ids are what is asked about.
   * @param options - Options of this call alone.
   * @returns The job's status, verified.
   * @throws {HostedError} when `jobs.status` does, for the same reasons.
   *
   * @example Confirm what was received
   * ```ts
   * const event = await client.callbacks.receive(await request.text());
   * const status = await client.callbacks.confirm(event);
   * console.log(status.state);
   * ```
   *
   * @see §4.5 and §6 of docs/protocol.md
   */
  confirm(event: CallbackEvent, options?: CallOptions): Promise<JobStatus>;
}

// Many clients never receive a callback: the code for it is loaded with the first one.
const loadReceiving = lazy(async () => {
  try {
    return await import('./receiving.js');
  } catch {
    const why = 'the code that receives could not be loaded';
    throw new HostedConnectionError(why, { task: 'receive a callback', outcome: 'answered', retryable: true });
  }
});

/**
 * Creates the namespace over a way to call.
 *
 * @internal
 */
export function createCallbacks(call: Call, settings: Settings, telemetry: Telemetry): Callbacks {
  const memory = createReplayGuard(settings.clock);
  const reports = createDeliveryReports(telemetry, settings.clock);
  // Once, and apart from the retries of calls: what fails is delivered again.
  const ask = ({ userId, jobId }: JobRef) => call(jobStatus, () => ({ userId, jobId, history: true }), {}, {});
  const receiving = lazy(async () => (await loadReceiving()).createReceiving(ask, { client: settings, reports }));

  return {
    async receive(body, options) {
      const receiveSettings = readReceiveOptions(options, memory);
      // Before anything is awaited: the bytes are the caller's, who may use them again.
      const kept = body instanceof Uint8Array && body.length <= receiveSettings.maxBytes ? new Uint8Array(body) : body;
      return (await receiving()).receive(kept, receiveSettings);
    },
    handler(options: HandlerOptions) {
      const handling = { settings: readHandlerOptions(options, memory), client: settings, reports };
      return createHandler(async (request) => (await receiving()).deliver(request, handling), handling);
    },
    confirm(event, options) {
      const idOf = (name: keyof JobRef) => readProperty(Object(event), name);
      return call(jobStatus, () => ({ userId: idOf('userId'), jobId: idOf('jobId'), history: true }), options);
    },
  };
}
