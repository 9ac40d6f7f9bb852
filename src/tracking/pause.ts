/**
 * Pauses for the loops of a tracker.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';

/** A loop that works in one process, and pauses while there is nothing to do. */
export interface Loop {
  /** Checks for work at once, because there may be some. */
  wake(): void;
  /** Says whether no work runs, and the loop waits. */
  isIdle(): boolean;
  /** Begins no more work. Resolves when the work that runs has ended, and its results are stored or cannot be. */
  drain(): Promise<void>;
}

/** Creates a pause on a clock: a sleep that can be ended early. Only one sleep may run at a time. */
export function createPause(clock: Pick<WaitingClock, 'setTimer'>) {
  let end: (() => void) | null = null;
  let isWoken = false;
  return {
    /**
     * Resolves after `ms`, or as soon as `wake` is called. Resolves at once if `wake` was called since the last sleep.
     */
    sleep(ms: number): Promise<void> {
      if (isWoken) {
        isWoken = false;
        return Promise.resolve();
      }
      return new Promise((resolve) => {
        const finish = () => {
          end = null;
          resolve();
        };
        const cancel = clock.setTimer(ms, finish);
        end = () => {
          cancel();
          finish();
        };
      });
    },
    wake(): void {
      if (end) end();
      else isWoken = true;
    },
    isSleeping: () => end !== null,
  };
}

/**
 * Lets timers and requests of this process run between two batches. PGlite runs in the thread of the process, so that a
 * loop of its statements would leave no time for anything else.
 */
export function letOthersRun(): Promise<void> {
  return new Promise((resolve) => void afterThisTurn(resolve));
}

// The function is chosen when this module loads, because a test runner may replace it later.
const { setImmediate: afterThisTurn = (run: () => void) => setTimeout(run, 0) } = globalThis as {
  readonly setImmediate?: (run: () => void) => unknown;
};

/** The number of items that are mapped before others run. The largest of them take a fifth of a millisecond each. */
const sliceSize = 200;

/** Maps a long list in slices, so that the process can do something else between two of them. */
export async function mapInSlices<T, R>(
  list: readonly T[],
  map: (item: T, at: number) => Promise<R>,
): Promise<readonly R[]> {
  const mapped: R[] = [];
  for (let start = 0; start < list.length; start += sliceSize) {
    if (start > 0) await letOthersRun();
    const slice = list.slice(start, start + sliceSize);
    mapped.push(...(await Promise.all(slice.map((item, at) => map(item, start + at)))));
  }
  return mapped;
}
