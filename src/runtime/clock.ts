/**
 * Waiting, on a clock that can be given: sleeps and time limits that end at once when a signal
 * aborts, and leave no timer and no listener behind.
 *
 * @module
 */

import type { Clock } from '../options.js';

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
   * Calls `ring` after `ms`, at most {@link maxTimerMs}, unless it is silenced before by what is returned.
   * A clock that fails to tell the time then gives `ring` its error.
   */
  alarm(ms: number, ring: (failure?: unknown) => void): () => void;
}

/** Creates a clock of the platform's time and timers; durations are counted by its monotonic clock. */
export function createPlatformClock(): WaitingClock {
  // Looked up at each reading, so that fake timers of a test runner are used.
  const stopwatch = createStopwatch(() => globalThis.performance?.now() ?? Date.now());
  return {
    now: () => Date.now(),
    elapsed: stopwatch.elapsed,
    sleep: countSleeps(stopwatch, platformSleep),
    alarm(ms, ring) {
      const endsAt = stopwatch.elapsed() + ms;
      return platformAlarm(ms, () => {
        stopwatch.reach(endsAt);
        ring();
      });
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
    alarm: (ms, ring) => sleepingAlarm(stopwatch, sleep, { ms, ring }),
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

/** How long some work may take, and what ends it before. */
export interface Limits {
  readonly clock: WaitingClock;
  readonly ms: number;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
  /** Makes the error for when time runs out. */
  readonly timedOut: () => Error;
}

/**
 * Runs `work` with a signal of its own, until it settles, the time is over, or the caller's signal
 * aborts: then it rejects at once, with that signal's own reason, whether the work listens or not.
 */
export function within<T>(limits: Limits, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, ms, timedOut } = limits;
  // Read as the caller's own: one that other code has put on all objects is not a signal.
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
      silence();
    };
    // Before the listener: where a given clock throws, none is left behind.
    const silence = clock.alarm(ms, (failure) => end(failure ?? timedOut()));
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
 * Runs `work` under a signal that aborts with the first of `signals`; these are listened to for as
 * long as the work runs, and no longer.
 */
export async function under<T>(
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

// A reason of one's own spares the making of one, with its stack, in every call.
const inTime = new Error('the work ended in time');

function platformAlarm(ms: number, ring: () => void): () => void {
  const timer = setTimeout(ring, ms);
  return () => clearTimeout(timer);
}

function sleepingAlarm(
  stopwatch: Stopwatch,
  sleep: Sleep,
  { ms, ring }: { ms: number; ring: (failure?: unknown) => void },
): () => void {
  const endsAt = stopwatch.elapsed() + ms;
  const silencing = new AbortController();
  const end = () => {
    if (silencing.signal.aborted) return;
    let failure: unknown;
    try {
      stopwatch.reach(endsAt);
    } catch (error) {
      failure = error;
    }
    ring(failure);
  };
  // A sleep that fails by itself ends the limit too: without one, the work could last without end.
  sleep(ms, silencing.signal).then(end, end);
  return () => silencing.abort(inTime);
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
