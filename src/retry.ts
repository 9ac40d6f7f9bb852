/**
 * When to try again: which error is worth it, and how long to wait.
 *
 * @module
 */

import { assumedMaxRetryAfterMs } from './assumptions.js';
import { parseHttpDate } from './date-time.js';
import type { AnyHostedError } from './errors.js';
import { readProperty } from './runtime/prototype.js';

/** What a failed attempt is judged by. */
export interface Attempt {
  /** How often it was tried, 1 or more. */
  readonly attempt: number;
  readonly maxRetries: number;
  /** Whether the clock offset is another than the one the attempt was signed with. */
  readonly skewChanged: boolean;
  /** Whether an attempt was repeated already for the sake of its signature. */
  readonly resigned: boolean;
}

/** What to do about a failed attempt: how long to wait for the next one, in ms; null for nothing. */
export interface Retry {
  readonly delayMs: number | null;
  /** Whether the next attempt is for the sake of its signature: it follows at once. */
  readonly resigns: boolean;
  /** How far ahead of now, in ms, the next attempt is signed. */
  readonly aheadMs: number;
}

const never: Retry = { delayMs: null, resigns: false, aheadMs: 0 };
const resign: Retry = { delayMs: 0, resigns: true, aheadMs: 0 };

/**
 * Judges a failed attempt. `random` is chance, from 0 to 1.
 */
export function retryAfter(error: AnyHostedError, made: Attempt, random: () => number): Retry {
  // Two honest parties can sign in the same millisecond: once, that is a coincidence. It is no
  // retry of something that failed, and so not one of `maxRetries`. Where both are near, they would
  // meet again; a second ahead, nobody honest signs yet.
  if (error.code === 'signature' && error.reason === 'reflected') {
    return made.resigned ? never : { ...resign, aheadMs: 1_000 + Math.floor(random() * 500) };
  }
  // The service did not act: it may have refused the time, and the time is now known better. No
  // retry either: a wait, whose polls are made once each, would end at once by a wrong clock.
  if (error.code === 'authentication') return made.skewChanged && !made.resigned ? resign : never;
  if (made.attempt > made.maxRetries) return never;
  if (!error.retryable) return never;
  const most = Math.min(backOff.mostMs, backOff.firstMs * 2 ** (made.attempt - 1));
  const asked = Number(readProperty(error, 'retryAfterMs') ?? 0);
  // Asking again earlier would be refused, and a sleep that long looks like a hung call: the caller decides.
  if (asked > assumedMaxRetryAfterMs) return never;
  return { delayMs: Math.max(Math.floor(random() * most), asked), resigns: false, aheadMs: 0 };
}

/** The first wait, and the longest, in ms: doubled each time, and drawn by chance from 0 (full jitter). */
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
