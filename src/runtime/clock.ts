/**
 * The clock, which callers can replace, and the sleeps and time limits that use it. Sleeps and time limits end as soon
 * as a signal aborts, and leave no timer and no listener behind.
 *
 * @module
 */

/**
 * The clock of a client. Tests can pass `createTestClock()` of `hosted-client/testing`, which moves only when a test
 * advances it. Time limits use `sleep` too, so a sleep must not end early. If `now` returns an earlier time than
 * before, the client assumes that no time has passed since the last reading.
 */
export interface Clock {
  /**
   * Reads the time. If it is not a finite number, a `HostedConfigError` is thrown.
   *
   * @returns Milliseconds since the epoch.
   */
  now(): number;
  /**
   * Resolves after `ms` milliseconds; rejects with `signal.reason` as soon as `signal` aborts. Default: the
   * platform's timers.
   *
   * @param ms - How long to sleep, in milliseconds.
   * @param signal - Ends the sleep early.
   */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>;
}

/**
 * The longest delay of a timer, in ms: the largest signed 32-bit integer. A timer with a longer delay would fire at
 * once.
 */
export const maxTimerMs = 2 ** 31 - 1;

/** A clock with timers and a monotonic count. */
export interface WaitingClock extends Required<Clock> {
  /**
   * Sleeps, and rejects with the signal's reason as soon as the signal aborts, even if a caller's clock ignores the
   * signal. No listener is left on the signal.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Milliseconds since the clock was created; this number never decreases. Durations and deadlines use it, because the
   * time of day may be changed while they run.
   */
  elapsed(): number;
  /**
   * Calls `onTimeout` after `ms` milliseconds (at most {@link maxTimerMs}), and returns a function that cancels the
   * timer. If the clock cannot be read when the timer fires, `onTimeout` receives the error.
   */
  setTimer(ms: number, onTimeout: (failure?: unknown) => void): () => void;
}

/** The whole ms since `startedAt`; 0 if that is undefined, or if a caller's clock cannot be read. */
export function durationSince(startedAt: number | undefined, { elapsed }: Pick<WaitingClock, 'elapsed'>): number {
  try {
    return startedAt === undefined ? 0 : Math.round(elapsed() - startedAt);
  } catch {
    return 0;
  }
}

/** Creates a clock with the platform's time and timers. Durations use the platform's monotonic clock. */
export function createPlatformClock(): WaitingClock {
  // The clock is looked up for each reading, so that a test runner's fake timers are used.
  const stopwatch = createStopwatch(() => globalThis.performance?.now() ?? Date.now());
  return {
    now: () => Date.now(),
    elapsed: stopwatch.elapsed,
    sleep: countSleeps(stopwatch, sleepByTimer),
    setTimer(ms, onTimeout) {
      const endsAt = stopwatch.elapsed() + ms;
      const timer = setTimeout(() => {
        stopwatch.reach(endsAt);
        onTimeout();
      }, ms);
      return () => clearTimeout(timer);
    },
  };
}

/**
 * Adds timers and a monotonic count to a caller's clock. A clock without `sleep` uses the platform's timers.
 */
export function createWaitingClock(clock: Clock): WaitingClock {
  const now = () => clock.now();
  const stopwatch = createStopwatch(now);
  const sleep = (ms: number, signal?: AbortSignal) =>
    clock.sleep ? clock.sleep(ms, signal) : sleepByTimer(ms, signal);
  return {
    now,
    elapsed: stopwatch.elapsed,
    sleep: countSleeps(stopwatch, sleep),
    setTimer(ms, onTimeout) {
      const endsAt = stopwatch.elapsed() + ms;
      const cancelling = new AbortController();
      const end = () => {
        if (cancelling.signal.aborted) return;
        let failure: unknown;
        try {
          stopwatch.reach(endsAt);
        } catch (error) {
          failure = error;
        }
        onTimeout(failure);
      };
      // If the sleep rejects, the timer fires, too: otherwise the work could run forever.
      sleep(ms, cancelling.signal).then(end, end);
      return () => cancelling.abort(cancelled);
    },
  };
}

type Stopwatch = ReturnType<typeof createStopwatch>;

// Counts the time that has passed, in ms. If the clock steps back, no time counts as passed, and the stopwatch continues from the new time.
function createStopwatch(read: () => number) {
  let last = read();
  let passed = 0;
  const elapsed = () => {
    const at = read();
    if (at > last) passed += at - last;
    last = at;
    return passed;
  };
  return {
    elapsed,
    /** If the count is lower than `ms`, sets it to `ms`. */
    reach(ms: number): void {
      passed = Math.max(elapsed(), ms);
    },
  };
}

type Sleep = WaitingClock['sleep'];

// When a sleep ends, its full length counts as passed: some test runners' fake timers do not move the monotonic clock,
// and a timer may fire a fraction of a millisecond early.
function countSleeps(stopwatch: Stopwatch, sleep: Sleep): Sleep {
  const count = async (ms: number, signal: AbortSignal) => {
    let leftMs = ms;
    do {
      const partMs = Math.min(leftMs, maxTimerMs);
      const endsAt = stopwatch.elapsed() + partMs;
      await sleep(partMs, signal);
      stopwatch.reach(endsAt);
      leftMs -= partMs;
    } while (leftMs > 0);
  };
  return (ms, signal) =>
    withSignals([signal], (own) => {
      own.throwIfAborted();
      return new Promise((resolve, reject) => {
        own.addEventListener('abort', () => reject(own.reason));
        count(ms, own).then(resolve, reject);
      });
    });
}

/** The conditions that end work early. */
export interface Limits {
  readonly clock: Pick<WaitingClock, 'setTimer'>;
  /** How long the work may take. */
  readonly ms: number;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  readonly timedOut: () => Error;
}

/**
 * Runs `work` with its own signal. Rejects with `timedOut()` after the timeout, or with the reason of the caller's
 * signal when that signal aborts. Rejects at once, even if `work` ignores its own signal.
 */
export function withTimeout<T>(limits: Limits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, ms, timedOut } = limits;
  // Only own properties count: a signal on `Object.prototype` is not the caller's.
  const caller = Object.hasOwn(limits, 'signal') ? limits.signal : undefined;
  return new Promise<T>((resolve, reject) => {
    if (caller?.aborted) {
      reject(caller.reason);
      return;
    }
    const ending = new AbortController();
    const end = (reason: unknown) => {
      release();
      reject(reason);
      ending.abort(reason);
    };
    const onAbort = caller && (() => end(caller.reason));
    const release = () => {
      if (onAbort) caller.removeEventListener?.('abort', onAbort);
      cancelTimer();
    };
    // The timer is set before the listener, so that no listener is left behind if a caller's clock throws.
    const cancelTimer = clock.setTimer(ms, (failure) => end(failure ?? timedOut()));
    if (onAbort) caller.addEventListener('abort', onAbort);
    work(ending.signal).finally(release).then(resolve, reject);
  });
}

/**
 * Runs `work` with a signal that aborts as soon as one of `signals` aborts. `AbortSignal.any` is not used, because it
 * leaks memory on long-lived signals (nodejs/node#54614, denoland/deno#24842).
 */
export async function withSignals<T>(
  signals: readonly (AbortSignal | undefined)[],
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  const listened = signals.flatMap((signal) => {
    if (signal?.aborted) ending.abort(signal.reason);
    const onAbort = () => ending.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort);
    return signal ? [{ signal, onAbort }] : [];
  });
  try {
    return await work(ending.signal);
  } finally {
    for (const { signal, onAbort } of listened) signal.removeEventListener?.('abort', onAbort);
  }
}

// All timers share this reason: without a reason, `abort()` would create a DOMException with a stack each time.
const cancelled = new Error('the timer was cancelled');

// Never resolves after an abort: its callers no longer wait then.
function sleepByTimer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => clearTimeout(timer));
  });
}
