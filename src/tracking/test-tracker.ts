/**
 * Creates trackers for tests. Only the storage and the clock differ from those of a real tracker.
 *
 * @module
 */

import { optionsOf } from '../client.js';
import { joinClock } from '../local/clock-participants.js';
import { createWaitingClock } from '../runtime/clock.js';
import { createContext, createLog } from './context.js';
import { createMemoryStorage } from './memory/storage.js';
import { readTestOptions, type TestTrackerOptions } from './options.js';
import { defaultRate } from './rules.js';
import type { Tracker } from './tracker.js';
import type { Json } from './types.js';
import { createWorkingTracker } from './working-tracker.js';

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
 * Creates a tracker that stores its jobs in memory, and works while the test clock moves. It needs no database. It polls, hands over and retries as the tracker of `createTracker` does, but each random wait has its
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
  /** The calls of the handler that run. */
  const handling = new Set<Promise<void>>();
  let wasCalled = false;
  const own = joinClock(clock, {
    isIdle: () => storage.loops().isIdle(),
    hasCalled() {
      const hasCalled = wasCalled;
      wasCalled = false;
      return hasCalled;
    },
  });
  const waitingClock = createWaitingClock(own);
  const random = () => 0.5;
  const storage = createMemoryStorage(settings, waitingClock, random);
  const { database, statements } = storage;
  const { logger, partnerId = '' } = optionsOf(settings.client);
  const log = createLog(settings.logger ?? logger);
  const parts = { settings, database, statements, log, clock: waitingClock, random, onCall };
  const context = createContext(parts, partnerId);
  const tracker = createWorkingTracker<C>(context);
  const stepMs = Math.ceil(1_000 / (settings.maxRequestsPerSecond ?? defaultRate));
  return { ...tracker, drain };

  function onCall(ended: Promise<void>): void {
    const forget = () => void handling.delete(ended);
    wasCalled = true;
    handling.add(ended);
    ended.then(forget, forget);
  }

  async function drain(): Promise<void> {
    await clock.advance(0);
    while (storage.loops().isWorking() && (handling.size > 0 || storage.isDue())) {
      await Promise.allSettled(handling);
      await clock.advance(handling.size > 0 ? 0 : stepMs);
    }
  }
}
