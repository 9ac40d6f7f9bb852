/**
 * Async iterables as one expects them: each iteration begins anew, and `return()` ends at once what
 * `next()` is still waiting for.
 *
 * @module
 */

/**
 * Makes an iterable. An iteration runs `start`, whose `stop` aborts when the iteration is ended from
 * outside; what is under way then is to be ended by it.
 */
export function abortableIterable<T>(
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
    // A generator alone would first wait for what it is waiting for, a sleep or a page.
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
