/** A clock that shortens every sleep of less than 20 s to a millisecond, so that retries and polls do not wait. */
export const hastyClock = {
  now: () => Date.now(),
  sleep: (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
        ms < 20_000 ? Math.min(ms, 1) : ms,
      );
      signal?.addEventListener('abort', onAbort, { once: true });
    }),
};
