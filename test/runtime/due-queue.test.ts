/** A queue by time: first what is due first, and of one time what was added first. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createDueQueue, type DueEntry } from '../../src/runtime/due-queue.js';

test('an empty queue has nothing due, and gives nothing', () => {
  const queue = createDueQueue<string>();

  expect(queue.nextDueAt()).toBeNull();
  expect(queue.take()).toBeUndefined();
});

test('a queue gives what is due at one time in the order in which it was added', () => {
  const queue = createDueQueue<string>();
  for (const value of ['a', 'b', 'c', 'd', 'e']) queue.add(value, 5);
  queue.add('first', 4);

  expect(Array.from({ length: 7 }, () => queue.take())).toEqual(['first', 'a', 'b', 'c', 'd', 'e', undefined]);
});

test('an entry that was taken or removed can be removed again, and nothing else goes', () => {
  const queue = createDueQueue<string>();
  const [a, b] = [queue.add('a', 1), queue.add('b', 2)];
  queue.add('c', 3);
  queue.take();
  queue.remove(b);

  queue.remove(a);
  queue.remove(b);

  expect(queue.nextDueAt()).toBe(3);
  expect(queue.take()).toBe('c');
});

/** What is done to a queue: a value is added at a time, the first is taken, or one of those added is removed. */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ act: fc.constant('add' as const), at: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('take' as const), at: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('remove' as const), at: fc.nat() }) },
);

test('whatever is done to it, a queue gives what a sorted list would give', () => {
  const property = fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
    const queue = createDueQueue<number>();
    const entries: DueEntry<number>[] = [];
    // A stable sort keeps the order of what is due at one time.
    let sorted: DueEntry<number>[] = [];
    for (const { act, at } of steps) {
      if (act === 'add') {
        const entry = queue.add(entries.length, at);
        entries.push(entry);
        sorted = [...sorted, entry].sort((one, other) => one.dueAt - other.dueAt);
      } else if (act === 'take') {
        expect(queue.take()).toBe(sorted.shift()?.value);
      } else if (entries.length > 0) {
        const entry = entries[at % entries.length] as DueEntry<number>;
        queue.remove(entry);
        sorted = sorted.filter((other) => other !== entry);
      }
      expect(queue.nextDueAt()).toBe(sorted[0]?.dueAt ?? null);
    }
    expect(sorted.map(() => queue.take())).toEqual(sorted.map(({ value }) => value));
    expect(queue.take()).toBeUndefined();
  });

  fc.assert(property, { seed: 1, numRuns: 500 });
});
