/**
 * Scans the bytes of a large body once, before it is parsed: anyone can post to a callback URL, and `JSON.parse` of 8
 * MiB can take a second. The scan rejects bodies that cannot be a callback. It finds the pair of timestamp and
 * signature. This pair is verified before the body is parsed. The scan is not a full JSON parser. So the pair in the
 * parsed body is later compared with the scanned pair.
 *
 * @module
 */

import { decodeUtf8 } from '../runtime/read-body.js';

/** The properties that form the pair of timestamp and signature (docs/protocol.md §5). */
export const pairNames = ['timestamp', 'signature', 'sec_key'] as const;

/** The pair of a body: the properties from {@link pairNames} that the body has. The object inherits nothing. */
export type Pair = Readonly<Record<string, unknown>>;

/** How many values a body may have. Real bodies have fewer than 200. */
const maxValues = 10_000;
/** How deep the values of a body may be nested. Responses have the same limit. */
const maxDepth = 64;
/** The largest number of bytes of a timestamp, a signature or a number. */
const maxScalarBytes = 1_024;
/**
 * The largest size of a property name in the pair, in bytes. Each character of the name may be written as an escape of
 * six bytes.
 */
const maxNameBytes = 6 * 'timestamp'.length;

/** Replaces a list, an object or a long string in the pair, so that verification rejects the pair as malformed. */
const invalidValue: unknown = Object.freeze({});

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * The tokens that may come next. A closing bracket is also possible after a value, and in an empty list or object.
 */
type Expected = 'name' | 'colon' | 'value' | 'comma';

/**
 * Finds the pair of a body. If a top-level name occurs twice, its last value is used, as with `JSON.parse`.
 *
 * @returns the pair; null if the body cannot be a callback. A callback is an object with at most 64 levels and 10,000
 *   values. It has no number of more than 1,024 digits, and each name, value, colon, comma and bracket is in its place.
 */
export function scanBody(bytes: Uint8Array): Pair | null {
  const start = skipBlanks(bytes, skipMark(bytes));
  if (bytes[start] !== openBrace) return null;
  const pair: Record<string, unknown> = Object.create(null);
  // The closing brackets of the open lists and objects. The last entry closes the innermost list or object.
  const ends: number[] = [closeBrace];
  let values = 1;
  // Whether the innermost list or object is empty so far.
  let isEmpty = true;
  let expected: Expected = 'name';
  // The name of the next value, if it is a top-level name from `pairNames`; otherwise null.
  let name: string | null = null;
  let at = start + 1;
  for (;;) {
    at = skipBlanks(bytes, at);
    const byte = bytes[at];
    if (byte === undefined) return null;
    if (byte === closeBrace || byte === closeBracket) {
      if (byte !== ends.pop() || (expected !== 'comma' && !isEmpty)) return null;
      // The JSON parser later checks the text after the end of the object.
      if (ends.length === 0) return pair;
      expected = 'comma';
      at += 1;
      continue;
    }
    isEmpty = false;
    if (byte === colon || byte === comma) {
      if (expected !== (byte === colon ? 'colon' : 'comma')) return null;
      expected = byte === comma && ends.at(-1) === closeBrace ? 'name' : 'value';
      at += 1;
      continue;
    }
    if (expected === 'name') {
      const end = byte === quote ? skipString(bytes, at) : null;
      if (end === null) return null;
      if (ends.length === 1) name = pairNameOf(bytes.subarray(at, end));
      expected = 'colon';
      at = end;
      continue;
    }
    if (expected !== 'value') return null;
    values += 1;
    if (values > maxValues) return null;
    if (byte === openBrace || byte === openBracket) {
      if (name !== null) pair[name] = invalidValue;
      name = null;
      ends.push(byte === openBrace ? closeBrace : closeBracket);
      if (ends.length > maxDepth) return null;
      isEmpty = true;
      expected = byte === openBrace ? 'name' : 'value';
      at += 1;
      continue;
    }
    const end = byte === quote ? skipString(bytes, at) : skipScalar(bytes, at);
    if (end === null) return null;
    if (name !== null) {
      const value = end - at > maxScalarBytes ? invalidValue : parseScalar(bytes.subarray(at, end));
      if (value === undefined) return null;
      pair[name] = value;
      name = null;
    }
    expected = 'comma';
    at = end;
  }
}

// Skips one byte order mark, as the decoder does.
function skipMark(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isBlank(bytes[at])) at += 1;
  return at;
}

/** How many bytes after an escaped quote are scanned one by one. */
const strideBytes = 64;

/** The index after a string's closing quote; null if there is none. */
function skipString(bytes: Uint8Array, from: number): number | null {
  // Most strings have no escapes, and `indexOf` is ten times faster than a loop. But in a string full of escaped
  // quotes, `indexOf` would be called for every second byte. So after an escaped quote, a loop reads the next bytes.
  let at = from + 1;
  for (;;) {
    const end = bytes.indexOf(quote, at);
    if (end < 0) return null;
    if (bytes[end - 1] !== backslash) return end + 1;
    const known = Math.min(end + strideBytes, bytes.length);
    at = skipEscapes(bytes, at, end);
    while (at < known) {
      if (bytes[at] === quote) return at + 1;
      at += bytes[at] === backslash ? 2 : 1;
    }
  }
}

/** Returns `to + 1` if a backslash escapes the character at `to`, otherwise `to`. */
function skipEscapes(bytes: Uint8Array, from: number, to: number): number {
  let run = to;
  while (run > from && bytes[run - 1] === backslash) run -= 1;
  // An odd number of backslashes escapes the quote.
  return to + ((to - run) % 2);
}

/**
 * The index after a number, `true`, `false`, `null`, or any other text in the place of a value. If the text is longer
 * than the limit, the index is inside the text.
 */
function skipScalar(bytes: Uint8Array, from: number): number {
  const most = Math.min(from + maxScalarBytes, bytes.length);
  for (let at = from + 1; at < most; at++) if (endsScalar(bytes[at])) return at;
  return most;
}

function endsScalar(byte: number | undefined): boolean {
  switch (byte) {
    case comma:
    case colon:
    case quote:
    case openBrace:
    case openBracket:
    case closeBrace:
    case closeBracket:
      return true;
    default:
      return isBlank(byte);
  }
}

/** Unescapes the raw name of a property; null if the name is not in the pair. */
function pairNameOf(raw: Uint8Array): string | null {
  // The raw name includes two quotes.
  if (raw.length > maxNameBytes + 2) return null;
  const name = parseScalar(raw);
  return pairNames.find((known) => known === name) ?? null;
}

/** Parses a string, a number, `true`, `false` or `null`; undefined if the bytes are not JSON. */
function parseScalar(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decodeUtf8(bytes) ?? '');
  } catch {
    // Not JSON.
  }
  return undefined;
}
