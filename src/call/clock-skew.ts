/**
 * The difference between the service's clock and this machine's. A `Date` header is not signed. So it corrects only
 * the time that is signed, and only if the service rejected our authentication. This machine's own clock decides what
 * is fresh.
 *
 * @module
 */

import { parseHttpDate } from '../protocol/date-time.js';

/** If a round trip takes longer than this, in ms, it is too uncertain when the response was dated. */
const longestRoundTripMs = 10_000;
/** A difference of up to this many ms is not corrected: signatures are expected to be valid for longer. */
const tolerableMs = 60_000;
/** A larger difference than this, in ms, is ignored: no request is signed for a time further from now. */
export const largestOffsetMs = 24 * 60 * 60 * 1000;

/** When a response came, in ms since the epoch on this machine's clock, and how long that took. */
export interface RoundTrip {
  readonly receivedAt: number;
  readonly tookMs: number;
}

/** What is known of the difference. */
export interface ClockSkew {
  /** What to add to this machine's time when signing, in ms; 0 while the difference is tolerable. */
  readonly offsetMs: number;
  /** Learns from the headers of a response that rejected our authentication. Returns whether the offset changed. */
  learn(headers: Headers, trip: RoundTrip): boolean;
}

/** Keeps what is known of the difference; `'off'` learns nothing. */
export function createClockSkew(mode: 'auto' | 'off'): ClockSkew {
  const skew = { offsetMs: 0, learn };
  return skew;

  function learn(headers: Headers, { receivedAt, tookMs }: RoundTrip): boolean {
    // Written so that NaN is ignored.
    if (mode === 'off' || !(tookMs <= longestRoundTripMs)) return false;
    // `Date` was written in the middle of the round trip, as far as is known.
    const ahead = measureAheadMs(headers, receivedAt - tookMs / 2);
    if (ahead === null || !(Math.abs(ahead) <= largestOffsetMs)) return false;
    if (Math.abs(ahead - skew.offsetMs) <= tolerableMs) return false;
    skew.offsetMs = isTolerable(ahead) ? 0 : Math.round(ahead);
    return true;
  }
}

/**
 * Describes for people how far the clocks are apart, by the `Date` of a response: `this machine's clock is 6
 * min behind the service's "Date"`. Null where the response does not say, or they agree within `leastMs`.
 */
export function describeSkew(headers: Headers, now: number, leastMs: number = tolerableMs): string | null {
  const ahead = measureAheadMs(headers, now);
  // Stryker disable next-line ConditionalExpression: null counts as 0; it is asked for the types
  return ahead === null || Math.abs(ahead) <= leastMs ? null : describeAhead(ahead);
}

/** Describes for people what the time that is signed was corrected by. */
export function describeOffset(offsetMs: number): string {
  return offsetMs === 0
    ? `this machine's clock agrees with the service's "Date" again: requests are signed for its own time`
    : `${describeAhead(offsetMs)}: requests are signed for the service's time`;
}

function describeAhead(ms: number): string {
  // Stryker disable next-line EqualityOperator: what is level is not described
  return `this machine's clock is ${describeLength(Math.abs(ms))} ${ms > 0 ? 'behind' : 'ahead of'} the service's "Date"`;
}

// How far the service's clock is ahead of this machine's, in ms; null where a response does not say.
function measureAheadMs(headers: Headers, now: number): number | null {
  // A cache keeps the date of when it was first asked.
  if (headers.get('age') !== null) return null;
  const header = headers.get('date');
  // Node's fetch leaves the blanks behind a value, which are no part of it (RFC 9110 §5.5).
  const date = header === null ? null : parseHttpDate(header.trim());
  // `Date` is cut to the second (RFC 9110 §6.6.1), so on average it is half a second too early.
  return date === null ? null : date + 500 - now;
}

function isTolerable(aheadMs: number): boolean {
  return Math.abs(aheadMs) <= tolerableMs;
}

function describeLength(ms: number): string {
  if (ms < 2_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 2 * 3_600_000) return `${Math.round(ms / 60_000)} min`;
  return ms < 2 * 86_400_000 ? `${Math.round(ms / 3_600_000)} h` : `${Math.round(ms / 86_400_000)} days`;
}

/** How often, in ms, a response that is nearly stale is worth a log line. */
const noticeEveryMs = 3_600_000;

/** Is given the time of every verified response. */
export type AgeNotice = (signedAt: Date | null, now: number) => void;

/**
 * Creates a function that gets the time of every verified response. It warns, at most once an hour, if that time is
 * further from now than half of what is accepted: the next response may be stale.
 */
export function createAgeNotice(
  { maxResponseAgeMs, clock }: { readonly maxResponseAgeMs: number | false; readonly clock: { elapsed(): number } },
  warn: (message: string) => void,
): AgeNotice {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (signedAt, now) => {
    if (maxResponseAgeMs === false || signedAt === null) return;
    const aheadMs = signedAt.getTime() - now;
    if (Math.abs(aheadMs) <= maxResponseAgeMs / 2 || clock.elapsed() < quietUntil) return;
    quietUntil = clock.elapsed() + noticeEveryMs;
    // Stryker disable next-line EqualityOperator: what is level is not noticed
    const side = aheadMs > 0 ? 'ahead of' : 'behind';
    warn(
      `a response was signed ${describeLength(Math.abs(aheadMs))} ${side} this machine's clock, and "maxResponseAgeMs" accepts ${describeLength(maxResponseAgeMs)}: set the clock (NTP)`,
    );
  };
}
