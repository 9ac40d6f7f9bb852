/**
 * Reads the bodies of callbacks. The bodies that one client has in its hands are limited, because anyone can open
 * connections and send a part of a body on each.
 *
 * @module
 */

import { HostedTimeoutError } from '../errors/client-errors.js';
import { type WaitingClock, withTimeout } from '../runtime/clock.js';
import { readBytes } from '../runtime/read-body.js';
import { callbackErrors, callbackFacts, createFullError } from './callback-errors.js';

/** How many bytes of bodies one client has in its hands at most. */
export const maxBytesInHand = 64 * 1024 * 1024;

/** The size of the chunks in which platforms read a body. A smaller body takes only its own bytes. */
const chunkBytes = 64 * 1024;

/**
 * How many bytes the platform takes for a larger body besides ours, at most: what it reads ahead, and the chunks that were
 * copied and are not collected yet. Measured with Node 24.
 */
const maxUncollectedBytes = 512 * 1024;

/** A body in hand. */
interface Held {
  /** How many bytes it takes, or will take. */
  bytes: number;
  /** Gives up reading it. */
  readonly giveUp: AbortController;
}

/** Creates the intake that all handlers of one client share. */
export function createIntake(clock: WaitingClock, maxInHand = maxBytesInHand) {
  let inHand = 0;
  // The bodies that are being read. The one that has gone longest without a byte stands first.
  const reading = new Set<Held>();

  /** Counts the bytes of a body. If the limit is exceeded, gives up the bodies that have gone longest without a byte. */
  function grow(body: Held, ownBytes: number): void {
    // A chunk may arrive after the body was given up.
    body.giveUp.signal.throwIfAborted();
    const uncollected = Math.min(Math.max(0, ownBytes - chunkBytes), maxUncollectedBytes);
    const bytes = Math.min(ownBytes + uncollected, maxBytesInHand);
    reading.delete(body);
    reading.add(body);
    const more = Math.max(0, bytes - body.bytes);
    for (const stalled of reading) {
      if (inHand + more <= maxInHand || stalled === body) break;
      letGo(stalled, createFullError());
    }
    if (inHand + more > maxInHand) throw createFullError();
    body.bytes += more;
    inHand += more;
  }

  function letGo(body: Held, why?: Error): void {
    reading.delete(body);
    inHand -= body.bytes;
    body.bytes = 0;
    body.giveUp.abort(why);
  }

  return {
    /**
     * Reads a body, and passes it to `use`. It is in hand until `use` has ended.
     *
     * @throws {HostedResponseError} when the body is larger than `maxBytes`, or was given up for another.
     * @throws {HostedTimeoutError} when the body does not arrive in time.
     */
    async read<T>(
      request: Request,
      { maxBytes, bodyTimeoutMs }: { readonly maxBytes: number; readonly bodyTimeoutMs: number },
      use: (bytes: Uint8Array) => Promise<T>,
    ): Promise<T> {
      const declared = Number(request.headers.get('content-length') ?? 0) || 0;
      if (declared > maxBytes) throw callbackErrors.createUnusable('too_large');
      const body: Held = { bytes: 0, giveUp: new AbortController() };
      const { signal } = body.giveUp;
      const limit = { phase: 'attempt', timeoutMs: bodyTimeoutMs } as const;
      const timedOut = () =>
        new HostedTimeoutError('its body did not arrive within "bodyTimeoutMs"', limit, callbackFacts);
      try {
        grow(body, declared);
        const { bytes, isWhole } = await withTimeout({ clock, ms: bodyTimeoutMs, signal, timedOut }, (ending) =>
          readBytes(request.body, { limit: maxBytes, signal: ending, onGrowth: (taken) => grow(body, taken) }),
        );
        if (!isWhole) throw callbackErrors.createUnusable('too_large');
        reading.delete(body);
        return await use(bytes);
      } finally {
        letGo(body);
      }
    },
  };
}
