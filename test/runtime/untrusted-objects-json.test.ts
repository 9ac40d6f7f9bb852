/** JSON as it is read of responses and callbacks: never too deep, and nothing in it but its own. */

import { expect, test } from 'vitest';
import { isRecord, parseJson } from '../../src/runtime/untrusted-objects.js';

// Depth -----------------------------------------------------------------------

/** Nests so many levels, each of which is opened and closed like this. */
const nested = (levels: number, open: string, close: string) => open.repeat(levels) + close.repeat(levels);

test.each([
  ['lists', '[', ']'],
  ['lists with something before', '[1,"x",', ']'],
  ['objects', '{"a":', '}'],
  ['objects with something before', '{"b":"[[[","a":', '}'],
])('parseJson() reads 64 levels of %s, and nothing deeper', (_what, open, close) => {
  const around = (levels: number) =>
    nested(levels, open, close).replace(`:${close}`, `:1${close}`).replace(`,${close}`, `,1${close}`);

  expect(parseJson(around(64))).toBeTypeOf('object');
  expect(parseJson(around(65))).toBeUndefined();
});

test('parseJson() finds what is deep wherever it stands', () => {
  const deep = nested(64, '[', ']');

  for (const text of [
    `[1,${deep}]`,
    `[${deep},1]`,
    `{"a":1,"b":${deep}}`,
    `{"a":${deep},"b":1}`,
    `{"__proto__":${deep}}`,
  ]) {
    expect(parseJson(text)).toBeUndefined();
  }
});

test('parseJson() of what opens a million times is nothing, whether it closes or not', () => {
  const levels = 512 * 1024;

  expect(parseJson('['.repeat(2 * levels))).toBeUndefined();
  expect(parseJson(nested(levels, '[', ']'))).toBeUndefined();
});

test.each([
  ['[', '[]'],
  ['{', '{}'],
])('parseJson() reads what opens a quarter of a million times with "%s", and nothing more', (_bracket, entry) => {
  const ofEntries = (count: number) => `${'['.repeat(2)}${`${entry},`.repeat(count - 3)}${entry}]]`;

  expect(parseJson(ofEntries(250_000))).toBeTypeOf('object');
  expect(parseJson(ofEntries(250_001))).toBeUndefined();
});

test('parseJson() of an object with more than 1,000 properties is nothing, wherever it stands', () => {
  const wide = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, at])));

  expect(parseJson(wide(1_000))).toBeDefined();
  expect(parseJson(wide(1_001))).toBeUndefined();
  expect(parseJson(`{"result":{"PartnerParams":${wide(1_001)}}}`)).toBeUndefined();
});

test('parseJson() counts no bracket in a string', () => {
  const text = '["[[[[\\"[[[[", "\\\\", "{{{{"]';

  expect(parseJson(text)).toEqual(['[[[["[[[[', '\\', '{{{{']);
  expect(parseJson(JSON.stringify('[{'.repeat(1_000)))).toBe('[{'.repeat(1_000));
});

test.each(['', ' ', '{', '[1,]', "{'a':1}", 'undefined', '\ufeff{}'])('parseJson() of %j is nothing', (text) => {
  expect(parseJson(text)).toBeUndefined();
});

test('parseJson() gives values that are no objects as they are', () => {
  expect([parseJson('null'), parseJson('5'), parseJson('"a"')]).toEqual([null, 5, 'a']);
  expect(Array.isArray(parseJson('[1]'))).toBe(true);
});

test('parseJson() reads lists and strings of any length, and null at any depth', () => {
  const list = Array.from({ length: 20_000 }, (_, at) => at);
  const text = 'a'.repeat(20_000);

  expect(parseJson(JSON.stringify(list))).toEqual(list);
  expect(parseJson(JSON.stringify(text))).toBe(text);
  expect(parseJson(`${'['.repeat(64)}null${']'.repeat(64)}`)).toBeDefined();
  expect(parseJson(`${'{"a":'.repeat(64)}null${'}'.repeat(64)}`)).toBeDefined();
});

test('isRecord() is true of objects, and of no list, function or null', () => {
  expect([{}, { a: 1 }, Object.create(null), new Date()].map(isRecord)).toEqual([true, true, true, true]);
  expect([null, undefined, [], ['a'], 'a', 5, true, () => undefined].some(isRecord)).toBe(false);
});
