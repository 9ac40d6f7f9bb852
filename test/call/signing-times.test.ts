// For which times requests are signed: each for its own, and none for a time that the service signs for. And how such a
// time is written.

import type { WireOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { correctTime, createSigningTimes, writeTimestamp } from '../../src/call/sign-request.js';
import { assumedWire } from '../../src/protocol/assumptions.js';

const minutes = 60_000;
const at = Date.parse('2026-01-02T03:04:05.678Z');

const timesOf = (wire: WireOptions = {}) => createSigningTimes({ ...assumedWire, ...wire });
const inSeconds = { jobTimestampFormat: 'epoch-s' } as const;

// The clock's readings, and what is signed.
test.each<[string, readonly number[], readonly number[]]>([
  ['stands still', [0, 0, 0], [0, 1, 2]],
  ['goes on', [0, 10, 20.9], [0, 10, 20]],
  ['goes on by less than a millisecond', [0.9, 1.1, 1.2], [0, 1, 2]],
  ['wavers by five minutes', [5 * minutes, 0, 2], [5 * minutes, 5 * minutes + 1, 5 * minutes + 2]],
  ['is set back by more', [5 * minutes + 1, 0, 0], [5 * minutes + 1, 0, 1]],
])('no two requests are signed alike by a clock that %s', (_what, readings, expected) => {
  const { links, jobs } = timesOf();

  // Links and jobs share their times where both have milliseconds.
  const times = readings.map((ms, index) => (index % 2 === 0 ? links : jobs).next(at - 678 + ms).time - (at - 678));

  expect(times).toEqual(expected.map((ms) => Math.floor(ms)));
});

test.each([
  ['in milliseconds', {}, [0, 2_000, 5_000, 2_000, 5_000]],
  ['in whole seconds', inSeconds, [2_000, 5_000, 2_000, 5_000, 2_000]],
] as const)('%s each collision moves the signed times, and never to now', (_what, wire, expected) => {
  const { jobs } = timesOf(wire);
  const agos: number[] = [];
  for (let collisions = 0; collisions < 5; collisions++) {
    const { time, agoMs } = jobs.next(at + collisions);
    expect(time).toBe(at + collisions - agoMs);
    agos.push(agoMs);
    jobs.avoid(agoMs);
  }

  expect(agos).toEqual(expected);
});

test('a move is for good', () => {
  const { jobs } = timesOf();
  jobs.avoid(jobs.next(at).agoMs);

  for (const ms of [0, minutes, 60 * minutes, 365 * 24 * 60 * minutes]) expect(jobs.next(at + ms).agoMs).toBe(2_000);
});

test('requests that collide at once count as one', () => {
  const { jobs } = timesOf();
  const inFlight = [jobs.next(at), jobs.next(at + 10)];

  for (const { agoMs } of inFlight) jobs.avoid(agoMs);

  expect(jobs.next(at + 20)).toEqual({ time: at + 20 - 2_000, agoMs: 2_000 });
});

test('links and jobs keep their own times where one of them has whole seconds', () => {
  const { links, jobs } = timesOf(inSeconds);

  const times = [links.next(at), jobs.next(at), links.next(at)].map(({ time }) => time - at);
  jobs.avoid(2_000);

  expect(times).toEqual([0, -2_000, 1]);
  expect(links.next(at + 10).agoMs).toBe(0);
});

const day = 24 * 60 * minutes;

test.each([day, -day])('a time that is moved further than a day by an offset of %i ms is cut off', (offset) => {
  const times = [-10 * minutes, 0, 10 * minutes].map((ms) => correctTime(at + ms, offset, at) - at);

  for (const ms of times) expect(Math.abs(ms)).toBeLessThanOrEqual(day - 1_000);
});

// 2026-01-02T03:04:05.678Z is 1,767,323,045,678 ms after the epoch, as `date -u -d @1767323045` says of its seconds.
const epochMs = 1_767_323_045_678;
const iso = '2026-01-02T03:04:05.678Z';

test.each([
  ['links', 'iso', iso],
  ['jobs', 'iso', iso],
  ['links', 'epoch-ms', '1767323045678'],
  // §4.5: a number in the table of the fields of job status.
  ['jobs', 'epoch-ms', 1_767_323_045_678],
  ['links', 'epoch-s', '1767323045'],
  ['jobs', 'epoch-s', 1_767_323_045],
] as const)('%s write a point in time as %s, whatever the others do', (host, format, written) => {
  const other = format === 'iso' ? 'epoch-s' : 'iso';
  const wire =
    host === 'links'
      ? { timestampFormat: format, jobTimestampFormat: other }
      : { timestampFormat: other, jobTimestampFormat: format };

  expect(writeTimestamp(epochMs, host, wire as never)).toBe(written);
});
