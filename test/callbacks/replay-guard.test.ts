// The guard in memory: what it knows, for how long, and what it lets go of when it is full.

import { expect, test } from 'vitest';
import { createReplayGuard } from '../../src/callbacks/replay-guard.js';

const hour = 3_600_000;
const leaseMs = 300_000;

/** A guard on a clock whose time of day and monotonic time move together, unless a test says otherwise. */
function start() {
  const time = { now: 1_767_323_045_678, elapsed: 0 };
  const guard = createReplayGuard({ now: () => time.now, elapsed: () => time.elapsed });
  const advance = (ms: number) => {
    time.now += ms;
    time.elapsed += ms;
  };
  const begin = (key: string, body = 'body', { expiresMs = 24 * hour, lease = leaseMs } = {}) =>
    guard.begin(key, body, new Date(time.now + expiresMs), new Date(time.now + lease));
  const handle = async (key: string, body?: string) => {
    expect(await begin(key, body)).toBe('new');
    await guard.commit(key);
  };
  return { time, guard, advance, begin, handle };
}

test('a callback is new, busy while it is handled, and a repeat once it was', async () => {
  const { guard, begin } = start();

  expect(await begin('key')).toBe('new');
  expect(await begin('key')).toBe('busy');
  await guard.commit('key');
  expect(await begin('key')).toBe('repeat');
  expect(await begin('other')).toBe('new');
});

test('another body is a conflict, whether the first is busy, failed or handled', async () => {
  const { guard, begin } = start();
  await begin('key');

  expect(await begin('key', 'other')).toBe('conflict');
  await guard.forget('key');
  expect(await begin('key', 'other')).toBe('conflict');
  expect(await begin('key')).toBe('new');
  await guard.commit('key');
  expect(await begin('key', 'other')).toBe('conflict');
});

test('a callback whose lease has ended is new, for one', async () => {
  const { advance, begin } = start();
  await begin('key');

  advance(leaseMs - 1);
  expect(await begin('key')).toBe('busy');
  advance(1);
  expect([await begin('key'), await begin('key')]).toEqual(['new', 'busy']);
});

test('a lease lasts as long as it was given, however the time of day is set meanwhile', async () => {
  const { time, begin } = start();
  await begin('back');
  await begin('ahead');

  time.now -= hour;
  time.elapsed += leaseMs;
  expect(await begin('back')).toBe('new');
  time.now += 2 * hour;
  time.elapsed += leaseMs - 1;
  expect(await begin('back')).toBe('busy');
});

test('what was committed after its lease is a repeat, and stays one when the next handler fails', async () => {
  const { guard, advance, begin } = start();
  await begin('key');
  advance(leaseMs);
  await begin('key');

  await guard.commit('key');
  expect(await begin('key')).toBe('repeat');
  await guard.forget('key');
  expect(await begin('key')).toBe('repeat');
});

test.each(['handled', 'failed', 'busy'] as const)('what is %s is forgotten when it expires', async (state) => {
  const { guard, advance, begin } = start();
  await begin('key', 'body', { expiresMs: hour, lease: 2 * hour });
  if (state === 'handled') await guard.commit('key');
  if (state === 'failed') await guard.forget('key');

  advance(hour - 1);
  expect(await begin('key', 'other')).toBe('conflict');
  advance(1);
  expect(await begin('key', 'other')).toBe('new');
});

test('an unknown callback is neither committed nor forgotten', async () => {
  const { guard, begin } = start();

  await guard.commit('key');
  await guard.forget('key');

  expect(await begin('key')).toBe('new');
});

test('of 10,000 the oldest goes first, and those that failed before those that were handled', async () => {
  const { guard, begin, handle } = start();
  await handle('genuine');
  await handle('second');
  for (let index = 0; index < 9_998; index++) {
    await begin(`forged-${index}`);
    await guard.forget(`forged-${index}`);
  }

  for (let index = 0; index < 9_998; index++) await handle(`new-${index}`);
  expect(await begin('genuine')).toBe('repeat');
  await handle('one-more');

  expect(await begin('second')).toBe('repeat');
  expect(await begin('genuine')).toBe('new');
});

test.each([
  [
    'begun anew after its lease',
    async ({ advance, begin }: Started) => {
      await begin('key');
      advance(leaseMs);
      await begin('key');
    },
  ],
  [
    'begun anew after it failed',
    async ({ guard, begin }: Started) => {
      await begin('key');
      await guard.forget('key');
      await begin('key');
    },
  ],
  [
    'committed after it failed',
    async ({ guard, begin }: Started) => {
      await begin('key');
      await guard.forget('key');
      await guard.commit('key');
    },
  ],
  ['unknown and committed', ({ guard }: Started) => guard.commit('unknown')],
  ['unknown and forgotten', ({ guard }: Started) => guard.forget('unknown')],
])('a callback that is %s takes no more than one place', async (what, act) => {
  const started = start();
  const { guard, begin, handle } = started;
  await begin('failed');
  await guard.forget('failed');
  for (let index = 0; index < (what.startsWith('unknown') ? 9_998 : 9_997); index++) await handle(`handled-${index}`);

  await act(started);
  // The 10,000th, and in its place one more.
  await begin('last');
  expect(await begin('failed', 'other')).toBe('conflict');
  await begin('one-more');

  expect(await begin('failed', 'other')).toBe('new');
});

type Started = ReturnType<typeof start>;

test('a callback that is begun anew makes no room in a full guard', async () => {
  const { guard, advance, begin, handle } = start();
  await begin('failed');
  await guard.forget('failed');
  await begin('key');
  for (let index = 0; index < 9_998; index++) await handle(`handled-${index}`);
  advance(leaseMs);

  expect(await begin('key')).toBe('new');

  expect(await begin('failed', 'other')).toBe('conflict');
});

test('a callback that is being handled is kept until its lease ends, however many come meanwhile', async () => {
  const { advance, begin } = start();
  await begin('in-hand');

  for (let index = 0; index < 20_000; index++) await begin(`other-${index}`);
  expect(await begin('in-hand')).toBe('busy');
  expect(await begin('other-0')).toBe('busy');
  advance(leaseMs);
  for (let index = 0; index < 10; index++) await begin(`later-${index}`);

  expect(await begin('in-hand', 'other')).toBe('new');
});
