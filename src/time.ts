/**
 * Waiting, on a clock that can be given: sleeps and time limits that end at once when a signal
 * aborts, and leave no timer and no listener behind.
 *
 * @module
 */

import type { Clock } from './options.js';

/** A clock that can wait. */
export interface WaitingClock extends Required<Clock> {
  /** Calls `ring` after so many ms, unless it is silenced before by what is returned. */
  alarm(ms: number, ring: () => void): () => void;
}

/** The platform's time and timers. */
export const platformClock: WaitingClock = { now: () => Date.now(), sleep: platformSleep, alarm: platformAlarm };

/** A given clock; one that cannot wait waits on the platform's timers. */
export function waitingClock(clock: Clock): WaitingClock {
  const sleeping = {
    now: () => clock.now(),
    sleep: (ms: number, signal?: AbortSignal) => (clock.sleep ? clock.sleep(ms, signal) : platformSleep(ms, signal)),
  };
  return { ...sleeping, alarm: (ms, ring) => sleepingAlarm(sleeping, ms, ring) };
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
  const { clock, ms, signal: caller, timedOut } = limits;
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
    // Before the listener: where somebody's clock throws, none is left behind.
    const silence = clock.alarm(ms, () => end(timedOut()));
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

function sleepingAlarm({ sleep }: Pick<WaitingClock, 'sleep'>, ms: number, ring: () => void): () => void {
  const silencing = new AbortController();
  sleep(ms, silencing.signal).then(ring, () => {
    // One that fails by itself would leave the call without a limit.
    if (!silencing.signal.aborted) ring();
  });
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
