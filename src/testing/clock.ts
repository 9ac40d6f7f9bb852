/**
 * Time for tests: a clock that moves only when told.
 *
 * @module
 */

import type { Clock } from '../runtime/clock.js';
import { createDueQueue } from '../runtime/due-queue.js';
import { isMaking } from '../runtime/lazy.js';

/** How busy the world around a test clock is: what counts up when it is used, and what is under way. */
interface Activity {
  uses: number;
  underway: number;
}

const activities = new WeakMap<Clock, Activity>();

// Taken at once, so that fake timers of a test runner do not stop `advance`.
const { setTimeout: startTimer } = globalThis;
const { setImmediate: afterThisTurn } = globalThis as { setImmediate?: (act: () => void) => unknown };

/** How many turns in a row nothing may happen before time moves on. */
const quietTurns = 4;

/**
 * Creates a clock that moves only when told, for tests of waiting.
 *
 * `advance(ms)` wakes who is due, in order of time, and lets what follows from it run (a request, an
 * answer, the next sleep) before time moves on. A sleep of 0 ends at once.
 *
 * @param startMs - Milliseconds since the epoch. Default: the beginning of 2026.
 * @returns The clock; give it to the client, and to the mock service if there is one.
 *
 * @example Wait two minutes in no time
 * ```ts
 * const clock = createTestClock();
 * const service = createMockService({ clock });
 * const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
 * const job = service.sandbox.jobs.start();
 * const completed = client.jobs.waitForCompletion(job);
 * await clock.advance(60_000);
 * service.sandbox.jobs.complete(job, 'approved');
 * await clock.advance(60_000);
 * console.log((await completed).state); // succeeded
 * ```
 */
export function createTestClock(startMs: number = Date.UTC(2026, 0, 1)): Clock & {
  /**
   * Moves time on, and waits until all that follows from it has run. Calls run one after another.
   *
   * @param ms - By how much, in milliseconds.
   * @throws {RangeError} when `ms` is no finite number of 0 or more.
   */
  advance(ms: number): Promise<void>;
} {
  let nowMs = startMs;
  let advancing = Promise.resolve();
  const sleepers = createDueQueue<() => void>();
  const activity: Activity = { uses: 0, underway: 0 };

  function now(): number {
    activity.uses += 1;
    return nowMs;
  }

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    activity.uses += 1;
    return sleepUntil(signal, !(ms > 0), (wake) => {
      const sleeper = sleepers.add(wake, nowMs + ms);
      return () => sleepers.remove(sleeper);
    });
  }

  async function moveTo(targetMs: number): Promise<void> {
    await untilQuiet(activity);
    for (let dueMs = sleepers.nextDueAt(); dueMs !== null && dueMs <= targetMs; dueMs = sleepers.nextDueAt()) {
      nowMs = dueMs;
      // All of one instant wake together: none of them can see what another does about it.
      while (sleepers.nextDueAt() === dueMs) sleepers.take()?.();
      await untilQuiet(activity);
    }
    nowMs = targetMs;
    await untilQuiet(activity);
  }

  async function advance(ms: number): Promise<void> {
    if (!(ms >= 0 && ms < Infinity)) {
      throw new RangeError(`Cannot advance the clock: "ms" must be a finite number of 0 or more, got ${ms}`);
    }
    // One after another, or the second would move time away under the first.
    advancing = advancing.then(() => moveTo(nowMs + ms));
    await advancing;
  }

  const clock = { now, sleep, advance };
  activities.set(clock, activity);
  return clock;
}

/** Runs `act`, and keeps a test clock from moving on until it is done. Not around a sleep. */
export async function holdingTime<T>(clock: Clock, act: () => Promise<T>): Promise<T> {
  const activity = activities.get(clock);
  if (activity !== undefined) activity.underway += 1;
  try {
    return await act();
  } finally {
    if (activity !== undefined) activity.underway -= 1;
  }
}

/** Sleeps on `clock`, or by the platform's timers where it has no sleep. */
export function sleepOn(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (clock.sleep !== undefined) return clock.sleep(ms, signal);
  return sleepUntil(signal, !(ms > 0), (wake) => {
    const timer = setTimeout(wake, ms);
    return () => clearTimeout(timer);
  });
}

/**
 * Resolves when woken, rejects with `signal.reason` when aborted, and leaves no listener behind.
 * `lieDown` arranges the waking, and answers how to call it off.
 */
function sleepUntil(
  signal: AbortSignal | undefined,
  over: boolean,
  lieDown: (wake: () => void) => () => unknown,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (over) return resolve();
    const callOff = lieDown(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    function abort(): void {
      signal?.removeEventListener('abort', abort);
      callOff();
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', abort);
  });
}

/** Ends when several turns in a row nobody asked the time, lay down to sleep or held it. */
async function untilQuiet(activity: Activity): Promise<void> {
  let seen = activity.uses;
  for (let quiet = 0; quiet < quietTurns; quiet++) {
    await turn();
    // A client that is loading code looks like one that has nothing to do.
    if (isMaking() || activity.underway > 0 || activity.uses !== seen) quiet = -1;
    seen = activity.uses;
  }
}

/**
 * Lets everything run that is ready to, signing and verifying included: they are done by other
 * threads, so that one of their kind has to go the same way.
 */
async function turn(): Promise<void> {
  await crypto.subtle.digest('SHA-256', new Uint8Array());
  await new Promise<void>((resolve) => {
    if (afterThisTurn === undefined) startTimer(resolve, 0);
    else afterThisTurn(resolve);
  });
}
