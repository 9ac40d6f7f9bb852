/** The platform's timers, but back-off and the time between polls are cut to a millisecond; a sleep of 20 s and more is not. */
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
