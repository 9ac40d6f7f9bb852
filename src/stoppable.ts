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
export function stoppable<T>(start: (stop: AbortSignal) => AsyncGenerator<T, void, undefined>): AsyncIterable<T> {
  return { [Symbol.asyncIterator]: () => iterate(start) };
}

const done: IteratorReturnResult<undefined> = { done: true, value: undefined };
const stopped = new Error('the iteration was ended');

function iterate<T>(
  start: (stop: AbortSignal) => AsyncGenerator<T, void, undefined>,
): AsyncIterableIterator<T, undefined, undefined> {
  const stop = new AbortController();
  const generator = start(stop.signal);
  return {
    async next() {
      try {
        const result = await generator.next();
        return result.done ? done : result;
      } catch (error) {
        if (stop.signal.aborted) return done;
        throw error;
      }
    },
    // A generator alone would first wait for what it is waiting for, a sleep or a page.
    async return() {
      stop.abort(stopped);
      await generator.return().catch(() => undefined);
      return done;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
