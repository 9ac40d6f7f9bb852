/**
 * The errors about a response or a callback that is being read.
 *
 * @module
 */

import type { HostedConfigError, HostedResponseError, HostedSignatureError } from '../errors/errors.js';
import type { Issue } from '../errors/hosted-error.js';
import type { SignatureReason, UnusableReason } from '../errors/messages.js';
import { isRecord, type Properties } from '../runtime/untrusted-objects.js';
import type { Verdict } from '../signing/verify.js';

/** Creates the errors about a response or a callback that is being read. */
export interface Source {
  createUnusable(reason: UnusableReason, issues?: readonly Issue[]): HostedResponseError;
  createUntrusted(reason: SignatureReason): HostedSignatureError;
  createConfigError(issues: readonly Issue[]): HostedConfigError;
}

/**
 * Gives the properties of parsed JSON.
 *
 * @throws {HostedResponseError} when the value is undefined (the body was not JSON) or not an object.
 */
export function assertObject(json: unknown, source: Source): Properties {
  if (!isRecord(json)) throw createNoObject(json, source);
  return json;
}

/** Creates the error about JSON that is not an object. */
export function createNoObject(json: unknown, source: Source): HostedResponseError {
  if (json === undefined) return source.createUnusable('malformed');
  return source.createUnusable('shape', [{ path: '', message: 'must be an object' }]);
}

/** The verdict that a signature is valid. */
export type Verified = Extract<Verdict, { readonly isVerified: true }>;

/**
 * Returns the verdict if the signature is valid.
 *
 * @throws {HostedSignatureError} when the signature is not valid.
 * @throws {HostedConfigError} when the signer threw.
 */
export function assertVerified(verdict: Verdict, source: Source): Verified {
  if (verdict.isVerified) return verdict;
  if (verdict.reason !== 'signer threw') throw source.createUntrusted(verdict.reason);
  throw source.createConfigError([{ path: 'signer', message: 'must not throw from verify(), but did' }]);
}
