/**
 * What keys of Ed25519 do: sign, and verify by one strict profile. It is loaded with the first signature.
 *
 * @module
 */

import { HostedConfigError } from '../errors/errors.js';
import { encodeBase64 } from '../runtime/base64.js';
import { ed25519Arithmetic, type SigningKey } from './ed25519-backend.js';
import { isStrictPublicKey, isStrictSignature } from './strict-ed25519.js';

/**
 * Creates the key that signs.
 *
 * @throws {HostedConfigError} when the halves of a 64-byte key do not belong together.
 */
export async function createSigningKey(secretKey: Uint8Array): Promise<SigningKey> {
  const key = (await ed25519Arithmetic()).signingKey(secretKey.slice(0, 32));
  // A public half that is not the seed's would give the secret away with the first signature.
  if (secretKey.length === 64 && encodeBase64(key.publicKey) !== encodeBase64(secretKey.slice(32))) {
    const issues = [{ path: 'secretKey', message: 'must be a seed followed by the public key that belongs to it' }];
    throw new HostedConfigError(issues, { task: 'sign with Ed25519' });
  }
  return key;
}

/** Creates what verifies a signature by any of several keys. */
export async function createVerifier(
  publicKeys: readonly Uint8Array[],
): Promise<(message: Uint8Array, signature: Uint8Array) => boolean> {
  // Under a weak key anybody's signature can be good: none is.
  const keys = publicKeys.filter(isStrictPublicKey).map((await ed25519Arithmetic()).verifyingKey);
  return (message, signature) =>
    isStrictSignature(signature) && keys.map((verifies) => verifies(message, signature)).includes(true);
}
