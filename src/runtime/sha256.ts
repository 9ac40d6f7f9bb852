/**
 * SHA-256 (FIPS 180-4) as hexadecimal digits.
 *
 * @module
 */

/** The digest of bytes, or of a string as UTF-8: 64 lower-case hexadecimal digits. */
export async function sha256Hex(data: string | Uint8Array): Promise<string> {
  const bytes = typeof data === 'string' ? new TextEncoder().encode(data) : new Uint8Array(data);
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
