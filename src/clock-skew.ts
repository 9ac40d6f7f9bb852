/**
 * The difference between the service's clock and ours, learnt from the `Date` of its answers: a
 * signature made on a clock that is minutes off is refused by no fault of the key.
 *
 * @module
 */

import { parseHttpDate } from './date-time.js';

/** A round trip this long, in ms, says too little about when the answer was dated. */
const longestRoundTripMs = 10_000;
/** A difference up to this, in ms, is borne by every window of validity. */
const tolerableMs = 60_000;

/** When a request left and its answer came, on our own clock, in ms since the epoch. */
export interface RoundTrip {
  readonly sentAt: number;
  readonly receivedAt: number;
}

/** What is known of the difference. */
export interface ClockSkew {
  /** What to add to our clock, in ms; 0 while the difference is tolerable. */
  offsetMs(): number;
  /** Learns from an answer's headers. */
  learn(headers: Headers, trip: RoundTrip): void;
}

/** Keeps what is known of the difference; `'off'` knows none. */
export function createClockSkew(mode: 'auto' | 'off'): ClockSkew {
  let offset = 0;
  return {
    offsetMs: () => offset,
    learn(headers, { sentAt, receivedAt }) {
      // A cache tells when it was asked first, and a slow answer not when on its way it was dated.
      if (mode === 'off' || headers.has('age') || receivedAt - sentAt > longestRoundTripMs) return;
      // Node's fetch leaves the blanks behind a value, which are no part of it (RFC 9110 §5.5).
      const date = parseHttpDate(headers.get('date')?.trim() ?? '');
      if (date === null) return;
      // `Date` is cut to the second (RFC 9110 §6.6.1): half of one is what it lacks in the middle.
      const measured = date + 500 - (sentAt + receivedAt) / 2;
      if (Math.abs(measured - offset) <= tolerableMs) return;
      offset = Math.abs(measured) > tolerableMs ? Math.round(measured) : 0;
    },
  };
}
