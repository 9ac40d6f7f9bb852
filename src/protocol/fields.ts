/**
 * Tables of fields, and the reading of records by them: a value that cannot be read is null, and its field stays in
 * `extra`, unless the field is strict.
 *
 * @module
 */

import { isRecord, type Properties } from '../runtime/untrusted-objects.js';
import { toUrl } from './http-url.js';
import { isMissing, type Report, toBoolean, toCode, toNumber, toStrings, toText, toVersion } from './scalars.js';

/** A field of a record. */
export interface Field<Kind extends string = string> {
  /** The name of the field on the wire; more than one if the property has several fields. */
  readonly wire: string | readonly string[];
  readonly kind: Kind;
  /** Whether the whole response is rejected if the field cannot be read. */
  readonly isStrict?: true;
  /** What people call the field. A field without a label is not shown. */
  readonly label?: string;
}

/** The fields of a record, under the names of their properties. */
export type Fields = Readonly<Record<string, Field>>;

const readers = {
  text: toText,
  code: toCode,
  version: toVersion,
  flag: toBoolean,
  number: toNumber,
  url: toUrl,
  strings: (wire: unknown) => (isRecord(wire) ? toStrings(wire) : isEmptyList(wire) ? {} : null),
};

type Kind = keyof typeof readers;

/** The values of the fields whose kind has a reader. */
type Values<Table extends Fields> = {
  [Name in keyof Table as Table[Name]['kind'] extends Kind ? Name : never]: ReturnType<
    (typeof readers)[Table[Name]['kind'] & Kind]
  >;
};

/**
 * Creates the function that reads the fields of a record. It adds the names of the fields that it could not read to
 * `unread`, and reports those that are strict.
 */
export function createReader<Table extends Fields>(table: Table) {
  const rows = Object.entries(table).flatMap(([name, { wire, kind, isStrict }]) =>
    kind in readers ? [{ name, field: String(wire), read: readers[kind as Kind], isStrict }] : [],
  );
  return (wire: Properties, unread: string[], report: Report): Values<Table> => {
    const values: Record<string, unknown> = {};
    for (const { name, field, read, isStrict } of rows) {
      const value = read(wire[field]);
      values[name] = value;
      if (value !== null || isMissing(wire[field])) continue;
      if (isStrict) report(field, 'must be a string or an integer');
      else unread.push(field);
    }
    return values as Values<Table>;
  };
}

/** The properties of all fields, under the names of the fields on the wire; null for strict fields. */
export function propertiesOf(...tables: readonly Fields[]): ReadonlyMap<string, string | null> {
  const entries = tables.flatMap((table) => Object.entries(table));
  return new Map(
    entries.flatMap(([name, { wire, isStrict }]) => [wire].flat().map((field) => [field, isStrict ? null : name])),
  );
}

/** Whether a value is an empty list. Some languages write an empty object like this. */
export function isEmptyList(wire: unknown): boolean {
  return Array.isArray(wire) && wire.length === 0;
}
