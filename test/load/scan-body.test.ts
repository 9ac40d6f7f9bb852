// Many bodies that are written at random: the scan finds in each what JSON.parse finds.

import { describe, expect, test } from 'vitest';
import { pairNames } from '../../src/callbacks/scan-body.js';
import { parsedPair, scanned } from '../callbacks/scanned.js';
import { randomFrom } from '../support/random.js';

test('scanBody() finds the end of every string, however its quotes and backslashes stand', () => {
  const random = randomFrom(64);
  const pieces = () => [
    `\\\\`,
    `\\"`,
    'a',
    'a'.repeat(Math.floor(random() * 130)),
    `\\\\`.repeat(Math.floor(random() * 40)),
  ];

  for (let count = 0; count < 5_000; count++) {
    const content = Array.from({ length: random() * 12 }, () => pieces()[Math.floor(random() * 5)]).join('');
    const text = `{"a":"${content}","timestamp":${count},"b":"${content}"}`;

    expect(() => JSON.parse(text)).not.toThrow();
    expect(scanned(text)).toEqual({ timestamp: count });
  }
});

/** Writes JSON as nobody honest would: names of the pair everywhere, duplicates, escapes, blanks. */
function createWriter(random: () => number) {
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
  const repeat = (most: number, write: () => string) => Array.from({ length: Math.floor(random() * most) }, write);
  const blanks = () => repeat(3, () => pick([' ', '\n', '\t', '\r'])).join('');
  const escaped = (text: string) =>
    [...text]
      .map((character) => {
        if (random() > 0.2) return character;
        const code = character.charCodeAt(0).toString(16).padStart(4, '0');
        return `\\u${random() < 0.5 ? code : code.toUpperCase()}`;
      })
      .join('');
  const characters = [
    'a',
    '"',
    '\\',
    '/',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    ' ',
    'é',
    '李',
    '😀',
    '\n',
    '\u2028',
    '\ud800',
  ];
  const anyText = () => JSON.stringify(repeat(8, () => pick(characters)).join(''));
  const name = () =>
    random() < 0.5
      ? `"${random() < 0.3 ? escaped(pick(pairNames)) : pick(pairNames)}"`
      : pick([anyText(), '"Signature"', '"sec_key "', '"timestamps"', '"__proto__"', '""']);
  const scalar = () =>
    pick([
      anyText,
      anyText,
      name,
      () => pick(['true', 'false', 'null', '0', '-1.5e-7', '1767323045678', '"\\u0000"']),
    ])();
  const value = (levels: number): string =>
    levels === 0 || random() < 0.6 ? scalar() : random() < 0.6 ? object(levels - 1) : list(levels - 1);
  const list = (levels: number): string =>
    `[${blanks()}${repeat(4, () => value(levels) + blanks()).join(`,${blanks()}`)}]`;
  const object = (levels: number): string =>
    `{${blanks()}${repeat(6, () => `${name()}${blanks()}:${blanks()}${value(levels)}${blanks()}`).join(`,${blanks()}`)}}`;
  return { pick, object: () => `${blanks()}${object(3)}${blanks()}` };
}

describe('objects of one seed', { timeout: 60_000 }, () => {
  const runs = Number(process.env.FUZZ_RUNS ?? 20_000);

  test('scanBody() finds in each what JSON.parse finds', () => {
    const { object } = createWriter(randomFrom(20_260_102));
    let withPair = 0;

    for (let count = 0; count < runs; count++) {
      const text = object();
      const expected = parsedPair(text);
      if (Object.keys(expected).length > 0) withPair += 1;
      const found = scanned(text);
      if (JSON.stringify(sorted(found)) !== JSON.stringify(sorted(expected)))
        expect([text, found]).toEqual([text, expected]);
    }

    expect(withPair).toBeGreaterThan(runs / 2);
  });

  test('scanBody() finds nothing else where a character was lost or changed', () => {
    const random = randomFrom(7);
    const { object, pick } = createWriter(random);
    let readable = 0;

    for (let count = 0; count < runs; count++) {
      const text = object();
      const at = Math.floor(random() * text.length);
      const changed = text.slice(0, at) + pick(['', '', '"', '\\', '{', '}', ',', ':', 'x']) + text.slice(at + 1);
      // As it would arrive: half of a character is another one.
      const broken = Buffer.from(changed).toString();
      const found = scanned(broken);
      const expected = expectedOf(broken);
      if (expected === null) continue;
      readable += 1;
      if (JSON.stringify(sorted(found)) !== JSON.stringify(sorted(expected)))
        expect([broken, found]).toEqual([broken, expected]);
    }

    expect(readable).toBeGreaterThan(runs / 100);
  });
});

/** The pair of a text that may be no object at all: null then. */
function expectedOf(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? parsedPair(text) : null;
  } catch {
    return null;
  }
}

function sorted(properties: object | null): unknown {
  return properties && Object.entries(properties).sort(([one], [other]) => (one < other ? -1 : 1));
}
