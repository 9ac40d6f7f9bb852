/**
 * Reads jobs from a caller's iterable, synchronous or asynchronous. It reads one job at a time, and only when another
 * job can be polled.
 *
 * @module
 */

import { ignoreErrors } from '../events.js';
import type { JobRef } from './types.js';
import { copyIds } from './wait-input.js';

export interface SourcedJob<J> {
  readonly job: J;
  /** The ids are copied at once, because a source may reuse one object for several jobs. */
  readonly ids: JobRef;
}

/** Creates the functions that take a caller's jobs one by one. */
export function createJobSource<J>(jobs: Iterable<J> | AsyncIterable<J>) {
  const iterator = Symbol.asyncIterator in jobs ? jobs[Symbol.asyncIterator]() : jobs[Symbol.iterator]();
  /** The next job, if it was read; null if nothing was read since the last job was taken. */
  let next: SourcedJob<J> | 'being read' | 'none' | null = null;
  let failure: { readonly reason: unknown } | null = null;

  function receive(result: IteratorResult<J>): void {
    next = result.done ? 'none' : { job: result.value, ids: copyIds(result.value) };
  }

  function fail(reason: unknown): void {
    next = 'none';
    failure = { reason };
  }

  function readNext(ready: () => void): void {
    try {
      const result = iterator.next();
      if ('then' in result) {
        next = 'being read';
        void result.then(receive).catch(fail).then(ready);
      } else receive(result);
    } catch (reason) {
      fail(reason);
    }
  }

  return {
    /**
     * Takes the next job; null if none is available. If this call starts an asynchronous read of the caller's iterable,
     * it returns null. `ready` is called when this read has ended.
     */
    take(ready: () => void): SourcedJob<J> | null {
      if (next === null) readNext(ready);
      if (typeof next === 'string') return null;
      const job = next;
      next = null;
      return job;
    },
    isExhausted: () => next === 'none',
    /** If the caller's iterable has thrown an error, throws that error. */
    throwFailure(): void {
      if (failure) throw failure.reason;
    },
    /** Tells the caller's iterable that no more jobs are needed. */
    close(): void {
      if (next !== 'none') ignoreErrors(() => iterator.return?.());
    },
  };
}
