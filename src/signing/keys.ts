/**
 * Checks key material. The issues never repeat any of it.
 *
 * @module
 */

import type { Issue } from '../errors/hosted-error.js';
import { decodeBase64 } from '../runtime/base64.js';

/** Finds what is wrong with an API key; `path` names its option. */
export function findApiKeyIssues(key: unknown, path: string): readonly Issue[] {
  if (typeof key !== 'string') return [{ path, message: 'must be a string' }];
  if (key.trim() === '') return [{ path, message: 'must not be blank' }];
  // A key that was read from a file with its line end would sign, but no signature would be accepted.
  if (/[\r\n]/.test(key)) return [{ path, message: 'must not contain a line end' }];
  return [];
}

/** Finds what is wrong with the end of the signed text. */
export function findContextIssues(context: unknown): readonly Issue[] {
  return typeof context === 'string' ? [] : [{ path: 'context', message: 'must be a string' }];
}

/** Copies key bytes, from base64 or bytes of one of the `lengths`; null for anything else. */
export function toKeyBytes(key: unknown, lengths: readonly number[]): Uint8Array | null {
  // Not by slice(): that of a Buffer shares its memory, and the caller may overwrite it.
  const given = key instanceof Uint8Array ? Uint8Array.from(key) : null;
  const bytes = typeof key === 'string' ? decodeBase64(key.trim()) : given;
  return bytes !== null && lengths.includes(bytes.length) ? bytes : null;
}
