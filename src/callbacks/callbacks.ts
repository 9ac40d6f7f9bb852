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
import type { JobStatus } from '../jobs/types.js';
import { cannotReceive } from '../messages.js';
import type { CallOptions } from '../options.js';
import type { Settings } from '../settings.js';
import { createHandler } from './handler.js';
import { believeCallback, readReceiveOptions, replayed } from './receive.js';
import { createReplayGuard } from './replay-guard.js';
import type { CallbackEvent, ReceiveOptions } from './types.js';

/** Results that the service posts. */
export interface Callbacks {
  /**
   * Believes a callback: signed by the service, fresh, and not under a signature that came with
   * another body. A repeat is given as one, and not thrown.
   *
   * @param body - The raw text or bytes of the request, as received.
   * @throws {HostedSignatureError} when it is not authentic, stale, or replayed with another body.
   * @throws {HostedResponseError} when it is too large, no JSON, or names no job.
   * @throws {HostedValidationError} when `body` was parsed already, or an option is out of range.
   *
   * docs/protocol.md §6
   */
  receive(body: string | Uint8Array, options?: ReceiveOptions): Promise<CallbackEvent>;

  /**
   * Makes a web-standard handler, for Hono, Next, Workers, Bun, Deno and whatever speaks `Request` and
   * `Response`. With `confirm` job status is asked, with history, and its verified answer is handed
   * over too; a callback that comes late then counts as a hint.
   *
   * It answers 200 when the callback is accepted, or was before; 400 when it cannot be read; 401
   * when it is not authentic or stale; 405 to anything but POST; 413 when it is too large; 500 when
   * `onEvent` rejects; 503 with `Retry-After` when the same callback is being handled right now, or
   * confirming failed. After 500 and 503 the next delivery counts as new.
   *
   * @throws {HostedConfigError} when `onEvent` is no function.
   * @throws {HostedValidationError} when an option is out of range.
   *
   * docs/protocol.md §6
   */
  handler(
    options: ReceiveOptions & {
      confirm: true;
      onEvent: (event: CallbackEvent, status: JobStatus) => void | Promise<void>;
    },
  ): (request: Request) => Promise<Response>;
  handler(
    options: ReceiveOptions & { confirm?: false; onEvent: (event: CallbackEvent) => void | Promise<void> },
  ): (request: Request) => Promise<Response>;

  /**
   * Asks job status, with history, for the signed truth about a callback's job: the callback's body
   * is not covered by its signature.
   *
   * @throws what `jobs.status` throws.
   *
   * docs/protocol.md §4.5, §6
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
      const onEvent: unknown = options?.onEvent;
      if (typeof onEvent !== 'function') {
        const issues = [{ path: 'onEvent', message: 'must be a function' }];
        throw new HostedConfigError(cannotReceive('"onEvent" must be a function'), issues);
      }
      return createHandler({
        receiving,
        world,
        confirm: options.confirm ? confirm : null,
        onEvent: onEvent as (event: CallbackEvent, status?: JobStatus) => unknown,
        warn,
      });
    },
    confirm,
  };

  function confirm(event: CallbackEvent, options?: CallOptions): Promise<JobStatus> {
    return call(jobStatus, () => ({ userId: event?.userId, jobId: event?.jobId, history: true }), options);
  }
}
