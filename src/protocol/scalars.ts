/**
 * The spellings of single values on the wire (docs/protocol.md, "Spellings"). A value can be written in several ways.
 * For each kind of value, a schema says which ways are accepted, and a function converts them into one form. Any other
 * spelling is reported as an issue: nothing is guessed.
 *
 * @module
 */

import * as z from 'zod/mini';
import { isRecord } from '../runtime/untrusted-objects.js';

/**
 * A field that may have any value or be missing. A function such as `toDate` then reads the value, and gives null if
 * this fails.
 */
export const wireAnything = z.optional(z.unknown());

/** A string, null or missing. */
export const wireString = z.nullish(z.string('must be a string'));

// All forms of a value have the same message, because zod reports the message of only one form.
const mustBeCode = 'must be a string or an integer';
const mustBeBoolean = 'must be true or false, or "true" or "false"';
const mustBeCount = 'must be a count';

/** An id or a code, as a string or an integer. It may also be null or missing. */
export const wireCode = z.nullish(
  z.union([z.string(), z.number().check(z.refine(Number.isSafeInteger, mustBeCode))], mustBeCode),
);

/** A version: a string or any number; null or missing. */
export const wireVersion = z.nullish(z.union([z.string(), z.number()], 'must be a string or a number'));

const booleanString = /^(?:true|false)$/i;

/** `true`, `"true"`, `"TRUE"`, … Nothing else is accepted: we do not guess what 1 and "yes" mean. */
export const wireBoolean = z.union(
  [z.boolean(), z.string().check(z.regex(booleanString, mustBeBoolean))],
  mustBeBoolean,
);

/** A count: 3, 3.0, `"3"`. */
export const wireCount = z.union(
  [z.number().check(z.refine(isCount, mustBeCount)), z.string().check(z.refine(isCountString, mustBeCount))],
  mustBeCount,
);

/** Whether a value is an id or a code. */
export function isCode(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** Whether a value is a count: an integer of 0 or more. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a value is a count, written as a string. */
export function isCountString(value: unknown): boolean {
  return typeof value === 'string' && /^\d{1,16}(?:\.0+)?$/.test(value) && isCount(Number(value));
}

/** A list without entries: some languages write an empty object as an empty list. */
export const wireEmptyList = z.custom<unknown[]>(
  (value) => Array.isArray(value) && value.length === 0,
  'must be an object',
);

/** A code or id as a string; null if there is none. */
export function toCode(wire: string | number | null | undefined): string | null {
  if (wire === null || wire === undefined || wire === '') return null;
  return typeof wire === 'string' ? wire : String(wire);
}

/** True or false, in a spelling that {@link wireBoolean} accepts; null for anything else. */
export function toBoolean(wire: unknown): boolean | null {
  if (typeof wire === 'boolean') return wire;
  return typeof wire === 'string' && booleanString.test(wire) ? wire.toLowerCase() === 'true' : null;
}

/** A count that {@link wireCount} has accepted; 0 if there is none. */
export function toCount(wire: number | string | null | undefined): number {
  return Number(wire ?? 0);
}

/** A number that the service sent as a number or a string; null for anything else, such as "N/A". */
export function toNumber(wire: unknown): number | null {
  if (typeof wire === 'number') return Number.isFinite(wire) ? wire : null;
  return typeof wire === 'string' && /^-?\d{1,15}(?:\.\d+)?$/.test(wire) ? Number(wire) : null;
}

/**
 * A record in which every value is a string: other values are written as JSON, and null is left out. It has no
 * signatures.
 */
export function toStrings(record: object): Readonly<Record<string, string>> {
  const given = record as Readonly<Record<string, unknown>>;
  for (const name in given) if (typeof given[name] !== 'string' || isSignature(name)) return stringifyValues(given);
  return { ...(given as Readonly<Record<string, string>>) };
}

function stringifyValues(record: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record)
      .filter(([name, value]) => value !== null && !isSignature(name))
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(withoutSignatures(value))]),
  );
}

/**
 * The fields whose content is not in the converted value. They are as the service sent them, but without signatures at
 * any depth. There are two kinds: unknown fields, and fields that could not be parsed. `read` has the parsed values, each under the name of its
 * field on the wire. A field is unknown if its name is in neither `named` nor `read`. A field could not be parsed if
 * the service sent a value, but the value in `read` is null. Without the
 * sent value, such a field would look as if the service had not sent it.
 */
export function extraOf(
  record: Readonly<Record<string, unknown>>,
  named: ReadonlySet<string>,
  read: Readonly<Record<string, unknown>> = noFields,
): Readonly<Record<string, unknown>> {
  const names: string[] = [];
  for (const name in record) {
    const isNamed = named.has(name) || Object.hasOwn(read, name);
    if (!isNamed && !isSignature(name) && record[name] !== undefined && Object.hasOwn(record, name)) names.push(name);
  }
  for (const name in read) {
    if (read[name] === null && Object.hasOwn(read, name) && isPresent(record[name]) && Object.hasOwn(record, name)) {
      names.push(name);
    }
  }
  if (names.length === 0) return noFields;
  return Object.fromEntries(names.map((name) => [name, withoutSignatures(record[name])]));
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

const noFields: Readonly<Record<string, unknown>> = Object.freeze({});

/** Whether a field has a signature (§2.4): until a signature expires, it works like a key. */
function isSignature(name: string): boolean {
  return name === 'signature' || name === 'sec_key';
}

// Nearly no value has a signature, so a value is copied only if it has one.
function withoutSignatures(value: unknown): unknown {
  return hasSignature(value) ? removeSignatures(value) : value;
}

function hasSignature(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, inner]) => isSignature(name) || hasSignature(inner));
}

function removeSignatures(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeSignatures);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !isSignature(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, removeSignatures(inner)]));
}
