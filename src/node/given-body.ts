/**
 * Reads the body that a framework gives: bytes, or the value that a parser returned.
 *
 * @module
 */

import { encodeUtf8, toBytes } from '../runtime/bytes.js';
import { writeJson } from '../runtime/untrusted-objects.js';

/** Returns the bytes of a body that is a string or bytes; null for anything else. */
export function rawBytesOf(body: unknown): Uint8Array | null {
  return typeof body === 'string' ? encodeUtf8(body) : toBytes(body);
}

/**
 * Writes a parsed body as JSON again; returns null if it cannot be written as JSON. The signature does not cover the
 * body, so whitespace and the order of properties do not matter. The parser's changes remain: for example, it may have
 * rounded large numbers, or turned strings into dates.
 */
export function rewriteParsed(body: unknown): Uint8Array | null {
  if (body === undefined) return null;
  try {
    const json: unknown = writeJson(body);
    return typeof json === 'string' ? encodeUtf8(json) : null;
  } catch {
    return null;
  }
}
