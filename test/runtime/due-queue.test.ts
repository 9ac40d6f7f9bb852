/** A queue by time: first what is due first, and of one time what was added first. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDueQueue, type Due } from '../../src/runtime/due-queue.js';

interface Entry extends Due {
  readonly value: string | number;
}

const entryOf = (value: string | number, dueAt: number): Entry => ({ value, dueAt, order: 0, index: -1 });

test('an empty queue has nothing due, and gives nothing', () => {
  const queue = createDueQueue<Entry>();

  expect(queue.nextDueAt()).toBeNull();
  expect(queue.take()).toBeUndefined();
});

test('a queue gives what is due at one time in the order in which it was added', () => {
  const queue = createDueQueue<Entry>();
  for (const value of ['a', 'b', 'c', 'd', 'e']) queue.add(entryOf(value, 5));
  queue.add(entryOf('first', 4));

  const taken = Array.from({ length: 7 }, () => queue.take()?.value);

  expect(taken).toEqual(['first', 'a', 'b', 'c', 'd', 'e', undefined]);
});

test('an entry that was taken or removed can be removed again, and nothing else goes', () => {
  const queue = createDueQueue<Entry>();
  const [a, b] = [entryOf('a', 1), entryOf('b', 2)];
  for (const entry of [a, b, entryOf('c', 3)]) queue.add(entry);
  queue.take();
  queue.remove(b);

  queue.remove(a);
  queue.remove(b);

  expect(queue.nextDueAt()).toBe(3);
  expect(queue.take()?.value).toBe('c');
});

test('a queue has an entry from when it is added until it is taken or removed, and again once it is added again', () => {
  const queue = createDueQueue<Entry>();
  const [a, b] = [entryOf('a', 1), entryOf('b', 2)];
  const seen = [queue.has(a)];
  for (const act of [() => queue.add(a), () => queue.add(b), () => queue.take(), () => queue.add(a)]) {
    act();
    seen.push(queue.has(a));
  }
  queue.remove(b);

  expect(seen).toEqual([false, true, true, false, true]);
  expect(queue.has(b)).toBe(false);
});

/** What is done to a queue: an entry is added at a time, the first is taken, or one of those added is removed. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ act: fc.constant('add' as const), at: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('take' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('remove' as const), at: fc.nat() }) },
);

test('whatever is done to it, a queue gives what a sorted list would give', () => {
  const property = fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
    const queue = createDueQueue<Entry>();
    const entries: Entry[] = [];
    // A stable sort keeps the order of what is due at one time.
    let sorted: Entry[] = [];
    for (const { act, at } of steps) {
      if (act === 'add') {
        const entry = entryOf(entries.length, at);
        queue.add(entry);
        entries.push(entry);
        sorted = [...sorted, entry].sort((one, other) => one.dueAt - other.dueAt);
      } else if (act === 'take') {
        expect(queue.take()).toBe(sorted.shift());
      } else if (entries.length > 0) {
        const entry = entries[at % entries.length] as Entry;
        expect(queue.has(entry)).toBe(sorted.includes(entry));
        queue.remove(entry);
        sorted = sorted.filter((other) => other !== entry);
      }
      expect(queue.nextDueAt()).toBe(sorted[0]?.dueAt ?? null);
    }
    expect(sorted.map(() => queue.take()?.value)).toEqual(sorted.map(({ value }) => value));
    expect(queue.take()).toBeUndefined();
  });

  fc.assert(property, { seed: 1, numRuns: 500 });
});
