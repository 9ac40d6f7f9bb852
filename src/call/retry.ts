/**
 * Runs the attempts of a call. After an error, decides whether another attempt follows, and after what delay. Limits
 * how many retries a client makes, and reports the events of each call.
 *
 * @module
 */

import { addCallerFrames } from '../errors/caller-frames.js';
import { type AnyHostedError, HostedConfigError, isHostedError } from '../errors/client-errors.js';
import type { HostedEvent } from '../events.js';
import { assumedMaxRetryAfterMs, assumedRepeatable } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import { durationSince } from '../runtime/clock.js';
import { completeMessage } from '../runtime/tracing-channel.js';
import { readProperty } from '../runtime/untrusted-objects.js';
import {
  type Attempt,
  type CallMessage,
  type EarlierAttempts,
  factsOf,
  outcomeWithoutResponse,
  type RunningCall,
  type UncheckedCall,
} from './attempt.js';

/**
 * Prepares a call, and runs attempts of it until one succeeds, or until another attempt would not help.
 *
 * @throws the error of `prepare` or of the last attempt, or the reason of the caller's signal.
 */
export async function runAttempts<Call extends RunningCall, Output>(
  prepare: () => Call,
  runAttempt: (attempt: Attempt<Call>) => Promise<Output>,
): Promise<Output> {
  const call = prepare();
  const { shared } = call;
  let attempt: Attempt<Call> | null = null;
  let earlier: EarlierAttempts = { number: 1, mayHaveActedBefore: false, wasSignedAnew: false };
  try {
    for (;;) {
      attempt = createAttempt(call, earlier);
      try {
        const output = await runAttempt(attempt);
        call.options.signal?.throwIfAborted();
        if (call.repeater === undefined) {
          shared.retryTokens = Math.min(tokenCounts.full, shared.retryTokens + tokenCounts.perSuccess);
        }
        reportEnd(call, 'ok', attempt);
        return output;
      } catch (error) {
        earlier = await waitForRetry(error, attempt);
      }
    }
  } catch (error) {
    // An abort is not a failure, even if `signal.reason` is a HostedError.
    if (call.options.signal?.aborted) {
      reportEnd(call, 'aborted', attempt);
      throw call.options.signal.reason;
    }
    throw addCallerFrames(reportFailure(error, call, attempt));
  }
}

type OwnFacts<Event = HostedEvent> = Event extends { operation: OperationName }
  ? Omit<Event, 'callId' | 'operation'>
  : never;

/** Reports an event of a call. */
export function reportEvent({ id: callId, operation, shared }: UncheckedCall, facts: OwnFacts): void {
  shared.telemetry.report?.({ callId, operation: operation.name, ...facts } as HostedEvent);
}

/** @throws the error if another attempt would not help. */
async function waitForRetry(error: unknown, failed: Attempt): Promise<EarlierAttempts> {
  const { call, number } = failed;
  const { signal } = call.options;
  signal?.throwIfAborted();
  if (!isHostedError(error)) throw error;
  const retry = chooseRetry(error, failed);
  if (retry === null) throw error;
  const { delayMs, isSignedAnew } = retry;
  reportEvent(call, { type: 'retry', attempt: number, delayMs, reason: error.code });
  // The pause and the start of the next attempt may fail, too. If one of them fails, the outcome of the call depends on
  // whether an attempt so far may have had an effect.
  failed.progress = mayHaveHadEffect(error) ? 'sent' : 'not sent';
  const mayHaveActedBefore = outcomeWithoutResponse(failed) === 'unknown';
  const earlier = { number: number + 1, mayHaveActedBefore, wasSignedAnew: failed.wasSignedAnew || isSignedAnew };
  if (isSignedAnew) return earlier;
  await call.shared.settings.clock.sleep(delayMs, signal).catch((failure: unknown) => {
    signal?.throwIfAborted();
    // What the caller's clock threw says less than the error of the attempt.
    throw isHostedError(failure) ? failure : error;
  });
  return earlier;
}

function createAttempt<Call extends RunningCall>(call: Call, earlier: EarlierAttempts): Attempt<Call> {
  const { settings, skew } = call.shared;
  const { clock } = settings;
  return {
    ...earlier,
    call,
    startedAt: earlier.number > 1 ? clock.elapsed() : call.startedAt,
    begunAt: earlier.number > 1 ? clock.now() : call.begunAt,
    offsetMs: skew.offsetMs,
    signed: null,
    progress: 'not sent',
    status: null,
  };
}

// A request had no effect if it was never sent, if it was rate-limited (429), or if the service did not accept its
// signature (for example 401). Any other request may have had an effect.
function mayHaveHadEffect({ outcome, code, mayHaveActed }: AnyHostedError): boolean {
  return outcome !== 'not_sent' && code !== 'rate_limit' && (code !== 'authentication' || mayHaveActed);
}

// The error of a failed clock or signer has no facts about the call, so this function adds them.
function completeError(caught: AnyHostedError, { operation }: UncheckedCall, attempt: Attempt | null): AnyHostedError {
  if (caught.code !== 'config' || caught.operation !== null) return caught;
  if (attempt === null) return new HostedConfigError(caught.issues, { operation: operation.name });
  const outcome = attempt.progress === 'answered' ? 'answered' : outcomeWithoutResponse(attempt);
  return new HostedConfigError(caught.issues, { ...factsOf(attempt, outcome), retryable: false });
}

/** Reports that a call failed. Returns the error to throw. This error names the operation. */
export function reportFailure(caught: unknown, call: UncheckedCall, attempt: Attempt | null): AnyHostedError {
  if (!isHostedError(caught)) {
    reportEnd(call, attempt === null ? 'not_sent' : outcomeWithoutResponse(attempt), attempt, 'error');
    throw caught;
  }
  const error = completeError(caught, call, attempt);
  reportEvent(call, { type: 'error', code: error.code, attempts: attempt?.number ?? 0 });
  reportEnd(call, error.outcome, attempt, error.code);
  return error;
}

/**
 * Reports that a call has ended after `attempt`, and completes its trace. `errorCode` is null if there was no error.
 */
function reportEnd(
  call: UncheckedCall,
  outcome: NonNullable<CallMessage['outcome']>,
  attempt: Attempt | null,
  errorCode: string | null = null,
): void {
  const { message, shared, startedAt } = call;
  const attempts = attempt?.number ?? 0;
  if (message) completeMessage(message, { status: attempt?.status ?? null, attempts, outcome, errorCode });
  const durationMs = shared.telemetry.report ? durationSince(startedAt, shared.settings.clock) : 0;
  reportEvent(call, { type: 'call', outcome, attempts, durationMs });
}

/** Chooses the retry after a failed attempt, and the pause before it, in ms; null if there is none. */
function chooseRetry(error: AnyHostedError, attempt: Attempt) {
  const { endsAt, shared } = attempt.call;
  const retry = chooseNewSignature(error, attempt) ?? chooseRepeat(error, attempt);
  // If the delay is longer than the time that the call has left, the call fails now. A later timeout would hide the
  // real error.
  if (retry === null || shared.settings.clock.elapsed() + retry.delayMs >= endsAt) return null;
  // A retry for a new signature takes no tokens, because the service did not fail. A call makes only one such retry.
  if (retry.isSignedAnew) return retry;
  if (shared.retryTokens < tokenCounts.perRetry) return null;
  shared.retryTokens -= tokenCounts.perRetry;
  return retry;
}

// A new signature helps in two cases. In the first case, the response was signed for the time of our request. This can
// happen by chance, and from now on the client signs for another time. In the second case, the service rejected the time
// that we signed, and now the correct time is known.
function chooseNewSignature(error: AnyHostedError, attempt: Attempt) {
  const { operation, repeater, shared } = attempt.call;
  if (attempt.wasSignedAnew || (isLast(attempt) && repeater === undefined)) return null;
  const isRepeatable = assumedRepeatable[operation.name] || !error.mayHaveActed;
  const isTimeCorrected = error.code === 'authentication' && shared.skew.offsetMs !== attempt.offsetMs;
  return isReflected(error) || (isTimeCorrected && isRepeatable) ? { delayMs: 0, isSignedAnew: true } : null;
}

function chooseRepeat(error: AnyHostedError, attempt: Attempt) {
  if (isLast(attempt) || !error.retryable || isReflected(error)) return null;
  const longestMs = Math.min(backOff.longestMs, backOff.firstMs * 2 ** (attempt.number - 1));
  const retryAfterMs = Number(readProperty(error, 'retryAfterMs') ?? 0);
  // If the service asks for a long wait, the call fails, and the caller decides whether to wait. The service would
  // reject an earlier retry, and a long sleep would look like a call that hangs.
  if (retryAfterMs > assumedMaxRetryAfterMs) return null;
  const drawnMs = Math.floor(attempt.call.shared.random() * longestMs);
  return { delayMs: Math.max(drawnMs, retryAfterMs), isSignedAnew: false };
}

function isLast({ number, call }: Attempt): boolean {
  const maxRetries = call.repeater ? 0 : (call.options.maxRetries ?? call.shared.settings.maxRetries);
  return number > maxRetries;
}

function isReflected(error: AnyHostedError): boolean {
  return error.code === 'signature' && error.reason === 'reflected';
}

/**
 * A delay is a random time from 0 to a limit, in ms (full jitter). The limit is `firstMs` for the first retry, and
 * doubles with each retry up to `longestMs`.
 */
const backOff = { firstMs: 500, longestMs: 8_000 };

/** How many tokens a client has at first and at most, and what a retry takes and a success gives back. */
export const tokenCounts = { full: 500, perRetry: 5, perSuccess: 1 };
