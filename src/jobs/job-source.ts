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
  let buffered: SourcedJob<J> | null = null;
  let isReading = false;
  let exhausted = false;
  let failure: { readonly reason: unknown } | null = null;

  function end(reason?: { readonly reason: unknown }): void {
    exhausted = true;
    failure = reason ?? null;
  }

  function receive(result: IteratorResult<J>): void {
    if (result.done) end();
    else buffered = { job: result.value, ids: copyIds(result.value) };
  }

  function readNext(ready: () => void): void {
    try {
      const result = iterator.next();
      if (!('then' in result)) {
        receive(result);
        return;
      }
      isReading = true;
      void result
        .then(receive)
        .catch((reason: unknown) => end({ reason }))
        .then(() => {
          isReading = false;
          ready();
        });
    } catch (reason) {
      end({ reason });
    }
  }

  return {
    /**
     * Takes the next job; null if none is available. If this call starts an asynchronous read of the caller's iterable,
     * it returns null. `ready` is called when this read has ended.
     */
    take(ready: () => void): SourcedJob<J> | null {
      if (!buffered && !isReading && !exhausted) readNext(ready);
      const job = buffered;
      buffered = null;
      return job;
    },
    isExhausted: () => exhausted && !buffered,
    /** If the caller's iterable has thrown an error, throws that error. */
    throwFailure(): void {
      if (failure) throw failure.reason;
    },
    /** Tells the caller's iterable that no more jobs are needed. */
    close(): void {
      if (!exhausted) ignoreErrors(() => iterator.return?.());
    },
  };
}
