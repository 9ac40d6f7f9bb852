/** How commands write. */

import { expect, test } from 'vitest';
import { writeFacts, writeJsonLine, writeLine, writeTable } from '../../src/cli/output.ts';

/** Every character that changes the direction of text: Unicode standard annex 9, section 2. */
const directions = [0x61c, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069];
/** Control characters of C0 and C1, and separators of lines. */
const others = [0x00, 0x07, 0x1b, 0x7f, 0x85, 0x9b, 0x2028, 0x2029];

function streams() {
  const written = { stdout: '', stderr: '' };
  const context = {
    env: {},
    stdout: { write: (text: string) => (written.stdout += text) },
    stderr: { write: (text: string) => (written.stderr += text) },
    signal: new AbortController().signal,
  };
  return { written, context };
}

test.each([...directions, ...others].map((code) => code.toString(16)))('U+%s does not reach a terminal', (code) => {
  const character = String.fromCharCode(Number.parseInt(code, 16));
  const text = `a${character}b`;
  const { written, context } = streams();

  writeLine(context.stdout, text);
  writeFacts(context, { Name: text });
  writeTable(context, ['NAME'], [[text]]);
  expect(written.stdout).toBe('a�b\nName  a�b\nNAME\na�b\n');

  written.stdout = '';
  writeJsonLine(context, { name: text });
  expect(written.stdout).not.toContain(character);
  expect(JSON.parse(written.stdout)).toEqual({ name: text });
});

test('a table has any number of rows', () => {
  let lines = 0;
  const stream = { write: () => (lines += 1) };
  const context = { env: {}, stdout: stream, stderr: stream, signal: new AbortController().signal };

  writeTable(
    context,
    ['REF'],
    Array.from({ length: 200_000 }, (_, index) => [index]),
  );

  expect(lines).toBe(200_001);
});

/** A terminal of this width. */
function terminal(columns: number, colors = false) {
  const written: string[] = [];
  const stdout = { isTTY: true, columns, hasColors: () => colors, write: (text: string) => written.push(text) };
  return { written, context: { env: {}, stdout, stderr: stdout, signal: new AbortController().signal } };
}

test.each([
  [12, 'REF    NAME\nref-1  Ada\nref-2  -\n'],
  [10, 'REF   ref-1\nNAME  Ada\n\nREF  ref-2\n'],
])('on a terminal of %d columns, no id is cut', (columns, shown) => {
  const { written, context } = terminal(columns);

  writeTable(
    context,
    ['REF', 'NAME'],
    [
      ['ref-1', 'Ada'],
      ['ref-2', null],
    ],
  );

  expect(written.join('')).toBe(shown);
});

test('a style is written only to a terminal that has colors, and cannot be written by data', () => {
  const [colored, plain] = [terminal(80, true), terminal(80)];

  for (const { context } of [colored, plain]) writeLine(context.stdout, 'a\u001b[32mb', 'red');

  expect([colored.written, plain.written]).toEqual([['\u001b[31ma�[32mb\u001b[39m\n'], ['a�[32mb\n']]);
});
