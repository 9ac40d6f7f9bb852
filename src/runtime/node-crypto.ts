/**
 * The platform's own arithmetic, where it has Node's: many times faster than Web Crypto, which
 * answers later, and than JavaScript. Where it is not there, or not all of it, everything works without.
 *
 * @module
 */

/** A key as the platform holds it. */
export interface PlatformKey {
  export(options: { format: 'jwk' }): { readonly x: string };
}

/** Hashes at once, without an object for it. Not every runtime that has the module has this. */
interface Hash {
  (algorithm: 'sha256', data: Uint8Array, as: 'buffer'): Uint8Array;
  (algorithm: 'sha256', data: Uint8Array, as: 'base64'): string;
}

/** Of Node's crypto module, what is used here. */
export interface PlatformCrypto {
  createSecretKey(key: Uint8Array): PlatformKey;
  createPrivateKey(key: { key: Uint8Array; format: 'der'; type: 'pkcs8' }): PlatformKey;
  createPublicKey(key: PlatformKey | { key: Uint8Array; format: 'der'; type: 'spki' }): PlatformKey;
  createHmac(algorithm: 'sha256', key: PlatformKey): { update(data: Uint8Array): { digest(as: 'base64'): string } };
  readonly hash?: Hash;
  sign(algorithm: null, data: Uint8Array, key: PlatformKey): Uint8Array;
  verify(algorithm: null, data: Uint8Array, key: PlatformKey, signature: Uint8Array): boolean;
}

interface Platform {
  readonly process?: { readonly getBuiltinModule?: (name: string) => PlatformCrypto | undefined };
}

/**
 * Node's crypto module; null where the platform has none. Asked for by name, it needs no import that a
 * bundle would follow. Whether it does what it should is its users' to try.
 */
export function platformCrypto({ process }: Platform = globalThis as Platform): PlatformCrypto | null {
  try {
    return process?.getBuiltinModule?.('crypto') ?? null;
  } catch {
    // Next's Edge runtime has all the functions of a process, and each throws.
    return null;
  }
}
