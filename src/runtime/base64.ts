/**
 * Base64 in its one canonical form (RFC 4648 §4, padded): signatures and keys that could be written
 * in two ways are not accepted in the second.
 *
 * @module
 */

/** Writes bytes as base64. */
export function encodeBase64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** Reads canonical base64; null for anything else: blanks, missing padding, stray bits. */
export function decodeBase64(text: string): Uint8Array | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return null;
  const binary = atob(text);
  // Bits that the padding leaves over must be zero: only then is there one way to write it.
  if (btoa(binary) !== text) return null;
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}
