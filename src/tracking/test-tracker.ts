/**
 * Creates trackers for tests. Only the storage and the clock differ from those of a real tracker.
 *
 * @module
 */

import { optionsOf } from '../client.js';
import { createWaitingClock } from '../runtime/clock.js';
import { joinClock } from '../runtime/clock-participants.js';
import { createContext, createLog } from './context.js';
import { createMemoryStorage } from './memory/storage.js';
import { readTestOptions, type TestTrackerOptions } from './options.js';
import { defaultRate } from './rules.js';
import type { Tracker } from './tracker.js';
import type { Completion, Json } from './types.js';
import { createWorkingTracker } from './working-tracker.js';

type Handler<C extends Json> = (completion: Completion<C>) => void | Promise<void>;

/** A tracker for tests. */
export interface TestTracker<C extends Json = Json> extends Tracker<C> {
  /**
   * Works until nothing is due at the clock's now. It waits for running handlers, for which it does not move the clock:
   * call `advance` meanwhile if a handler waits for the clock. If `maxRequestsPerSecond` delays a request, it moves the
   * clock on until the request may be sent.
   */
  drain(): Promise<void>;
}

/**
 * Creates a tracker that stores its jobs in memory, and works while the test clock moves. It needs neither a database
 * nor pg-boss. It polls, hands over and retries as the tracker of `createTracker` does, but each random wait has its
 * middle length, and the option `db` of its methods is not used.
 *
 * @param options - The client, the clock, and the settings for following jobs.
 * @returns The tracker. It begins to work when `onCompletion` is called.
 * @throws {HostedConfigError} when options are invalid. The error lists every problem.
 *
 * @example A completion after a month
 * ```ts
 * const tracker = createTestTracker({ client, clock, deadlineMs: 40 * 86_400_000 });
 * await tracker.onCompletion((completion) => console.log(completion.outcome));
 * await tracker.track(job);
 * await clock.advance(30 * 86_400_000);
 * service.sandbox.jobs.complete(job, 'approved');
 * await clock.advance(900_000);
 * ```
 */
export function createTestTracker<C extends Json = Json>(options: TestTrackerOptions): TestTracker<C> {
  const { settings, clock } = readTestOptions(options);
  let wasCalled = false;
  const own = joinClock(clock, {
    isIdle: () => storage.isIdle(),
    hasCalled() {
      const hasCalled = wasCalled;
      wasCalled = false;
      return hasCalled;
    },
  });
  const waitingClock = createWaitingClock(own);
  const random = () => 0.5;
  const storage = createMemoryStorage(settings, waitingClock, random);
  const { database, statements, openQueue, isDue } = storage;
  const log = createLog(settings.logger ?? optionsOf(settings.client).logger);
  const context = createContext({ settings, database, statements, log, clock: waitingClock, random });
  const tracker = createWorkingTracker<C>(context, async () => openQueue());
  const stepMs = Math.ceil(1_000 / (settings.maxRequestsPerSecond ?? defaultRate));
  const handling = new Set<Promise<void>>();
  let isWorking = false;

  return {
    ...tracker,
    async onCompletion(handler) {
      await tracker.onCompletion(typeof handler === 'function' ? handleBy(handler) : handler);
      isWorking = true;
    },
    async work(given) {
      const { handler } = { ...given };
      isWorking = true;
      try {
        const options = typeof handler === 'function' ? { ...given, handler: handleBy(handler) } : given;
        return await tracker.work(options);
      } finally {
        isWorking = false;
      }
    },
    async stop(given) {
      isWorking = false;
      await tracker.stop(given);
    },
    async drain() {
      await clock.advance(0);
      while (isWorking && (handling.size > 0 || isDue())) {
        if (handling.size > 0) await Promise.allSettled(handling);
        await clock.advance(handling.size > 0 ? 0 : stepMs);
      }
    },
  };

  /** Counts the calls of a handler, and those that run. */
  function handleBy(handler: Handler<C>): (completion: Completion<C>) => Promise<void> {
    return async (completion) => {
      wasCalled = true;
      const handled = (async () => handler(completion))();
      // After its time, a handler is called again even if it never ends.
      const late = new Promise<void>((resolve) => completion.signal.addEventListener('abort', () => resolve()));
      const waited = Promise.race([handled, late]);
      handling.add(waited);
      try {
        await waited;
      } finally {
        handling.delete(waited);
      }
      await handled;
    };
  }
}
