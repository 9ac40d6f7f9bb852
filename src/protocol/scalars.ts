/**
 * The spellings of values on the wire (docs/protocol.md, "Spellings"). A value can be written in several ways, and a
 * reader gives one form for all of them. Any other spelling gives null, or is reported: nothing is guessed.
 *
 * @module
 */

import { isRecord, type Properties } from '../runtime/untrusted-objects.js';

/**
 * Reports a problem of a field. The path is relative to the record that is read, and empty for the record itself.
 * Returns whether further problems should be reported.
 */
export type Report = (path: string, message: string) => boolean;

/** Creates a {@link Report} that adds problems to `issues`, up to `most` of them. */
export function collectIn(issues: { readonly path: string; readonly message: string }[], most: number): Report {
  return (path, message) => {
    if (issues.length < most) issues.push({ path, message });
    return issues.length < most;
  };
}

/** Whether a field is missing or null. */
export function isAbsent(wire: unknown): wire is null | undefined {
  return wire === undefined || wire === null;
}

/** Whether a field is missing, null or the empty string. */
export function isMissing(wire: unknown): boolean {
  return isAbsent(wire) || wire === '';
}

/** Reads a string; null for anything else, and for the empty string. */
export function toText(wire: unknown): string | null {
  return typeof wire === 'string' && wire !== '' ? wire : null;
}

/** Reads an id or a code, as a string or an integer; null for anything else. */
export function toCode(wire: unknown): string | null {
  return Number.isSafeInteger(wire) ? String(wire) : toText(wire);
}

/** Reads a version, as a string or any number; null for anything else. */
export function toVersion(wire: unknown): string | null {
  return Number.isFinite(wire) ? String(wire) : toText(wire);
}

/** Reads `true`, `"true"`, `"TRUE"`, …; null for anything else. The meaning of 1 and "yes" is not guessed. */
export function toBoolean(wire: unknown): boolean | null {
  if (typeof wire === 'boolean') return wire;
  return typeof wire === 'string' && /^(?:true|false)$/i.test(wire) ? wire.toLowerCase() === 'true' : null;
}

/** Reads a number that was sent as a number or a string; null for anything else, such as "N/A". */
export function toNumber(wire: unknown): number | null {
  if (typeof wire === 'number') return Number.isFinite(wire) ? wire : null;
  return typeof wire === 'string' && /^-?\d{1,15}(?:\.\d+)?$/.test(wire) ? Number(wire) : null;
}

/** Reads an id or a code that must be readable if it is there; null if there is none. */
export function readCode(wire: unknown, path: string, report: Report): string | null {
  const code = toCode(wire);
  if (code === null && !isMissing(wire)) report(path, 'must be a string or an integer');
  return code;
}

/** Reads a count, as 3, 3.0 or `"3"`; 0 if there is none. */
export function readCount(wire: unknown, path: string, report: Report, presence?: 'required'): number {
  if (isCount(wire)) return wire;
  if (typeof wire === 'string' && /^\d{1,16}(?:\.0+)?$/.test(wire) && isCount(Number(wire))) return Number(wire);
  if (presence === 'required' || !isMissing(wire)) report(path, 'must be a count');
  return 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Reads an object; null if it is none. */
export function readObject(wire: unknown, path: string, report: Report): Properties | null {
  if (isRecord(wire)) return wire;
  report(path, 'must be an object');
  return null;
}

/**
 * Reads a list of at most `max` entries, entry by entry, until no further problem should be reported. `read` gives null
 * for an entry that it cannot read, and reports paths that are relative to the entry.
 */
export function readList<Entry>(
  wire: unknown,
  path: string,
  report: Report,
  { max, read }: { readonly max: number; readonly read: (wire: unknown, report: Report) => Entry | null },
): readonly Entry[] {
  const entries: Entry[] = [];
  if (!Array.isArray(wire)) report(path, 'must be a list');
  else if (wire.length > max) report(path, `must have at most ${max} entries`);
  else {
    let isWanted = true;
    let at = 0;
    // One function for all entries: a page has hundreds of lists.
    const reportEntry: Report = (inner, problem) => {
      isWanted = report(joinPath(`${path}[${at}]`, inner), problem);
      return isWanted;
    };
    for (; at < wire.length && isWanted; at++) {
      const entry = read(wire[at], reportEntry);
      if (entry !== null) entries.push(entry);
    }
  }
  return entries;
}

/** Whether a value is a list of at most `max` objects. */
export function areObjects(wire: unknown, max: number): wire is readonly Properties[] {
  return Array.isArray(wire) && wire.length <= max && wire.every(isRecord);
}

/** Reports the problems of the object at `path`. */
export function reportWithin(path: string, report: Report): Report {
  return (inner, message) => report(joinPath(path, inner), message);
}

function joinPath(path: string, inner: string): string {
  return inner === '' ? path : `${path}.${inner}`;
}

/** A record in which every value is a string: other values are written as JSON, and null is left out. */
export function toStrings(record: Properties): Readonly<Record<string, string>> {
  for (const name in record) if (typeof record[name] !== 'string' || isLeftOut(name)) return stringifyValues(record);
  return { ...(record as Readonly<Record<string, string>>) };
}

function stringifyValues(record: Properties): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(record)
      .filter(([name, value]) => value !== null && !isLeftOut(name))
      .map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

/**
 * The fields whose content is not in the public value, as the service sent them, but without signatures: the fields that
 * are not `named`, and those that could not be read, because these would look as if the service had not sent them. These
 * are the fields whose property of `value` is null, and those that `names` has. Nothing in parsed JSON inherits what
 * stands on a polluted prototype (`detachFromPrototype`).
 */
export function extraOf(
  record: Properties,
  named: ReadonlyMap<string, string | null>,
  names: string[],
  value: Properties = noFields,
): Properties {
  for (const name in record) {
    const property = named.get(name);
    if (property === undefined) {
      if (!isLeftOut(name)) names.push(name);
    } else if (property !== null && value[property] === null && !isMissing(record[name])) names.push(name);
  }
  if (names.length === 0) return noFields;
  return Object.fromEntries(names.map((name) => [name, record[name]]));
}

/** The value of an open record without fields. */
export const noFields: Readonly<Record<string, never>> = Object.freeze({});

/**
 * Whether an open record leaves a field out: a signature, which works like a key until it expires, and
 * `__proto__`, which would set a prototype where it is assigned.
 */
function isLeftOut(name: string): boolean {
  return signatureFields.includes(name) || name === '__proto__';
}

/** The fields that have signatures (§2.4). */
export const signatureFields: readonly string[] = ['signature', 'sec_key'];
