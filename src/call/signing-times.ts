/**
 * Chooses the time that a request is signed for, formats it, and remembers the signature. Both sides sign the same text
 * with one key, so a response to a request of the same time has the request's own signature: a collision, which looks as
 * if someone had sent our signature back to us (docs/protocol.md §5). Requests are therefore signed for times that the
 * service is unlikely to use.
 *
 * @module
 */

import type { Wire } from '../protocol/assumptions.js';
import { largestOffsetMs } from './clock-skew.js';

/** A time that a request is signed for, in ms. */
export interface SigningTime {
  /** The time since the epoch, by this machine's clock. */
  readonly time: number;
  /** How far the time is ahead of now; negative if it is in the past. */
  readonly leadMs: number;
  /**
   * The planned value of `leadMs`. `leadMs` differs if another request already had the planned time.
   */
  readonly plannedLeadMs: number;
}

/** Chooses the time for which each request of one client is signed. */
export interface SigningTimes {
  /** How long to wait after a collision, in ms. The service then signs for a later time. */
  readonly passingMs: number;
  /**
   * Gives the time for a request at `now`. `isPoll` is true for the polls of a wait. The polls of one wait share one
   * memory of sent signatures.
   */
  next(now: number, isPoll: boolean): SigningTime;
  /**
   * Gives the time for a request that is sent again after a collision. The request is sent {@link passingMs} after the
   * collision. `collided` is the time for which both the request and its response were signed. This call may also
   * change the planned lead of later requests.
   */
  nextAfterCollision(collided: SigningTime, now: number, isPoll: boolean): SigningTime;
}

/**
 * Creates the functions that choose the times for which a client's requests are signed. The choice depends on the
 * format of timestamps.
 */
export function createSigningTimes(wire: Wire): Readonly<Record<'links' | 'jobs', SigningTimes>> {
  const seconds = createSeconds();
  const milliseconds = createMilliseconds();
  const timesOf = (format: Wire['timestampFormat']) => (format === 'epoch-s' ? seconds : milliseconds);
  return { links: timesOf(wire.timestampFormat), jobs: timesOf(wire.jobTimestampFormat) };
}

/** Adds an offset to the time that a request is signed for. The result is never more than a day from `now`. */
export function correctTime(time: number, offsetMs: number, now: number): number {
  // One second less than a day: a timestamp in whole seconds is rounded down, so the sent time can be up to a second
  // earlier than this result.
  const most = largestOffsetMs - 1_000;
  return Math.floor(Math.min(Math.max(time + offsetMs, now - most), now + most));
}

/**
 * Formats a time for link operations or for job status, in the format that `wire` has for them. The signed form and the
 * sent form have the same characters, but the sent form may be a number.
 */
export function writeTimestamp(
  ms: number,
  host: 'links' | 'jobs',
  wire: Wire,
): { readonly signed: string; readonly sent: string | number } {
  const format = host === 'links' ? wire.timestampFormat : wire.jobTimestampFormat;
  if (format === 'iso') {
    const iso = new Date(ms).toISOString();
    return { signed: iso, sent: iso };
  }
  const epoch = format === 'epoch-ms' ? ms : Math.floor(ms / 1000);
  return { signed: String(epoch), sent: host === 'links' ? String(epoch) : epoch };
}

/** If the clock is set back by more than this, in ms, signed times go back, too. Smaller steps back are ignored. */
const ignoredStepMs = 300_000;
/** After a collision, the signed time is this many ms before `now`. */
const backMs = 1_000;
/**
 * A service's timestamps are always about equally far ahead of the requests, so only one of two leads that differ by
 * this much, in ms, can cause collisions.
 */
const minDistanceMs = 250;

// No two requests have the same time, unless the clock goes back by more than `ignoredStepMs`. If the clock stands
// still or goes back less, the time increases by a millisecond.
function createMilliseconds(): SigningTimes {
  let last = Number.NEGATIVE_INFINITY;
  let lastButOne = Number.NEGATIVE_INFINITY;
  let plannedLeadMs = 0;

  function take(time: number, at: number): SigningTime {
    lastButOne = last;
    last = time;
    return { time, leadMs: time - at, plannedLeadMs };
  }

  return {
    passingMs: 2,
    next(now) {
      const at = Math.floor(now);
      const time = at + plannedLeadMs;
      return take(last - time > ignoredStepMs ? time : Math.max(time, last + 1), at);
    },
    nextAfterCollision(collided, now) {
      const at = Math.floor(now);
      // A collision at the planned lead could happen again with every request, so the planned lead changes.
      if (collided.leadMs === collided.plannedLeadMs) plannedLeadMs = collided.plannedLeadMs === 0 ? -backMs : 0;
      // A time before the collided time is safe, because the service now signs only for later times. A time between
      // `lastButOne` and `last` is free, because no other request has a time between these two.
      const before = Math.max(Math.min(at - backMs, collided.time - 1), lastButOne + 1);
      if (last === collided.time && before < collided.time) return { time: before, leadMs: before - at, plannedLeadMs };
      const free = Math.max(at + plannedLeadMs, last + 1);
      return take(
        Math.abs(free - at - collided.leadMs) < minDistanceMs ? at + collided.leadMs + minDistanceMs : free,
        at,
      );
    },
  };
}

/** The leads, in ms, of requests whose timestamps are in whole seconds. Each collision switches to the other lead. */
const secondsLeadMs = { first: -2_000, other: -5_000 };
/** Polls with timestamps in whole seconds are signed for multiples of this, in ms. */
const pollStepMs = 10_000;

// Nearly every response is signed for the current second, so requests use an earlier second. If the service's clock is
// some seconds behind, each response could be signed for the same second as an earlier poll. Each would then be
// rejected as reflected. So polls are signed only for multiples of ten seconds. If a poll collides, the service signed
// its response for such a multiple. The poll is sent again one second later, so the next response has a timestamp that
// no poll has used.
function createSeconds(): SigningTimes {
  let plannedLeadMs = secondsLeadMs.first;
  return {
    passingMs: 1_000,
    next(now, isPoll) {
      const time = now + plannedLeadMs;
      return { time: isPoll ? Math.floor(time / pollStepMs) * pollStepMs : time, leadMs: plannedLeadMs, plannedLeadMs };
    },
    nextAfterCollision(collided, _now, isPoll) {
      const { first, other } = secondsLeadMs;
      plannedLeadMs = collided.plannedLeadMs === first ? other : first;
      return { ...collided, time: collided.time - (isPoll ? pollStepMs : 1_000) };
    },
  };
}

/**
 * The signatures that were sent recently. The fields are plain arrays to save memory, because each wait has its own
 * record of this type, and there may be a million waits.
 */
export interface SentSignatures {
  /** The greatest age, in ms, at which a response is still fresh; false if any age is accepted. */
  readonly maxAgeMs: number | false;
  /** The signatures, in the order in which they were sent. */
  readonly signatures: string[];
  /** The times that these signatures cover, in ms since the epoch, as they are read from a timestamp. */
  readonly times: number[];
  /** The latest time for which a forgotten signature was made, in ms since the epoch. */
  forgottenUntil: number;
}

/**
 * Creates an empty list. A signature is forgotten after `maxAgeMs`, when a response with the same timestamp is no
 * longer fresh. If any age is accepted, no signature is forgotten. If the clock is set back, a response with a
 * forgotten signature would be fresh again. So a response is trusted only if its timestamp is after `forgottenUntil`.
 */
export function createSentSignatures(maxAgeMs: number | false): SentSignatures {
  return { maxAgeMs, signatures: [], times: [], forgottenUntil: Number.NEGATIVE_INFINITY };
}

/** Remembers a signature that is sent at `now` and covers the time `signedFor`, both in ms since the epoch. */
export function rememberSent(
  sent: SentSignatures,
  signature: string,
  { signedFor, now }: { readonly signedFor: number; readonly now: number },
): void {
  const { maxAgeMs, signatures, times } = sent;
  // The list is in the order of sending, so nearly all signatures after the first fresh one are fresh, too.
  while (maxAgeMs !== false) {
    const [oldest] = times;
    // `!(… > …)` instead of `<=`: with NaN, every comparison is false, and then nothing must be forgotten.
    if (oldest === undefined || !(now - oldest > maxAgeMs)) break;
    sent.forgottenUntil = Math.max(sent.forgottenUntil, oldest);
    times.shift();
    signatures.shift();
  }
  signatures.push(signature);
  times.push(signedFor);
}

/** Whether a signature is remembered, with every character unchanged. */
export function wasSent({ signatures }: SentSignatures, signature: unknown): boolean {
  return signatures.includes(signature as string);
}

/** The remembered signature for a time; undefined if there is none. */
export function findSentFor({ signatures, times }: SentSignatures, time: Date | null): string | undefined {
  return time === null ? undefined : signatures[times.lastIndexOf(time.getTime())];
}
