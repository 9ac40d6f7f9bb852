/**
 * When to try again: which error is worth it, and how long to wait.
 *
 * @module
 */

import type { AnyHostedError } from '../errors/errors.js';
import { assumedMaxRetryAfterMs } from '../protocol/assumptions.js';
import { parseHttpDate } from '../protocol/date-time.js';
import { readProperty } from '../runtime/prototype.js';

/** What a failed attempt is judged by. */
export interface Attempt {
  /** How often it was tried, 1 or more. */
  readonly attempt: number;
  readonly maxRetries: number;
  /** Whether the call is part of a wait or the like: it may be signed anew although `maxRetries` is 0. */
  readonly isPart: boolean;
  /** Whether the call was signed anew before. */
  readonly resigned: boolean;
  /** Whether the clock offset is another than the one the attempt was signed with. */
  readonly skewChanged: boolean;
  /** After this long, in ms, the service is past the time that it signed a response for. */
  readonly passingMs: number;
}

/** What to do about a failed attempt. */
export interface Retry {
  /** How long to wait for the next attempt, in ms; null where there is none. */
  readonly delayMs: number | null;
  /** Whether the next attempt is made for the sake of its signature, and not because something failed. */
  readonly resigns: boolean;
}

const never: Retry = { delayMs: null, resigns: false };

/** Decides what follows a failed attempt. `random` gives a random number from 0 to 1. */
export function retryAfter(error: AnyHostedError, made: Attempt, random: () => number): Retry {
  const isUsedUp = made.attempt > made.maxRetries;
  const resignMs = resignAfter(error, made);
  if (resignMs !== null) {
    const mayResign = !made.resigned && (!isUsedUp || made.isPart);
    return mayResign ? { delayMs: resignMs, resigns: true } : never;
  }
  if (isUsedUp || !error.retryable) return never;
  const most = Math.min(backOff.mostMs, backOff.firstMs * 2 ** (made.attempt - 1));
  const asked = Number(readProperty(error, 'retryAfterMs') ?? 0);
  // Asking again earlier would be refused, and a sleep that long looks like a hung call: the caller decides.
  if (asked > assumedMaxRetryAfterMs) return never;
  return { delayMs: Math.max(Math.floor(random() * most), asked), resigns: false };
}

/** How long to wait, in ms, before a request is signed anew; null where its signature is not what failed. */
function resignAfter(error: AnyHostedError, { skewChanged, passingMs }: Attempt): number | null {
  // The service and this client can sign for the same time by accident, but not twice in a row.
  if (error.code === 'signature' && error.reason === 'reflected') return passingMs;
  // The service may have refused the time that was signed, which is now known better.
  return error.code === 'authentication' && skewChanged ? 0 : null;
}

/** The first wait, and the longest, in ms: doubled each time, and drawn at random from 0 (full jitter). */
const backOff = { firstMs: 500, mostMs: 8_000 };

/**
 * What `Retry-After` asks for, in ms: whole seconds, or an IMF date (RFC 9110 §10.2.3 and §5.6.7).
 * Null where it says neither; 0 for a date that has passed.
 */
export function readRetryAfter(header: string | null, now: number): number | null {
  // Node's fetch leaves the blanks behind a value, which are no part of it (RFC 9110 §5.5).
  const value = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  const at = parseHttpDate(value);
  return at === null ? null : Math.max(0, at - now);
}
