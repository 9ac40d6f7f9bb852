/**
 * Reads the columns of rows, which drivers may return in several types.
 *
 * @module
 */

import type { Row } from './sql.js';
import type { Json } from './types.js';

/** Reads a text column. Returns null if the column is null. */
export function textOf(row: Row, column: string): string | null {
  const value = row[column];
  return value === null || value === undefined ? null : String(value);
}

/** Reads a numeric column. Returns 0 if the column is null. */
export function numberOf(row: Row, column: string): number {
  return Number(row[column] ?? 0);
}

/** Reads a flag. Statements return flags as text, because the parsers of an application may read booleans in any way. */
export function isSet(row: Row, column: string): boolean {
  return row[column] === true || row[column] === 'true';
}

/** Reads a column of milliseconds since the epoch. Returns null if the column is null. */
export function dateOf(row: Row, column: string): Date | null {
  const value = row[column];
  return value === null || value === undefined ? null : new Date(Number(value));
}

/** Reads the column `context`, which contains the caller's data. Returns null if the column is null. */
export function contextOf<C extends Json>(row: Row): C | null {
  const text = textOf(row, 'context');
  return text === null ? null : (JSON.parse(text) as C);
}
