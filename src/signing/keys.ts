/**
 * Checks of key material, and of what is signed with it, that name what is wrong without repeating any of it.
 *
 * @module
 */

import type { Issue } from '../errors/hosted-error.js';
import { decodeBase64 } from '../runtime/base64.js';

/** What is wrong with an API key, given as `path`. */
export function apiKeyIssues(key: unknown, path: string): readonly Issue[] {
  if (typeof key !== 'string') return [{ path, message: 'must be a string' }];
  if (key.trim() === '') return [{ path, message: 'must not be blank' }];
  // A key read from a file, line end and all, signs; but nothing it signs is ever accepted.
  if (/[\r\n]/.test(key)) return [{ path, message: 'must not contain a line end' }];
  return [];
}

/** What is wrong with the text that follows in what is signed. */
export function contextIssues(context: unknown): readonly Issue[] {
  return typeof context === 'string' ? [] : [{ path: 'context', message: 'must be a string' }];
}

/** Key bytes given as base64 or as bytes, of one of the `lengths`; null for anything else. */
export function keyBytes(key: unknown, lengths: readonly number[]): Uint8Array | null {
  // A copy of their own: slice() of a Buffer shares its memory, and the caller may overwrite it.
  const given = key instanceof Uint8Array ? Uint8Array.from(key) : null;
  const bytes = typeof key === 'string' ? decodeBase64(key.trim()) : given;
  return bytes !== null && lengths.includes(bytes.length) ? bytes : null;
}
