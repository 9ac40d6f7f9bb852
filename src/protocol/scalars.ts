/**
 * The spellings of values on the wire (docs/protocol.md, "Spellings"). A value can be written in several ways, and a
 * reader gives one form for all of them. Any other spelling is reported: nothing is guessed.
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

/** Reads a string; null if there is none. */
export function readString(wire: unknown, path: string, report: Report): string | null {
  if (typeof wire === 'string') return wire;
  if (!isAbsent(wire)) report(path, 'must be a string');
  return null;
}

/** Reads an id or a code, as a string or an integer; null if there is none, or if it is empty. */
export function readCode(wire: unknown, path: string, report: Report): string | null {
  return Number.isSafeInteger(wire) ? String(wire) : readText(wire, path, report, 'an integer');
}

/** Reads a version, as a string or any number; null if there is none, or if it is empty. */
export function readVersion(wire: unknown, path: string, report: Report): string | null {
  return Number.isFinite(wire) ? String(wire) : readText(wire, path, report, 'a number');
}

function readText(wire: unknown, path: string, report: Report, other: string): string | null {
  if (typeof wire === 'string') return wire === '' ? null : wire;
  if (!isAbsent(wire)) report(path, `must be a string or ${other}`);
  return null;
}

/** Reads `true`, `"true"`, `"TRUE"`, …; null if there is none. The meaning of 1 and "yes" is not guessed. */
export function readBoolean(wire: unknown, path: string, report: Report, presence?: 'required'): boolean | null {
  const value = toBoolean(wire);
  if (value === null && (presence === 'required' || !isAbsent(wire))) {
    report(path, 'must be true or false, or "true" or "false"');
  }
  return value;
}

/** Reads a count, as 3, 3.0 or `"3"`; 0 if there is none. */
export function readCount(wire: unknown, path: string, report: Report, presence?: 'required'): number {
  if (isCount(wire)) return wire;
  if (typeof wire === 'string' && /^\d{1,16}(?:\.0+)?$/.test(wire) && isCount(Number(wire))) return Number(wire);
  if (presence === 'required' || !isAbsent(wire)) report(path, 'must be a count');
  return 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Reads an object; null if it is none. */
export function readObject(
  wire: unknown,
  path: string,
  report: Report,
  message = 'must be an object',
): Properties | null {
  if (isRecord(wire)) return wire;
  report(path, message);
  return null;
}

/** The rules of a list. */
export interface ListRules<Entry> {
  /** The largest number of entries. A longer list is rejected before any entry is read. */
  readonly max: number;
  /** The message for a value that is not a list. Default `'must be a list'`. */
  readonly message?: string;
  /** Reads an entry; null if it cannot be read. The paths that it reports are relative to the entry. */
  readonly read: (wire: unknown, report: Report) => Entry | null;
}

/** Reads a list, entry by entry, until no further problem should be reported. */
export function readList<Entry>(
  wire: unknown,
  path: string,
  report: Report,
  { max, message = 'must be a list', read }: ListRules<Entry>,
): readonly Entry[] {
  const entries: Entry[] = [];
  if (!Array.isArray(wire)) report(path, message);
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

/** Reports the problems of the object at `path`. */
export function reportWithin(path: string, report: Report): Report {
  return (inner, message) => report(joinPath(path, inner), message);
}

function joinPath(path: string, inner: string): string {
  return inner === '' ? path : `${path}.${inner}`;
}

/** True or false, in any of its spellings; null for anything else. */
export function toBoolean(wire: unknown): boolean | null {
  if (typeof wire === 'boolean') return wire;
  return typeof wire === 'string' && /^(?:true|false)$/i.test(wire) ? wire.toLowerCase() === 'true' : null;
}

/** A number that the service sent as a number or a string; null for anything else, such as "N/A". */
export function toNumber(wire: unknown): number | null {
  if (typeof wire === 'number') return Number.isFinite(wire) ? wire : null;
  return typeof wire === 'string' && /^-?\d{1,15}(?:\.\d+)?$/.test(wire) ? Number(wire) : null;
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
 * are not `named`, and those of `read` that are there and could not be read, because they would look as if the service
 * had not sent them.
 * `read` has the values that were read, under the names of their fields.
 */
export function extraOf(record: Properties, named: ReadonlySet<string>, read: Properties = noFields): Properties {
  const names: string[] = [];
  for (const name in record) {
    const isUnknown = !named.has(name) && !Object.hasOwn(read, name) && !isLeftOut(name);
    if (isUnknown && Object.hasOwn(record, name)) names.push(name);
  }
  for (const name in read) if (read[name] === null && !isMissing(record[name])) names.push(name);
  if (names.length === 0) return noFields;
  return Object.fromEntries(names.map((name) => [name, record[name]]));
}

const noFields: Properties = Object.freeze({});

/**
 * Whether an open record leaves a field out: a signature, which works like a key until it expires, and
 * `__proto__`, which would set a prototype where it is assigned.
 */
function isLeftOut(name: string): boolean {
  return signatureFields.includes(name) || name === '__proto__';
}

/** The fields that have signatures (§2.4). */
export const signatureFields: readonly string[] = ['signature', 'sec_key'];
