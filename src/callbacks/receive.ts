/**
 * From a posted body to a callback that is believed: read → parse JSON → verify → shape (docs/protocol.md
 * §6). What is believed is who sent it and when; what it says is a hint until job status confirms it.
 *
 * @module
 */

import * as z from 'zod/mini';
import { assumedMaxCallbackAgeMs, assumedMemoryMs } from '../assumptions.js';
import { decodeUtf8 } from '../body.js';
import {
  HostedConfigError,
  HostedResponseError,
  HostedSignatureError,
  HostedValidationError,
  type UnusableReason,
} from '../errors.js';
import type { Issue } from '../hosted-error.js';
import { duration, flag, inputObject, maxTimer, wholeNumber } from '../input.js';
import { check, checkJson } from '../issues.js';
import { normaliseHistoryEntry } from '../jobs/normalise.js';
import { wireHistoryEntry } from '../jobs/wire.js';
import { isRecord, parseJson } from '../json.js';
import { cannotReceive, disbelief, listIssues, unusability } from '../messages.js';
import { hasMethods, writeJson } from '../runtime/prototype.js';
import type { Settings } from '../settings.js';
import { type Verdict, verifyAnswer } from '../signing/response.js';
import { sha256Hex } from '../signing/sha256.js';
import type { CallbackEvent, ReceiveOptions, ReplayGuard } from './types.js';

/** How to receive, with nothing left open. */
export interface Receiving {
  readonly maxAgeMs: number | false;
  readonly maxBytes: number;
  /** Whether job status decides in the end. */
  readonly confirms: boolean;
  readonly replayGuard: ReplayGuard;
}

/** By whom callbacks are believed, and when. */
export interface ReceivingWorld {
  readonly settings: Settings;
  /** The time, in ms since the epoch, as near to the service's as is known. */
  readonly now: () => number;
}

/** A callback that is believed, and what the guard is to know it by. */
export interface Received {
  readonly event: CallbackEvent;
  readonly key: string;
  readonly bodyDigest: string;
  readonly expiresAt: Date;
}

const receiveOptions = inputObject({
  maxAgeMs: z.optional(z.union([z.literal(false), duration], 'must be whole milliseconds, or false')),
  maxBytes: z.optional(wholeNumber(1, maxTimer)),
  replayGuard: z.optional(z.custom<ReplayGuard>(isReplayGuard, 'must have begin(), commit() and forget()')),
  // A handler's own.
  confirm: z.optional(flag),
  onEvent: z.optional(z.unknown()),
});

/** A pair is remembered this much longer, in ms, than it is fresh: verifying takes time. */
const slowestVerifyingMs = 60_000;

/**
 * Checks how to receive.
 *
 * @throws {HostedValidationError} with every problem.
 */
export function readReceiveOptions(
  options: (ReceiveOptions & { confirm?: boolean }) | undefined,
  replayGuard: ReplayGuard,
): Receiving {
  const { data, issues } = check(receiveOptions, options ?? {});
  if (!data) throw invalid(issues);
  const { maxAgeMs = assumedMaxCallbackAgeMs, maxBytes = 8 * 1024 * 1024 } = data;
  return { maxAgeMs, maxBytes, confirms: data.confirm === true, replayGuard: data.replayGuard ?? replayGuard };
}

/**
 * Reads and believes a callback, not yet asking the guard.
 *
 * @throws {HostedResponseError} when the body is too large, no JSON, or names no job.
 * @throws {HostedSignatureError} when it is not authentic, or stale.
 */
export async function believeCallback(
  body: string | Uint8Array,
  { maxAgeMs: asked, maxBytes, confirms }: Receiving,
  { settings, now: time }: ReceivingWorld,
): Promise<Received> {
  const { signer, partnerId, environment, wire } = settings;
  // Once job status decides, age decides nothing: what is late was late because we were away.
  const maxAgeMs = confirms ? false : asked;
  const bytes = bytesOf(body);
  if (bytes.length > maxBytes) throw unreadable('too_large', []);
  const text = decodeUtf8(bytes);
  const members = text === null ? undefined : parseJson(text);
  if (members === undefined) throw unreadable('malformed', []);
  if (!isRecord(members)) throw unreadable('shape', [{ path: '', message: 'must be an object' }]);

  // Before anything is waited for: the bytes are the caller's, who may use them again.
  const bodyDigest = await sha256Hex(bytes);
  const now = time();
  // A guard lives by our own clock, however far off it is.
  const here = settings.clock.now();
  const verdict = await verifyAnswer(members, { signer, partnerId, now, maxAgeMs }).catch((): null => null);
  const { signedAt, timestamp } = believed(verdict);

  const shape = checkJson(wireHistoryEntry, members);
  if (!shape.data) throw unreadable('shape', shape.issues);
  const entry = normaliseHistoryEntry(shape.data, wire.brand);
  const { userId, jobId, linkId } = entry.partnerParams ?? noParams;
  if (userId === null || jobId === null) throw unreadable('shape', missing({ user_id: userId, job_id: jobId }));

  const { hostedJobId, resultCode, resultType, isFinal } = entry;
  const id = await sha256Hex(writeJson([userId, jobId, hostedJobId, resultCode, resultType, isFinal]));
  return {
    event: { id, repeat: false, userId, jobId, linkId, entry, signedAt },
    // Of the pair, the timestamp: two keys sign one callback in two ways while they change. Two jobs
    // can end in one millisecond; where job status decides, that is no reason to lose one.
    key: await sha256Hex(writeJson([environment, partnerId, timestamp, ...(confirms ? [userId, jobId] : [])])),
    bodyDigest,
    expiresAt: new Date(
      maxAgeMs === false || signedAt === null
        ? here + assumedMemoryMs
        : here + Math.max(0, signedAt.getTime() - now) + maxAgeMs + slowestVerifyingMs,
    ),
  };
}

const noParams = { userId: null, jobId: null, linkId: null };

/** The error for a signed pair that came with another body before. */
export function replayed(): HostedSignatureError {
  return new HostedSignatureError(cannotReceive(disbelief.replayed), 'replayed', { outcome: 'answered' });
}

/** The error for a body that cannot be read. */
export function unreadable(reason: UnusableReason, issues: readonly Issue[]): HostedResponseError {
  const where = issues.length > 0 ? ` (${listIssues(issues)})` : '';
  const message = cannotReceive(
    `${reason === 'too_large' ? 'it is larger than "maxBytes"' : unusability[reason]}${where}`,
  );
  return new HostedResponseError(message, reason, issues, null, { outcome: 'answered' });
}

function believed(verdict: Verdict | null): { signedAt: Date | null; timestamp: string } {
  if (verdict?.believed) return verdict;
  if (verdict === null) {
    const issues = [{ path: 'signer', message: 'must verify without throwing, and threw' }];
    throw new HostedConfigError(cannotReceive(listIssues(issues)), issues, { outcome: 'answered' });
  }
  const why = verdict.reason === 'stale' ? staleness : disbelief[verdict.reason];
  throw new HostedSignatureError(cannotReceive(why), verdict.reason, { outcome: 'answered' });
}

const staleness =
  'it was signed too long ago or in the future; "maxAgeMs" says how far from now it may be, and with "confirm" a late one counts as a hint';

function missing(ids: Readonly<Record<string, string | null>>): readonly Issue[] {
  return Object.entries(ids)
    .filter(([, id]) => id === null)
    .map(([name]) => ({ path: `PartnerParams.${name}`, message: 'must be there' }));
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  throw invalid([{ path: 'body', message: 'must be the text or bytes of the request, not what was parsed from them' }]);
}

function invalid(issues: readonly Issue[]): HostedValidationError {
  return new HostedValidationError(cannotReceive(listIssues(issues)), issues);
}

function isReplayGuard(value: unknown): boolean {
  return hasMethods(value, 'begin', 'commit', 'forget');
}
