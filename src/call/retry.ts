/**
 * Runs attempts. It decides whether another attempt follows an error, how long to wait before it, and how many retries
 * a client may make.
 *
 * @module
 */

import { addCallerFrames } from '../errors/caller-frames.js';
import { type AnyHostedError, HostedConfigError, isHostedError } from '../errors/errors.js';
import { assumedMaxRetryAfterMs } from '../protocol/assumptions.js';
import { parseHttpDate } from '../protocol/date-time.js';
import { sleepAbortably } from '../runtime/clock.js';
import { readProperty } from '../runtime/prototype.js';
import { type Attempt, type CallFacts, factsOf, outcomeWithoutResponse, type TokenBucket } from './attempt.js';
import { type EndedCall, reportEnd } from './call-end.js';
import { traceAttempt } from './tracing.js';

/**
 * Runs attempts of a call until one succeeds, or until another attempt would not help.
 *
 * @throws the error of the last attempt, or the reason of the caller's signal.
 */
export async function runAttempts<Call extends CallFacts, Output>(
  call: Call,
  runAttempt: (attempt: Attempt<Call>) => Promise<Output>,
): Promise<Output> {
  let attempt: Attempt<Call> | null = null;
  let before: FailedAttempt | null = null;
  try {
    for (;;) {
      attempt = beginAttempt(call, before);
      try {
        const { attemptChannel } = call;
        const output = await (attemptChannel ? traceAttempt(attemptChannel, attempt, runAttempt) : runAttempt(attempt));
        call.options.signal?.throwIfAborted();
        if (call.part === undefined) call.shared.retryTokens.earn();
        reportEnd(call, 'ok', attempt);
        return output;
      } catch (error) {
        before = await waitForRetry(error, attempt);
      }
    }
  } catch (error) {
    // `signal.reason` may itself be a HostedError, but an abort is not a failure.
    if (call.options.signal?.aborted) {
      reportEnd(call, 'aborted', attempt);
      throw call.options.signal.reason;
    }
    throw addCallerFrames(reportFailure(error, call, attempt));
  }
}

/** @throws the error if another attempt would not help. */
async function waitForRetry(error: unknown, failed: Attempt): Promise<FailedAttempt> {
  const { call, number } = failed;
  call.options.signal?.throwIfAborted();
  if (!isHostedError(error)) throw error;
  const retry = chooseRetry(error, failed);
  if (retry === null) throw error;
  const { delayMs } = retry;
  const { id: callId, operation, shared } = call;
  shared.telemetry.report?.({
    type: 'retry',
    callId,
    operation: operation.name,
    attempt: number,
    delayMs,
    reason: error.code,
  });
  // From here on, the request counts as one without a response, because the next steps may fail, too.
  failed.progress = mayHaveHadEffect(error) ? 'sent' : 'not sent';
  if (delayMs > 0 || !retry.isResigned) await pause(call, delayMs, error);
  return { ...retry, failed, error };
}

/** @throws `error` if the given clock cannot sleep. */
async function pause({ options, shared }: CallFacts, delayMs: number, error: AnyHostedError): Promise<void> {
  await sleepAbortably(shared.settings.clock, delayMs, options.signal).catch((failure: unknown) => {
    options.signal?.throwIfAborted();
    throw isHostedError(failure) ? failure : error;
  });
}

interface FailedAttempt extends Retry {
  readonly failed: Attempt;
  readonly error: AnyHostedError;
}

function beginAttempt<Call extends CallFacts>(call: Call, before: FailedAttempt | null): Attempt<Call> {
  const { settings, skew } = call.shared;
  return {
    call,
    number: before ? before.failed.number + 1 : 1,
    startedAt: settings.clock.elapsed(),
    offsetMs: skew.offsetMs,
    isResigned: before !== null && (before.isResigned || before.failed.isResigned),
    isUnsettled: before !== null && (before.failed.isUnsettled || before.failed.progress === 'sent'),
    collided: before?.isResigned && before.error.code === 'signature' ? before.failed.signedFor : null,
    signedFor: null,
    progress: 'not sent',
    status: null,
  };
}

// A request had no effect if it was never sent, was rate-limited (429) or was rejected (401). Any other request may
// have had one.
function mayHaveHadEffect({ outcome, code }: AnyHostedError): boolean {
  return outcome !== 'not_sent' && code !== 'rate_limit' && code !== 'authentication';
}

// A clock or a signer that fails knows nothing about the call.
function completeError(caught: AnyHostedError, { operation }: EndedCall, attempt: Attempt | null): AnyHostedError {
  if (caught.code !== 'config' || caught.operation !== null) return caught;
  if (attempt === null) return new HostedConfigError(caught.issues, { operation: operation.name });
  const outcome = attempt.progress === 'answered' ? 'answered' : outcomeWithoutResponse(attempt);
  return new HostedConfigError(caught.issues, { ...factsOf(attempt, outcome), retryable: false });
}

/** Reports that a call failed, and gives the error to throw. This error names the operation. */
export function reportFailure(caught: unknown, call: EndedCall, attempt: Attempt | null): AnyHostedError {
  if (!isHostedError(caught)) {
    reportEnd(call, attempt === null ? 'not_sent' : outcomeWithoutResponse(attempt), attempt, 'error');
    throw caught;
  }
  const error = completeError(caught, call, attempt);
  const { id: callId, operation, shared } = call;
  const attempts = attempt?.number ?? 0;
  shared.telemetry.report?.({ type: 'error', callId, operation: operation.name, code: error.code, attempts });
  reportEnd(call, error.outcome, attempt, error.code);
  return error;
}

/** The attempt that follows a failed one. */
interface Retry {
  /** How long to wait for it, in ms. */
  readonly delayMs: number;
  /** Whether it is made only to get a new signature. */
  readonly isResigned: boolean;
}

/** Chooses the retry after a failed attempt; null if there is none. */
function chooseRetry(error: AnyHostedError, attempt: Attempt): Retry | null {
  const { endsAt, shared } = attempt.call;
  const retry = chooseNewSignature(error, attempt) ?? chooseRepeat(error, attempt);
  // If the delay is longer than the rest of the call, a timeout would only hide the real error.
  if (retry === null || shared.settings.clock.elapsed() + retry.delayMs >= endsAt) return null;
  // A new signature costs no tokens: the service did not fail, and a call gets only one.
  return retry.isResigned || shared.retryTokens.take() ? retry : null;
}

// Both sides sign the same text with one key. They can sign for the same time by accident, but not twice in a row. Or
// the service rejected the time that was signed, and the correct time is known now.
function chooseNewSignature(error: AnyHostedError, attempt: Attempt): Retry | null {
  const { operation, part, shared } = attempt.call;
  if (attempt.isResigned || (isLast(attempt) && part === undefined)) return null;
  if (isReflected(error)) return { delayMs: shared.signingTimes[operation.route.host].passingMs, isResigned: true };
  const isTimeCorrected = error.code === 'authentication' && shared.skew.offsetMs !== attempt.offsetMs;
  return isTimeCorrected ? { delayMs: 0, isResigned: true } : null;
}

function chooseRepeat(error: AnyHostedError, attempt: Attempt): Retry | null {
  if (isLast(attempt) || !error.retryable || isReflected(error)) return null;
  const longestMs = Math.min(backOff.longestMs, backOff.firstMs * 2 ** (attempt.number - 1));
  const retryAfterMs = Number(readProperty(error, 'retryAfterMs') ?? 0);
  // A request before that time would be rejected, and a long sleep looks like a call that hangs. So the caller decides.
  if (retryAfterMs > assumedMaxRetryAfterMs) return null;
  const drawnMs = Math.floor(attempt.call.shared.random() * longestMs);
  return { delayMs: Math.max(drawnMs, retryAfterMs), isResigned: false };
}

function isLast({ number, call }: Attempt): boolean {
  const maxRetries = call.part ? 0 : (call.options.maxRetries ?? call.shared.settings.maxRetries);
  return number > maxRetries;
}

function isReflected(error: AnyHostedError): boolean {
  // Stryker disable next-line ConditionalExpression: no other error has this reason; the check of the code is there for the types
  return error.code === 'signature' && error.reason === 'reflected';
}

/**
 * The first and the largest limit of a delay, in ms. The limit doubles each time. The delay is a random time from 0 to
 * the limit (full jitter).
 */
const backOff = { firstMs: 500, longestMs: 8_000 };

const tokenCounts = { full: 500, perRetry: 5, perSuccess: 1 };

/** Creates a full bucket. */
export function createTokenBucket(): TokenBucket {
  let tokens = tokenCounts.full;
  return {
    take() {
      if (tokens < tokenCounts.perRetry) return false;
      tokens -= tokenCounts.perRetry;
      return true;
    },
    earn() {
      tokens = Math.min(tokenCounts.full, tokens + tokenCounts.perSuccess);
    },
  };
}

/**
 * Reads `Retry-After` as milliseconds. The header has whole seconds or an IMF date (RFC 9110 §10.2.3 and §5.6.7). Null
 * if it is neither; 0 for a date that has passed.
 */
export function readRetryAfter(header: string | null, now: number): number | null {
  if (header === null) return null;
  // Node's fetch keeps the blanks after a value, which do not belong to it (RFC 9110 §5.5).
  const value = header.trim();
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  const at = parseHttpDate(value);
  return at === null ? null : Math.max(0, at - now);
}
