/**
 * The turns of jobs. Of each job, at most one turn runs and one waits. A delivery that arrives while a turn waits joins
 * it. One that arrives while a turn runs joins the next, because the status that the running one has asked for may be
 * older than the delivery.
 *
 * @module
 */

import { type WaitingClock, withTimeout } from '../runtime/clock.js';
import { createBusyError } from './callback-errors.js';
import type { PlaceInQueue, RequestQueue } from './request-queue.js';
import type { CallbackHint } from './types.js';

/** How long, in ms, a delivery waits for its turn to begin, and a turn for its second request. */
export const maxWaitMs = 10_000;

/** A turn that has begun. No delivery joins it any more. */
export interface Turn {
  /** What the deliveries say that have joined. */
  readonly hints: readonly CallbackHint[];
  /** The newest of them. */
  readonly hint: CallbackHint;
  /** When it began, by the monotonic clock. */
  readonly begunAt: number;
  /**
   * Sends a request about the job. The first one is sent at once.
   *
   * @throws {HostedTimeoutError} when a further one cannot be sent within ten seconds.
   */
  ask<T>(request: () => Promise<T>): Promise<T>;
  /** Lets the job's next turn begin before this one ends. */
  letGo(): void;
}

/** A turn that deliveries can join. */
interface WaitingTurn<Result> {
  readonly hints: Set<CallbackHint>;
  /** The place of its first request; null before the job's turn before this one has let go. */
  place: PlaceInQueue | null;
  readonly begins: Promise<void>;
  readonly ends: Promise<Result>;
}

/** Creates the turns of one handler. `job` is the digest of a job's ids. */
export function createTurns<Result>(clock: WaitingClock, queue: RequestQueue, maxConfirmations: number) {
  const waiting = new Map<string, WaitingTurn<Result>>();
  /** Resolves when the turn that began last has let go of its job. */
  const running = new Map<string, Promise<void>>();

  function create(job: string, run: (turn: Turn) => Promise<Result>): WaitingTurn<Result> {
    let begin = () => {};
    const begins = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const hints = new Set<CallbackHint>();
    const leaveQueue = () => {
      if (waiting.get(job) === turn) waiting.delete(job);
      begin();
    };
    // If the turn fails before it begins, the next delivery takes another.
    const turn: WaitingTurn<Result> = { hints, place: null, begins, ends: start().finally(leaveQueue) };
    // If all deliveries have left, no other code handles a rejection.
    turn.ends.catch(() => undefined);
    waiting.set(job, turn);
    return turn;

    async function start(): Promise<Result> {
      await running.get(job);
      if (hints.size === 0) throw createBusyError();
      turn.place = queue.enter(job, maxConfirmations, timesOf(hints));
      let hasPlace = await turn.place.begins;
      leaveQueue();
      let letGo = () => {};
      const held = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      running.set(job, held);
      try {
        const joined = [...hints].sort((one, other) => timeOf(other) - timeOf(one));
        const [hint] = joined;
        if (!hasPlace || hint === undefined) throw createBusyError();
        return await run({ hints: joined, hint, begunAt: clock.elapsed(), ask, letGo });
      } finally {
        letGo();
        if (running.get(job) === held) running.delete(job);
        if (hasPlace) queue.release();
      }

      async function ask<T>(request: () => Promise<T>): Promise<T> {
        if (!hasPlace) hasPlace = await enterAgain();
        if (!hasPlace) throw createBusyError();
        try {
          return await request();
        } finally {
          hasPlace = false;
          queue.release();
        }
      }
    }

    /** Waits for the place of a further request, ten seconds at most. */
    async function enterAgain(): Promise<boolean> {
      let place: PlaceInQueue | undefined;
      const cancelTimer = clock.setTimer(maxWaitMs, () => place?.cancel());
      place = queue.enter(job, maxConfirmations, timesOf(hints));
      const mayAsk = await place.begins;
      cancelTimer();
      return mayAsk;
    }
  }

  return {
    /**
     * Joins the job's waiting turn, or creates one that does `run`. Resolves with what the turn comes to.
     *
     * @throws {HostedTimeoutError} when the turn cannot begin within ten seconds.
     */
    async take(job: string, hint: CallbackHint, run: (turn: Turn) => Promise<Result>): Promise<Result> {
      const turn = waiting.get(job) ?? create(job, run);
      turn.hints.add(hint);
      turn.place?.addTime(timeOf(hint));
      try {
        await withTimeout({ clock, ms: maxWaitMs, timedOut: () => createBusyError() }, () => turn.begins);
      } catch (error) {
        turn.hints.delete(hint);
        if (turn.hints.size === 0) {
          if (waiting.get(job) === turn) waiting.delete(job);
          turn.place?.cancel();
        }
        throw error;
      }
      return turn.ends;
    },
  };
}

function timesOf(hints: ReadonlySet<CallbackHint>): readonly number[] {
  return [...hints].map(timeOf);
}

function timeOf({ signedAt }: CallbackHint): number {
  return signedAt.getTime();
}
