/**
 * Checks keys and contexts of signers. An issue never repeats a part of a key.
 *
 * @module
 */

import type { Issue } from '../errors/hosted-error.js';
import { decodeBase64 } from '../runtime/base64.js';
import { isBytes } from '../runtime/bytes.js';
import { findPastedProblem } from '../validation/pasted.js';

/** What is probably a mistake in a key: the service has another key (`'copied'`), or others may know it (`'weak'`). */
export interface KeyWarning {
  readonly kind: 'copied' | 'weak';
  readonly message: string;
}

const keyWarnings: readonly (readonly [kind: KeyWarning['kind'], form: RegExp, message: string])[] = [
  ['copied', /\s/, 'contains a blank: copy it again'],
  ['copied', /^(["'`]).*\1$/s, 'is in quotation marks, which count as part of the key: remove them'],
  ['copied', /[“”„‘’«»]/, 'contains typographic quotation marks: copy it as plain text'],
  ['copied', /\\[nr]/, 'contains "\\n" as two characters, which count as part of the key: remove them'],
  ['weak', /^(?:sandbox|production)-test-key$/, 'is a key of the testing kit: use the key that the service gave you'],
  ['weak', /^.{0,15}$/s, 'has fewer than 16 characters, so others may guess it: check that it is whole'],
];

/** Finds what is probably a mistake in one of these keys. */
export function findKeyWarnings(keys: readonly string[]): readonly KeyWarning[] {
  const found = keyWarnings.filter(([, form]) => keys.some((key) => form.test(key)));
  return found.map(([kind, , message]) => ({ kind, message }));
}

/** Finds what is wrong with an API key. `path` is the name of the option that has the key. */
export function findApiKeyIssues(key: unknown, path: string): readonly Issue[] {
  if (typeof key !== 'string') return [{ path, message: 'must be a string' }];
  if (key.trim() === '') return [{ path, message: 'must not be blank' }];
  // A key may be read from a file together with a line end. The service would then accept no signature.
  const message = findPastedProblem(key);
  return message === null ? [] : [{ path, message }];
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
  const given = isBytes(key) ? Uint8Array.from(key) : null;
  const bytes = typeof key === 'string' ? decodeBase64(key.trim()) : given;
  return bytes !== null && lengths.includes(bytes.length) ? bytes : null;
}
