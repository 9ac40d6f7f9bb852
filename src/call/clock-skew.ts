/**
 * The difference between the service's clock and this machine's clock. A `Date` header is not signed. So it is used
 * only to correct the time that we sign, and only after the service has rejected our authentication. This machine's own
 * clock decides whether a response is fresh.
 *
 * @module
 */

import { parseHttpDate } from '../protocol/date-time.js';

/**
 * `Date` is used only if the round trip took at most this many ms. After a longer round trip, the moment at which the
 * service wrote `Date` is too uncertain.
 */
const longestRoundTripMs = 10_000;
/**
 * A difference of at most this many ms is not corrected, because a signature is expected to be valid for a longer time
 * than this.
 */
const tolerableMs = 60_000;
/**
 * The largest difference, in ms, that is corrected. No request is signed for a time that is further from now than this.
 */
export const largestOffsetMs = 24 * 60 * 60 * 1000;

/** The known difference between the clocks. */
export type ClockSkew = ReturnType<typeof createClockSkew>;

/**
 * Remembers the difference between the clocks: `offsetMs` is added to this machine's time when a request is signed, and
 * is 0 while the difference is tolerable. With `'off'`, no difference is learned.
 */
export function createClockSkew(mode: 'auto' | 'off') {
  const skew = { offsetMs: 0, learn };
  return skew;

  /**
   * Learns from the headers of a response that rejected our authentication. It arrived at `receivedAt`, in ms since the
   * epoch by this machine's clock, after `tookMs`. Returns whether the offset changed.
   */
  function learn(headers: Headers, { receivedAt, tookMs }: Readonly<Record<'receivedAt' | 'tookMs', number>>): boolean {
    // `!(… <= …)` instead of `>`: if `tookMs` is NaN, every comparison is false, and then nothing must be learned.
    if (mode === 'off' || !(tookMs <= longestRoundTripMs)) return false;
    // The best guess is that `Date` was written in the middle of the round trip.
    const ahead = measureAheadMs(headers, receivedAt - tookMs / 2);
    if (ahead === null || !(Math.abs(ahead) <= largestOffsetMs)) return false;
    if (Math.abs(ahead - skew.offsetMs) <= tolerableMs) return false;
    skew.offsetMs = Math.abs(ahead) <= tolerableMs ? 0 : Math.round(ahead);
    return true;
  }
}

/**
 * Describes the difference between the clocks, as measured with the `Date` of a response, for example
 * `this machine's clock is 6 min behind the service's "Date"`. Null if the response has no usable `Date`, or if the
 * difference is at most `leastMs`.
 */
export function describeSkew(headers: Headers, now: number, leastMs: number = tolerableMs): string | null {
  const ahead = measureAheadMs(headers, now);
  return ahead === null || Math.abs(ahead) <= leastMs ? null : describeAhead(ahead);
}

/** Describes the correction of the signed time, for a log line. */
export function describeOffset(offsetMs: number): string {
  return offsetMs === 0
    ? `this machine's clock agrees with the service's "Date" again: requests are signed for the time of this machine`
    : `${describeAhead(offsetMs)}: requests are signed for the service's time`;
}

function describeAhead(ms: number): string {
  return `this machine's clock is ${describeLength(Math.abs(ms))} ${ms > 0 ? 'behind' : 'ahead of'} the service's "Date"`;
}

// How far the service's clock is ahead of this machine's clock, in ms; null if a response has no usable `Date`.
function measureAheadMs(headers: Headers, now: number): number | null {
  // A response with `Age` comes from a cache, and its `Date` may be old.
  if (headers.get('age') !== null) return null;
  // Node's fetch keeps blanks after a header's value. They are not part of the value (RFC 9110 §5.5).
  const date = parseHttpDate(headers.get('date')?.trim() ?? '');
  // `Date` has only whole seconds (RFC 9110 §6.6.1), so on average it is half a second too early.
  return date === null ? null : date + 500 - now;
}

/** Writes a length of time in the largest unit that fits. */
export function describeLength(ms: number): string {
  if (ms < 2_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 2 * 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 2 * 86_400_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} days`;
}
