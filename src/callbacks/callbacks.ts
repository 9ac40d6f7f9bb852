/**
 * The `callbacks` namespace: what partners call when the service posts a result (docs/protocol.md §6).
 *
 * @module
 */

import type { Call } from '../call.js';
import type { ClockSkew } from '../clock-skew.js';
import { HostedConfigError } from '../errors.js';
import { quietly } from '../events.js';
import { jobStatus } from '../jobs/operations.js';
import type { JobRef, JobStatus } from '../jobs/types.js';
import { isRecord } from '../json.js';
import { cannotReceive } from '../messages.js';
import type { CallOptions } from '../options.js';
import { readProperty } from '../runtime/prototype.js';
import type { Settings } from '../settings.js';
import { createHandler } from './handler.js';
import { believeCallback, readReceiveOptions, replayed } from './receive.js';
import { createReplayGuard } from './replay-guard.js';
import type { CallbackEvent, ReceiveOptions } from './types.js';

/**
 * Results that the service posts. The signature of one covers when it was sent and to whom, not its
 * body: what it says is a hint, until job status confirms it.
 *
 * @see §6 of docs/protocol.md
 */
export interface Callbacks {
  /**
   * Believes a callback: signed by the service, fresh, and not under a signature that came with
   * another body. A repeat is given as one, and not thrown.
   *
   * The callback counts as handled from then on. Where handling may fail, `handler` is the better
   * choice: it takes the next delivery as new.
   *
   * @param body - The raw text or bytes of the request, as received.
   * @param options - How old and how large it may be, and what remembers it.
   * @returns The result that was posted; `repeat` tells whether it was received before.
   * @throws {HostedSignatureError} when it is not authentic, stale, or replayed with another body.
   * @throws {HostedResponseError} when it is too large, no JSON, of another shape, or names no job.
   * @throws {HostedValidationError} when `body` was parsed already, or an option is out of range.
   * @throws {HostedConfigError} when the client's signer throws instead of answering.
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
   * Makes a web-standard handler that asks job status, with history, about every callback, and hands
   * its verified answer over too. For Hono, Next, Workers, Bun, Deno and whatever speaks `Request`
   * and `Response`. A callback that comes late counts as a hint: `maxAgeMs` is not looked at.
   *
   * It answers 200 when the callback is accepted, or was before; 400 when it cannot be read; 401
   * when it is not authentic, or came with another body before; 405 to anything but POST; 413 when it
   * is too large; 500 when `onEvent` rejects; 503 with `Retry-After` when the same callback is being
   * handled right now, or when confirming it, the replay guard, the signer or the connection failed.
   * After a failure the next delivery counts as new.
   *
   * @param options - What to do with a callback, and how to receive it.
   * @returns A function from request to response. It never rejects.
   * @throws {HostedConfigError} when `onEvent` is no function.
   * @throws {HostedValidationError} when an option is out of range.
   *
   * @example Act on what job status says
   * ```ts
   * export const POST = client.callbacks.handler({
   *   confirm: true,
   *   onEvent: async (event, status) => {
   *     // Runs once for each callback; when it rejects, the service delivers again.
   *     console.log(`result ${event.id}: the job is ${status.state}`);
   *   },
   * });
   * ```
   *
   * @see §4.5 and §6 of docs/protocol.md; when the service delivers again is not shown there, and assumptions.ts holds the guess
   */
  handler(
    options: ReceiveOptions & {
      /** Asks job status before `onEvent` runs. */
      confirm: true;
      /** Is told of each callback once, with what job status says. The service is answered when it is done. */
      onEvent: (event: CallbackEvent, status: JobStatus) => void | Promise<void>;
    },
  ): (request: Request) => Promise<Response>;
  /**
   * Makes a web-standard handler that hands callbacks over as they come: authentic and fresh, with a
   * body that nothing confirms. A callback older than `maxAgeMs` is refused.
   *
   * It answers as one with `confirm` does, and 401 to a stale callback too.
   *
   * @param options - What to do with a callback, and how to receive it.
   * @returns A function from request to response. It never rejects.
   * @throws {HostedConfigError} when `onEvent` is no function.
   * @throws {HostedValidationError} when an option is out of range.
   *
   * @example Note that something happened
   * ```ts
   * const handle = client.callbacks.handler({
   *   onEvent: (event) => {
   *     console.log(`result ${event.id} of link ${event.linkId}`);
   *   },
   * });
   * ```
   *
   * @see §6 of docs/protocol.md; how late a callback may be is not shown there, and assumptions.ts holds the guess
   */
  handler(
    options: ReceiveOptions & {
      /** Job status is not asked. Default `false`. */
      confirm?: false;
      /** Is told of each callback once. The service is answered when it is done. */
      onEvent: (event: CallbackEvent) => void | Promise<void>;
    },
  ): (request: Request) => Promise<Response>;

  /**
   * Asks job status, with history, for the signed truth about a callback's job: the callback's body
   * is not covered by its signature.
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

/**
 * Makes the namespace over a way to call.
 *
 * @internal
 */
export function createCallbacks(call: Call, settings: Settings, skew: ClockSkew): Callbacks {
  const { clock, logger } = settings;
  const world = { settings, now: () => clock.now() + skew.offsetMs() };
  const memory = createReplayGuard(clock.now);
  const warn = (message: string) => {
    if (logger) quietly(() => logger.warn(message));
  };

  return {
    async receive(body, options) {
      // It confirms nothing, whatever options it may share with a handler.
      const receiving = { ...readReceiveOptions(options, memory), confirms: false };
      const { event, key, bodyDigest, expiresAt } = await believeCallback(body, receiving, world);
      const known = await receiving.replayGuard.begin(key, bodyDigest, expiresAt);
      if (known === 'conflict') throw replayed();
      if (known !== 'new') return { ...event, repeat: true };
      try {
        await receiving.replayGuard.commit(key);
      } catch (error) {
        // Whoever called never sees this one: the next delivery must count as new.
        await receiving.replayGuard.forget(key);
        throw error;
      }
      return event;
    },
    handler(
      options: ReceiveOptions & { confirm?: boolean; onEvent: (event: CallbackEvent, status: never) => unknown },
    ) {
      const receiving = readReceiveOptions(options, memory);
      const onEvent = isRecord(options) ? readProperty(options, 'onEvent') : undefined;
      if (typeof onEvent !== 'function') {
        const issues = [{ path: 'onEvent', message: 'must be a function' }];
        throw new HostedConfigError(cannotReceive('"onEvent" must be a function'), issues);
      }
      return createHandler({
        receiving,
        world,
        confirm: receiving.confirms ? confirm : null,
        onEvent: onEvent as (event: CallbackEvent, status?: JobStatus) => unknown,
        warn,
      });
    },
    confirm,
  };

  function confirm(event: CallbackEvent, options?: CallOptions): Promise<JobStatus> {
    const idOf = (name: keyof JobRef) => readProperty(Object(event), name);
    return call(jobStatus, () => ({ userId: idOf('userId'), jobId: idOf('jobId'), history: true }), options);
  }
}
