/**
 * The signer for Ed25519 (RFC 8032), for services that sign with a key pair of their own. The signed text is the same
 * as for HMAC.
 *
 * @module
 */

import { HostedConfigError } from '../errors/client-errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { assumedSignatureContext } from '../protocol/assumptions.js';
import { decodeBase64, encodeBase64 } from '../runtime/base64.js';
import { encodeUtf8 } from '../runtime/bytes.js';
import { lazy } from '../runtime/lazy.js';
import { tryCopyProperties } from '../runtime/untrusted-objects.js';
import { findPlatformBackend, loadBackend } from './ed25519-backend.js';
import { toSignedText } from './hmac-sha256.js';
import { findContextIssues, toKeyBytes } from './keys.js';
import type { Signer } from './signer.js';
import { isStrictPublicKey, isStrictSignature } from './strict-ed25519.js';

/**
 * Creates a signer that signs with your secret key and verifies with the service's public key. Signatures are base64.
 *
 * Verification is equally strict on every platform. A signature is accepted only if it has 64 bytes, S is below the
 * group order, and R is not of small order. The public key must be canonical, and must not be of small order. If the
 * two halves of a 64-byte secret key do not belong together, signing fails with a `HostedConfigError`.
 *
 * @param options - The keys, base64 or bytes, and the context.
 * @returns A signer; it never shows a key.
 * @throws {HostedConfigError} when a key has the wrong length or form.
 *
 * @example Your secret key, and the service's public key
 * ```ts
 * const yourSecretKey = 'nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=';
 * const publicKeyOfTheService = 'PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=';
 *
 * const signer = ed25519({ secretKey: yourSecretKey, servicePublicKey: publicKeyOfTheService });
 * ```
 *
 * @see [§5](../../docs/protocol.md#5-authentication) and [What is not known](../../docs/protocol.md#what-is-not-known)
 *   of docs/protocol.md
 */
export function ed25519(options: {
  /** Your secret key: the seed (32 bytes), or the seed followed by the public key (64 bytes). */
  secretKey: string | Uint8Array;
  /**
   * The service's public key, 32 bytes. If you pass several keys, a signature that is valid for any of them is
   * accepted. A client refuses your own public key here, because the service signs with a key pair of its own.
   */
  servicePublicKey: string | Uint8Array | readonly (string | Uint8Array)[];
  /** The end of the signed text, after timestamp and partner id. Default `'sid_request'`. */
  context?: string;
}): Signer {
  const { secretKey, publicKeys, context } = readKeys(options);
  const loadSigningKey = lazy(() => createSigningKey(secretKey));
  const loadVerifier = lazy(() => createVerifier(publicKeys));

  const signer: Signer = {
    name: 'ed25519',
    async sign(input) {
      const key = await loadSigningKey();
      return encodeBase64(key.sign(encodeUtf8(toSignedText(input, context))));
    },
    async verify(signature, input) {
      const bytes = typeof signature === 'string' ? decodeBase64(signature) : null;
      if (bytes === null) return false;
      const message = encodeUtf8(toSignedText(input, context));
      return (await loadVerifier())(message, bytes);
    },
  };
  const own = findPlatformBackend()?.importSeed(secretKey.slice(0, 32));
  if (own && publicKeys.map(encodeBase64).includes(encodeBase64(own.publicKey))) verifyingOwn.add(signer);
  return signer;
}

const verifyingOwn = new WeakSet<Signer>();

/**
 * Whether a signer accepts the caller's own signatures in place of the service's, because the caller's own public key was
 * given for the service's. False on a platform without Node's crypto module: there, keys are imported at the first
 * signature.
 */
export function verifiesOwnSignatures(signer: Signer): boolean {
  return verifyingOwn.has(signer);
}

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

/**
 * Creates the key to sign with.
 *
 * @throws {HostedConfigError} when the halves of a 64-byte key do not belong together.
 */
async function createSigningKey(secretKey: Uint8Array) {
  const key = (await loadBackend()).importSeed(secretKey.slice(0, 32));
  // Signing with a public key of another seed would reveal the secret key.
  if (secretKey.length === 64 && encodeBase64(key.publicKey) !== encodeBase64(secretKey.slice(32))) {
    const issues = [{ path: 'secretKey', message: 'must be a seed followed by the public key that belongs to it' }];
    throw new HostedConfigError(issues, { task: 'sign with Ed25519' });
  }
  return key;
}

/** Creates a function that accepts a signature if it is valid for any of the given public keys. */
async function createVerifier(publicKeys: readonly Uint8Array[]) {
  // Anyone can forge signatures for a weak key, so weak keys are not used.
  const keys = publicKeys.filter(isStrictPublicKey).map((await loadBackend()).importPublicKey);
  return (message: Uint8Array, signature: Uint8Array) =>
    isStrictSignature(signature) && keys.map((verifies) => verifies(message, signature)).includes(true);
}
