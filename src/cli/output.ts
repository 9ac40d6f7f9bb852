/**
 * How a command writes: tables and lines for people, JSON for scripts. Text from the service is never written
 * unchanged, because a name may contain control sequences of a terminal.
 *
 * @module
 */

import { styleText } from 'node:util';
import { escapeHidden, hidden } from '../local/shell.js';
import type { Fields } from '../protocol/fields.js';
import type { Context, TextStream } from './context.js';

function toSafeText(text: string): string {
  return text.replaceAll(hidden, '�');
}

/** Writes one JSON value in one line. */
export function writeJsonLine({ stdout }: Context, value: unknown): void {
  // JSON.stringify escapes only some of these characters, and terminals act on all of them.
  stdout.write(`${escapeHidden(JSON.stringify(value))}\n`);
}

export type Style = Extract<Parameters<typeof styleText>[0], 'bold' | 'dim' | 'red' | 'yellow'>;

/** Writes a line, in a style if the stream is a terminal that has colors. */
export function writeLine(stream: TextStream, text: string, style?: Style): void {
  stream.write(`${applyStyle(stream, toSafeText(text), style)}\n`);
}

function applyStyle(stream: TextStream, text: string, style: Style | undefined): string {
  return style && stream.hasColors?.() ? styleText(style, text, { validateStream: false }) : text;
}

/** Writes pairs of a name and a value, one on each line. Pairs without a value are left out. */
export function writeFacts({ stdout }: Context, facts: Readonly<Record<string, unknown>>): void {
  const shown = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) {
    stdout.write(`${applyStyle(stdout, name.padEnd(width), 'dim')}  ${toText(value)}\n`);
  }
}

/** The values of the fields that have a label. `writers` has a function for each kind of value that needs one. */
export function factsOf(
  fields: Fields,
  record: object | null,
  writers: Readonly<Record<string, (value: never) => string>> = {},
): Readonly<Record<string, unknown>> {
  const facts = Object.entries(fields).flatMap(([name, { kind, label }]) => {
    const value: unknown = Object(record)[name] ?? null;
    const text = value === null ? null : (writers[kind]?.(value as never) ?? value);
    return label === undefined ? [] : [[label, text] as const];
  });
  return Object.fromEntries(facts);
}

/** Writes rows in columns, below a header. Rows that do not fit on the terminal are written as facts, so that no id is cut. */
export function writeTable(context: Context, head: readonly string[], rows: readonly (readonly unknown[])[]): void {
  const { stdout } = context;
  const texts = [head, ...rows.map((row) => row.map(toText))];
  // `Math.max(...)` is not used, because a call cannot have hundreds of thousands of arguments.
  const widths = head.map((_, column) =>
    texts.reduce((width, row) => Math.max(width, [...(row[column] ?? '')].length), 0),
  );
  const needed = widths.reduce((sum, width) => sum + width + 2, -2);
  if (stdout.isTTY && needed > (stdout.columns ?? Infinity)) {
    writeBlocks(context, head, rows);
    return;
  }
  for (const [index, row] of texts.entries()) {
    const cells = row.map((text, column) => text + ' '.repeat((widths[column] ?? 0) - [...text].length));
    writeLine(stdout, cells.join('  ').trimEnd(), index === 0 ? 'bold' : undefined);
  }
}

function writeBlocks(context: Context, head: readonly string[], rows: readonly (readonly unknown[])[]): void {
  for (const [index, row] of rows.entries()) {
    if (index > 0) writeLine(context.stdout, '');
    writeFacts(context, Object.fromEntries(head.map((name, column) => [name, row[column]])));
  }
}

function toText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  // Milliseconds are left out, because people do not need them.
  if (value instanceof Date) return value.toISOString().replace(/\.\d{3}Z$/, 'Z');
  return toSafeText(String(value));
}
