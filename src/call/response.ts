/**
 * Turns a response into the public value, in five steps: it looks for an error of the service, requires a JSON object,
 * verifies the signature, checks the shape, and decodes the response. Each step may throw. If an operation requires
 * signed responses, a value is returned only after the signature of its response was verified.
 *
 * @module
 */

import { HostedConfigError, HostedResponseError, HostedSignatureError } from '../errors/client-errors.js';
import { type ErrorFacts, type Issue, maxIssues } from '../errors/hosted-error.js';
import type { SignatureReason, UnusableReason } from '../errors/reasons.js';
import { collectIn, signatureFields } from '../protocol/scalars.js';
import { durationSince } from '../runtime/clock.js';
import { isPromise, isRecord, type Properties, parseJson } from '../runtime/untrusted-objects.js';
import { signaturesIn, type Verdict, verifySigned } from '../signing/verify.js';
import type { CallResult } from './api-promise.js';
import { type Attempt, factsOf, type RunningCall, type SharedState } from './attempt.js';
import { describeLength, describeOffset, describeSkew } from './clock-skew.js';
import { createServiceError, describeWebPage, isWebPage, type Received, requestIdIn } from './error-from-response.js';
import { reportEvent } from './retry.js';
import type { TransportResponse } from './transport.js';

/**
 * Reads the response of an attempt. Returns a promise only if it has to wait, for example for the signer.
 *
 * @throws {HostedError} when the service responded with an error. `error-from-response.ts` chooses the class of the
 * exception.
 * @throws {HostedResponseError} when the response cannot be used.
 * @throws {HostedSignatureError} when the signature of the response cannot be trusted.
 */
export function readResponse<Input, Output>(
  response: TransportResponse,
  attempt: Attempt<RunningCall<Input, Output>>,
): CallResult<Output> | Promise<CallResult<Output>> {
  const { status } = response;
  attempt.status = status;
  const { call, number } = attempt;
  const { settings, telemetry } = call.shared;
  const durationMs = telemetry.report ? durationSince(attempt.startedAt, settings.clock) : 0;
  const json = parseJson(response.text, signatureFields);
  const properties = isRecord(json) ? json : null;
  const requestId = requestIdIn(response.headers, attempt);
  const received = { response, attempt, requestId };
  reportEvent(call, { type: 'response', attempt: number, status, requestId, durationMs });
  const error = createServiceError(received, properties);
  if (error !== null) {
    if (error.code === 'authentication') learnSkew(received);
    throw error;
  }

  const errors = errorsOf(received);
  const { flaw } = response;
  if (flaw === 'redirect' || flaw === 'too_large') throw errors.createUnusable(flaw);
  if (flaw === 'not_utf8' || properties === null) throw createNoObject(flaw ? undefined : json, errors);
  // §4: a successful response has the status 200. Links are also created with 202, but a status of a job decides about a
  // person, and no service is known to send it with another 2xx.
  if (call.operation.route.host === 'jobs' && status !== 200) throw errors.createUnusable('shape', mustBeOk);
  const finish = (signedAt: Date | null): CallResult<Output> => {
    const shape: Issue[] = [];
    const mismatch: Issue[] = [];
    const data = call.operation.decode(properties, call.input, {
      wire: settings.wire,
      now: response.receivedAt,
      signedAt,
      report: collectIn(shape, maxIssues),
      reportMismatch: collectIn(mismatch, maxIssues),
    });
    if (shape.length > 0) throw errors.createUnusable('shape', shape);
    if (mismatch.length > 0) throw errors.createUnusable('mismatch', mismatch);
    const { headers, text } = response;
    return { data, response: { status, headers, requestId, attempts: number, rawBody: () => text } };
  };
  const signedAt = verifyResponse(properties, received, errors);
  return isPromise(signedAt) ? signedAt.then(finish) : finish(signedAt);
}

const mustBeOk: readonly Issue[] = [{ path: '', message: 'must come with HTTP status 200' }];

// Only a response that rejects our authentication may correct the time that we sign.
function learnSkew({ response, attempt }: Received): void {
  const { settings, skew, telemetry } = attempt.call.shared;
  const trip = { receivedAt: response.receivedAt, tookMs: settings.clock.elapsed() - attempt.startedAt };
  if (skew.learn(response.headers, trip)) telemetry.warn(describeOffset(skew.offsetMs));
}

function errorsOf({ response, attempt, requestId }: Received) {
  const facts: ErrorFacts = { ...factsOf(attempt, 'answered'), requestId, retryable: false };
  return {
    createUnusable(reason: UnusableReason, issues: readonly Issue[] = []) {
      const why = reason === 'malformed' && isWebPage(response.headers) ? describeWebPage(attempt) : undefined;
      return new HostedResponseError(reason, issues, facts, response, why);
    },
    /** The error about a signature that was not verified, or about the signer if it threw. */
    createUnverified(reason: SignatureReason | 'signer threw') {
      if (reason === 'signer threw') return createVerifyError(facts);
      const skew = reason === 'stale' ? describeSkew(response.headers, response.receivedAt) : null;
      const why = skew ? `${skew}: set the clock (NTP), or raise "maxResponseAgeMs"` : undefined;
      return new HostedSignatureError(reason, facts, why);
    },
  };
}

/**
 * Verifies a response, and gives the time when it was signed. The time is null in two cases: the response has no
 * signature and needs none, or any age is accepted and the timestamp is not a date.
 */
function verifyResponse(
  properties: Properties,
  { response, attempt }: Received,
  errors: ReadingErrors,
): Date | null | Promise<Date | null> {
  const { signed } = attempt;
  const { operation, shared } = attempt.call;
  const { maxResponseAgeMs, partnerId, signer, wire } = shared.settings;
  const { host } = operation.route;
  // The responses of link operations need no signature (§2.4, §5). Our own signature, sent back, counts as none.
  if (host === 'links' && signaturesIn(properties).every((given) => given === signed?.signature)) return null;
  const now = response.receivedAt;
  const accept = (verdict: Verdict): Date | null => {
    if (!verdict.isVerified) throw errors.createUnverified(verdict.reason);
    const { signedAt, timestamp } = verdict;
    // Both sides sign with the same key, so anyone who has seen our signature can send it back to us.
    if (host === 'jobs' && !wire.echoesTimestamp && signed !== null && String(signed.timestamp) === timestamp) {
      shared.signingTimes[host].avoid(signed.agoMs);
      throw errors.createUnverified('reflected');
    }
    if (signedAt !== null) shared.noticeAge(signedAt, now);
    return signedAt;
  };
  const verdict = verifySigned(properties, { signer, partnerId, now, maxAgeMs: maxResponseAgeMs });
  // A value is not awaited, because that would take another turn of the engine's queue.
  return isPromise(verdict) ? verdict.then(accept) : accept(verdict);
}

/** Creates the errors about a response or a callback that is being read. */
export type ReadingErrors = ReturnType<typeof errorsOf>;

/** Creates the error about a body that is not a JSON object. If the body was not JSON, `json` is undefined. */
export function createNoObject(json: unknown, errors: ReadingErrors): HostedResponseError {
  if (json === undefined) return errors.createUnusable('malformed');
  return errors.createUnusable('shape', [{ path: '', message: 'must be an object' }]);
}

/** Creates the error about a signer that failed to verify a signature. */
export function createVerifyError(facts: ErrorFacts): HostedConfigError {
  return new HostedConfigError([{ path: 'signer', message: 'must not throw from verify(), but did' }], facts);
}

/** The least time, in ms, between two log lines about nearly stale responses. */
const noticeEveryMs = 3_600_000;

/**
 * Creates a function that receives the signed time of every verified response. If the difference between this time and
 * now is more than half of `maxResponseAgeMs`, later responses may be stale. The function then logs a warning, at most
 * once an hour.
 */
export function createAgeNotice(
  { maxResponseAgeMs, clock }: { readonly maxResponseAgeMs: number | false; readonly clock: { elapsed(): number } },
  warn: (message: string) => void,
): SharedState['noticeAge'] {
  let quietUntil = Number.NEGATIVE_INFINITY;
  return (signedAt, now) => {
    if (maxResponseAgeMs === false) return;
    const aheadMs = signedAt.getTime() - now;
    if (Math.abs(aheadMs) <= maxResponseAgeMs / 2 || clock.elapsed() < quietUntil) return;
    quietUntil = clock.elapsed() + noticeEveryMs;
    const side = aheadMs > 0 ? 'ahead of' : 'behind';
    warn(
      `a response was signed ${describeLength(Math.abs(aheadMs))} ${side} this machine's clock, and "maxResponseAgeMs" allows at most ${describeLength(maxResponseAgeMs)}: set the clock (NTP)`,
    );
  };
}
