/** Turns: who works at once, who comes next, and what becomes of one that waits for too long. */

import { expect, test } from 'vitest';
import { createConcurrencyLimit } from '../../src/callbacks/concurrency-limit.js';
import { HostedTimeoutError } from '../../src/errors/errors.js';
import { deferred, rejection } from '../support/fake-fetch.js';

/** A clock whose timers end when a test says so. */
function timersOf() {
  const timers = new Set<{ readonly ms: number; end(): void }>();
  const setTimer = (ms: number, end: () => void) => {
    const timer = { ms, end };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  const endAll = () => {
    for (const timer of [...timers]) timer.end();
  };
  return { setTimer, timers, endAll };
}

/** Lets all that is ready to run do so. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('turns come in the order in which they were asked for, also where a later one may start sooner', async () => {
  const turns = createConcurrencyLimit(timersOf());
  const held = deferred();
  const order: string[] = [];
  const holding = turns.take(1, () => held.promise);
  const strict = turns.take(1, async () => void order.push('strict'));
  const lax = turns.take(10, async () => void order.push('lax'));

  await settle();
  expect(order).toEqual([]);
  held.resolve();
  await Promise.all([holding, strict, lax]);

  expect(order).toEqual(['strict', 'lax']);
});

test('as many run as are allowed, also of those that waited, and at most 1,000 wait', async () => {
  const turns = createConcurrencyLimit(timersOf());
  const begun: (() => void)[] = [];
  let ended = 0;
  const take = () =>
    turns.take(2, async () => {
      const work = deferred();
      begun.push(() => work.resolve());
      await work.promise;
      ended += 1;
    });
  const taken = Array.from({ length: 1_002 }, take);

  expect(await rejection(take())).toMatchObject({ code: 'timeout', outcome: 'not_sent', retryable: true });
  for (let next = 0; next < taken.length; next++) {
    expect(begun.length - ended).toBe(Math.min(2, taken.length - ended));
    begun[next]?.();
    await settle();
  }
  await Promise.all(taken);

  expect(ended).toBe(1_002);
  expect(await turns.take(1, async () => 'next')).toBe('next');
});

test('one that waits gives up after ten seconds, and its turn goes to the next', async () => {
  const { setTimer, timers, endAll } = timersOf();
  const turns = createConcurrencyLimit({ setTimer });
  const held = deferred();
  const holding = turns.take(1, () => held.promise);
  const late = rejection(turns.take(1, async () => 'late'));

  await settle();
  expect([...timers].map(({ ms }) => ms)).toEqual([10_000]);
  endAll();
  const error = await late;
  held.resolve();
  await holding;

  expect(error).toBeInstanceOf(HostedTimeoutError);
  expect(error).toMatchObject({
    code: 'timeout',
    phase: 'total',
    timeoutMs: 10_000,
    outcome: 'not_sent',
    retryable: true,
  });
  expect(String(error)).toMatch(/Cannot receive a callback: too many confirmations are running/);
  expect(await turns.take(1, async () => 'next')).toBe('next');
});

test('one that got its turn leaves no timer behind', async () => {
  const { setTimer, timers } = timersOf();
  const turns = createConcurrencyLimit({ setTimer });
  const held = deferred();
  const holding = turns.take(1, () => held.promise);
  const waiting = turns.take(1, async () => 'done');

  await settle();
  expect(timers.size).toBe(1);
  held.resolve();
  await holding;

  expect(await waiting).toBe('done');
  expect(timers.size).toBe(0);
});

test('work that fails ends its turn, too', async () => {
  const turns = createConcurrencyLimit(timersOf());
  const failure = new Error('job status is away');

  expect(await rejection(turns.take(1, () => Promise.reject(failure)))).toBe(failure);

  expect(await turns.take(1, async () => 'next')).toBe('next');
});
