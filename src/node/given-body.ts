/**
 * The body of a request, as the code before a handler left it: its bytes, or what a parser made of them.
 *
 * @module
 */

import { writeJson } from '../runtime/prototype.js';

const utf8 = new TextEncoder();

/** Gives the bytes of a body that is a string or bytes; null for anything else. */
export function rawBytesOf(body: unknown): Uint8Array | null {
  if (typeof body === 'string') return utf8.encode(body);
  if (body instanceof Uint8Array) return body;
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  return body instanceof ArrayBuffer ? new Uint8Array(body) : null;
}

/**
 * Writes what a JSON parser made of a body as JSON again; null where it is nothing that JSON can have. The
 * signature does not cover the body, so blanks and the order of properties do not matter. What the parser lost
 * stays lost: digits of large numbers, and how a string was written that it made a date of.
 */
export function rewriteParsed(body: unknown): Uint8Array | null {
  if (body === undefined) return null;
  try {
    const json: unknown = writeJson(body);
    return typeof json === 'string' ? utf8.encode(json) : null;
  } catch {
    return null;
  }
}
