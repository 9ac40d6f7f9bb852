/**
 * Node's crypto module, on platforms that have it. It is synchronous, and many times faster than Web Crypto or
 * JavaScript. It is optional: everything works without it, or without some of its functions.
 *
 * @module
 */

import { builtinModule } from './builtin-module.js';

/** A key of Node's crypto module. */
export interface PlatformKey {
  export(options: { format: 'jwk' }): { readonly x: string };
}

/** The functions of Node's crypto module that this package uses. */
export interface PlatformCrypto {
  createSecretKey(key: Uint8Array): PlatformKey;
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): PlatformKey;
  createPublicKey(key: PlatformKey | { key: Uint8Array; format: 'der'; type: 'spki' }): PlatformKey;
  createHmac(
    algorithm: 'sha256',
    key: PlatformKey,
  ): { update(data: string | Uint8Array): { digest(as: 'base64'): string } };
  /** Hashes data with a single call. Some runtimes have the module, but not this function. */
  readonly hash?: (algorithm: 'sha256', data: Uint8Array, as: 'hex') => string;
  sign(algorithm: null, data: Uint8Array, key: PlatformKey): Uint8Array;
  verify(algorithm: null, data: Uint8Array, key: PlatformKey, signature: Uint8Array): boolean;
}

/**
 * Node's crypto module; null if the platform has none. Callers check that its functions give correct results.
 */
export function platformCrypto(platform?: Parameters<typeof builtinModule>[1]): PlatformCrypto | null {
  return builtinModule('crypto', platform) as PlatformCrypto | null;
}
