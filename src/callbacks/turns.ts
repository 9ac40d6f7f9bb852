/**
 * The turns of jobs. Of each job, at most one turn runs and one waits. A delivery that arrives while a turn waits joins
 * it. One that arrives while a turn runs joins the next, because the status that the running one has asked for may be
 * older than the delivery.
 *
 * @module
 */

import type { WaitingClock } from '../runtime/clock.js';
import { createBusyError } from './callback-errors.js';
import { limitStep } from './limit-step.js';
import type { RequestQueue } from './request-queue.js';
import type { CallbackHint } from './types.js';

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

/** A turn of a job, with the hints of the deliveries that have joined and not left it. */
interface JobTurn<Result> {
  readonly hints: Set<CallbackHint>;
  hasBegun: boolean;
  /** Resolves when its first request may be sent. */
  readonly begins: Promise<void>;
  readonly ends: Promise<Result>;
  /** Resolves when the job's next turn may begin. */
  readonly letsGo: Promise<void>;
}

/** Creates the turns of one handler. `job` is the digest of a job's ids. */
export function createTurns<Result>(clock: WaitingClock, queue: RequestQueue, maxConfirmations: number) {
  /** The latest turn of each job. The next one waits until it lets go. */
  const latest = new Map<string, JobTurn<Result>>();

  function create(job: string, run: (turn: Turn) => Promise<Result>, before?: JobTurn<Result>): JobTurn<Result> {
    const hints = new Set<CallbackHint>();
    let letGo = () => {};
    const letsGo = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const enter = () => queue.enter(job, hints, maxConfirmations);
    const begins = begin();
    const ends = begins.then(start).finally(() => {
      letGo();
      if (latest.get(job) === turn) latest.delete(job);
    });
    // If all deliveries have left, no other code handles a rejection.
    ends.catch(() => undefined);
    const turn: JobTurn<Result> = { hints, hasBegun: false, begins, ends, letsGo };
    latest.set(job, turn);
    return turn;

    async function begin(): Promise<void> {
      await before?.letsGo;
      try {
        await enter();
      } finally {
        // If the turn fails before it begins, the next delivery takes another.
        turn.hasBegun = true;
      }
    }

    async function start(): Promise<Result> {
      let hasPlace = true;
      const leave = () => {
        if (hasPlace) queue.release();
        hasPlace = false;
      };
      const ask = async <T>(request: () => Promise<T>): Promise<T> => {
        if (!hasPlace) await limitStep(clock, createBusyError, enter, queue.release);
        hasPlace = true;
        return request().finally(leave);
      };
      try {
        const joined = [...hints].sort((one, other) => other.signedAt.getTime() - one.signedAt.getTime());
        const [hint] = joined;
        if (hint === undefined) throw createBusyError();
        return await run({ hints: joined, hint, begunAt: clock.elapsed(), ask, letGo });
      } finally {
        leave();
      }
    }
  }

  return {
    /**
     * Joins the job's waiting turn, or creates one that does `run`. Resolves with what the turn comes to.
     *
     * @throws {HostedTimeoutError} when the turn cannot begin within ten seconds.
     */
    async take(job: string, hint: CallbackHint, run: (turn: Turn) => Promise<Result>): Promise<Result> {
      const last = latest.get(job);
      const turn = last && !last.hasBegun ? last : create(job, run, last);
      turn.hints.add(hint);
      try {
        await limitStep(clock, createBusyError, () => turn.begins);
      } catch (error) {
        // A turn that all have left waits on for deliveries, and is dropped when its turn comes.
        turn.hints.delete(hint);
        throw error;
      }
      return turn.ends;
    },
  };
}
