/**
 * The signer for Ed25519 (RFC 8032), for services that sign with a key pair of their own. The signed text is the same
 * as for HMAC.
 *
 * @module
 */

import { HostedConfigError } from '../errors/errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { decodeBase64, encodeBase64 } from '../runtime/base64.js';
import { lazy, lazyModule } from '../runtime/lazy.js';
import { tryCopyProperties } from '../runtime/untrusted-objects.js';
import { toSignedText } from './hmac-sha256.js';
import { findContextIssues, toKeyBytes } from './keys.js';
import type { Signer } from './signer.js';

/**
 * Options of {@link ed25519}. Keys are base64 or bytes.
 *
 * @inline
 */
export interface Ed25519Options {
  /** Your secret key: the seed (32 bytes), or the seed followed by the public key (64 bytes). */
  secretKey: string | Uint8Array;
  /**
   * The service's public key, 32 bytes. If you pass several keys, a signature that is valid for any of them is
   * accepted.
   */
  servicePublicKey: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The end of the signed text, after timestamp and partner id. Default `'sid_request'`. */
  context?: string;
}

/**
 * Creates a signer that signs with your secret key and verifies with the service's public key. Signatures are base64.
 *
 * Verification is equally strict on every platform. A signature is accepted only if it has 64 bytes, S is below the
 * group order, and R is not of small order. The public key must be canonical, and must not be of small order. If the
 * two halves of a 64-byte secret key do not belong together, signing fails with a `HostedConfigError`.
 *
 * @param options - The keys, and the context.
 * @returns A signer; it never shows a key.
 * @throws {HostedConfigError} when a key has the wrong length or form.
 *
 * @example A key pair, and the service's public key
 * ```ts
 * const signer = ed25519({
 *   secretKey: 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=',
 *   servicePublicKey: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
 * });
 * ```
 *
 * @see [§5](../../docs/protocol.md#5-authentication) and [What is not known](../../docs/protocol.md#what-is-not-known)
 *   of docs/protocol.md
 */
export function ed25519(options: Ed25519Options): Signer {
  const { secretKey, publicKeys, context } = readKeys(options);
  const loadSigningKey = lazy(async () => (await loadKeys()).createSigningKey(secretKey));
  const loadVerifier = lazy(async () => (await loadKeys()).createVerifier(publicKeys));

  return {
    name: 'ed25519',
    async sign(input) {
      const key = await loadSigningKey();
      return encodeBase64(key.sign(utf8.encode(toSignedText(input, context))));
    },
    async verify(signature, input) {
      const bytes = typeof signature === 'string' ? decodeBase64(signature) : null;
      if (bytes === null) return false;
      const message = utf8.encode(toSignedText(input, context));
      return (await loadVerifier())(message, bytes);
    },
  };
}

const loadKeys = lazyModule('ed25519-keys', () => import('./ed25519-keys.js'));

const utf8 = new TextEncoder();

/** @throws {HostedConfigError} with every problem of the options. */
function readKeys(options: unknown) {
  const given = tryCopyProperties(Object(options), ['secretKey', 'servicePublicKey', 'context']) ?? {};
  const servicePublicKeys = [given.servicePublicKey].flat();
  const context = (given.context ?? assumedSignatureContext) as string;
  const secretKey = toKeyBytes(given.secretKey, [32, 64]);
  const publicKeys = servicePublicKeys.map((key) => toKeyBytes(key, [32])).filter((key) => key !== null);

  const issues: Issue[] = [];
  if (secretKey === null) issues.push({ path: 'secretKey', message: 'must be 32 or 64 bytes, or their base64' });
  if (publicKeys.length === 0 || publicKeys.length < servicePublicKeys.length) {
    issues.push({ path: 'servicePublicKey', message: 'must be 32 bytes, or their base64' });
  }
  issues.push(...findContextIssues(context));
  if (secretKey === null || issues.length > 0) {
    throw new HostedConfigError(issues, { task: 'sign with Ed25519' });
  }
  return { secretKey, publicKeys, context };
}
