/** What ends work and sleeps early, a signal or a timer: with which reason, and that nothing stays behind. */

import { getEventListeners } from 'node:events';
import { afterEach, expect, test, vi } from 'vitest';
import { createPlatformClock, createWaitingClock, withSignals, withTimeout } from '../../src/runtime/clock.js';
import { deferred, manualClock, rejection } from '../support/fake-fetch.js';

const reason = new Error('stop');
const late = new Error('late');
const timedOut = () => late;
const listeners = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

function start() {
  const sleeping = manualClock();
  return { sleeping, clock: createWaitingClock(sleeping) };
}

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

// withTimeout() -------------------------------------------------------------

test('withTimeout() on a signal that is aborted already rejects with its reason, and begins nothing', async () => {
  const { clock, sleeping } = start();
  const work = vi.fn(async () => 'done');

  expect(await rejection(withTimeout({ clock, ms: 5, signal: AbortSignal.abort(reason), timedOut }, work))).toBe(
    reason,
  );

  expect(work).not.toHaveBeenCalled();
  expect(sleeping.sleeping()).toBe(0);
});

test('withTimeout() rejects with the reason of an abort, which ends the work', async () => {
  const { clock, sleeping } = start();
  const { signal, ...ending } = controller();
  const given: AbortSignal[] = [];
  const limited = withTimeout({ clock, ms: 5, signal, timedOut }, (own) => {
    given.push(own);
    return new Promise(() => undefined);
  });

  ending.abort();

  expect(await rejection(limited)).toBe(reason);
  expect(given[0]?.reason).toBe(reason);
  expect(sleeping.sleeping()).toBe(0);
  expect(listeners(signal)).toBe(0);
});

test('withTimeout() rejects when the time is over, which ends the work', async () => {
  const { clock, sleeping } = start();
  const { signal } = controller();
  const given: AbortSignal[] = [];
  const limited = withTimeout({ clock, ms: 5, signal, timedOut }, (own) => {
    given.push(own);
    return new Promise(() => undefined);
  });

  sleeping.advance(5);

  expect(await rejection(limited)).toBe(late);
  expect(given[0]?.reason).toBe(late);
  expect(listeners(signal)).toBe(0);
});

test.each<[string, () => Promise<unknown>]>([
  ['resolves', async () => 'done'],
  ['rejects', () => Promise.reject(reason)],
])('withTimeout() leaves neither timer nor listener behind where the work %s', async (_what, work) => {
  const { clock, sleeping } = start();
  const { signal } = controller();

  await withTimeout({ clock, ms: 5, signal, timedOut }, work).catch(() => undefined);
  await new Promise(setImmediate);

  expect(sleeping.sleeping()).toBe(0);
  expect(listeners(signal)).toBe(0);
});

test('withTimeout() needs no signal', async () => {
  const { clock } = start();

  await expect(withTimeout({ clock, ms: 5, timedOut }, async () => 'done')).resolves.toBe('done');
});

// withSignals() -------------------------------------------------------------

test('withSignals() hands on the reason of whichever signal is aborted, now or later', async () => {
  const { signal, ...ending } = controller();
  const seen: unknown[] = [];
  const work = async (own: AbortSignal) => {
    if (!own.aborted) await new Promise((resolve) => own.addEventListener('abort', resolve));
    seen.push(own.reason);
  };

  await withSignals([undefined, AbortSignal.abort(reason)], work);
  const later = withSignals([new AbortController().signal, undefined, signal], work);
  ending.abort();
  await later;

  expect(seen).toEqual([reason, reason]);
});

test('withSignals() leaves no listener behind, however the work ends', async () => {
  const [one, other] = [new AbortController().signal, new AbortController().signal];
  const during: number[] = [];

  const value = await withSignals([one, undefined, other], async () => {
    during.push(listeners(one), listeners(other));
    return 'done';
  });
  await withSignals([one, other], () => Promise.reject(reason)).catch(() => undefined);

  expect(value).toBe('done');
  expect(during).toEqual([1, 1]);
  expect([listeners(one), listeners(other)]).toEqual([0, 0]);
});

// Sleeps --------------------------------------------------------------------

test('a sleep of a given clock does not sleep on a signal that is aborted already', async () => {
  const sleep = vi.fn(async () => undefined);
  const clock = createWaitingClock({ now: () => 0, sleep });

  expect(await rejection(clock.sleep(5, AbortSignal.abort(reason)))).toBe(reason);

  expect(sleep).not.toHaveBeenCalled();
});

test('a sleep of a given clock ends on an abort, though the clock does not listen', async () => {
  const { signal, ...ending } = controller();
  const clock = createWaitingClock({ now: () => 0, sleep: () => new Promise(() => undefined) });
  const sleeping = clock.sleep(5, signal);

  ending.abort();

  expect(await rejection(sleeping)).toBe(reason);
  expect(listeners(signal)).toBe(0);
});

test('a sleep of a given clock ends when the clock says so, with or without a signal', async () => {
  const gate = deferred<void>();
  const clock = createWaitingClock({ now: () => 0, sleep: () => gate.promise });
  const sleeps = [clock.sleep(5, undefined), clock.sleep(5, controller().signal)];

  gate.resolve();

  await expect(Promise.all(sleeps)).resolves.toEqual([undefined, undefined]);
});

// The platform's timers -----------------------------------------------------

test('a sleep of the platform ends on an abort, and leaves neither timer nor listener behind', async () => {
  vi.useFakeTimers();
  const { signal, ...ending } = controller();
  const clock = createPlatformClock();
  const sleeping = rejection(clock.sleep(1_000, signal));

  ending.abort();

  expect(await sleeping).toBe(reason);
  expect(await rejection(clock.sleep(1_000, signal))).toBe(reason);
  expect(vi.getTimerCount()).toBe(0);
  expect(listeners(signal)).toBe(0);
});

test('a sleep of the platform that ends by itself leaves no listener behind', async () => {
  vi.useFakeTimers();
  const { signal } = controller();
  const sleeps = Promise.all([createPlatformClock().sleep(1_000, signal), createPlatformClock().sleep(1_000)]);

  await vi.advanceTimersByTimeAsync(1_000);
  await sleeps;

  expect(listeners(signal)).toBe(0);
});

test('a timer of the platform that fired counts with its whole length, though no other clock moved', () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.stubGlobal('performance', { now: () => 7 });
  const clock = createPlatformClock();
  const fired: string[] = [];

  clock.setTimer(1_000, () => fired.push('first'));
  const cancel = clock.setTimer(1_000, () => fired.push('cancelled'));
  cancel();
  expect(vi.getTimerCount()).toBe(1);
  vi.advanceTimersByTime(1_000);

  expect(fired).toEqual(['first']);
  expect(clock.elapsed()).toBe(1_000);
});

test('a timer on a given clock that fired counts with its whole length, though that clock stands still', async () => {
  const clock = createWaitingClock({ now: () => 7, sleep: async () => undefined });

  await new Promise<void>((resolve) => void clock.setTimer(1_000, () => resolve()));

  expect(clock.elapsed()).toBe(1_000);
});

test('a given clock is told why a timer on it ends', () => {
  const signals: (AbortSignal | undefined)[] = [];
  const sleep = (_ms: number, signal?: AbortSignal) => {
    signals.push(signal);
    return new Promise<void>(() => undefined);
  };

  createWaitingClock({ now: () => 0, sleep }).setTimer(5, () => undefined)();

  expect(signals[0]?.reason).toEqual(new Error('the timer was cancelled'));
});

test('a platform without a performance clock counts by the time of day', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.stubGlobal('performance', undefined);
  const clock = createPlatformClock();

  vi.setSystemTime(Date.now() + 1_500);

  expect(clock.elapsed()).toBe(1_500);
});

/** A signal, and how to abort it with the reason of these tests. */
function controller() {
  const ending = new AbortController();
  return { signal: ending.signal, abort: () => ending.abort(reason) };
}
