/**
 * SHA-256 (FIPS 180-4) as hexadecimal digits.
 *
 * @module
 */

import { encodeUtf8 } from './bytes.js';
import { platformCrypto } from './node-crypto.js';
import { writeJson } from './untrusted-objects.js';

type Digest = (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>;

let digest: Digest | undefined;

/** The digest of bytes, or of a string as UTF-8: 64 lower-case hexadecimal digits. */
export async function sha256Hex(data: string | Uint8Array): Promise<string> {
  const bytes = typeof data === 'string' ? encodeUtf8(data) : new Uint8Array(data);
  digest ??= createPlatformDigest() ?? digestByWebCrypto;
  return digest(bytes);
}

/** The digest of a list: SHA-256 of its JSON, as hexadecimal digits. */
export function digestOf(values: readonly unknown[]): Promise<string> {
  return sha256Hex(writeJson(values));
}

// An example of FIPS 180 tests the platform's function: a platform may have only a part of Node's crypto module, or
// functions that throw.
const known = { text: 'abc', digest: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' };

/**
 * The platform's synchronous digest; null if it has none. It is several times faster than Web Crypto, and other work
 * does not delay it.
 */
function createPlatformDigest(): Digest | null {
  try {
    const hash = platformCrypto()?.hash;
    if (!hash) return null;
    const digestByPlatform = (bytes: Uint8Array) => hash('sha256', bytes, 'hex');
    return digestByPlatform(encodeUtf8(known.text)) === known.digest ? digestByPlatform : null;
  } catch {
    return null;
  }
}

async function digestByWebCrypto(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digested = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digested, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
