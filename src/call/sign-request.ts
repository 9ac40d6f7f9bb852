/**
 * Signs requests: chooses the time that a request is signed for, formats it, and remembers the signature. Both sides sign
 * the same text with one key, so a response to a request of the same time has the request's own signature: a collision,
 * which looks as if someone had sent our signature back to us (docs/protocol.md §5). Requests are therefore signed for
 * times that the service is unlikely to use.
 *
 * @module
 */

import { HostedConfigError } from '../errors/errors.js';
import { HostedError } from '../errors/hosted-error.js';
import type { Wire } from '../protocol/assumptions.js';
import { timeOf } from '../signing/verify.js';
import type { Attempt, SentSignatures, SigningTime, SigningTimes } from './attempt.js';
import { largestOffsetMs } from './clock-skew.js';

/** The signature of a request, and the timestamp that it covers. */
export interface RequestSignature {
  /** The timestamp in the form that is sent: with exactly the characters that were signed. */
  readonly timestamp: string | number;
  readonly signature: string;
}

/**
 * Signs the request of an attempt, and remembers the signature. Each attempt is signed for a time of its own. Returns a
 * promise only if the signer returns a promise.
 *
 * @throws {HostedConfigError} when the signer throws, or does not return a non-empty string.
 */
export function signRequest(attempt: Attempt): RequestSignature | Promise<RequestSignature> {
  const { operation, sent, shared } = attempt.call;
  const time = chooseTime(attempt);
  const timestamp = writeTimestamp(time, operation.route.host, shared.settings.wire);
  const finish = (signature: string) => {
    // The time is read from the timestamp, as it will be from a response that has the same one.
    const signedFor = timeOf(timestamp.signed)?.getTime() ?? time;
    rememberSent(sent, signature, { signedFor, now: attempt.begunAt });
    return { timestamp: timestamp.sent, signature };
  };
  const signature = sign(attempt, timestamp.signed);
  return typeof signature === 'string' ? finish(signature) : signature.then(finish);
}

function sign(attempt: Attempt, timestamp: string): string | Promise<string> {
  const { partnerId, signer } = attempt.call.shared.settings;
  const assertSignature = (signature: unknown): string => {
    if (typeof signature === 'string' && signature !== '') return signature;
    throw createSignerError();
  };
  // An error of the caller's signer may contain a key, so it is not passed on, unless it is an error of this package.
  const fail = (error: unknown): never => {
    throw error instanceof HostedError ? error : createSignerError();
  };
  try {
    const signature: unknown = signer.sign({ partnerId, timestamp });
    if (typeof signature === 'string') return assertSignature(signature);
    return Promise.resolve(signature).then(assertSignature).catch(fail);
  } catch (error) {
    return fail(error);
  }
}

function chooseTime(attempt: Attempt): number {
  const { begunAt: now } = attempt;
  const { operation, part, shared } = attempt.call;
  const times = shared.signingTimes[operation.route.host];
  const isPoll = part !== undefined && part.sent !== null;
  const last = attempt.history.at(-1);
  const collided = last?.retriedFor === 'collision' ? last.signedFor : null;
  attempt.signedFor = collided ? times.nextAfterCollision(collided, now, isPoll) : times.next(now, isPoll);
  return correctTime(attempt.signedFor.time, attempt.offsetMs, now);
}

// `retry.ts` adds the operation and the outcome to this error.
function createSignerError(): HostedConfigError {
  const issues = [{ path: 'signer', message: 'must return a non-empty string from sign(), but did not' }];
  return new HostedConfigError(issues, {});
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
