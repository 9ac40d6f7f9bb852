/**
 * The spellings single values take on the wire, each as a schema of what may travel and a function
 * to the one clean value (docs/protocol.md, "Spellings"). What is neither is an issue, not a guess.
 *
 * @module
 */

import * as z from 'zod/mini';
import { parseDateTime } from './date-time.js';
import { isHttpUrl } from './http-url.js';

/** A field that may be missing or null, of which nothing is said: see {@link toDate}, {@link toUrl}. */
export const wireAnything = z.optional(z.unknown());

/** Text, null or missing. */
export const wireString = z.nullish(z.string('must be a string'));

// Each form of a value says the same of what is right: zod passes on the words of the nearest one.
const mustBeCode = 'must be a string or an integer';
const mustBeBoolean = 'must be true or false, or "true" or "false"';
const mustBeCount = 'must be a count';

/** An id or a code: text, or a whole number; null or missing. */
export const wireCode = z.nullish(
  z.union([z.string(), z.number().check(z.refine(Number.isSafeInteger, mustBeCode))], mustBeCode),
);

/** A version: text or any number; null or missing. */
export const wireVersion = z.nullish(z.union([z.string(), z.number()], 'must be a string or a number'));

/** `true`, `"true"`, `"TRUE"`, …; nothing else, so that 1 and "yes" are never guessed at. */
export const wireBoolean = z.union(
  [z.boolean(), z.string().check(z.refine(isBooleanString, mustBeBoolean))],
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

/** Whether a value is the text of true or false. */
export function isBooleanString(value: unknown): boolean {
  return typeof value === 'string' && /^(?:true|false)$/i.test(value);
}

/** Whether a value is a count as it should be written: a whole number of 0 or more. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Whether a value is the text of a count. */
export function isCountString(value: unknown): boolean {
  return typeof value === 'string' && /^\d{1,16}(?:\.0+)?$/.test(value) && isCount(Number(value));
}

/** A list without entries, which is how some languages write an object without properties. */
export const wireEmptyList = z.custom<unknown[]>(
  (value) => Array.isArray(value) && value.length === 0,
  'must be an object',
);

/** A code or id as text, without inventing or losing a zero; null where there is none. */
export function toCode(wire: string | number | null | undefined): string | null {
  if (wire === null || wire === undefined || wire === '') return null;
  return typeof wire === 'string' ? wire : String(wire);
}

/** True or false; null where there is neither. */
export function toBoolean(wire: boolean | string | null | undefined): boolean | null {
  if (wire === null || wire === undefined) return null;
  return typeof wire === 'boolean' ? wire : wire.toLowerCase() === 'true';
}

/** A count, of which {@link wireCount} has said that it is one; 0 where there is none. */
export function toCount(wire: number | string | null | undefined): number {
  return Number(wire ?? 0);
}

/** A number written as number or text; null for anything else, such as "N/A". */
export function toNumber(wire: unknown): number | null {
  if (typeof wire === 'number') return Number.isFinite(wire) ? wire : null;
  return typeof wire === 'string' && /^-?\d{1,15}(?:\.\d+)?$/.test(wire) ? Number(wire) : null;
}

/** A time; null for anything that is none, such as "Not Available". */
export function toDate(wire: unknown): Date | null {
  return typeof wire === 'string' ? parseDateTime(wire) : null;
}

/** An http(s) address; null for anything else. */
export function toUrl(wire: unknown): string | null {
  return typeof wire === 'string' && isHttpUrl(wire) ? wire : null;
}

/** Members by name as text: what is no text is written as JSON, what is null is left out. */
export function toStrings(record: object): Readonly<Record<string, string>> {
  const given = record as Readonly<Record<string, unknown>>;
  for (const name in given) if (typeof given[name] !== 'string') return stringifyValues(given);
  return { ...(given as Readonly<Record<string, string>>) };
}

function stringifyValues(record: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/**
 * The fields of a record that are in neither `named` nor `read`: kept as they came. Of those in `read`,
 * given by wire name with what each was read as, one that came and could not be read stands here too: its
 * clean value is null, and must not look like one that did not come.
 */
export function extraOf(
  record: Readonly<Record<string, unknown>>,
  named: ReadonlySet<string>,
  read: Readonly<Record<string, unknown>> = noFields,
): Readonly<Record<string, unknown>> {
  const names: string[] = [];
  for (const name in record) {
    const isNamed = named.has(name) || Object.hasOwn(read, name);
    if (!isNamed && record[name] !== undefined && Object.hasOwn(record, name)) names.push(name);
  }
  for (const name in read) {
    if (read[name] === null && Object.hasOwn(read, name) && isPresent(record[name]) && Object.hasOwn(record, name)) {
      names.push(name);
    }
  }
  return names.length === 0 ? noFields : Object.fromEntries(names.map((name) => [name, record[name]]));
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

const noFields: Readonly<Record<string, unknown>> = Object.freeze({});
