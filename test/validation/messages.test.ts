/** What is said of input that is wrong: what would be right, and of a number what it was; never another value. */

import { expect, test } from 'vitest';
import * as z from 'zod/mini';
import { check, inputObject, issuesOf, looseInputObject } from '../../src/validation/check.js';
import {
  anyString,
  callbackUrl,
  callOptions,
  dateTime,
  duration,
  extraProperties,
  flag,
  httpUrl,
  integer,
  isAbortSignal,
  nonBlank,
} from '../../src/validation/input.js';

const timer = 2 ** 31 - 1;
const options = inputObject(callOptions);

test.each<[z.ZodMiniType, unknown, RegExp]>([
  [integer(0), -1, / of 0 or more, got -1$/],
  [integer(0), 0.5, / of 0 or more, got 0.5$/],
  [integer(0), 2 ** 53, / of 0 or more, got 9007199254740992$/],
  [integer(0, 16), 17, / from 0 to 16, got 17$/],
  [integer(1, 16), 0, / from 1 to 16, got 0$/],
  [integer(0), '5', / got a string$/],
  [integer(0), null, / got null$/],
  [integer(0), [1], / got an array$/],
  [integer(0), undefined, / got nothing$/],
  [integer(0), {}, / got a object$/],
  [integer(0), true, / got a boolean$/],
  [duration, 0, new RegExp(` of milliseconds from 1 to ${timer}, got 0$`)],
  [duration, timer + 1, / got 2147483648$/],
  [duration, 1.5, / got 1.5$/],
  [duration, '1000', / got a string$/],
  [nonBlank, 5, /^must be a string$/],
  [nonBlank, ' \t', /^must not be blank$/],
  [anyString, null, /^must be a string$/],
  [flag, 'true', /^must be true or false$/],
  [httpUrl, 'ftp://example.test', /^must be an absolute http\(s\)/],
  [httpUrl, 'https://example.test/a\u200cb', /^must not contain invisible characters/],
  [httpUrl, 'https://example.test/می\u200b', /^must not contain invisible characters/],
  [callbackUrl, 5, /^must be an absolute http\(s\) URL, or null /],
  [dateTime, '2030-01-31', /^must be a valid Date, or an ISO 8601 .*offset/],
  [dateTime, { toString: () => '2030-01-31T12:00:00Z' }, /^must be a valid Date/],
  [dateTime, new Date(Number.NaN), /^must be a valid Date/],
  [inputObject({}), 5, /^must be an object$/],
  [looseInputObject({}), null, /^must be an object$/],
  [extraProperties(new Set()), 5, /^must be an object that can be written as JSON$/],
  [extraProperties(new Set()), { a: 5n }, /^must be an object that can be written as JSON$/],
])('what is wrong is said: case %#', (schema, given, message) => {
  expect(check(schema, given)).toEqual({
    data: undefined,
    issues: [{ path: '', message: expect.stringMatching(message) }],
  });
});

test.each<[z.ZodMiniType, unknown, unknown]>([
  [integer(0, 16), 0, 0],
  [integer(0, 16), 16, 16],
  [integer(0), 2 ** 53 - 1, 2 ** 53 - 1],
  [duration, 1, 1],
  [duration, timer, timer],
  [httpUrl, 'https://EXAMPLE.test', 'https://EXAMPLE.test'],
  [httpUrl, new URL('https://EXAMPLE.test'), 'https://example.test/'],
  // Joiners and variation selectors are a part of words and symbols.
  [httpUrl, 'https://example.test/می\u200cخواهم/❤\ufe0f', 'https://example.test/می\u200cخواهم/❤\ufe0f'],
  [dateTime, '2030-01-31T12:00:00+01:00', '2030-01-31T12:00:00+01:00'],
  [dateTime, new Date(Date.UTC(2030, 0, 31, 12)), '2030-01-31T12:00:00.000Z'],
  [options, { headers: { 'X-Trace': 'a\tb' } }, { headers: { 'x-trace': 'a\tb' } }],
  [options, { maxRetries: 100 }, { maxRetries: 100 }],
])('what is right comes out as it will be sent: case %#', (schema, given, sent) => {
  expect(check(schema, given)).toEqual({ data: sent, issues: [] });
});

test('an extra property that has a place of its own is named, and why', () => {
  expect(check(extraProperties(new Set(['name'])), { name: 'a', other: 'b' }).issues).toEqual([
    { path: 'name', message: expect.stringMatching(/^must not be in "extra": only the client may set this field$/) },
  ]);
});

// Options of a call ---------------------------------------------------------

test.each<readonly [string, unknown]>([
  ['null', null],
  ['a list', ['x-trace']],
  ['a string', 'x-trace: 1'],
  ['one that is wrong beside one that is right', { 'x-trace': '1', 'x trace': '2' }],
  ['a line end', { 'x-trace': '1\r\nx-other: 2' }],
  ['no string', { 'x-trace': 1 }],
  ['a name with a line end', { 'x-trace\n': '1' }],
  ['an empty name', { '': '1' }],
  // RFC 9110 §7.6.1 and §8: what the client or the connection decides.
  ...[
    'Content-Type',
    'content-length',
    'content-encoding',
    'host',
    'connection',
    'expect',
    'keep-alive',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
  ].map((name) => [name, { [name]: 'a' }] as const),
])('headers with %s are refused', (_what, headers) => {
  expect(check(options, { headers }).issues).toEqual([
    { path: 'headers', message: expect.stringMatching(/^must map header names to single-line .*content-type/) },
  ]);
});

const methods = { addEventListener: () => undefined, throwIfAborted: () => undefined };

test.each<[string, unknown, boolean]>([
  ['a signal', new AbortController().signal, true],
  ['a signal of another realm', { ...methods, aborted: false }, true],
  ['the methods alone', methods, false],
  ['a state alone', { aborted: false }, false],
  ['nothing', undefined, false],
])('isAbortSignal() of %s', (_what, value, isOne) => {
  expect(isAbortSignal(value)).toBe(isOne);
});

test('a signal that is none is refused', () => {
  expect(check(options, { signal: methods }).issues).toEqual([{ path: 'signal', message: 'must be an AbortSignal' }]);
});

// Issues --------------------------------------------------------------------

test('what cannot be read is said to be so, and what it threw is not', () => {
  const given = {
    get companyName() {
      throw new Error('personal data');
    },
  };

  expect(check(inputObject({ companyName: nonBlank }), given).issues).toEqual([
    { path: '', message: expect.stringMatching(/^must have properties that can be read: .* threw an error$/) },
  ]);
});

test('a property that is not known is named where it looks like a name of a program', () => {
  const odd = ['Ada Lovelace', '12', 'a'.repeat(41), 'naïve', ''];
  const plain = ['color', 'a'.repeat(40)];
  const given = Object.fromEntries([...odd, ...plain].map((name) => [name, 1]));

  const { issues } = check(z.strictObject({}), given);

  const named = issues.filter(({ path }) => plain.includes(path));
  const others = issues.filter(({ path }) => !plain.includes(path));
  expect([named.length, others.length]).toEqual([plain.length, odd.length]);
  for (const { path } of others) expect(path).toMatch(/^\(a [a-z]+\)$/);
  for (const { message } of issues) expect(message).toMatch(/^is not a known [a-z]+$/);
});

type SchemaIssue = Parameters<typeof issuesOf>[0][number];

const issueAt = (...path: PropertyKey[]): SchemaIssue => ({ code: 'custom', path, message: 'is wrong' });

test('no issue beyond the 20th is looked at', () => {
  const unread: SchemaIssue = {
    ...issueAt(),
    get path(): PropertyKey[] {
      throw new Error('was looked at');
    },
  };

  expect(issuesOf([...Array(20).fill(issueAt('a')), unread])).toHaveLength(20);
});

test('of however many unknown properties 20 issues are made', () => {
  const keys = Array.from({ length: 500_000 }, () => 'a');

  expect(issuesOf([{ ...issueAt(), keys }])).toHaveLength(20);
  expect(issuesOf([...Array(19).fill(issueAt('a')), { ...issueAt(), keys }])).toHaveLength(20);
});
