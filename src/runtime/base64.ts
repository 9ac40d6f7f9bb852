/**
 * Base64, only in its canonical form (RFC 4648 §4, padded): a signature or key has exactly one accepted spelling.
 *
 * @module
 */

export function encodeBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/**
 * Decodes canonical base64; null for any other string, for example one with blanks, without padding, or with unused
 * bits that are set.
 */
export function decodeBase64(base64: string): Uint8Array | null {
  if (base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return null;
  const binary = atob(base64);
  // The unused bits before the padding must be zero.
  if (btoa(binary) !== base64) return null;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
