// For which times requests are signed: each for its own, and none for a time that the service signs for. And how such a
// time is written.

import type { WireOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import type { SigningTime, SigningTimes } from '../../src/call/attempt.js';
import { correctTime, createSigningTimes, writeTimestamp } from '../../src/call/sign-request.js';
import { assumedWire } from '../../src/protocol/assumptions.js';

const minutes = 60_000;
const at = Date.parse('2026-01-02T03:04:05.678Z');

/** Signing times on a clock that can be set. */
function start(wire: WireOptions = {}) {
  const clock = { time: at };
  const times = createSigningTimes({ ...assumedWire, ...wire });
  return { clock, links: onClock(times.links), jobs: onClock(times.jobs) };

  function onClock({ passingMs, next, nextAfterCollision }: SigningTimes) {
    return {
      passingMs,
      next: (isPoll: boolean) => next(clock.time, isPoll),
      nextAfterCollision: (collided: SigningTime, isPoll: boolean) => nextAfterCollision(collided, clock.time, isPoll),
    };
  }
}

const inSeconds = { jobTimestampFormat: 'epoch-s' } as const;

// The clock's readings, and what is signed.
test.each<[string, readonly number[], readonly number[]]>([
  ['stands still', [0, 0, 0], [0, 1, 2]],
  ['goes on', [0, 10, 20.9], [0, 10, 20]],
  ['goes on by less than a millisecond', [0.9, 1.1, 1.2], [0, 1, 2]],
  ['wavers by five minutes', [5 * minutes, 0, 2], [5 * minutes, 5 * minutes + 1, 5 * minutes + 2]],
  ['is set back by more', [5 * minutes + 1, 0, 0], [5 * minutes + 1, 0, 1]],
])('no two requests are signed alike by a clock that %s', (_what, readings, expected) => {
  const { clock, links, jobs } = start();

  const times = readings.map((ms, index) => {
    clock.time = at - 678 + ms;
    // Links and jobs share their times where both have milliseconds.
    return (index % 2 === 0 ? links : jobs).next(false).time - (at - 678);
  });

  expect(times).toEqual(expected);
});

test('a request is made again for a second earlier, which the service is past', () => {
  const { clock, jobs } = start();
  const collided = jobs.next(false);

  clock.time += jobs.passingMs;
  const again = jobs.nextAfterCollision(collided, false);

  expect([collided.time - at, again.time - at]).toEqual([0, 2 - 1_000]);
  expect(again.leadMs).toBe(again.time - clock.time);
});

test('a request is made again for a time of its own where others were signed meanwhile', () => {
  const { clock, jobs } = start();
  const collided = jobs.next(false);
  clock.time += 1;
  const others = [jobs.next(false)];
  clock.time -= 300;

  const again = jobs.nextAfterCollision(collided, false);

  expect(others.map(({ time }) => time - at)).toEqual([1]);
  expect(again.time - at).toBe(2);
});

test('a request is made again for a time of its own where the clock was set back meanwhile', () => {
  const { clock, jobs } = start();
  const collided = jobs.next(false);
  clock.time -= 60 * minutes;
  const others = [jobs.next(false), jobs.next(false)];

  const again = jobs.nextAfterCollision(collided, false);

  expect([collided, ...others].map(({ time }) => time)).not.toContain(again.time);
});

test('a request is made again at another distance from now than the one that collided with a response', () => {
  const { clock, jobs } = start();
  jobs.next(false);
  clock.time -= 300;
  const collided = jobs.next(false);
  jobs.next(false);

  const again = jobs.nextAfterCollision(collided, false);

  expect([collided.leadMs, again.leadMs]).toEqual([301, 551]);
});

test('a request is made again for a time before its own, however long its response took', () => {
  const { clock, jobs } = start();
  const collided = jobs.next(false);

  clock.time += 30_000;

  expect(jobs.nextAfterCollision(collided, false).time).toBe(collided.time - 1);
});

test.each([
  [500, -499],
  [999, -998],
  [1_001, -998],
])('a request is made again for a time that the one %i ms before it did not have', (gapMs, againAt) => {
  const { clock, jobs } = start();
  jobs.next(false);
  clock.time += gapMs;
  const collided = jobs.next(false);

  clock.time += jobs.passingMs;

  expect(jobs.nextAfterCollision(collided, false).time - collided.time).toBe(againAt);
});

test.each([
  ['another request followed', 0, 1],
  ['another one came a millisecond before', 1, 0],
])('a request is made again at another distance from now where %s', (_why, before, after) => {
  const { clock, jobs } = start();
  for (let request = 0; request < before; request++) jobs.next(false);
  clock.time += before;
  const collided = jobs.next(false);
  clock.time += 1;
  for (let request = 0; request < after; request++) jobs.next(false);

  clock.time += 1;
  const again = jobs.nextAfterCollision(collided, false);

  expect(collided.time - clock.time).toBe(-2);
  expect(again.time).toBe(clock.time + 250);
});

test('a request whose time was moved is made again at a distance that differs', () => {
  const { clock, jobs } = start();
  for (let request = 0; request < 50; request++) jobs.next(false);
  // Fifty requests in one millisecond: the last is signed fifty ahead, and a service as far ahead meets it.
  const collided = jobs.next(false);

  clock.time += 100;
  const again = jobs.nextAfterCollision(collided, false);

  expect(collided.time - at).toBe(50);
  expect(again.time).toBe(clock.time + 50 + 250);
});

test('after a collision, requests are signed a second earlier, and after another one for now again', () => {
  const { clock, jobs } = start();
  const leads: number[] = [];
  const next = () => {
    clock.time += 5_000;
    const taken = jobs.next(false);
    leads.push(taken.time - clock.time);
    return taken;
  };

  const first = next();
  jobs.nextAfterCollision(first, false);
  next();
  const second = next();
  jobs.nextAfterCollision(second, false);
  next();

  expect(leads).toEqual([0, -1_000, -1_000, 0]);
});

test('two requests that collide with the service at once count as one', () => {
  const { clock, jobs } = start();
  const first = jobs.next(false);
  clock.time += 10;
  const second = jobs.next(false);

  jobs.nextAfterCollision(first, false);
  jobs.nextAfterCollision(second, false);
  clock.time += 5_000;

  expect(jobs.next(false).time - clock.time).toBe(-1_000);
});

test('one whose time was moved says nothing of the distance', () => {
  const { clock, jobs } = start();
  jobs.next(false);
  const moved = jobs.next(false);

  jobs.nextAfterCollision(moved, false);
  clock.time += 5_000;

  expect(jobs.next(false).time).toBe(clock.time);
});

test('in whole seconds requests are signed two seconds earlier, and for another one where that collided the service', () => {
  const { clock, jobs } = start(inSeconds);

  const collided = jobs.next(false);
  clock.time += jobs.passingMs;
  const again = jobs.nextAfterCollision(collided, false);
  const later = jobs.next(false);
  jobs.nextAfterCollision(later, false);
  const last = jobs.next(false);

  expect(collided.time - at).toBe(-2_000);
  expect(again.time - collided.time).toBe(-1_000);
  expect([later.time - clock.time, last.time - clock.time]).toEqual([-5_000, -2_000]);
});

test('polls in whole seconds are signed for multiples of ten of them', () => {
  const { clock, jobs } = start(inSeconds);

  const first = jobs.next(true);
  clock.time += 10_000;
  const second = jobs.next(true);
  const again = jobs.nextAfterCollision(second, true);

  // 03:04:05.678, less two seconds.
  expect(new Date(first.time).toISOString()).toBe('2026-01-02T03:04:00.000Z');
  expect(second.time - first.time).toBe(10_000);
  expect(again.time - second.time).toBe(-10_000);
});

test('links and jobs keep their own times where one of them has whole seconds', () => {
  const { links, jobs } = start(inSeconds);

  const times = [links.next(false), jobs.next(false), links.next(false)].map(({ time }) => time - at);

  expect(times).toEqual([0, -2_000, 1]);
});

test('the service is given two milliseconds to pass, or a second where it has no others', () => {
  const { links, jobs } = start(inSeconds);

  expect([links.passingMs, jobs.passingMs]).toEqual([2, 1_000]);
});

const day = 24 * 60 * minutes;

test.each([day, -day])('a time that is moved further than a day by an offset of %i ms is cut off', (offset) => {
  const times = [-10 * minutes, 0, 10 * minutes].map((ms) => correctTime(at + ms, offset, at) - at);

  for (const ms of times) expect(Math.abs(ms)).toBeLessThanOrEqual(day);
});

// 2026-01-02T03:04:05.678Z is 1,767,323,045,678 ms after the epoch, as `date -u -d @1767323045` says of its seconds.
const epochMs = 1_767_323_045_678;
const iso = '2026-01-02T03:04:05.678Z';

test.each([
  ['links', 'iso', { signed: iso, sent: iso }],
  ['jobs', 'iso', { signed: iso, sent: iso }],
  ['links', 'epoch-ms', { signed: '1767323045678', sent: '1767323045678' }],
  // §4.5: a number in the table of the fields of job status.
  ['jobs', 'epoch-ms', { signed: '1767323045678', sent: 1_767_323_045_678 }],
  ['links', 'epoch-s', { signed: '1767323045', sent: '1767323045' }],
  ['jobs', 'epoch-s', { signed: '1767323045', sent: 1_767_323_045 }],
] as const)('%s write a point in time as %s, whatever the others do', (host, format, written) => {
  const other = format === 'iso' ? 'epoch-s' : 'iso';
  const wire =
    host === 'links'
      ? { timestampFormat: format, jobTimestampFormat: other }
      : { timestampFormat: other, jobTimestampFormat: format };

  expect(writeTimestamp(epochMs, host, wire as never)).toEqual(written);
});
