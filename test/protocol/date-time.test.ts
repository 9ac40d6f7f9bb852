/** Points in time, of which the calendar says which there are, or the platform's Date where it is strict. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { findEarliestTime, parseDateTime, parseHttpDate } from '../../src/protocol/date-time.js';

// Texts of the same day and time: the first is read by place, the others by pattern.
const ends = ['T12:30:15.250Z', 'T12:30:15.25Z', 'T12:30:15.250', 'T14:30:15.250+02:00'];

const digits = (value: number, length = 2) => String(value).padStart(length, '0');
const dayOf = (year: number, month: number, day: number) => `${digits(year, 4)}-${digits(month)}-${digits(day)}`;

// Calendar

test.each([1900, 2000, 2023, 2024])('parseDateTime() knows the days of every month of %i', (year) => {
  for (let month = 1; month <= 12; month++) {
    const last = new Date(Date.UTC(year, month, 0)).getUTCDate();
    for (const end of ends) {
      const read = (day: number) => parseDateTime(`${dayOf(year, month, day)}${end}`);

      expect(read(1)).toEqual(new Date(Date.UTC(year, month - 1, 1, 12, 30, 15, 250)));
      expect(read(last)).toEqual(new Date(Date.UTC(year, month - 1, last, 12, 30, 15, 250)));
      expect(read(0)).toBeNull();
      expect(read(last + 1)).toBeNull();
    }
  }
});

test.each(['0000-01-01', '0000-02-29', '0004-02-29', '0050-06-15', '0098-12-31', '0099-12-31', '0100-01-01'])(
  'parseDateTime() takes %s for the year that it says, not for one of the last century',
  (day) => {
    const expected = new Date(`${day}T12:30:15.250Z`);

    for (const end of ends) expect(parseDateTime(`${day}${end}`)).toEqual(expected);
    expect(expected.toISOString()).toContain(day);
  },
);

test('parseDateTime() reads any time of four-digit years as the platform writes it', () => {
  const times = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });

  const property = fc.property(times, (time) => {
    const text = time.toISOString();
    expect(parseDateTime(text)).toEqual(time);
    expect(parseDateTime(text.replace('Z', '+00:00'))).toEqual(time);
  });

  fc.assert(property, { seed: 1, numRuns: 500 });
});

test('parseDateTime() reads every day of 400 years, after which the calendar repeats itself', () => {
  const dayMs = 86_400_000;
  const odd: string[] = [];

  const end = Date.UTC(2300, 0, 1);
  for (let time = Date.UTC(1900, 0, 1, 12, 30, 15, 250); time < end && odd.length === 0; time += dayMs) {
    const day = new Date(time).toISOString().slice(0, 10);
    odd.push(...ends.map((rest) => day + rest).filter((text) => parseDateTime(text)?.getTime() !== time));
  }

  expect(odd).toEqual([]);
});

// Time of day, offset

test.each([
  ['2026-01-02T00:00:00.000Z', '2026-01-02T00:00:00.000Z'],
  ['2026-01-02T23:59:59.999Z', '2026-01-02T23:59:59.999Z'],
  ['2026-01-02T23:59:59Z', '2026-01-02T23:59:59.000Z'],
  ['2026-01-02T03:04Z', '2026-01-02T03:04:00.000Z'],
  ['2026-01-02T03:04:05+23:59', '2026-01-01T03:05:05.000Z'],
  ['2026-01-02T03:04:05-23:59', '2026-01-03T03:03:05.000Z'],
  ['2026-01-02T03:04:05+2359', '2026-01-01T03:05:05.000Z'],
  ['2026-01-02T03:04:05-00:00', '2026-01-02T03:04:05.000Z'],
  // RFC 3339 §5.6 allows these two.
  ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02 03:04:05Z', '2026-01-02T03:04:05.000Z'],
  // A leap second, as RFC 3339 §5.7 writes it, is the first second of the next day.
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
  ['2016-12-31T23:59:60.500Z', '2017-01-01T00:00:00.500Z'],
  ['2017-01-01T05:29:60+05:30', '2017-01-01T00:00:00.000Z'],
  ['1990-12-31T15:59:60-08:00', '1991-01-01T00:00:00.000Z'],
])('parseDateTime() reads %s as %s', (text, utc) => {
  expect(parseDateTime(text)).toEqual(new Date(utc));
});

test.each([
  '2026-01-02T24:00:00.000Z',
  '2026-01-02T24:00:00Z',
  '2026-01-02T03:60:00.000Z',
  '2026-01-02T03:60:00Z',
  '2026-01-02T03:04:60.000Z',
  '2026-01-02T03:04:60Z',
  '2026-01-02T22:59:60Z',
  '2026-01-02T23:59:61Z',
  '2026-01-02T23:59:60+05:30',
  '2026-01-02T03:04:05+24:00',
  '2026-01-02T03:04:05-24:00',
  '2026-01-02T03:04:05+2400',
  '2026-01-02T03:04:05+23:60',
  '2026-01-02T03:04:05+00:60',
  '2026-01-02T03:04:05+02',
  '2026-01-02T03:04:05.Z',
  '2026-01-02T03:04:05.1234567890Z',
  '2026-01-02',
  '2026-1-2T03:04:05Z',
  '+02026-01-02T03:04:05Z',
])('parseDateTime() reads no time from %s', (text) => {
  expect(parseDateTime(text)).toBeNull();
});

test('parseDateTime() takes text without an offset as UTC, or refuses it where one is required', () => {
  const time = new Date('2026-01-02T03:04:05.678Z');

  expect(parseDateTime('2026-01-02T03:04:05.678')).toEqual(time);
  expect(parseDateTime('2026-01-02T03:04:05.678', 'utc')).toEqual(time);
  expect(parseDateTime('2026-01-02T03:04:05.678', 'required')).toBeNull();
  for (const text of ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.6780Z', '2026-01-02T05:04:05.678+02:00']) {
    expect(parseDateTime(text, 'required')).toEqual(time);
  }
});

// What is no time

const httpDate = 'Fri, 02 Jan 2026 03:04:05 GMT';
const texts: readonly [text: string, read: (text: string) => unknown][] = [
  ['2026-01-02T03:04:05.678Z', parseDateTime],
  ['0050-01-02T03:04:05.678Z', parseDateTime],
  ['2026-01-02T03:04:05.678901Z', parseDateTime],
  ['2026-01-02T05:04:05+02:00', parseDateTime],
  ['2026-01-02T03:04:05', parseDateTime],
  [httpDate, parseHttpDate],
];

test.each(texts)('no time is read where another character stands at any place of %s', (text, read) => {
  expect(read(text)).not.toBeNull();
  for (let at = 0; at < text.length; at++) {
    // Two that stand beside the digits, letters, and a digit of another script.
    for (const other of ['/', ':', 'A', 'x', '٣']) {
      if (text[at] !== other) expect(read(text.slice(0, at) + other + text.slice(at + 1))).toBeNull();
    }
  }
});

test.each(texts)('no time is read where anything stands before or after %s', (text, read) => {
  for (const other of [' ', '\n', 'x', '0', 'on ', `${text} `]) {
    expect(read(`${other}${text}`)).toBeNull();
    expect(read(`${text}${other}`)).toBeNull();
  }
  expect(read(text.slice(1))).toBeNull();
  expect(read('')).toBeNull();
});

// Dates of headers

test.each([...Array(12).keys()])('parseHttpDate() reads a date of month %i, counted from 0', (month) => {
  for (const time of [Date.UTC(2026, month, 1), Date.UTC(2024, month, 28, 23, 59, 59)]) {
    expect(parseHttpDate(new Date(time).toUTCString())).toBe(time);
  }
});

test('parseHttpDate() reads the example of RFC 9110 §5.6.7', () => {
  expect(parseHttpDate('Sun, 06 Nov 1994 08:49:37 GMT')).toBe(784_111_777_000);
});

test('parseHttpDate() reads a leap second', () => {
  expect(parseHttpDate('Sat, 31 Dec 2016 23:59:60 GMT')).toBe(Date.UTC(2017, 0, 1));
});

test.each([
  // The two obsolete forms of RFC 9110 §5.6.7: no service of today writes them.
  'Sunday, 06-Nov-94 08:49:37 GMT',
  'Sun Nov  6 08:49:37 1994',
  'Fri, 2 Jan 2026 03:04:05 GMT',
  'Fri, 02 Foo 2026 03:04:05 GMT',
  'Fri, 02 jan 2026 03:04:05 GMT',
  'Fri, 02 Jan 2026 03:04:05 UTC',
  'Fri, 02 Jan 2026 03:04:05 +0000',
  'Sun, 29 Feb 2026 03:04:05 GMT',
  'Wed, 00 Jan 2026 03:04:05 GMT',
  'Fri, 02 Jan 2026 24:00:00 GMT',
  'Fri, 02 Jan 2026 03:60:00 GMT',
  'Fri, 02 Jan 2026 03:04:60 GMT',
])('parseHttpDate() reads no time from "%s"', (text) => {
  expect(parseHttpDate(text)).toBeNull();
});

// Dates in any form

const secondOfJanuary = [
  ...['2026-01-02', '2026/1/2', '2026.01.02 25:04', '2026-01-02,', '20260102', '20260102T030405Z', ' 2026-01-02 '],
  ...['Fri, 02 Jan 2026 03:04:05 GMT', 'Fri 2 Jan 2026', '2-January-2026', '2 jan 2026', 'Jan. 2 2026'],
  ...['Fri Jan 02 2026', 'Friday, January 2, 2026', 'January 2, 2026', 'January 2, 2026, 10:00'],
  ...['2026-01-02T24:00:00Z', '2026-01-02 03', '2026-01-02+02:00'],
];

test.each<[string, string]>([
  ...secondOfJanuary.map((text): [string, string] => [text, '2026-01-02T00:00:00.000Z']),
  ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['2026-01-02 03:04', '2026-01-02T03:04:00.000Z'],
  // The first number may be the day or the month.
  ['2/1/2026', '2026-01-02T00:00:00.000Z'],
  ['1/2/2026', '2026-01-02T00:00:00.000Z'],
  ['02.01.2026', '2026-01-02T00:00:00.000Z'],
  ['02-01-2026, 10:00', '2026-01-02T00:00:00.000Z'],
  ['13/1/2026', '2026-01-13T00:00:00.000Z'],
  ['1/13/2026', '2026-01-13T00:00:00.000Z'],
  ['31/12/2026', '2026-12-31T00:00:00.000Z'],
  ['12/31/2026', '2026-12-31T00:00:00.000Z'],
  ['Jan 12 2026', '2026-01-12T00:00:00.000Z'],
  ['1970-01-01', '1970-01-01T00:00:00.000Z'],
  ['1767323045', '2026-01-02T03:04:05.000Z'],
  ['1767323045123', '2026-01-02T03:04:05.123Z'],
  ['1767323045.5', '2026-01-02T03:04:05.500Z'],
  ['1767323045123.9', '2026-01-02T03:04:05.123Z'],
  ['9999999999', '2286-11-20T17:46:39.000Z'],
])('findEarliestTime() reads %j as %s', (text, expected) => {
  expect(new Date(findEarliestTime(text) ?? Number.NaN).toISOString()).toBe(expected);
});

test.each([
  ...['', 'true', 'null', 'false', 'yes', 'disabled', 'Not Available', 'NaN-NaN-NaN', '0000-00-00', '0', '1'],
  ...['1969-12-31', '1969-12-31T23:59:59Z', '0001-01-01T00:00:00Z', '2026-13-01', '2026-02-30', '2026-01/02'],
  ...['2026-01-022', '2026-01-02x', '20260230', '202601021', '31 Feb 2026', '31 Feb', 'February 30, 2026', '31/2/2026'],
  ...['x2026-01-02', 'v20260102', 'v2/1/2026', 'x1/13/2026', '2/1/20267', '13/13/2026', '1/2-2026', '02-01-26'],
  ...['no. 2 Jan 2026', '1 Fri, 02 Jan 2026', '2 Jax 2026', '1 Jan 2, 2026', 'January 32, 2026', 'January 2, 2026x'],
  ...['0767323045', '176732304', '17673230451', '-1767323045', '2026', 'January 2026', '2026-01', '2026/1/2026'],
])('findEarliestTime() reads no time from %j', (text) => {
  expect(findEarliestTime(text)).toBeNull();
});
