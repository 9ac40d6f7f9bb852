/**
 * Gives the requests for job status of a client's handlers their places: a few at the same time, and at most one a
 * second for each job. Signed times take turns, because anyone who has seen a callback can post its signed time with many
 * invented jobs: a genuine callback then waits for its share only.
 *
 * @module
 */

import { durationSince, type WaitingClock } from '../runtime/clock.js';
import { createBusyError } from './callback-errors.js';
import type { CallbackHint } from './types.js';

/** The least time, in ms, between two requests for the same job. */
const minIntervalMs = 1_000;

/** The latest date of ECMAScript, in ms since the epoch. */
const maxDateMs = 8.64e15;

export type RequestQueue = ReturnType<typeof createRequestQueue>;

/** A request that waits for its place, under the signed times of all its hints. */
interface Item {
  readonly hints: ReadonlySet<Pick<CallbackHint, 'signedAt'>>;
  readonly atOnce: number;
  begin(): void;
  drop(reason: Error): void;
}

export function createRequestQueue(clock: Pick<WaitingClock, 'elapsed' | 'sleep'>) {
  let inFlight = 0;
  const queue = new Set<Item>();
  /** The signed time that had its turn last. */
  let lastTime = Number.NEGATIVE_INFINITY;
  // When the last request for a job was sent, the earliest first.
  const sentAt = new Map<string, number>();

  // If a caller's clock fails, no time has passed, so that no request is lost.
  function waitMsOf(job: string): number {
    return sentAt.has(job) ? minIntervalMs - durationSince(sentAt.get(job), clock) : 0;
  }

  function remember(job: string): void {
    sentAt.delete(job);
    sentAt.set(job, durationSince(0, clock));
    for (const oldest of sentAt.keys()) {
      if (waitMsOf(oldest) > 0) return;
      sentAt.delete(oldest);
    }
  }

  /**
   * Begins the requests whose turns are next, as long as there are places. Signed times have their turns in the order of
   * time; after the latest, the earliest is next. So a new one waits for half of the others on average. At the end of a
   * line, it would wait for all of them.
   */
  function beginNext(): void {
    for (;;) {
      let [next, nextTime, nextRank]: [Item | null, number, number] = [null, 0, Number.POSITIVE_INFINITY];
      for (const item of queue) {
        if (item.hints.size === 0) {
          queue.delete(item);
          item.drop(createBusyError());
        }
        for (const { signedAt } of item.hints) {
          const time = signedAt.getTime();
          const rank = time > lastTime ? time : time + maxDateMs;
          if (rank < nextRank) [next, nextTime, nextRank] = [item, time, rank];
        }
      }
      if (next === null || inFlight >= next.atOnce) return;
      lastTime = nextTime;
      queue.delete(next);
      inFlight += 1;
      next.begin();
    }
  }

  function release(): void {
    inFlight -= 1;
    beginNext();
  }

  return {
    /**
     * Waits for a place for a request about `job`: fewer than `atOnce` requests are in flight. The caller calls `release`
     * when the request has ended.
     *
     * @throws {HostedTimeoutError} when its turn comes, and no hint is left.
     */
    async enter(job: string, hints: Item['hints'], atOnce: number): Promise<void> {
      for (;;) {
        const waitMs = waitMsOf(job);
        if (waitMs > 0) await clock.sleep(waitMs);
        await new Promise<void>((begin, drop) => {
          queue.add({ hints, atOnce, begin, drop });
          // The requests that wait are not looked at in vain: there may be thousands.
          if (inFlight < atOnce) beginNext();
        });
        // Another handler of the client may have asked for the same job meanwhile.
        if (waitMsOf(job) <= 0) break;
        release();
      }
      remember(job);
    },
    release,
  };
}
