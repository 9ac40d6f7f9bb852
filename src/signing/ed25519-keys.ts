/**
 * Signs with Ed25519. A signature is verified only if it passes the checks of `strict-ed25519.ts`. This code is loaded
 * with the first signature.
 *
 * @module
 */

import { HostedConfigError } from '../errors/errors.js';
import { encodeBase64 } from '../runtime/base64.js';
import { loadBackend, type SigningKey } from './ed25519-backend.js';
import { isStrictPublicKey, isStrictSignature } from './strict-ed25519.js';

/**
 * Creates the key to sign with.
 *
 * @throws {HostedConfigError} when the halves of a 64-byte key do not belong together.
 */
export async function createSigningKey(secretKey: Uint8Array): Promise<SigningKey> {
  const key = (await loadBackend()).importSeed(secretKey.slice(0, 32));
  // Signing with a public key of another seed would reveal the secret key.
  if (secretKey.length === 64 && encodeBase64(key.publicKey) !== encodeBase64(secretKey.slice(32))) {
    const issues = [{ path: 'secretKey', message: 'must be a seed followed by the public key that belongs to it' }];
    throw new HostedConfigError(issues, { task: 'sign with Ed25519' });
  }
  return key;
}

/** Creates a function that accepts a signature if it is valid for any of the given public keys. */
export async function createVerifier(
  publicKeys: readonly Uint8Array[],
): Promise<(message: Uint8Array, signature: Uint8Array) => boolean> {
  // Anyone can forge signatures for a weak key, so weak keys are not used.
  const keys = publicKeys.filter(isStrictPublicKey).map((await loadBackend()).importPublicKey);
  return (message, signature) =>
    isStrictSignature(signature) && keys.map((verifies) => verifies(message, signature)).includes(true);
}
