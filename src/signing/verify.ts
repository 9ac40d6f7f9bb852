/**
 * Verifies the signature of a response or a callback (docs/protocol.md §5). The signature covers the timestamp and the
 * partner id. It proves who signed and when, but it does not prove the content.
 *
 * @module
 */

import type { SignatureReason } from '../errors/reasons.js';
import { parseDateTime } from '../protocol/date-time.js';
import { sha256Hex } from '../runtime/sha256.js';
import type { Properties } from '../runtime/untrusted-objects.js';
import type { Signer } from './signer.js';

/** The inputs of verification. */
export interface Verification {
  readonly signer: Signer;
  readonly partnerId: string;
  /** The time of this machine's clock, in ms since the epoch. */
  readonly now: number;
  /** How far from `now` the signed timestamp may be, in ms; false accepts any age. */
  readonly maxAgeMs: number | false;
}

/** Whether a signature can be trusted, and when it was made. */
export type Verdict =
  | {
      readonly isVerified: true;
      readonly signedAt: Date | null;
      /** The timestamp in the form that was signed. In the response, `timestamp` may have another form. */
      readonly timestamp: string;
    }
  | { readonly isVerified: false; readonly reason: SignatureReason | 'signer threw' };

/** The signatures among the properties of a response: the protocol has two names for the field (§2.4). */
export function signaturesIn({ sec_key, signature }: Properties): readonly unknown[] {
  return [sec_key, signature].filter((given) => given !== undefined && given !== null && given !== '');
}

/**
 * Verifies that every signature among the properties covers the property `timestamp`. Then checks the age of the
 * timestamp. If there is only one signature, and the first call of the signer's `verify` returns `true` and not a
 * promise, this function returns no promise. This is the usual case.
 *
 * The caller must first detach `properties` from a polluted `Object.prototype` (`detachFromPrototype`). Otherwise, a
 * signature that other code has put on `Object.prototype` would be read.
 */
export function verifySigned(properties: Properties, verification: Verification): Verdict | Promise<Verdict> {
  const signatures = signaturesIn(properties);
  if (signatures.length === 0) return { isVerified: false, reason: 'missing' };
  const sentTimestamp = properties.timestamp;
  const candidates = candidatesOf(sentTimestamp);
  const [text] = candidates;
  if (text === undefined || !signatures.every((signature) => typeof signature === 'string')) {
    return { isVerified: false, reason: 'malformed' };
  }
  try {
    // The usual case: one signature, over the unchanged timestamp.
    const signature = signatures[0] as string;
    const first = verification.signer.verify(signature, { partnerId: verification.partnerId, timestamp: text });
    if (first === true && signatures.length === 1) return checkAge(sentTimestamp, text, verification);
    const verify = (other: string, timestamp: string) =>
      other === signature && timestamp === text
        ? first
        : verification.signer.verify(other, { partnerId: verification.partnerId, timestamp });
    return verifyAll(sentTimestamp, { signatures, candidates, verify }, verification).catch(() => signerThrew);
  } catch {
    return signerThrew;
  }
}

const signerThrew: Verdict = { isVerified: false, reason: 'signer threw' };

/** The signatures, the timestamps that they may cover, and the function that verifies one signature. */
interface Claims {
  readonly signatures: readonly string[];
  readonly candidates: readonly string[];
  readonly verify: (signature: string, timestamp: string) => boolean | Promise<boolean>;
}

async function verifyAll(timestamp: unknown, claims: Claims, verification: Verification): Promise<Verdict> {
  const signed: string[] = [];
  for (const signature of claims.signatures) {
    const text = await findSignedText(signature, claims);
    if (text === null) {
      const unkeyed = await isUnkeyed(signature, claims.candidates, verification.partnerId);
      return { isVerified: false, reason: unkeyed ? 'unkeyed' : 'mismatch' };
    }
    signed.push(text);
  }
  return checkAge(timestamp, signed[0] as string, verification);
}

// Finds the first candidate that the signature covers; null if there is none.
async function findSignedText(signature: string, { candidates, verify }: Claims): Promise<string | null> {
  for (const timestamp of candidates) if ((await verify(signature, timestamp)) === true) return timestamp;
  return null;
}

function checkAge(timestamp: unknown, signed: string, { now, maxAgeMs }: Verification): Verdict {
  const signedAt = timeOf(timestamp);
  if (maxAgeMs !== false) {
    if (signedAt === null) return { isVerified: false, reason: 'malformed' };
    // `!(… <= …)` instead of `>`: with NaN, every comparison is false, and NaN must count as stale.
    if (!(Math.abs(now - signedAt.getTime()) <= maxAgeMs)) return { isVerified: false, reason: 'stale' };
  }
  return { isVerified: true, signedAt, timestamp: signed };
}

// The texts that the service may have signed. A string is signed unchanged. A number is signed as its digits, or as the
// ISO 8601 form of its time.
function candidatesOf(timestamp: unknown): readonly string[] {
  if (typeof timestamp === 'string' && timestamp !== '') return [timestamp];
  if (!Number.isSafeInteger(timestamp)) return [];
  const date = timeOf(timestamp);
  return date === null ? [String(timestamp)] : [String(timestamp), date.toISOString()];
}

/**
 * The time of a timestamp; null if it is not a date. A Unix timestamp is a number or a string, in seconds or
 * milliseconds. With at most eleven digits, it is in seconds: in milliseconds, its date would be before April 1973.
 */
export function timeOf(timestamp: unknown): Date | null {
  const text = String(timestamp);
  if (!/^\d{1,15}$/.test(text)) return parseDateTime(text);
  return new Date(text.length <= 11 ? Number(text) * 1000 : Number(text));
}

// Some services respond with sha256(partner id as a number + ":" + timestamp) in place of a signature. Anyone can
// compute this digest.
async function isUnkeyed(signature: string, candidates: readonly string[], partnerId: string): Promise<boolean> {
  const partner = Number.parseInt(partnerId, 10);
  const digests = await Promise.all(candidates.map((timestamp) => sha256Hex(`${partner}:${timestamp}`)));
  return digests.includes(signature.toLowerCase());
}
