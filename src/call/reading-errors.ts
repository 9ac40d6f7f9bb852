/**
 * The errors about a response or a callback that is being read.
 *
 * @module
 */

import type { HostedConfigError, HostedResponseError, HostedSignatureError } from '../errors/errors.js';
import type { Issue } from '../errors/hosted-error.js';
import type { SignatureReason, UnusableReason } from '../errors/messages.js';

/** Creates the errors about a response or a callback that is being read. */
export interface Source {
  createUnusable(reason: UnusableReason, issues?: readonly Issue[]): HostedResponseError;
  createUntrusted(reason: SignatureReason): HostedSignatureError;
  createConfigError(issues: readonly Issue[]): HostedConfigError;
}

/** Creates the error about a body that is not a JSON object. If the body was not JSON, `json` is undefined. */
export function createNoObject(json: unknown, source: Source): HostedResponseError {
  if (json === undefined) return source.createUnusable('malformed');
  return source.createUnusable('shape', [{ path: '', message: 'must be an object' }]);
}

/** Creates the error about a signature that could not be verified. */
export function createUnverified(
  reason: SignatureReason | 'signer threw',
  source: Source,
): HostedSignatureError | HostedConfigError {
  if (reason !== 'signer threw') return source.createUntrusted(reason);
  return source.createConfigError([{ path: 'signer', message: 'must not throw from verify(), but did' }]);
}
