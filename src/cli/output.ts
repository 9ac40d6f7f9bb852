/**
 * How a command writes: tables and lines for people, JSON for scripts. Text from the service is never written
 * unchanged, because a name may contain control sequences of a terminal.
 *
 * @module
 */

import type { Context, TextStream } from './context.js';

/**
 * The characters that control a terminal: control characters, and characters that end a line or change the direction
 * of text.
 */
const controls = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

function toSafeText(text: string): string {
  return text.replaceAll(controls, '�');
}

/** Writes one JSON value in one line. */
export function writeJsonLine({ stdout }: Context, value: unknown): void {
  // JSON.stringify escapes only some of these characters, and terminals act on all of them.
  stdout.write(`${JSON.stringify(value).replaceAll(controls, toEscape)}\n`);
}

function toEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Writes a line. */
export function writeLine(stream: TextStream, text: string): void {
  stream.write(`${toSafeText(text)}\n`);
}

/** Writes pairs of a name and a value, one on each line. Pairs without a value are left out. */
export function writeFacts({ stdout }: Context, facts: Readonly<Record<string, unknown>>): void {
  const shown = Object.entries(facts).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(...shown.map(([name]) => name.length));
  for (const [name, value] of shown) writeLine(stdout, `${name.padEnd(width)}  ${toText(value)}`);
}

/** Writes rows in columns, below a header. */
export function writeTable({ stdout }: Context, head: readonly string[], rows: readonly (readonly unknown[])[]): void {
  const texts = [head, ...rows.map((row) => row.map(toText))];
  // `Math.max(...)` is not used, because a call cannot have hundreds of thousands of arguments.
  const widths = head.map((_, column) =>
    texts.reduce((width, row) => Math.max(width, [...(row[column] ?? '')].length), 0),
  );
  for (const row of texts) {
    const cells = row.map((text, column) => text + ' '.repeat((widths[column] ?? 0) - [...text].length));
    writeLine(stdout, cells.join('  ').trimEnd());
  }
}

function toText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  // Milliseconds are left out, because people do not need them.
  if (value instanceof Date) return value.toISOString().replace(/\.\d{3}Z$/, 'Z');
  return toSafeText(String(value));
}
