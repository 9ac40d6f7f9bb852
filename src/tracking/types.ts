/**
 * The public types of tracking.
 *
 * @module
 */

import type { HostedErrorCode } from '../errors/errors.js';
import type { CompletedJob, JobRef } from '../jobs/types.js';

/** A `pg` client, pool or transaction, or something with the same method. */
export interface SqlRunner {
  /**
   * Runs one statement.
   *
   * @param text - The statement, with `$1`, `$2`, … for the values.
   * @param values - The values.
   * @returns The rows, as objects by column.
   */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{
    /** Each row, as an object by column. */
    rows: unknown[];
  }>;
}

/** A `pg` pool, or something with the same methods. */
export interface SqlPool extends SqlRunner {
  /**
   * Takes a connection out of the pool.
   *
   * @returns The connection.
   */
  connect(): Promise<
    SqlRunner & {
      /**
       * Gives the connection back.
       *
       * @param destroy - Whether it is broken, and has to be closed. Default `false`.
       */
      release(destroy?: boolean): void;
    }
  >;
}

/** What JSON can carry. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | {
      /**
       * The members of an object.
       *
       * @param member - The name of one.
       * @returns Its value.
       */
      readonly [member: string]: Json;
    };

/** A job to track. */
export interface JobToTrack<C extends Json = Json> extends JobRef {
  /** Yours: handed over with the completion. JSON of at most 16 KiB; it is stored, so no name or number of a person. */
  context?: C;
  /** The reference id of the job's link, where it is known. */
  linkRefId?: string;
  /** When to give up. Default: `deadlineMs` from now. */
  deadline?: Date;
}

/** The end of a job, handed over at least once, until the handler resolves. `outcome` says which end. */
export type Completion<C extends Json = Json> = {
  /**
   * The same at every delivery, by whichever process, for ever: a UUID made from the environment and both ids
   * (of an `'unheard'` one: from the link, and how many are missing).
   */
  readonly key: string;
  /** What `track()` or `trackLink()` was given; null where it was given none. */
  readonly context: C | null;
  /** The reference id of the job's link, where it is known. */
  readonly linkRefId: string | null;
  /** Which delivery this is, from 1. */
  readonly attempt: number;
  /** Aborts when the handler's time is over, and when `stop()` waits no longer. */
  readonly signal: AbortSignal;
} & (
  | {
      /** The job has a final status. */
      readonly outcome: 'completed';
      /** Both ids of the job. */
      readonly job: JobRef;
      /** Asked for right before this delivery, and verified: nothing of it is stored, and image links are fresh. */
      readonly status: CompletedJob;
    }
  | {
      /** The deadline passed. */
      readonly outcome: 'expired';
      /** Both ids of the job. */
      readonly job: JobRef;
      /** The `code` of the last look's error; null where the job was pending. */
      readonly lastError: HostedErrorCode | null;
    }
  | {
      /** The link counts more finished jobs than callbacks have mentioned. */
      readonly outcome: 'unheard';
      /** Which jobs these are is not known. */
      readonly job: null;
      /** How many jobs are missing since the link is tracked. A job that a late callback mentions is not subtracted. */
      readonly missing: number;
    }
);

/** A completion that was handed over as often as allowed, in vain. */
export interface DeadLetter<C extends Json = Json> {
  /** The completion's key. */
  readonly key: string;
  /** Both ids of the job; null of an `'unheard'` one. */
  readonly job: JobRef | null;
  /** The completion's context. */
  readonly context: C | null;
  /** How often it was handed over. */
  readonly attempts: number;
  /** When it was given up. */
  readonly failedAt: Date;
  /** What the handler threw the last time: no more than this is stored of it. */
  readonly error: {
    /** The error's `name`. */
    readonly name: string;
    /** The error's `code`; null where it has none that looks like one. */
    readonly code: string | null;
  };
}

/** What is known of a job. */
export interface TrackedJob<C extends Json = Json> extends JobRef {
  /** The key of its completion. */
  readonly key: string;
  /**
   * `'heard'`: a callback came, and it is not tracked yet; `'tracking'`: it is followed; `'handing_over'`: it has
   * ended; `'done'`: its completion was handled; `'dead'`: its completion is a dead letter.
   */
  readonly state: 'heard' | 'tracking' | 'handing_over' | 'done' | 'dead';
  /** What it was tracked with. */
  readonly context: C | null;
  /** How often it was looked at. */
  readonly polls: number;
  /** When it is looked at next; null where it is not followed. */
  readonly nextPollAt: Date | null;
  /** When it is given up; null where it is not followed. */
  readonly deadline: Date | null;
  /** The `code` of the last look's error; null where there was none. */
  readonly lastError: HostedErrorCode | null;
}

/** Counts of a schema, over all processes. */
export interface TrackerStats {
  /** Jobs that callbacks have mentioned, and that are not tracked. */
  readonly heard: number;
  /** Jobs that are followed. */
  readonly tracking: number;
  /** Jobs and links whose next look should have been. */
  readonly overdue: number;
  /** By how much the oldest of them, in milliseconds; 0 where there is none. */
  readonly oldestOverdueMs: number;
  /** Completions that are being handed over. */
  readonly handingOver: number;
  /** Dead letters. */
  readonly dead: number;
  /** Requests since the schema was made. */
  readonly requestsSent: number;
  /** What stops jobs from being looked at, where it is not the jobs; null where nothing does. */
  readonly problem: {
    /** The `code` of the error. */
    readonly code: HostedErrorCode;
    /** Since when. */
    readonly since: Date;
  } | null;
}

/** What happens in a tracker: no ids of people, jobs or links. */
export type TrackerEvent =
  | {
      /** Due jobs were taken. */
      type: 'batch';
      /** How many. */
      jobs: number;
      /** By how much the oldest was late, in milliseconds. */
      lateMs: number;
    }
  | {
      /** A job ended; its completion is being handed over. */
      type: 'ended';
      /** How it ended. */
      outcome: Completion['outcome'];
    }
  | {
      /** A handler ended. */
      type: 'delivery';
      /** Which delivery of the completion this was, from 1. */
      attempt: number;
      /** How it ended. */
      result: 'resolved' | 'rejected' | 'timed_out';
      /** How long it took, in milliseconds. */
      durationMs: number;
    }
  | {
      /** A completion became a dead letter. */
      type: 'dead';
      /** How often it was handed over. */
      attempts: number;
    }
  | {
      /** Something stops jobs from being looked at. */
      type: 'problem';
      /** The `code` of the error. */
      code: HostedErrorCode;
    };
