/**
 * Async iterables that can be aborted. Each iteration starts from the beginning, and `return()` ends a pending `next()`
 * at once.
 *
 * @module
 */

/**
 * Creates an iterable. Each iteration calls `start` with a signal. The signal aborts when the consumer ends the
 * iteration, so that pending work ends, too.
 */
export function createAbortableIterable<T>(
  start: (stop: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => iterate(start) };
}

const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
const stopped = new Error('the iteration was ended');

function iterate<T>(
  start: (stop: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterableIterator<T, undefined, undefined> {
  const stop = new AbortController();
  const generator = start(stop.signal);
  let waiting = 0;
  return {
    next: () =>
      new Promise((resolve, reject) => {
        const settle = () => {
          waiting -= 1;
          stop.signal.removeEventListener('abort', end);
        };
        const end = () => resolve(done);
        waiting += 1;
        stop.signal.addEventListener('abort', end);
        const step = generator.next().then(
          (result) => {
            settle();
            return result.done ? done : result;
          },
          (error: unknown) => {
            settle();
            if (stop.signal.aborted) return done;
            throw error;
          },
        );
        // `resolve` and `reject` are passed on without a wrapper: V8 follows them from promise to promise, to find the
        // caller's frames.
        step.then(resolve, reject);
      }),
    // A generator's own `return()` would wait until its pending sleep or request ends.
    async return() {
      stop.abort(stopped);
      const ended = generator.return().catch(() => undefined);
      if (waiting === 0) await ended;
      return done;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
