/**
 * Async iterables that can be aborted: each iteration starts anew, and `return()` ends a pending `next()` at
 * once.
 *
 * @module
 */

/**
 * Creates an iterable. Each iteration calls `start`; its `stop` aborts when the consumer ends the iteration,
 * so that pending work ends, too.
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
        const settle = (act: () => void) => {
          waiting -= 1;
          stop.signal.removeEventListener('abort', end);
          act();
        };
        const end = () => resolve(done);
        waiting += 1;
        stop.signal.addEventListener('abort', end);
        generator.next().then(
          (result) => settle(() => resolve(result.done ? done : result)),
          (error: unknown) => settle(() => (stop.signal.aborted ? resolve(done) : reject(error))),
        );
      }),
    // The `return()` of a generator alone would wait for its pending sleep or request.
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
