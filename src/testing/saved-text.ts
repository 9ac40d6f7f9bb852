/**
 * Saved states as text. A text has a version and a checksum, so a state that was changed, cut off or written by another
 * version is refused as a whole, and what is read needs no further check.
 *
 * @module
 */

import { detachFromPrototype, isRecord, writeJson } from '../runtime/untrusted-objects.js';
import { hash } from './random.js';

/** It rises only if older states cannot be read. A field that an older state does not have is read as missing. */
const version = 1;

/** What a state belongs to: each can read only its own. */
type Owner = 'mock service' | 'sandbox';

/** The properties that can be null. A state of an older version may lack them, so `satisfies` names each where it is read. */
export type NullsOf<T> = { readonly [Name in keyof T as null extends T[Name] ? Name : never]: unknown };

/** Writes a state as JSON. */
export function writeSaved(of: Owner, state: object): string {
  const text = writeJson(state);
  return `{"of":"${of}","version":${version},"checksum":${hash(text)},"state":${text}}`;
}

/** Reads a state that {@link writeSaved} wrote; null for any other text. */
export function readSaved(of: Owner, text: unknown): unknown {
  try {
    const saved: unknown = detachFromPrototype(JSON.parse(String(text)));
    if (!isRecord(saved) || saved.of !== of || saved.version !== version) return null;
    return saved.checksum === hash(writeJson(saved.state)) ? saved.state : null;
  } catch {
    return null;
  }
}
