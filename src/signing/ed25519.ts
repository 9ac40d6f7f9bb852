/**
 * Ed25519 (RFC 8032) over the same text, for services that sign with a key pair of their own.
 *
 * @module
 */

import { HostedConfigError } from '../errors/errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { decodeBase64, encodeBase64 } from '../runtime/base64.js';
import { lazy } from '../runtime/lazy.js';
import { tryCopyProperties } from '../runtime/prototype.js';
import { contextIssues, keyBytes } from './keys.js';
import { signedText } from './message.js';
import type { Signer } from './signer.js';

/**
 * Options of {@link ed25519}. Keys are base64 or bytes.
 *
 * @inline
 */
export interface Ed25519Options {
  /** Our own: the 32-byte seed, or the 64 bytes of seed and public key. */
  secretKey: string | Uint8Array;
  /** The service's, 32 bytes. Several: each one verifies. */
  servicePublicKey: string | Uint8Array | readonly (string | Uint8Array)[];
  /** What follows timestamp and partner id in the signed text. Default `'sid_request'`. */
  context?: string;
}

/**
 * Signs with our secret key, and verifies with the service's public one; base64 on the wire.
 *
 * Verification follows one strict profile, the same on every platform: 64-byte signatures, S below
 * the group order, canonical public keys, no point of small order. That the two halves of a 64-byte
 * key belong together shows with the first signature: a `HostedConfigError` where they do not.
 *
 * @param options - The keys, and the context.
 * @returns A signer; nothing of it shows a key.
 * @throws {HostedConfigError} when a key has the wrong length or form.
 *
 * @example A key pair of our own, and the service's public key
 * ```ts
 * const signer = ed25519({
 *   secretKey: 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=',
 *   servicePublicKey: '11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=',
 * });
 * ```
 *
 * @see §5 of docs/protocol.md, which does not show the scheme: assumptions.ts holds the guess
 */
export function ed25519(options: Ed25519Options): Signer {
  const { secretKey, publicKeys, context } = checkedOptions(options);
  const loadKeys = () => import('./ed25519-keys.js');
  const signingKey = lazy(async () => (await loadKeys()).createSigningKey(secretKey));
  const verifier = lazy(async () => (await loadKeys()).createVerifier(publicKeys));

  return {
    name: 'ed25519',
    async sign(input) {
      const key = await signingKey();
      return encodeBase64(key.sign(utf8.encode(signedText(input, context))));
    },
    async verify(signature, input) {
      const bytes = typeof signature === 'string' ? decodeBase64(signature) : null;
      if (bytes === null) return false;
      const message = utf8.encode(signedText(input, context));
      return (await verifier())(message, bytes);
    },
  };
}

const utf8 = new TextEncoder();

interface CheckedOptions {
  readonly secretKey: Uint8Array;
  readonly publicKeys: readonly Uint8Array[];
  readonly context: string;
}

function checkedOptions(options: unknown): CheckedOptions {
  const given = tryCopyProperties(Object(options), ['secretKey', 'servicePublicKey', 'context']) ?? {};
  const servicePublicKeys = [given.servicePublicKey].flat();
  const context = (given.context ?? assumedSignatureContext) as string;
  const secretKey = keyBytes(given.secretKey, [32, 64]);
  const publicKeys = servicePublicKeys.map((key) => keyBytes(key, [32])).filter((key) => key !== null);

  const issues: Issue[] = [];
  if (secretKey === null) issues.push({ path: 'secretKey', message: 'must be 32 or 64 bytes, or their base64' });
  if (publicKeys.length === 0 || publicKeys.length < servicePublicKeys.length) {
    issues.push({ path: 'servicePublicKey', message: 'must be 32 bytes, or their base64' });
  }
  issues.push(...contextIssues(context));
  // Stryker disable next-line ConditionalExpression: without a key there is an issue
  if (secretKey === null || issues.length > 0) {
    throw new HostedConfigError(issues, { task: 'sign with Ed25519' });
  }
  return { secretKey, publicKeys, context };
}
