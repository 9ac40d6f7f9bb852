/**
 * Signs requests, nearly always each for a time of its own. Both sides sign the same text with one key. So a response that is signed for
 * the time of its request has the signature of the request: a collision, which looks as if someone had sent our signature
 * back to us (docs/protocol.md §5). After a collision, requests are signed for an earlier time.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import { HostedError } from '../errors/hosted-error.js';
import type { Wire } from '../protocol/assumptions.js';
import type { Attempt, RequestSignature, SigningTimes } from './attempt.js';
import { largestOffsetMs } from './clock-skew.js';

/**
 * Signs the request of an attempt. Returns a promise only if the signer returns a promise.
 *
 * @throws {HostedConfigError} when the signer throws, or does not return a non-empty string.
 */
export function signRequest(attempt: Attempt): RequestSignature | Promise<RequestSignature> {
  const { begunAt, offsetMs } = attempt;
  const { operation, shared } = attempt.call;
  const { host } = operation.route;
  const { time, agoMs } = shared.signingTimes[host].next(begunAt);
  const timestamp = writeTimestamp(correctTime(time, offsetMs, begunAt), host, shared.settings.wire);
  const finish = (signature: string) => {
    attempt.signed = { signature, timestamp, agoMs };
    return attempt.signed;
  };
  const signature = sign(attempt, String(timestamp));
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

// `retry.ts` adds the operation and the outcome to this error.
function createSignerError(): HostedConfigError {
  const issues = [{ path: 'signer', message: 'must return a non-empty string from sign(), but did not' }];
  return new HostedConfigError(issues, {});
}

/** How long before now requests are signed for, in ms: at first, after a collision, and after a further one. */
const stepsMs = [0, 2_000, 5_000] as const;
/** If the clock is set back by more than this, in ms, signed times go back, too. Smaller steps back are ignored. */
const ignoredStepBackMs = 300_000;

/** Creates the functions that choose the times for which a client's requests are signed. */
export function createSigningTimes(wire: Wire): Readonly<Record<'links' | 'jobs', SigningTimes>> {
  const milliseconds = createTimes(0);
  // Nearly every response is signed for the current second, so requests are signed for an earlier one from the start.
  const seconds = createTimes(1);
  const timesOf = (format: Wire['timestampFormat']) => (format === 'epoch-s' ? seconds : milliseconds);
  return { links: timesOf(wire.timestampFormat), jobs: timesOf(wire.jobTimestampFormat) };
}

// Each time is later than the one before, by a millisecond if the clock stands still or goes back a little. Only after a
// collision, the times go back, and two requests could then have the same one. No harm comes of that.
function createTimes(firstStep: 0 | 1): SigningTimes {
  let step: 0 | 1 | 2 = firstStep;
  let last = Number.NEGATIVE_INFINITY;
  return {
    next(now) {
      const agoMs = stepsMs[step];
      const time = Math.floor(now) - agoMs;
      last = last - time > ignoredStepBackMs ? time : Math.max(time, last + 1);
      return { time: last, agoMs };
    },
    avoid(agoMs) {
      // The requests that were in flight at a collision may collide, too. They count once.
      if (agoMs !== stepsMs[step]) return;
      step = step === 1 ? 2 : 1;
      last = Number.NEGATIVE_INFINITY;
    },
  };
}

/** Adds an offset to the time that a request is signed for. The result is never more than a day from `now`. */
export function correctTime(time: number, offsetMs: number, now: number): number {
  // One second less than a day: a timestamp in whole seconds is rounded down, so the sent time can be up to a second
  // earlier than this result.
  const most = largestOffsetMs - 1_000;
  return Math.floor(Math.min(Math.max(time + offsetMs, now - most), now + most));
}

/**
 * Formats a time for link operations or for job status, in the format that `wire` has for them. If the sent form is a
 * number, its digits are signed.
 */
export function writeTimestamp(ms: number, host: 'links' | 'jobs', wire: Wire): string | number {
  const format = host === 'links' ? wire.timestampFormat : wire.jobTimestampFormat;
  if (format === 'iso') return new Date(ms).toISOString();
  const epoch = format === 'epoch-ms' ? ms : Math.floor(ms / 1000);
  return host === 'links' ? String(epoch) : epoch;
}
