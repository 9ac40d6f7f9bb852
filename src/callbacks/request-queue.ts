/**
 * Gives the requests for job status of a client's handlers their places: a few at the same time, and at most one a
 * second for each job. Signed times take turns, because anyone who has seen a callback can post its signed time with many
 * invented jobs: a genuine callback then waits for its share only.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';

/** The least time, in ms, between two requests for the same job. */
const minIntervalMs = 1_000;

export type RequestQueue = ReturnType<typeof createRequestQueue>;

/** A request that waits for its place. */
export interface PlaceInQueue {
  /** Resolves with true when the request may be sent, and with false if it was cancelled. */
  readonly begins: Promise<boolean>;
  /** Lets the request also wait under another signed time, in ms since the epoch. */
  addTime(signedMs: number): void;
  /** Cancels the request, unless it may already be sent. */
  cancel(): void;
}

interface Item {
  readonly job: string;
  readonly atOnce: number;
  readonly times: Set<number>;
  isQueued: boolean;
  /** Queues it a second after the last request about its job, or now. */
  queueUp(): void;
  begin(mayBegin: boolean): void;
}

export function createRequestQueue(clock: Pick<WaitingClock, 'elapsed' | 'setTimer'>) {
  let inFlight = 0;
  // By signed time.
  const queue = new Map<number, Set<Item>>();
  /** The signed time that had its turn last. */
  let lastTime = Number.NEGATIVE_INFINITY;
  // When the last request for a job was sent, the earliest first.
  const sentAt = new Map<string, number>();

  /** The last reading of the clock. If a caller's clock fails, no time has passed, so that no request is lost. */
  let readAt = 0;

  function elapsed(): number {
    try {
      readAt = clock.elapsed();
    } catch {}
    return readAt;
  }

  function waitMsOf(job: string): number {
    return Math.ceil(Math.max(0, (sentAt.get(job) ?? Number.NEGATIVE_INFINITY) + minIntervalMs - elapsed()));
  }

  function remember(job: string): void {
    sentAt.delete(job);
    sentAt.set(job, elapsed());
    for (const oldest of sentAt.keys()) {
      if (waitMsOf(oldest) > 0) return;
      sentAt.delete(oldest);
    }
  }

  function put(item: Item, time: number): void {
    queue.set(time, (queue.get(time) ?? new Set()).add(item));
  }

  function remove(item: Item): void {
    // A signed time that joins later must not queue a request that may already be sent: it would take one more place.
    item.isQueued = false;
    for (const time of item.times) {
      const items = queue.get(time);
      items?.delete(item);
      if (items?.size === 0) queue.delete(time);
    }
  }

  /**
   * The signed time whose turn is next. They have their turns in the order of time; after the latest, the earliest is
   * next. So a new one waits for half of the others on average. At the end of a line, it would wait for all of them.
   */
  function nextTime(): number {
    let earliest = Number.POSITIVE_INFINITY;
    let later = Number.POSITIVE_INFINITY;
    for (const time of queue.keys()) {
      earliest = Math.min(earliest, time);
      if (time > lastTime) later = Math.min(later, time);
    }
    return Number.isFinite(later) ? later : earliest;
  }

  function beginNext(): void {
    while (queue.size > 0) {
      const time = nextTime();
      const [next] = queue.get(time) ?? [];
      if (next === undefined || inFlight >= next.atOnce) return;
      lastTime = time;
      remove(next);
      // Another handler of the client may have asked for the same job meanwhile.
      if (waitMsOf(next.job) > 0) {
        next.queueUp();
        continue;
      }
      remember(next.job);
      inFlight += 1;
      next.begin(true);
    }
  }

  return {
    /**
     * Asks for a place for a request about `job`, under these signed times: it begins when fewer than `atOnce` requests
     * are in flight. The caller calls `release` when the request has ended.
     */
    enter(job: string, atOnce: number, signedTimes: Iterable<number>): PlaceInQueue {
      const times = new Set(signedTimes);
      const item: Item = { job, atOnce, times, isQueued: false, queueUp, begin: () => undefined };
      const begins = new Promise<boolean>((resolve) => {
        item.begin = resolve;
      });
      let cancelTimer = () => {};
      function queueUp(): void {
        const waitMs = waitMsOf(job);
        if (waitMs > 0) {
          try {
            cancelTimer = clock.setTimer(waitMs, queueUp);
            return;
          } catch {
            // Without a timer, the request is sent early.
            sentAt.delete(job);
          }
        }
        item.isQueued = true;
        for (const time of item.times) put(item, time);
        if (inFlight < atOnce) beginNext();
      }
      queueUp();
      return {
        begins,
        addTime(signedMs) {
          item.times.add(signedMs);
          if (item.isQueued) put(item, signedMs);
        },
        cancel() {
          cancelTimer();
          remove(item);
          item.begin(false);
        },
      };
    },
    release(): void {
      inFlight -= 1;
      beginNext();
    },
  };
}
