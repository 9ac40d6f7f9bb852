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

/** Caches the first value that `make` resolves with. A failure is not cached: the next caller tries again. */
export function lazy<T>(make: () => Promise<T>): Lazy<T> {
  let making: Promise<T> | undefined;
  const load = () => {
    making ??= make().then(
      (value) => {
        lazily.value = value;
        return value;
      },
      (error: unknown) => {
        making = undefined;
        throw error;
      },
    );
    return making;
  };
  const lazily: (() => Promise<T>) & { value: T | undefined } = Object.assign(load, { value: undefined });
  return lazily;
}
