/**
 * Turns a posted body into a hint with a verified signature: decode → parse JSON → verify → read the ids
 * (docs/protocol.md §6). The signature proves the sender and the time. The body is not signed, so only the job that it
 * names is read, and whether it calls itself interim.
 *
 * @module
 */

import { createNoObject } from '../call/response.js';
import { HostedValidationError } from '../errors/client-errors.js';
import { type Issue, maxIssues } from '../errors/hosted-error.js';
import { assumedInterimCodes } from '../protocol/assumptions.js';
import { collectIn, isAbsent, readCode, readObject, reportWithin, toBoolean } from '../protocol/scalars.js';
import { decodeUtf8, encodeUtf8, isBytes } from '../runtime/bytes.js';
import { isPromise, isRecord, type Properties, parseJson } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';
import { verifySigned } from '../signing/verify.js';
import { callbackErrors, createStepError } from './callback-errors.js';
import { limitStep } from './limit-step.js';
import type { ReceiveSettings } from './options.js';
import type { CallbackHint } from './types.js';

/** A hint, and the timestamp as it was signed. */
export type SignedHint = Awaited<ReturnType<typeof readHint>>;

/** How many characters an id may have. Real ids have fewer than 100. */
const maxIdCharacters = 1_024;

/**
 * Reads a callback and verifies its signature.
 *
 * @throws {HostedResponseError} when the body is too large, is not JSON, or does not name a job.
 * @throws {HostedSignatureError} when the callback is not authentic, or is stale.
 * @throws {HostedTimeoutError} when the signer does not respond.
 */
export async function readHint(
  body: string | Uint8Array,
  { maxHintAgeMs, maxBytes }: ReceiveSettings,
  { signer, partnerId, clock }: Settings,
) {
  // The bytes are decoded before anything is awaited, because the caller may reuse them.
  const json = parseJson(decodeBody(body, maxBytes));
  if (!isRecord(json)) throw createNoObject(json, callbackErrors);
  const verifying = verifySigned(json, { signer, partnerId, now: clock.now(), maxAgeMs: maxHintAgeMs });
  const verdict = isPromise(verifying) ? await limitStep(clock, timedOut, () => verifying) : verifying;
  if (!verdict.isVerified) throw callbackErrors.createUnverified(verdict.reason);
  const { signedAt, timestamp } = verdict;
  if (signedAt === null) throw callbackErrors.createUnverified('malformed');
  return { hint: { ...readIds(json), isFinal: !isInterim(json), signedAt }, timestamp };
}

const timedOut = () => createStepError('signer');

function decodeBody(body: unknown, maxBytes: number): string {
  if (typeof body !== 'string' && !isBytes(body)) {
    const message =
      'must be the raw body as a string or bytes, not a parsed body: for this route, use a parser of raw bodies, such as express.raw(), instead of the JSON parser';
    throw new HostedValidationError([{ path: 'body', message }], { task: 'receive a callback' });
  }
  // A string has at least as many bytes as characters, so a string with too many characters is rejected before it is
  // encoded.
  const isTooLarge = body.length > maxBytes || (typeof body === 'string' && encodeUtf8(body).length > maxBytes);
  if (isTooLarge) throw callbackErrors.createUnusable('too_large');
  const text = typeof body === 'string' ? body.replace(/^\ufeff/, '') : decodeUtf8(body);
  if (text === null) throw callbackErrors.createUnusable('malformed');
  return text;
}

function readIds(properties: Properties): Pick<CallbackHint, 'userId' | 'jobId' | 'linkId'> {
  const issues: Issue[] = [];
  const report = collectIn(issues, maxIssues);
  const given = properties.PartnerParams;
  const params = isAbsent(given) ? {} : (readObject(given, 'PartnerParams', report) ?? {});
  const readId = (name: string) => {
    const id = readCode(params[name], name, reportWithin('PartnerParams', report));
    if (id !== null && id.length > maxIdCharacters)
      report(`PartnerParams.${name}`, 'must have at most 1,024 characters');
    return id?.trim() ? id : null;
  };
  const [userId, jobId, linkId] = [readId('user_id'), readId('job_id'), readId('link_id')];
  if (userId !== null && jobId !== null && issues.length === 0) return { userId, jobId, linkId };
  if (issues.length === 0) {
    if (userId === null) report('PartnerParams.user_id', 'must be there');
    if (jobId === null) report('PartnerParams.job_id', 'must be there');
  }
  throw callbackErrors.createUnusable('shape', issues);
}

/** Whether a result calls itself interim. Anything that cannot be read does not. */
function isInterim({ IsFinalResult, ResultCode }: Properties): boolean {
  return toBoolean(IsFinalResult) === false || (typeof ResultCode === 'string' && assumedInterimCodes.has(ResultCode));
}
