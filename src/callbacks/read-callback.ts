/**
 * Turns a posted body into a callback with a verified signature: decode → parse JSON → verify → check the shape
 * (docs/protocol.md §6). The signature proves the sender and the time; the body is a hint until job status confirms
 * it. A large body is scanned and verified before it is parsed.
 *
 * @module
 */

import { createNoObject } from '../call/response.js';
import { HostedTimeoutError, HostedValidationError } from '../errors/errors.js';
import { type Issue, maxIssues } from '../errors/hosted-error.js';
import { decodeHistoryEntry } from '../jobs/decode.js';
import type { HistoryEntry, JobRef, JobResult } from '../jobs/types.js';
import { assumedMemoryMs } from '../protocol/assumptions.js';
import { collectIn } from '../protocol/scalars.js';
import { type WaitingClock, withTimeout } from '../runtime/clock.js';
import { decodeUtf8 } from '../runtime/read-body.js';
import { sha256Hex } from '../runtime/sha256.js';
import { isRecord, type Properties, parseJson } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';
import { verifySigned } from '../signing/verify.js';
import { callbackErrors, callbackFacts } from './callback-errors.js';
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
  const verdict = isWaiting ? await limitStep(clock, 'signer', () => verifying) : verifying;
  if (!verdict.isVerified) throw callbackErrors.createUnverified(verdict.reason);
  const { signedAt, timestamp } = verdict;
  const properties = scanned === null ? signed : parseScanned(text, scanned);

  const issues: Issue[] = [];
  const entry = decodeHistoryEntry(properties, wire.brand, collectIn(issues, maxIssues));
  if (issues.length > 0) throw callbackErrors.createUnusable('shape', issues);
  const job = readJob(entry, properties);

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

/** Decodes a body and, if it is large, finds its timestamp and signature by a scan. */
function decodeBody(body: unknown, maxBytes: number): { readonly text: string; readonly scanned: Pair | null } {
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

function readJob({ partnerParams }: HistoryEntry, properties: Properties): JobRef & { readonly linkId: string | null } {
  const { userId, jobId, linkId } = partnerParams ?? noParams;
  const issues = [
    ...findIdIssues('user_id', userId, 'required'),
    ...findIdIssues('job_id', jobId, 'required'),
    ...findIdIssues('link_id', linkId),
  ];
  if (userId === null || jobId === null || issues.length > 0) {
    const renamed = findRenamed(properties);
    throw callbackErrors.createUnusable('shape', renamed.length > 0 ? renamed : issues);
  }
  return { userId, jobId, linkId };
}

/** Finds fields whose names are in camelCase: other code may have changed a body before it was received. */
function findRenamed(properties: Properties): readonly Issue[] {
  const params = properties.PartnerParams;
  const places = isRecord(params)
    ? [
        { record: params, path: 'PartnerParams.user_id', field: 'user_id', name: 'userId' },
        { record: params, path: 'PartnerParams.job_id', field: 'job_id', name: 'jobId' },
      ]
    : [{ record: properties, path: 'PartnerParams', field: 'PartnerParams', name: 'partnerParams' }];
  return places
    .filter(({ record, field, name }) => record[field] === undefined && record[name] !== undefined)
    .map(({ path, name }) => ({ path, message: `is named "${name}": ${wereRenamed}` }));
}

const wereRenamed = 'a parser or middleware has renamed fields, so pass the body as it was sent';

function findIdIssues(name: string, id: string | null, presence?: 'required'): readonly Issue[] {
  const path = `PartnerParams.${name}`;
  if (id === null || id.trim() === '') return presence === 'required' ? [{ path, message: 'must be there' }] : [];
  return id.length > maxIdCharacters ? [{ path, message: 'must have at most 1,024 characters' }] : [];
}

/** How long each step may take, in ms. */
const maxStepMs = 10_000;

/**
 * Waits for code of the caller, which may never settle. If it ends too late, `onLate` gets its value.
 *
 * @throws {HostedTimeoutError} when the step takes longer than {@link maxStepMs}.
 */
export function limitStep<T>(
  clock: Pick<WaitingClock, 'setTimer'>,
  of: 'replay guard' | 'signer',
  step: () => T | Promise<T>,
  onLate?: (value: T) => unknown,
): Promise<T> {
  const timedOut = () => {
    const limit = { phase: 'attempt', timeoutMs: maxStepMs } as const;
    const why = `the ${of} did not respond within 10 seconds`;
    return new HostedTimeoutError(why, limit, { ...callbackFacts, retryable: true });
  };
  return withTimeout({ clock, ms: maxStepMs, timedOut }, async (signal) => {
    const value = await step();
    if (signal.aborted) await onLate?.(value);
    return value;
  });
}

const namesOfPair: ReadonlySet<string> = new Set(pairNames);

/**
 * The digest of a callback: of the timestamp as it was signed, and of all properties except `timestamp` and the
 * signatures. The digest stays the same if the properties have another order, if there are other blanks between them,
 * or if another key made the signature.
 */
export function bodyDigestOf(properties: Properties, timestamp: string): Promise<string> {
  return sha256Hex(JSON.stringify(timestamp) + writeProperties(properties, (name) => !namesOfPair.has(name)));
}

/** The id of a result. If the result is sent again, its id stays the same, even if its `resultText` is different. */
export function resultId({ userId, jobId }: JobRef, result: JobResult): Promise<string> {
  const { hostedJobId, resultCode, resultType, isFinal } = result;
  return digestOf([userId, jobId, hostedJobId, resultCode, resultType, isFinal]);
}

/** The digest of a list: SHA-256 of its JSON, in hexadecimal digits. */
export function digestOf(values: readonly (string | boolean | null)[]): Promise<string> {
  return sha256Hex(write(values));
}

// Writes own properties only, in order of their names. Reading runs no code, because parsed JSON has no getters.
function writeProperties(properties: Properties, isWanted: (name: string) => boolean): string {
  const names = Object.keys(properties).filter(isWanted).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${write(properties[name])}`).join()}}`;
}

// `toJSON` is never called, so it does not matter whether other code has put one on all objects or arrays.
function write(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(write).join()}]`;
  if (typeof value === 'object' && value !== null) return writeProperties(value as Properties, () => true);
  // Parsed JSON can contain Infinity (from `1e999`). JSON.stringify() would write it as null.
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
