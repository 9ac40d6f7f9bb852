/**
 * When to try again: how long to wait, and what `Retry-After` says.
 *
 * @module
 */

import { assumedMaxRetryAfterMs } from './assumptions.js';

/** The first wait, and the longest, in ms: doubled each time, and drawn by chance from 0 (full jitter). */
const backOff = { firstMs: 500, mostMs: 8_000 };

/**
 * How long to wait before the next attempt, in ms.
 *
 * @param retry - How often it was tried already, 1 or more; what the service asked for; and chance,
 *   from 0 to 1.
 */
export function retryDelay(retry: { attempt: number; retryAfterMs: number | null; random: () => number }): number {
  const most = Math.min(backOff.mostMs, backOff.firstMs * 2 ** (retry.attempt - 1));
  const drawn = Math.floor(retry.random() * most);
  return Math.max(drawn, Math.min(retry.retryAfterMs ?? 0, assumedMaxRetryAfterMs));
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
