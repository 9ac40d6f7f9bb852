/**
 * A clock for tests. It moves only when a test advances it.
 *
 * @module
 */

import { acceptParticipants, type Participant } from '../local/clock-participants.js';
import type { Clock } from '../runtime/clock.js';
import { createDueQueue, type Due } from '../runtime/due-queue.js';
import { isLoading } from '../runtime/lazy.js';

/**
 * Shows whether the code under test is idle. It counts the uses of the test clock, and the `whileBusy` calls that are
 * running.
 */
interface Activity {
  uses: number;
  running: number;
}

interface Timer extends Due {
  readonly wake: () => void;
  /** Whose sleep it is. Null if the clock has to find out when the code after the sleep has run. */
  readonly participant: Participant | null;
}

const activities = new WeakMap<Clock, Activity>();

type AfterTurn = (act: () => void) => unknown;

// The function is chosen when this module loads. So `advance` also works if a test runner replaces it later. If a runner
// has replaced it before (the fake timers of vitest, jest and sinon have a mark, those of node:test and jest's old ones
// another name), messages do the same.
const { setImmediate: immediate } = globalThis as { setImmediate?: AfterTurn };
const isReal = immediate?.name === 'setImmediate' && !('clock' in immediate);
const afterThisTurn: AfterTurn = isReal ? immediate : postMessage;

/** How many consecutive event-loop turns must be idle before time moves on. */
const idleTurns = 4;
/** How many steps of promises pass before participants are asked. In so many, the code after a sleep has begun to run. */
const stepsBetween = 20;
/** After this number of steps, a participant that is not idle waits for something that the clock has to find out. */
const maxSteps = 2_000;

/**
 * Creates a clock that moves only when a test advances it. Use it to test code that waits.
 *
 * `advance(ms)` ends the sleeps that are due, in order of time. When a sleep has ended, `advance` waits until the code
 * that slept has run. This code may, for example, send a request, read the response and sleep again. Then time moves
 * on. A sleep of 0 ends at once.
 *
 * @param startMs - Milliseconds since the epoch. Default: the beginning of 2026.
 * @returns The clock. Give it to the client, and to the mock service if you use the mock service.
 *
 * @example Wait two minutes without real waiting
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
   * Moves time on. Resolves when the code that was waiting has run. A second call starts only when the first call has
   * ended.
   *
   * @param ms - How far time moves on, in milliseconds.
   * @throws {RangeError} when `ms` is not a finite number of 0 or more.
   */
  advance(ms: number): Promise<void>;
} {
  let nowMs = startMs;
  let advancing = Promise.resolve();
  const timers = createDueQueue<Timer>();
  const activity: Activity = { uses: 0, running: 0 };

  function now(): number {
    activity.uses += 1;
    return nowMs;
  }

  const sleepFor =
    (participant: Participant | null) =>
    (ms: number, signal?: AbortSignal): Promise<void> => {
      activity.uses += 1;
      return sleepBy(signal, !(ms > 0), (wake) => {
        const timer: Timer = { wake, participant, dueAt: nowMs + ms, order: 0, index: -1 };
        timers.add(timer);
        return () => timers.remove(timer);
      });
    };

  async function moveTimeTo(targetMs: number): Promise<void> {
    await waitUntilIdle(activity);
    for (let dueMs = timers.nextDueAt(); dueMs !== null && dueMs <= targetMs; dueMs = timers.nextDueAt()) {
      nowMs = dueMs;
      // Sleeps that are due at the same time end together: the code after one sleep must not delay another sleep.
      const woken = new Set<Participant | null>();
      for (let timer = timers.take(); timer; timer = timers.nextDueAt() === dueMs ? timers.take() : undefined) {
        woken.add(timer.participant);
        timer.wake();
      }
      if (!(await areIdle(woken))) await waitUntilIdle(activity);
    }
    nowMs = targetMs;
    await waitUntilIdle(activity);
  }

  async function advance(ms: number): Promise<void> {
    if (!(ms >= 0 && ms < Infinity)) {
      throw new RangeError(`Cannot advance the clock: "ms" must be a finite number of 0 or more, got ${ms}`);
    }
    // A second call starts only when the first call has ended. Otherwise it would move time while the first call waits.
    advancing = advancing.then(() => moveTimeTo(nowMs + ms));
    await advancing;
  }

  const clock = { now, sleep: sleepFor(null), advance };
  activities.set(clock, activity);
  acceptParticipants(clock, (participant) => ({ now, sleep: sleepFor(participant) }));
  return clock;
}

/** Runs `act`. While `act` runs, a test clock does not move. So `act` must not wait for a sleep of this clock. */
export async function whileBusy<T>(clock: Clock, act: () => Promise<T>): Promise<T> {
  const activity = activities.get(clock);
  if (activity !== undefined) activity.running += 1;
  try {
    return await act();
  } finally {
    if (activity !== undefined) activity.running -= 1;
  }
}

/** Sleeps on `clock`. Uses the platform's timers if the clock has no `sleep`. */
export function sleepOn(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (clock.sleep !== undefined) return clock.sleep(ms, signal);
  return sleepBy(signal, !(ms > 0), (wake) => {
    const timer = setTimeout(wake, ms);
    return () => clearTimeout(timer);
  });
}

/**
 * Resolves when `schedule` calls `wake`. Rejects with `signal.reason` when `signal` aborts. Leaves no listener behind.
 * `schedule` sets a timer and returns a function that cancels it.
 */
function sleepBy(
  signal: AbortSignal | undefined,
  isDue: boolean,
  schedule: (wake: () => void) => () => unknown,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    if (isDue) return resolve();
    const cancel = schedule(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    function abort(): void {
      signal?.removeEventListener('abort', abort);
      cancel();
      reject(signal?.reason);
    }
    signal?.addEventListener('abort', abort);
  });
}

/**
 * Waits for several consecutive event-loop turns in which no code uses the clock, no code is being loaded, and no
 * `whileBusy` call is running.
 */
async function waitUntilIdle(activity: Activity): Promise<void> {
  let usesBefore = activity.uses;
  for (let idle = 0; idle < idleTurns; idle++) {
    await runReadyTasks();
    // While a client loads code, it does not use the clock, but it is not idle.
    if (isLoading() || activity.running > 0 || activity.uses !== usesBefore) idle = -1;
    usesBefore = activity.uses;
  }
}

/**
 * Resolves with true when all participants are idle. Resolves with false if other code may have run, or if a
 * participant waits for something else than the clock.
 */
async function areIdle(participants: ReadonlySet<Participant | null>): Promise<boolean> {
  const known = [...participants].filter((participant) => participant !== null);
  if (known.length < participants.size) return false;
  for (let step = 1; step < maxSteps; step++) {
    await undefined;
    if (step % stepsBetween > 0) continue;
    if (known.some((participant) => participant.hasCalled())) return false;
    if (known.every((participant) => participant.isIdle())) return true;
  }
  return false;
}

/**
 * Waits until all code that is ready has run. Web Crypto signs and verifies on other threads. So this function also
 * computes a small digest with Web Crypto, and waits for it.
 */
async function runReadyTasks(): Promise<void> {
  await crypto.subtle.digest('SHA-256', new Uint8Array());
  // The fake timers of sinon also hold back microtasks, with which Node reads the body of a response.
  (queueMicrotask as { clock?: { runMicrotasks?(): void } }).clock?.runMicrotasks?.();
  await new Promise<void>((resolve) => {
    afterThisTurn(resolve);
  });
}

function postMessage(act: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    act();
  };
  port2.postMessage(null);
}
