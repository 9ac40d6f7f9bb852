/**
 * Checks keys and contexts of signers. An issue never repeats a part of a key.
 *
 * @module
 */

import type { Issue } from '../errors/hosted-error.js';
import { decodeBase64 } from '../runtime/base64.js';

/** Finds what is wrong with an API key. `path` is the name of the option that has the key. */
export function findApiKeyIssues(key: unknown, path: string): readonly Issue[] {
  if (typeof key !== 'string') return [{ path, message: 'must be a string' }];
  if (key.trim() === '') return [{ path, message: 'must not be blank' }];
  // A key may be read from a file together with a line end. The service would then accept no signature.
  if (/[\r\n]/.test(key)) return [{ path, message: 'must not contain a line end' }];
  return [];
}

/** Finds what is wrong with a context. The context is the end of the signed text. */
export function findContextIssues(context: unknown): readonly Issue[] {
  return typeof context === 'string' ? [] : [{ path: 'context', message: 'must be a string' }];
}

/**
 * Returns a copy of the bytes of a key that is given as base64 or as bytes. Null if the key has another form, or if its
 * length is not one of `lengths`.
 */
export function toKeyBytes(key: unknown, lengths: readonly number[]): Uint8Array | null {
  // slice() would be wrong: the slice of a Buffer shares its memory, which the caller may overwrite.
  const given = key instanceof Uint8Array ? Uint8Array.from(key) : null;
  const bytes = typeof key === 'string' ? decodeBase64(key.trim()) : given;
  return bytes !== null && lengths.includes(bytes.length) ? bytes : null;
}
