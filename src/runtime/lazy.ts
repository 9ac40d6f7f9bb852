/**
 * Values that take a while to make and are made at first use.
 *
 * @module
 */

/** A value that is made at first use. */
export interface Lazy<T> {
  /** Makes the value, or waits for the one that is being made. */
  (): Promise<T>;
  /** The value, where it was made before. */
  readonly value: T | undefined;
}

let underway = 0;

/** Caches the first value that `make` resolves with. A failure is not cached: the next caller tries again. */
// Bundlers drop a value that is not used.
// @__NO_SIDE_EFFECTS__
export function lazy<T>(make: () => Promise<T>): Lazy<T> {
  let making: Promise<T> | undefined;
  const load = () => {
    if (making) return making;
    const started = makeOnce();
    making = started;
    started.catch(() => {
      making = undefined;
    });
    return started;
  };
  const result: (() => Promise<T>) & { value: T | undefined } = Object.assign(load, { value: undefined });
  return result;

  async function makeOnce(): Promise<T> {
    underway += 1;
    try {
      const value = await make();
      result.value = value;
      return value;
    } finally {
      underway -= 1;
    }
  }
}

/** Whether anything is being made: a client that waits for its code looks like one that has nothing to do. */
export function isLoading(): boolean {
  return underway > 0;
}
