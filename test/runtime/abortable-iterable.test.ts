/** Abortable iterables: each iteration begins anew, and return() ends at once what next() waits for. */

import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { createAbortableIterable } from '../../src/runtime/abortable-iterable.js';
import { deferred, rejection } from '../support/fake-fetch.js';

const done = { done: true, value: undefined };

/** Lets all that is ready to run do so. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

test('each iteration begins anew, and gives what is yielded, in order', async () => {
  let begun = 0;
  const iterable = createAbortableIterable(async function* () {
    begun += 1;
    yield `${begun}a`;
    yield `${begun}b`;
  });
  const collect = async () => {
    const values: string[] = [];
    for await (const value of iterable) values.push(value);
    return values;
  };

  expect(begun).toBe(0);
  expect(await collect()).toEqual(['1a', '1b']);
  expect(await collect()).toEqual(['2a', '2b']);
});

test('an iteration that is over stays over, and its iterator is an iterable of itself', async () => {
  const iterator = createAbortableIterable<string>(async function* () {})[Symbol.asyncIterator]();

  expect(await iterator.next()).toEqual(done);
  expect(await iterator.next()).toEqual(done);
  expect((iterator as AsyncIterableIterator<string>)[Symbol.asyncIterator]()).toBe(iterator);
});

test('what is thrown while nobody has ended the iteration rejects next()', async () => {
  const failure = new Error('the service is away');
  const iterator = createAbortableIterable(async function* () {
    yield 'a';
    throw failure;
  })[Symbol.asyncIterator]();

  expect(await iterator.next()).toEqual({ done: false, value: 'a' });
  expect(await rejection(iterator.next())).toBe(failure);
  expect(await iterator.next()).toEqual(done);
});

test('return() ends every next() that waits at once, though what they wait for never comes', async () => {
  let stopped: AbortSignal | undefined;
  const iterator = createAbortableIterable<string>(async function* (stop) {
    stopped = stop;
    await new Promise(() => undefined);
  })[Symbol.asyncIterator]();
  const waiting = [iterator.next(), iterator.next()];
  await settle();

  expect(stopped?.aborted).toBe(false);
  expect(await iterator.return?.()).toEqual(done);

  expect(await Promise.all(waiting)).toEqual([done, done]);
  expect(stopped?.aborted).toBe(true);
  expect(stopped?.reason).toEqual(new Error('the iteration was ended'));
});

test('what is thrown because the iteration was ended is not', async () => {
  const iterator = createAbortableIterable<string>(async function* (stop) {
    await new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason)));
  })[Symbol.asyncIterator]();
  const waiting = iterator.next();

  await iterator.return?.();

  expect(await waiting).toEqual(done);
  expect(await iterator.next()).toEqual(done);
});

test('return() between two steps waits for the cleaning up, whose failure changes nothing', async () => {
  const cleaning = deferred();
  const steps: string[] = [];
  const iterator = createAbortableIterable(async function* () {
    try {
      yield 'a';
    } finally {
      await cleaning.promise;
      steps.push('cleaned up');
      // biome-ignore lint/correctness/noUnsafeFinally: what a generator may do as it ends is tested here.
      throw new Error('the cleaning up failed');
    }
  })[Symbol.asyncIterator]();
  expect(await iterator.next()).toEqual({ done: false, value: 'a' });

  const returned = iterator.return?.().then(() => steps.push('returned'));
  await settle();
  expect(steps).toEqual([]);
  cleaning.resolve();
  await returned;

  expect(steps).toEqual(['cleaned up', 'returned']);
});

test('a step that has ended leaves no listener on the signal of its iteration', async () => {
  const signals: AbortSignal[] = [];
  const failure = new Error('the service is away');
  const iterator = createAbortableIterable(async function* (stop) {
    signals.push(stop);
    yield 'a';
    throw failure;
  })[Symbol.asyncIterator]();
  const listeners = () => signals.map((signal) => getEventListeners(signal, 'abort').length);

  await iterator.next();
  expect(listeners()).toEqual([0]);
  await rejection(iterator.next());

  expect(listeners()).toEqual([0]);
});
