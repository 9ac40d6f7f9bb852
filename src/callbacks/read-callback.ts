/**
 * Turns a posted body into a callback with a verified signature: decode → parse JSON → verify → check the shape
 * (docs/protocol.md §6). The signature proves the sender and the time; the body is a hint until job status confirms
 * it. A large body is scanned and verified before it is parsed.
 *
 * @module
 */

import { createNoObject, createUnverified } from '../call/response.js';
import { HostedValidationError } from '../errors/errors.js';
import { collectIn, type Issue } from '../errors/hosted-error.js';
import { decodeHistoryEntry } from '../jobs/decode.js';
import type { HistoryEntry, JobRef } from '../jobs/types.js';
import { assumedMemoryMs } from '../protocol/assumptions.js';
import { decodeUtf8 } from '../runtime/read-body.js';
import { isRecord, type Properties, parseJson } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';
import { verifySigned } from '../signing/verify.js';
import { callbackErrors } from './callback-errors.js';
import { bodyDigestOf, digestOf, resultId } from './digest.js';
import { limitStep } from './limit-step.js';
import type { ReceiveSettings } from './options.js';
import { type Pair, pairNames, scanBody } from './scan-body.js';
import type { CallbackEvent } from './types.js';

/** A callback with a verified signature, and the data with which a guard identifies it. */
export interface VerifiedCallback {
  readonly event: CallbackEvent;
  /** The signed timestamp, unchanged. */
  readonly timestamp: string;
  readonly key: string;
  readonly bodyDigest: string;
  readonly expiresAt: Date;
}

/** The largest body, in bytes, that is parsed without a scan. */
const smallBytes = 64 * 1024;
/**
 * A callback is remembered for this many ms after it is no longer fresh. Freshness is checked before the signature is
 * verified, and the replay guard is asked afterwards. So a copy that was still fresh at the check may reach the guard a
 * little later.
 */
const maxVerifyingMs = 60_000;
/** How many characters an id may have. Real ids have fewer than 100. */
const maxIdCharacters = 1_024;

/**
 * Reads a callback and verifies its signature, without asking the guard.
 *
 * @throws {HostedResponseError} when the body is too large, is not JSON, or does not name a job.
 * @throws {HostedSignatureError} when the callback is not authentic, or is stale.
 * @throws {HostedTimeoutError} when the signer does not respond.
 */
export async function readCallback(
  body: string | Uint8Array,
  { maxAgeMs, maxBytes, confirms }: ReceiveSettings,
  { signer, partnerId, environment, wire, clock }: Settings,
): Promise<VerifiedCallback> {
  // The bytes are decoded before anything is awaited, because the caller may reuse them.
  const { text, scanned } = decodeBody(body, maxBytes);
  const now = clock.now();
  // A large body is verified before it is parsed. Until then, the scanned pair takes its place.
  const signed = scanned ?? parseJson(text);
  if (!isRecord(signed)) throw createNoObject(signed, callbackErrors);
  const verifying = verifySigned(signed, { signer, partnerId, now, maxAgeMs });
  const isWaiting = verifying instanceof Promise;
  const verdict = isWaiting ? await limitStep(clock, { of: 'signer', step: () => verifying }) : verifying;
  if (!verdict.isVerified) throw createUnverified(verdict.reason, callbackErrors);
  const { signedAt, timestamp } = verdict;
  const properties = scanned === null ? signed : parseScanned(text, scanned);

  const issues: Issue[] = [];
  const entry = decodeHistoryEntry(properties, wire.brand, collectIn(issues));
  if (issues.length > 0) throw callbackErrors.createUnusable('shape', issues);
  const job = readJob(entry);

  const bodyDigest = await bodyDigestOf(properties, timestamp);
  // The guard's key does not cover the signature: while signing keys are rotated, one callback can have two signatures.
  // For a hint, the guard's key also covers job and body: two jobs may end at the same time, and a forged body must not
  // block the genuine body.
  const hint = confirms ? [job.userId, job.jobId, bodyDigest] : [];
  return {
    event: { id: await resultId(job, entry), repeat: false, ...job, entry, signedAt },
    timestamp,
    key: await digestOf([environment, partnerId, timestamp, ...hint]),
    bodyDigest,
    expiresAt: new Date(
      maxAgeMs === false || signedAt === null ? now + assumedMemoryMs : signedAt.getTime() + maxAgeMs + maxVerifyingMs,
    ),
  };
}

/** The decoded body and, if it is large, the timestamp and signature that the scan found. */
interface DecodedBody {
  readonly text: string;
  readonly scanned: Pair | null;
}

function decodeBody(body: unknown, maxBytes: number): DecodedBody {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    const message =
      'must be the raw body as a string or bytes, not a parsed body: for this route, use a parser of raw bodies, such as express.raw(), instead of the JSON parser';
    const issues = [{ path: 'body', message }];
    throw new HostedValidationError(issues, { task: 'receive a callback' });
  }
  // A string has at least as many bytes as characters, so a string with too many characters is rejected before it is
  // encoded.
  if (body.length > maxBytes) throw callbackErrors.createUnusable('too_large');
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  if (bytes.length > maxBytes) throw callbackErrors.createUnusable('too_large');
  const isLarge = bytes.length > smallBytes;
  const scanned = isLarge ? scanBody(bytes) : null;
  if (isLarge && scanned === null) throw callbackErrors.createUnusable('malformed');
  const text = typeof body === 'string' ? body.replace(/^\ufeff/, '') : decodeUtf8(bytes);
  if (text === null) throw callbackErrors.createUnusable('malformed');
  return { text, scanned };
}

/** Parses a body whose scanned pair is verified. From now on, only the parsed body is used. */
function parseScanned(text: string, scanned: Pair): Properties {
  const json = parseJson(text);
  // If the pair of the parsed body differs from the scanned pair, it was not verified.
  if (!isRecord(json) || !pairNames.every((name) => json[name] === scanned[name])) {
    throw callbackErrors.createUnusable('malformed');
  }
  return json;
}

const noParams = { userId: null, jobId: null, linkId: null };

function readJob({ partnerParams }: HistoryEntry): JobRef & { readonly linkId: string | null } {
  const { userId, jobId, linkId } = partnerParams ?? noParams;
  const issues = [
    ...findIdIssues('user_id', userId, 'required'),
    ...findIdIssues('job_id', jobId, 'required'),
    ...findIdIssues('link_id', linkId),
  ];
  if (userId === null || jobId === null || issues.length > 0) throw callbackErrors.createUnusable('shape', issues);
  return { userId, jobId, linkId };
}

function findIdIssues(name: string, id: string | null, presence?: 'required'): readonly Issue[] {
  const path = `PartnerParams.${name}`;
  if (id === null || id.trim() === '') return presence === 'required' ? [{ path, message: 'must be there' }] : [];
  return id.length > maxIdCharacters ? [{ path, message: 'must have at most 1,024 characters' }] : [];
}
