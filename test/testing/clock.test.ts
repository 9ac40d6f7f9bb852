/** The clock that moves only when told. */

import { getEventListeners } from 'node:events';
import { createTestClock } from 'hosted-client/testing';
import { expect, test, vi } from 'vitest';

/** The contract has `sleep` optional, as every clock's; this one has it. */
function start(startMs?: number) {
  const clock = createTestClock(startMs);
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (clock.sleep === undefined) throw new Error('a test clock sleeps');
    return clock.sleep(ms, signal);
  };
  return { clock, sleep };
}

test('clock.now() is the start until the clock is advanced', async () => {
  const { clock } = start(1_000);

  const before = clock.now();
  await clock.advance(250);

  expect([before, clock.now()]).toEqual([1_000, 1_250]);
  expect(createTestClock().now()).toBe(Date.parse('2026-01-01T00:00:00Z'));
});

test('clock.advance() wakes sleepers in order of time, each at its own', async () => {
  const { clock, sleep } = start(0);
  const woken: [string, number][] = [];
  const sleeper = async (name: string, ms: number) => {
    await sleep(ms);
    woken.push([name, clock.now()]);
  };
  const all = Promise.all([sleeper('c', 30), sleeper('a', 10), sleeper('b', 20), sleeper('a2', 10)]);

  await clock.advance(29);
  expect(woken).toEqual([
    ['a', 10],
    ['a2', 10],
    ['b', 20],
  ]);

  await clock.advance(1);
  await all;
  expect(woken.at(-1)).toEqual(['c', 30]);
});

test('clock.advance() runs the sleeps that follow within its span', async () => {
  const { clock, sleep } = start(0);
  const times: number[] = [];
  const loop = (async () => {
    for (let round = 0; round < 5; round++) {
      await sleep(10);
      // Work that takes turns of its own: a promise, a thread, a stream.
      await crypto.subtle.digest('SHA-256', new Uint8Array(1_000));
      await new Response('text').text();
      times.push(clock.now());
    }
  })();

  await clock.advance(50);

  await loop;
  expect(times).toEqual([10, 20, 30, 40, 50]);
});

test('clock.advance() called twice at once runs one after the other', async () => {
  const { clock, sleep } = start(0);
  let wokenAt = 0;
  const sleeper = sleep(15).then(() => {
    wokenAt = clock.now();
  });

  await Promise.all([clock.advance(10), clock.advance(10)]);

  await sleeper;
  expect([wokenAt, clock.now()]).toEqual([15, 20]);
});

test.each([-1, Number.NaN, Infinity])('clock.advance(%d) rejects', async (ms) => {
  await expect(createTestClock().advance(ms)).rejects.toBeInstanceOf(RangeError);
});

test('clock.sleep() of nothing ends at once', async () => {
  const { clock, sleep } = start(0);

  await sleep(0);
  await sleep(-5);

  expect(clock.now()).toBe(0);
});

test('clock.sleep() rejects with the reason as soon as the signal aborts, and is not woken', async () => {
  const { clock, sleep } = start(0);
  const controller = new AbortController();
  const reason = new Error('given up');
  const states: unknown[] = [];
  const sleeper = sleep(10, controller.signal).then(
    () => states.push('woken'),
    (error: unknown) => states.push(error),
  );

  controller.abort(reason);
  await sleeper;
  await clock.advance(100);

  expect(states).toEqual([reason]);
});

test('clock.sleep() rejects at once for a signal that has aborted', async () => {
  const { sleep } = start();
  const reason = new Error('given up');

  await expect(sleep(10, AbortSignal.abort(reason))).rejects.toBe(reason);
  await expect(sleep(0, AbortSignal.abort(reason))).rejects.toBe(reason);
});

test('clock.sleep() leaves no listener on the signal, whichever way it ends', async () => {
  const { clock, sleep } = start(0);
  const controller = new AbortController();
  const { signal } = controller;

  const slept = Array.from({ length: 100 }, () => sleep(10, signal));
  const during = getEventListeners(signal, 'abort').length;
  await clock.advance(10);
  await Promise.all(slept);
  const afterWaking = getEventListeners(signal, 'abort').length;
  const aborted = sleep(10, signal).catch(() => undefined);
  controller.abort();
  await aborted;

  expect([during, afterWaking, getEventListeners(signal, 'abort').length]).toEqual([100, 0, 0]);
});

test('a test clock moves on under the fake timers of a test runner', async () => {
  vi.useFakeTimers();
  try {
    const { clock, sleep } = start(0);
    const sleeper = sleep(10);

    await clock.advance(10);

    await sleeper;
    expect(clock.now()).toBe(10);
  } finally {
    vi.useRealTimers();
  }
});
