/**
 * SHA-256 (FIPS 180-4) as hexadecimal digits.
 *
 * @module
 */

import { platformCrypto } from './node-crypto.js';

type Digest = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;

let digest: Digest | undefined;

/** The digest of bytes, or of a string as UTF-8: 64 lower-case hexadecimal digits. */
export async function sha256Hex(data: string | Uint8Array): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data);
  digest ??= createPlatformDigest() ?? digestByWebCrypto;
  return toHex(await digest(bytes));
}

// An example of FIPS 180 tests the platform's function: a platform may have only a part of Node's crypto module, or
// functions that throw.
const known = { text: 'abc', digest: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' };

/**
 * The platform's synchronous digest; null if it has none. It is several times faster than Web Crypto, and other work
 * does not delay it.
 */
function createPlatformDigest(): Digest | null {
  const crypto = platformCrypto();
  try {
    const hash: Digest | undefined =
      crypto?.hash && ((bytes) => crypto.hash?.('sha256', bytes, 'buffer') as Uint8Array);
    return hash && toHex(hash(new TextEncoder().encode(known.text)) as Uint8Array) === known.digest ? hash : null;
  } catch {
    return null;
  }
}

async function digestByWebCrypto(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
