/**
 * The `jobs` namespace of a client that reads its options at its first call.
 *
 * @module
 */

import { beginOrReject } from '../call/api-promise.js';
import { createAbortableIterable } from '../runtime/abortable-iterable.js';
import type { Jobs } from './jobs.js';

/**
 * Creates a namespace. Each call of its methods gets the real namespace from `start`. If `start` throws, the call
 * rejects with the error.
 */
export function createLazyJobs(start: () => Jobs): Jobs {
  return {
    status: (...given) => beginOrReject(() => start().status(...given)),
    watch: (...given) => throwWhenIterated(() => start().watch(...given)),
    waitForCompletion: async (...given) => start().waitForCompletion(...given),
    waitForAll: (...given) => throwWhenIterated(() => start().waitForAll(...given)),
  };
}

function throwWhenIterated<T>(begin: () => AsyncIterable<T>): AsyncIterable<T> {
  try {
    return begin();
  } catch (error) {
    // biome-ignore lint/correctness/useYield: there is nothing to yield, but the iteration must throw.
    return createAbortableIterable<T>(async function* () {
      throw error;
    });
  }
}
