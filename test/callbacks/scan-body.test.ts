// What the scan of a large body finds, and what it refuses: JSON.parse is the judge.

import { expect, test } from 'vitest';
import { scanBody } from '../../src/callbacks/scan-body.js';
import { parsedPair, scanned } from './scanned.js';

const timestamp = '2026-01-02T03:04:05.678Z';
const signature = '7wAMvfVaJgf4DVuRXk7tljdk6TMLTbpX9iqn+D+O8a8=';

/** A text in which each character is an escape. */
function escaped(text: string): string {
  return [...text].map((character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');
}

// Found ---------------------------------------------------------------------

test.each([
  ['in order', `{"timestamp":"${timestamp}","signature":"${signature}"}`],
  ['in another order', `{"signature":"${signature}","a":1,"timestamp":"${timestamp}"}`],
  ['with blanks', ` \t\r\n{ "timestamp" : "${timestamp}" , "signature"\n:\t"${signature}" } \n`],
  ['after a nested one', `{"a":{"signature":"other","timestamp":1},"signature":"${signature}","timestamp":2}`],
  ['after one in a list', `{"a":["signature",{"signature":"other"}],"signature":"${signature}"}`],
  ['beside a value that is its name', `{"a":"signature","b":"timestamp","signature":"${signature}"}`],
  ['twice', `{"signature":"first","signature":"${signature}","timestamp":1,"timestamp":"${timestamp}"}`],
  ['a second time as a list', `{"signature":"${signature}","signature":["${signature}"]}`],
  ['a second time as a string', `{"signature":{"signature":"other"},"signature":"${signature}"}`],
  ['with escapes in its name', `{"sig\\u006eature":"${signature}","\\u0074imestamp":"${timestamp}"}`],
  ['again with escapes in its name', `{"signature":"first","\\u0073ec_key":"x","sig\\u006Eature":"second"}`],
  ['with its name in escapes alone', `{"${escaped('timestamp')}":1,"${escaped('signature')}":"x"}`],
  ['with escapes in its value', `{"signature":"a\\"b\\\\","timestamp":"\\u0032026"}`],
  ['as numbers and words', `{"timestamp":-1.5e+3,"signature":null,"sec_key":true}`],
  ['behind a string that looks like the end', `{"a":"}","b":"\\"}","c":"\\\\","signature":"${signature}"}`],
  ['not at all', `{"Signature":"x","signatures":"x","signature ":"x","TIMESTAMP":1}`],
  ['not at all in nothing', '{}'],
  ['beside a name of the prototype', `{"__proto__":{"signature":"x"},"constructor":1,"timestamp":1}`],
])('scanBody() finds the pair %s, as JSON.parse does', (_how, text) => {
  expect(scanned(text)).toEqual(parsedPair(text));
});

test('scanBody() accepts one byte order mark, as decoding does', () => {
  expect(scanned('\u{feff}{"timestamp":1}')).toEqual({ timestamp: 1 });
  expect(scanned('\u{feff}\u{feff}{"timestamp":1}')).toBeNull();
});

test('scanBody() finds nothing on a prototype', () => {
  const pair = scanBody(Buffer.from('{"__proto__":{"signature":"x"}}'));

  expect(pair && Object.getPrototypeOf(pair)).toBeNull();
  expect(pair?.signature).toBeUndefined();
});

test('scanBody() gives no list, object or long string as a pair', () => {
  const long = 'A'.repeat(1_023);

  expect(scanned(`{"signature":["a"],"sec_key":{"b":1},"timestamp":"${long}"}`)).toEqual({
    signature: {},
    sec_key: {},
    timestamp: {},
  });
  expect(scanned(`{"timestamp":"${long.slice(1)}"}`)).toEqual({ timestamp: long.slice(1) });
});

// Refused -------------------------------------------------------------------

const pair = `"timestamp":"${timestamp}","signature":"${signature}"`;

test.each([
  ['nothing', ''],
  ['blanks', ' \n\t '],
  ['a list', `[{${pair}}]`],
  ['a string', '"{}"'],
  ['a number', '5'],
  ['null', 'null'],
  ['an object that does not end', `{${pair}`],
  ['a string that does not end', `{${pair},"a":"`],
  ['a string that ends in a backslash', `{${pair},"a":"\\`],
  ['a pair that is none of JSON', '{"signature":nil}'],
  ['a number of more than 1,024 digits', `{${pair},"a":${'1'.repeat(1_025)}}`],
  ['a pair that is a string with a bad escape', '{"signature":"\\x41"}'],
])('scanBody() refuses %s', (_what, text) => {
  expect(scanned(text)).toBeNull();
});

test.each([
  ['a name after a name', '{""""'],
  ['a string after a name', '{"a""a"'],
  ['a string after a string', `{${pair},"a":"x" "x"`],
  ["a string after a pair's string", '{"signature":"x" "x"'],
  ['a string after a number', `{${pair},"a":1"x"`],
  ['a number after a number', `{${pair},"a":1 2`],
  ['a number after a string in a list', `{${pair},"a":["x"1`],
  ['a list after a list', `{${pair},"a":[[][]`],
  ['a list after a name', `{${pair},"a"[`],
  ['an object after an object', `{${pair},"a":{}{`],
  ['a name after an object', `{${pair},"a":{}"b"`],
  ['a number for a name', '{1:2'],
  ['an object for a name', '{{'],
  ['a list for a name', '{['],
  ['a colon before a name', '{:'],
  ['a colon after a comma', '{"a":1,:'],
  ['a colon after a colon', '{"a"::'],
  ['a colon after a value', '{"a":1:'],
  ['a colon after a string in a list', '{"a":["b":'],
  ['a colon after a list', '{"a":[]:'],
])('scanBody() refuses %s at once', (_what, start) => {
  const closers = ['', '}', ']}', '1}', '"a":1}'];

  for (const end of closers) expect(scanned(start + end)).toBeNull();
});

test.each([
  ['names', '{', '""'],
  ['names after names', '{', '"a"'],
  ['strings behind a signature', '{"signature":', '"x" '],
  ['strings in a list', '{"a":[', '"x"'],
  ['colons', '{', ':'],
  ['colons behind a name', '{"a"', ':'],
  ['lists', '{"a":[', '[]'],
  ['objects', '{"a":', '{}'],
  ['numbers', '{"a":', '1 '],
])('scanBody() refuses %s that nothing parts without reading on', (_what, start, repeated) => {
  const bytes = Buffer.from(`${start}${repeated.repeat(100_000)}`);
  let furthest = 0;
  const watched = new Proxy(bytes, {
    get(target, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) furthest = Math.max(furthest, Number(key));
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

  expect(scanBody(watched)).toBeNull();
  expect(furthest).toBeLessThan(100);
});

test.each([
  ['nested lists', (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`],
  ['nested objects', (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`],
])('scanBody() refuses %s deeper than 64 levels', (_what, textOf) => {
  expect(scanned(textOf(64))).not.toBeNull();
  expect(scanned(textOf(65))).toBeNull();
  expect(() => JSON.parse(textOf(65))).not.toThrow();
});

/** How many values a text has, its whole counted. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce<number>((sum, inner) => sum + countValues(inner), 1);
}

test.each([
  [
    'numbers',
    (count: number) =>
      `{"a":[${Array(count - 2)
        .fill('1')
        .join()}]}`,
  ],
  [
    'empty lists',
    (count: number) =>
      `{"a":[${Array(count - 2)
        .fill('[]')
        .join()}]}`,
  ],
  [
    'strings',
    (count: number) =>
      `{"a":[${Array(count - 2)
        .fill('"a,b"')
        .join()}]}`,
  ],
  ['properties', (count: number) => `{${Array.from({ length: count - 1 }, (_, index) => `"p${index}":1`).join()}}`],
  [
    'objects in objects',
    (count: number) =>
      `{${Array.from({ length: (count - 2) / 2 }, (_, index) => `"p${index}":{"a":1}`).join()},"z":null}`,
  ],
])('scanBody() refuses more than 10,000 values: %s', (_what, textOf) => {
  expect(countValues(JSON.parse(textOf(10_000)))).toBe(10_000);
  expect(scanned(textOf(10_000))).not.toBeNull();
  expect(scanned(textOf(10_002))).toBeNull();
});

// Against JSON.parse --------------------------------------------------------

test.each([
  ['another start', '["timestamp":1}'],
  ['no start', '"timestamp":1}'],
  ['a list that ends as an object', '{"a":[1}}'],
  ['an object that ends as a list', '{"a":{"b":1]}'],
  ['a list that ends as an object, and then as a list', '{"a":[1}]}'],
  ['a comma before the end', '{"a":1,}'],
  ['a comma before the end of a list', '{"a":[1,]}'],
  ['a comma behind something empty', '{"a":{},}'],
  ['a comma behind an empty list, in a list', '{"a":[[],]}'],
  ['no value', '{"a":}'],
  ['a name that begins with no quote', '{x":1}'],
  ['a number as a name', '{1:1}'],
  ['no end', '{"a":1'],
  ['no end of a name', '{"a'],
  ['no end of a string', '{"a":"b'],
  ['no end of a number', '{"a":1.5'],
])('scanBody() refuses %s, as JSON.parse does', (_what, text) => {
  expect(() => JSON.parse(text)).toThrow(SyntaxError);
  expect(scanned(text)).toBeNull();
});

test.each([1_025, 5_000])('scanBody() refuses a number of %d digits', (digits) => {
  expect(scanned(`{"a":${'1'.repeat(digits)}}`)).toBeNull();
});

test.each([
  [0xee, 0xbb, 0xbf],
  [0xef, 0xba, 0xbf],
  [0xef, 0xbb, 0xbe],
  [0xef, 0x20, 0x20],
  [0x20, 0xbb, 0x20],
  [0x20, 0x20, 0xbf],
])('scanBody() takes the bytes %i %i %i for no byte order mark', (...bytes) => {
  expect(scanBody(Buffer.concat([Buffer.from(bytes), Buffer.from('{"timestamp":1}')]))).toBeNull();
});
