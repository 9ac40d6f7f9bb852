/**
 * Time: a clock that can be given, and sleeps and time limits on it that end as soon as a signal aborts and
 * leave no timer and no listener behind.
 *
 * @module
 */

/**
 * Time, as the client sees it. Give one to make time stand still in a test: `createTestClock()` of
 * `hosted-client/testing` is one that moves only when told. Time limits sleep on it too, so a sleep
 * must not end before its time. Where it is set back, no time has passed.
 */
export interface Clock {
  /**
   * Tells the time. Anything but a finite number is a HostedConfigError.
   *
   * @returns Milliseconds since the epoch.
   */
  now(): number;
  /**
   * Resolves after `ms` milliseconds; rejects with `signal.reason` as soon as `signal` aborts.
   * Left out: the platform's timers.
   *
   * @param ms - How long to sleep, in milliseconds.
   * @param signal - Ends the sleep early.
   */
  sleep?(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay a timer takes, in ms: 32 bits. A longer one would fire at once. */
export const maxTimerMs = 2 ** 31 - 1;

/** A clock that can wait. */
export interface WaitingClock extends Required<Clock> {
  /**
   * Milliseconds that have passed since the clock was created; never goes back. Durations, due times and
   * deadlines are counted by it, as the time of day may be set while they run.
   */
  elapsed(): number;
  /**
   * Calls `onTime` after `ms`, at most {@link maxTimerMs}; returns a function that cancels the timer. Where the
   * clock then fails, `onTime` is given its error.
   */
  setTimer(ms: number, onTime: (failure?: unknown) => void): () => void;
}

/** Creates a clock of the platform's time and timers; durations are counted by its monotonic clock. */
export function createPlatformClock(): WaitingClock {
  // Looked up at each reading, so that fake timers of a test runner are used.
  const stopwatch = createStopwatch(() => globalThis.performance?.now() ?? Date.now());
  return {
    now: () => Date.now(),
    elapsed: stopwatch.elapsed,
    sleep: countSleeps(stopwatch, platformSleep),
    setTimer(ms, onTime) {
      const endsAt = stopwatch.elapsed() + ms;
      const timer = setTimeout(() => {
        stopwatch.reach(endsAt);
        onTime();
      }, ms);
      return () => clearTimeout(timer);
    },
  };
}

/** Completes a given clock, which `now` reads: one that cannot wait waits on the platform's timers. */
export function waitingClock(clock: Clock, now: () => number): WaitingClock {
  const stopwatch = createStopwatch(now);
  const sleep = (ms: number, signal?: AbortSignal) =>
    clock.sleep ? clock.sleep(ms, signal) : platformSleep(ms, signal);
  return {
    now,
    elapsed: stopwatch.elapsed,
    sleep: countSleeps(stopwatch, sleep),
    setTimer: (ms, onTime) => setSleepingTimer(stopwatch, sleep, { ms, onTime }),
  };
}

/** Counts the time that has passed, in ms. */
interface Stopwatch {
  elapsed(): number;
  /** Makes sure that at least `ms` count as passed. */
  reach(ms: number): void;
}

// Where the clock that is read steps back, no time has passed; from there on it counts as before.
function createStopwatch(read: () => number): Stopwatch {
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
    reach(ms) {
      passed = Math.max(elapsed(), ms);
    },
  };
}

type Sleep = WaitingClock['sleep'];

// A sleep that ended counts for its length: fake timers of some test runners move `Date` and not the
// monotonic clock, and a timer may fire a fraction of a millisecond early.
function countSleeps(stopwatch: Stopwatch, sleep: Sleep): Sleep {
  return async (ms, signal) => {
    let leftMs = ms;
    do {
      const partMs = Math.min(leftMs, maxTimerMs);
      const endsAt = stopwatch.elapsed() + partMs;
      await sleep(partMs, signal);
      stopwatch.reach(endsAt);
      leftMs -= partMs;
    } while (leftMs > 0);
  };
}

/** What ends some work early. */
export interface Limits {
  readonly clock: WaitingClock;
  /** How long the work may take. */
  readonly ms: number;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** Creates the error for when the time is over. */
  readonly timedOut: () => Error;
}

/**
 * Runs `work` with a signal of its own, until it settles, the time is over, or the caller's signal
 * aborts: then it rejects at once, with that signal's own reason, whether the work listens or not.
 */
export function withTimeout<T>(limits: Limits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, ms, timedOut } = limits;
  // By an own property: a signal that other code has put on all objects is not the caller's.
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
    const onAbort = () => end(caller?.reason);
    const release = () => {
      caller?.removeEventListener('abort', onAbort);
      cancelTimer();
    };
    // Before the listener: where a given clock throws, none is left behind.
    const cancelTimer = clock.setTimer(ms, (failure) => end(failure ?? timedOut()));
    caller?.addEventListener('abort', onAbort);
    work(ending.signal).then(
      (value) => {
        release();
        resolve(value);
      },
      (error: unknown) => {
        release();
        reject(error);
      },
    );
  });
}

/**
 * Runs `work` with a signal that aborts with the first of `signals`. They are listened to only while the work
 * runs: `AbortSignal.any` leaks on long-lived signals (nodejs/node#54614, denoland/deno#24842).
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
    for (const { signal, onAbort } of listened) signal.removeEventListener('abort', onAbort);
  }
}

/**
 * Sleeps, and rejects with the signal's reason as soon as it aborts, whether the clock listens to it or not. No
 * listener is left on it.
 */
export function sleepAbortably(clock: WaitingClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return withSignals([signal], (own) => {
    own.throwIfAborted();
    return new Promise((resolve, reject) => {
      own.addEventListener('abort', () => reject(own.reason));
      clock.sleep(ms, own).then(resolve, reject);
    });
  });
}

// Shared: `abort()` without a reason creates a DOMException with a stack for each call.
const inTime = new Error('the work ended in time');

function setSleepingTimer(
  stopwatch: Stopwatch,
  sleep: Sleep,
  { ms, onTime }: { ms: number; onTime: (failure?: unknown) => void },
): () => void {
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
    onTime(failure);
  };
  // A sleep that rejects by itself ends the limit, too: otherwise the work could last forever.
  sleep(ms, cancelling.signal).then(end, end);
  return () => cancelling.abort(inTime);
}

function platformSleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      signal?.removeEventListener('abort', onAbort);
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort);
  });
}
