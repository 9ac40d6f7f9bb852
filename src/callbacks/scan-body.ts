/**
 * Scans the bytes of a large body once, before it is parsed: anyone can post to a callback URL, and
 * `JSON.parse` of 8 MiB can take a second. The scan rejects what cannot be a callback, and finds the pair of
 * timestamp and signature, so that it can be verified first. Invalid JSON may pass the scan; the pair is
 * compared with the parsed one later.
 *
 * @module
 */

import { decodeUtf8 } from '../runtime/read-body.js';

/** The properties of the pair (docs/protocol.md §5). */
export const pairNames = ['timestamp', 'signature', 'sec_key'] as const;

/** The pair of a body: those of {@link pairNames} that it has. It inherits nothing. */
export type Pair = Readonly<Record<string, unknown>>;

/** How many values a body may have. Real ones have fewer than 200. */
const maxValues = 10_000;
/** How deep a body may nest: as deep as a response. */
const maxDepth = 64;
/** How many bytes a timestamp, a signature, and any number may have. */
const maxScalarBytes = 1_024;
/** The most bytes of a name of the pair, if every character is an escape of six. */
const maxNameBytes = 6 * 'timestamp'.length;

/** Stands for a list, an object or a long string, which verifying rejects as malformed. */
const invalidValue: unknown = Object.freeze({});

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** What may come next. An end of a list or object may, too, if it is empty or a value came last. */
type Expected = 'name' | 'colon' | 'value' | 'comma';

/**
 * Finds the pair of a body: for each name the last top-level property, as with `JSON.parse`.
 *
 * @returns the pair, or null if the body is no object, nests deeper than 64 levels, has more than 10,000 values
 *   or a number of more than 1,024 digits, or has a name, value, colon, comma or end in the wrong place.
 */
export function scanBody(bytes: Uint8Array): Pair | null {
  const start = skipBlanks(bytes, skipMark(bytes));
  if (bytes[start] !== openBrace) return null;
  const pair: Record<string, unknown> = Object.create(null);
  // The closing brackets of the open lists and objects, the innermost last.
  const ends: number[] = [closeBrace];
  let values = 1;
  // Whether the innermost list or object is empty so far.
  let isEmpty = true;
  let expected: Expected = 'name';
  // The name of the pair whose value comes next, at the top level.
  let name: string | null = null;
  let at = start + 1;
  for (;;) {
    at = skipBlanks(bytes, at);
    const byte = bytes[at];
    // Stryker disable next-line ConditionalExpression: what is not there is refused below as well
    if (byte === undefined) return null;
    if (byte === closeBrace || byte === closeBracket) {
      if (byte !== ends.pop() || (expected !== 'comma' && !isEmpty)) return null;
      // What follows the end is left to the parser.
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
      // Stryker disable next-line ConditionalExpression: behind a place that is none nothing stands
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
    // Stryker disable next-line ConditionalExpression: behind a place that is none nothing stands
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

// One byte order mark is skipped, as by the decoder.
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
  // Most strings have no escapes, and `indexOf` is ten times faster. In a string full of escaped quotes it
  // would be called at every other byte.
  let at = from + 1;
  for (;;) {
    const end = bytes.indexOf(quote, at);
    // Stryker disable next-line ConditionalExpression,EqualityOperator: from the first byte on nothing is expected
    if (end < 0) return null;
    // Stryker disable next-line ConditionalExpression: the steps below find the same end
    if (bytes[end - 1] !== backslash) return end + 1;
    // Stryker disable next-line MethodExpression: the end of the bytes ends the steps too
    const known = Math.min(end + strideBytes, bytes.length);
    at = skipEscapes(bytes, at, end);
    // Stryker disable next-line EqualityOperator: one step more finds the same
    while (at < known) {
      if (bytes[at] === quote) return at + 1;
      at += bytes[at] === backslash ? 2 : 1;
    }
  }
}

/** The first index in a string, `to` or the next, that is not part of an escape that began before it. */
function skipEscapes(bytes: Uint8Array, from: number, to: number): number {
  let run = to;
  // Stryker disable next-line ConditionalExpression: before it stand a quote, or backslashes in pairs
  while (run > from && bytes[run - 1] === backslash) run -= 1;
  // An odd number of backslashes takes the quote with it.
  // Stryker disable next-line ArithmeticOperator: from one place before, the next step leads behind the quote
  return to + ((to - run) % 2);
}

/** The place behind a number, a word, or whatever else stands where a value should; within it where it is too long. */
function skipScalar(bytes: Uint8Array, from: number): number {
  const most = Math.min(from + maxScalarBytes, bytes.length);
  // Stryker disable next-line EqualityOperator: the place itself is what is returned then
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

/** The name of the pair that a property's name stands for, with or without escapes; null if it is none. */
function pairNameOf(raw: Uint8Array): string | null {
  // The quotes count.
  // Stryker disable next-line ConditionalExpression,EqualityOperator,ArithmeticOperator: a longer name is none of them anyway
  if (raw.length > maxNameBytes + 2) return null;
  const name = parseScalar(raw);
  return pairNames.find((known) => known === name) ?? null;
}

/** Parses a string, a number or a word; undefined if it is not JSON. */
function parseScalar(bytes: Uint8Array): unknown {
  try {
    // Stryker disable next-line StringLiteral: no JSON either
    return JSON.parse(decodeUtf8(bytes) ?? '');
  } catch {
    // It is none.
  }
  return undefined;
}
