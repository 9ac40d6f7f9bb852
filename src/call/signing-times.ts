/**
 * For which time a request is signed. Both sides sign the same text with one key, so a response that is signed for
 * the time of its request carries the request's own signature: an honest one looks like the request sent back, and is
 * rejected as reflected (docs/protocol.md §5). Requests are therefore signed for times that the service does not sign
 * for, as far as these can be known.
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import { largestOffsetMs } from './clock-skew.js';

/** A time that a request is signed for, in ms. */
export interface SigningTime {
  /** Since the epoch, on this machine's clock. */
  readonly time: number;
  /** How far ahead of now it is; negative where it is earlier. */
  readonly leadMs: number;
  /** How far ahead of now it was meant to be: another request may have had that time. */
  readonly meantLeadMs: number;
}

/** The times that the requests of one client are signed for. */
export interface SigningTimes {
  /** After this long, in ms, a service is past the time that it signed a response for. */
  readonly passingMs: number;
  /** Gives the time for a request at `now`; `isPoll` for one of a wait, whose requests are remembered together. */
  next(now: number, isPoll: boolean): SigningTime;
  /**
   * Gives the time for a request that is made again: a response was signed for `met`, the time of the
   * request, {@link passingMs} ago. Later requests are signed at another distance from now, too.
   */
  after(met: SigningTime, now: number, isPoll: boolean): SigningTime;
}

/** Creates what chooses a client's times, by the format in which they are written. */
export function createSigningTimes(wire: Wire): Readonly<Record<'links' | 'jobs', SigningTimes>> {
  const seconds = createSeconds();
  const milliseconds = createMilliseconds();
  const timesOf = (format: Wire['timestampFormat']) => (format === 'epoch-s' ? seconds : milliseconds);
  return { links: timesOf(wire.timestampFormat), jobs: timesOf(wire.jobTimestampFormat) };
}

/** Corrects a time to sign by an offset: at most a day from `now`, whatever else moved it. */
export function correctTime(time: number, offsetMs: number, now: number): number {
  // A second less, because a timestamp in whole seconds is cut off.
  const most = largestOffsetMs - 1_000;
  return Math.floor(Math.min(Math.max(time + offsetMs, now - most), now + most));
}

/** If the clock is set back further than this, in ms, times follow it. Smaller steps back are ignored. */
const waveringMs = 300_000;
/** How much earlier than now requests are signed, in ms, once a response was signed for the time of its request. */
const backMs = 1_000;
/** If two leads differ by this, in ms, a service cannot sign for both: its responses take about the same time. */
const apartMs = 250;

// No two requests have the same time: it increases by a millisecond where the clock stands still or wavers.
function createMilliseconds(): SigningTimes {
  let last = Number.NEGATIVE_INFINITY;
  let lastButOne = Number.NEGATIVE_INFINITY;
  let meantLeadMs = 0;

  function take(time: number, at: number): SigningTime {
    lastButOne = last;
    last = time;
    return { time, leadMs: time - at, meantLeadMs };
  }

  return {
    passingMs: 2,
    next(now) {
      const at = Math.floor(now);
      const time = at + meantLeadMs;
      return take(last - time > waveringMs ? time : Math.max(time, last + 1), at);
    },
    after(met, now) {
      const at = Math.floor(now);
      // If both clocks agree, every request would have the time of its response.
      if (met.leadMs === met.meantLeadMs) meantLeadMs = met.meantLeadMs === 0 ? -backMs : 0;
      // The service is past all that lies before: between the last two requests, no other one has it.
      const before = Math.max(Math.min(at - backMs, met.time - 1), lastButOne + 1);
      if (last === met.time && before < met.time) return { time: before, leadMs: before - at, meantLeadMs };
      const free = Math.max(at + meantLeadMs, last + 1);
      // Stryker disable next-line EqualityOperator: just as far apart as that, either is far enough
      return take(Math.abs(free - at - met.leadMs) < apartMs ? at + met.leadMs + apartMs : free, at);
    },
  };
}

/** How far ahead of now requests in whole seconds are signed, in ms; and once that has met a response. */
const secondsLeadMs = { first: -2_000, other: -5_000 };
/** Polls in whole seconds are signed for multiples of this, in ms. */
const pollStepMs = 10_000;

// Nearly every response would be signed for the second of its request, so an earlier one is taken. A service
// that is some seconds behind would still meet the seconds of earlier polls, one after the other: with ten
// seconds between them, it is past them all a second later.
function createSeconds(): SigningTimes {
  let meantLeadMs = secondsLeadMs.first;
  return {
    passingMs: 1_000,
    next(now, isPoll) {
      const time = now + meantLeadMs;
      return { time: isPoll ? Math.floor(time / pollStepMs) * pollStepMs : time, leadMs: meantLeadMs, meantLeadMs };
    },
    after(met, _now, isPoll) {
      const { first, other } = secondsLeadMs;
      meantLeadMs = met.meantLeadMs === first ? other : first;
      return { ...met, time: met.time - (isPoll ? pollStepMs : 1_000) };
    },
  };
}
