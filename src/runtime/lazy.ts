/**
 * Values that are created at first use, because creating them takes time.
 *
 * @module
 */

let loading = 0;

/**
 * Caches the first value that `create` resolves with. A failure is not cached: the next caller tries again. `value` is
 * the value, and undefined until it is created. A test with fake timers may set it: loading takes real time.
 */
// With the annotation below, bundlers can drop unused values.
// @__NO_SIDE_EFFECTS__
export function lazy<T>(create: () => Promise<T>) {
  let promise: Promise<T> | undefined;
  const load = () => {
    if (promise) return promise;
    const started = createOnce();
    promise = started;
    started.catch(() => {
      promise = undefined;
    });
    return started;
  };
  const result = Object.assign(load, { value: undefined as T | undefined });
  return result;

  async function createOnce(): Promise<T> {
    loading += 1;
    try {
      const value = await create();
      result.value = value;
      return value;
    } finally {
      loading -= 1;
    }
  }
}

/** The code of the error of an `import()`, or its name where it has no code. Bundlers have names of their own for it. */
export function loadErrorOf(error: unknown): string {
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown };
  return (
    ([code, name].find((text) => typeof text === 'string' && /^\w{2,40}$/.test(text)) as string | undefined) ?? 'Error'
  );
}

/** What to do about code that could not be loaded. */
export const adviceToRestart = 'if a deploy has replaced its files, restart this process';

/** Whether anything is loading. The test clock needs this: a client that waits for code to load is not idle. */
export function isLoading(): boolean {
  return loading > 0;
}
