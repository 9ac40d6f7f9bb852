/**
 * When to try again: which error is worth it, how long to wait, and how much trying again a client
 * may do in all.
 *
 * @module
 */

import { assumedMaxRetryAfterMs } from './assumptions.js';
import type { AnyHostedError } from './errors.js';

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
  /** Whether the next attempt is for the sake of its signature. */
  readonly resigns: boolean;
}

const never: Retry = { delayMs: null, resigns: false };
const resign: Retry = { delayMs: 0, resigns: true };

/**
 * Judges a failed attempt. `random` is chance, from 0 to 1.
 */
export function retryAfter(error: AnyHostedError, made: Attempt, random: () => number): Retry {
  // Two honest parties can sign in the same millisecond: once, that is a coincidence. It is no
  // retry of something that failed, and so not one of `maxRetries`.
  if (error.code === 'signature' && error.reason === 'reflected') return made.resigned ? never : resign;
  if (made.attempt > made.maxRetries) return never;
  // The service did not act: it may have refused the time, and the time is now known better.
  if (error.code === 'authentication') return made.skewChanged && !made.resigned ? resign : never;
  if (!error.retryable) return never;
  const most = Math.min(backOff.mostMs, backOff.firstMs * 2 ** (made.attempt - 1));
  const asked = 'retryAfterMs' in error ? (error.retryAfterMs ?? 0) : 0;
  return { delayMs: Math.max(Math.floor(random() * most), Math.min(asked, assumedMaxRetryAfterMs)), resigns: false };
}

/** The first wait, and the longest, in ms: doubled each time, and drawn by chance from 0 (full jitter). */
const backOff = { firstMs: 500, mostMs: 8_000 };

/**
 * How much trying again a client may do: each retry costs, each success gives back. In an outage a
 * thousand calls then make eleven hundred requests, and not three thousand.
 */
export interface RetryBudget {
  /** Takes what a retry costs; false where there is not enough left. */
  spend(): boolean;
  /** Gives back what a success earns. */
  earn(): void;
}

const budget = { full: 500, retryCosts: 5, successEarns: 1 };

/** Makes a full budget. */
export function createRetryBudget(): RetryBudget {
  let tokens = budget.full;
  return {
    spend() {
      if (tokens < budget.retryCosts) return false;
      tokens -= budget.retryCosts;
      return true;
    },
    earn() {
      tokens = Math.min(budget.full, tokens + budget.successEarns);
    },
  };
}

/**
 * What `Retry-After` asks for, in ms: whole seconds, or an IMF date (RFC 9110 §10.2.3 and §5.6.7).
 * Null where it says neither; 0 for a date that has passed.
 */
export function readRetryAfter(header: string | null, now: number): number | null {
  const value = header?.trim() ?? '';
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)) return null;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
