/**
 * Verifies what the service signed, a response or a callback (docs/protocol.md §5). The signature covers its
 * timestamp and the partner id: it proves who signed and when, not what.
 *
 * @module
 */

import type { SignatureReason } from '../errors/messages.js';
import { parseDateTime } from '../protocol/date-time.js';
import { readProperty } from '../runtime/prototype.js';
import { sha256Hex } from '../runtime/sha256.js';
import type { Signer } from './signer.js';

/** By what a signature is verified. */
export interface Verification {
  readonly signer: Signer;
  readonly partnerId: string;
  /** The time by this machine's own clock, in ms since the epoch. */
  readonly now: number;
  /** How far from `now` the signed timestamp may be, in ms; false for any age. */
  readonly maxAgeMs: number | false;
}

/** Whether a signature can be trusted, and for which time it was made. */
export type Verdict =
  | {
      readonly isVerified: true;
      readonly signedAt: Date | null;
      /** The timestamp as it was signed, however it is written beside the signature. */
      readonly timestamp: string;
    }
  | { readonly isVerified: false; readonly reason: SignatureReason | 'signer threw' };

/** Gives the signatures among the properties of a response: the protocol names the field in two ways (§2.4). */
export function signaturesIn(properties: Readonly<Record<string, unknown>>): readonly unknown[] {
  return ['sec_key', 'signature']
    .map((name) => readProperty(properties, name))
    .filter((signature) => signature !== undefined && signature !== null && signature !== '');
}

/**
 * Verifies every signature among the properties, over the timestamp beside it, and then its age. A promise only
 * where the signer gives one.
 */
export function verifySigned(
  properties: Readonly<Record<string, unknown>>,
  by: Verification,
): Verdict | Promise<Verdict> {
  const signatures = signaturesIn(properties);
  if (signatures.length === 0) return { isVerified: false, reason: 'missing' };
  const sentTimestamp = readProperty(properties, 'timestamp');
  const texts = textsOf(sentTimestamp);
  const [text] = texts;
  if (text === undefined || !signatures.every((signature) => typeof signature === 'string')) {
    return { isVerified: false, reason: 'malformed' };
  }
  try {
    // What nearly every response has: one signature, over the timestamp as it stands.
    const [signature = ''] = signatures;
    const first = by.signer.verify(signature, { partnerId: by.partnerId, timestamp: text });
    if (first === true && signatures.length === 1) return judgeAge(sentTimestamp, text, by);
    const verify = (other: string, timestamp: string) =>
      other === signature && timestamp === text
        ? first
        : by.signer.verify(other, { partnerId: by.partnerId, timestamp });
    return verifyAll(sentTimestamp, { signatures, texts, verify }, by).catch(() => signerThrew);
  } catch {
    return signerThrew;
  }
}

const signerThrew: Verdict = { isVerified: false, reason: 'signer threw' };

/** What there is to verify, and how. */
interface Claims {
  readonly signatures: readonly string[];
  readonly texts: readonly string[];
  readonly verify: (signature: string, timestamp: string) => boolean | Promise<boolean>;
}

async function verifyAll(timestamp: unknown, claims: Claims, by: Verification): Promise<Verdict> {
  const signed: string[] = [];
  for (const signature of claims.signatures) {
    const text = await textUnder(signature, claims);
    if (text === null) {
      const unkeyed = await isUnkeyed(signature, claims.texts, by.partnerId);
      return { isVerified: false, reason: unkeyed ? 'unkeyed' : 'mismatch' };
    }
    signed.push(text);
  }
  return judgeAge(timestamp, signed[0] as string, by);
}

// The first of the texts that the signature is over.
async function textUnder(signature: string, { texts, verify }: Claims): Promise<string | null> {
  for (const timestamp of texts) if ((await verify(signature, timestamp)) === true) return timestamp;
  return null;
}

function judgeAge(timestamp: unknown, signed: string, { now, maxAgeMs }: Verification): Verdict {
  const signedAt = timeOf(timestamp);
  if (maxAgeMs !== false) {
    if (signedAt === null) return { isVerified: false, reason: 'malformed' };
    // Asked so that a time that is no number is stale.
    if (!(Math.abs(now - signedAt.getTime()) <= maxAgeMs)) return { isVerified: false, reason: 'stale' };
  }
  return { isVerified: true, signedAt, timestamp: signed };
}

// A timestamp counts as it stands. Some signers sign a number as its decimal digits, others as the ISO form of its
// milliseconds.
function textsOf(timestamp: unknown): readonly string[] {
  if (typeof timestamp === 'string' && timestamp !== '') return [timestamp];
  if (typeof timestamp !== 'number' || !Number.isSafeInteger(timestamp)) return [];
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? [String(timestamp)] : [String(timestamp), date.toISOString()];
}

// Epochs are numbers or strings, in seconds or milliseconds: eleven digits of milliseconds end in
// 1973, eleven digits of seconds begin in 2286.
function timeOf(timestamp: unknown): Date | null {
  const text = String(timestamp);
  if (!/^\d{1,15}$/.test(text)) return parseDateTime(text);
  return new Date(text.length <= 11 ? Number(text) * 1000 : Number(text));
}

// Some services respond with sha256(partner as a number + ":" + timestamp): anyone can compute it.
async function isUnkeyed(signature: string, texts: readonly string[], partnerId: string): Promise<boolean> {
  const partner = Number.parseInt(partnerId, 10);
  const digests = await Promise.all(texts.map((timestamp) => sha256Hex(`${partner}:${timestamp}`)));
  return digests.includes(signature.toLowerCase());
}
