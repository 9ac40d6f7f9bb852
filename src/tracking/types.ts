/**
 * The public types of tracking.
 *
 * @module
 */

import type { HostedErrorCode } from '../errors/client-errors.js';
import type { CompletedJob, JobRef } from '../jobs/types.js';

/** A `pg` client, pool or transaction, or an object with the same method. */
export interface SqlRunner {
  /**
   * Runs one statement.
   *
   * @param text - The statement, with `$1`, `$2`, … for the values.
   * @param values - The values.
   * @returns The rows. Each row is an object with one property per column.
   */
  query(
    text: string,
    values?: unknown[],
  ): Promise<{
    /** The rows. Each row is an object with one property per column. */
    rows: unknown[];
  }>;
}

/**
 * A `pg` pool, or an object with the same methods. It must provide at least two connections at the same time.
 */
export interface SqlPool extends SqlRunner {
  /**
   * Takes a connection out of the pool. If its method `query` is called without values, the text may contain several
   * statements.
   *
   * @returns The connection.
   */
  connect(): Promise<
    SqlRunner & {
      /**
       * Gives the connection back.
       *
       * @param destroy - Whether the connection must be closed, because it is broken, or because a statement still runs.
       *   Default `false`.
       */
      release(destroy?: boolean): void;
    }
  >;
}

/** A value that JSON can represent. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | {
      /**
       * The properties of an object.
       *
       * @param member - The name of a property.
       * @returns The value of the property.
       */
      readonly [member: string]: Json;
    };

/** A job to track. */
export interface JobToTrack<C extends Json = Json> extends JobRef {
  /**
   * Your own data. It is handed over with the completion. JSON of at most 16 KiB. It is stored, so it must not contain
   * a person's name, ID number or phone number.
   */
  context?: C;
  /** The reference id of the job's link, if it is known. */
  linkRefId?: string;
  /** The date at which the job expires, if it has not ended before. Default: `deadlineMs` from now. */
  deadline?: Date;
}

/**
 * The end of a job. A completion is handed over at least once, and again if the handler fails. `outcome` says how the
 * job ended.
 */
export type Completion<C extends Json = Json> = {
  /**
   * The key of this end of the job. It is the same at every delivery and in every process, and never changes. It is a
   * UUID made from the environment, the partner, both ids of the job, the revision and the version of the status. For
   * the outcome `'unheard'`, it is made from the environment, the partner, the link and the number of missing jobs.
   */
  readonly key: string;
  /**
   * The context that was passed to `track()` or `trackLink()`. Null if none was passed, or if only callbacks have named
   * the job's link, and no verified status.
   */
  readonly context: C | null;
  /** The reference id of the job's link, if it is known. */
  readonly linkRefId: string | null;
  /**
   * The number of this end of the job, from 1. If a verdict changes after it was handed over, it is handed over again, as
   * the next revision, with a key of its own.
   */
  readonly revision: number;
  /** The number of this call of the handler for this revision, from 1. */
  readonly attempt: number;
  /** Aborts when the handler takes longer than `handlerTimeoutMs`, or when `stop()` does not wait any longer. */
  readonly signal: AbortSignal;
} & (
  | {
      /** The job has a final status. */
      readonly outcome: 'completed';
      /** Both ids of the job. */
      readonly job: JobRef;
      /**
       * The status of the job. It was fetched and verified immediately before this delivery. No part of it is stored,
       * and its image links are fresh.
       */
      readonly status: CompletedJob;
    }
  | {
      /**
       * The deadline passed before the job had a final status. If the polls failed, the cause is this job, and not an
       * outage or a wrong key.
       */
      readonly outcome: 'expired';
      /** Both ids of the job. */
      readonly job: JobRef;
      /** The `code` of the error of the last poll, or null if the job was pending at the last poll. */
      readonly lastError: HostedErrorCode | null;
    }
  | {
      /** The link's counters include finished jobs that no callback has mentioned. */
      readonly outcome: 'unheard';
      /** Always null. The tracker does not know which jobs are missing. */
      readonly job: null;
      /**
       * How many jobs of this link were reported as missing so far, including this report. If a late callback mentions
       * a missing job, the number does not decrease.
       */
      readonly missing: number;
    }
);

/** A completion that was handed over `maxAttempts` times without success. */
export interface DeadLetter<C extends Json = Json> {
  /** The completion's key, for `retry()`. */
  readonly key: string;
  /** Both ids of the job, or null if the outcome is `'unheard'`. */
  readonly job: JobRef | null;
  /** The completion's context. */
  readonly context: C | null;
  /** How many times the handler was called. */
  readonly attempts: number;
  /** The date at which the completion became a dead letter. */
  readonly failedAt: Date;
  /**
   * The error that the handler threw at the last attempt. Only its name and its code are stored. If the process died or
   * was paused during the last attempt, the name is `TimeoutError`.
   */
  readonly error: {
    /** The error's `name`. */
    readonly name: string;
    /** The error's `code`. Null if it is missing, or if it does not look like a code. */
    readonly code: string | null;
  };
}

/** A job that the tracker knows. */
export interface TrackedJob<C extends Json = Json> extends JobRef {
  /** The key of the job. It is not the `key` of a completion, because a job can end more than once. */
  readonly key: string;
  /**
   * The state of the job. `'heard'` means that a callback has mentioned the job, and that the job is not tracked yet.
   * `'tracking'` means that the job is followed. This includes a job that has ended, if its status could not be fetched for
   * the delivery, for example during an outage: it is polled again until the service responds. `'handing_over'` means that
   * the job has ended, and that its completion is being handed over. `'done'` means that its completion was handled. `'dead'` means that its completion is a dead
   * letter.
   */
  readonly state: 'heard' | 'tracking' | 'handing_over' | 'done' | 'dead';
  /** The context that the job was tracked with, or the context of its link. Null if it has none. */
  readonly context: C | null;
  /** How many times the job was polled. */
  readonly polls: number;
  /** The date of the next poll, or null if the job is not followed. */
  readonly nextPollAt: Date | null;
  /**
   * The date at which the job expires, or null if the job is not followed. If this date has passed, the job waits past
   * its deadline: all polls since then have failed, and the cause may be an outage. `lastError` says what it is.
   */
  readonly deadline: Date | null;
  /** The `code` of the error of the last poll, or null if there was no error. */
  readonly lastError: HostedErrorCode | null;
}

/** The counts for a schema, for all processes together. */
export interface TrackerStats {
  /** How many jobs are known only from callbacks, and are not tracked yet. */
  readonly heard: number;
  /** How many jobs are followed. */
  readonly tracking: number;
  /** How many links are followed. */
  readonly links: number;
  /** How many polls and completions are due, and have not been taken by any process. */
  readonly overdue: number;
  /** How late the most overdue of them is, in milliseconds. 0 if nothing is late. */
  readonly oldestOverdueMs: number;
  /** How many completions are being handed over. */
  readonly handingOver: number;
  /** How many dead letters there are. */
  readonly dead: number;
  /** How many completions that are being handed over have a handler that has begun at least once and not succeeded. */
  readonly failing: number;
  /** How long ago the oldest of them ended, in milliseconds. 0 if there is none. */
  readonly oldestFailingMs: number;
  /** When any process last took polls that were due. Null if none has. */
  readonly lastPollAt: Date | null;
  /** The end of a pause that the service has requested: at most 15 minutes after a response. Null if there is none. */
  readonly pausedUntil: Date | null;
  /** How many requests were sent since the schema was created. */
  readonly requestsSent: number;
  /**
   * A problem that affects all jobs, such as a wrong key or an outage. During a problem, only one job at a time is
   * polled. The code `'paused'` means that the service has requested a pause, during which no job is polled: see
   * `pausedUntil`. `'newer'` means that the tables are newer than this process can use, so that this process takes no work. Null if there is no problem. A problem
   * of the database is not stored in the database: it is an event and a log line of the process that meets it.
   */
  readonly problem: {
    /** The `code` of the error. */
    readonly code: HostedErrorCode | 'paused' | 'newer';
    /** The date at which the problem began. */
    readonly since: Date;
  } | null;
}

/** An event of a tracker. It contains no ids of people, jobs or links. */
export type TrackerEvent =
  | {
      /** The tracker took due jobs and links, and polls them now. */
      type: 'batch';
      /** How many jobs and links were taken. */
      jobs: number;
      /** How late the batch was, in milliseconds: the time since the earliest due date of its jobs and links. */
      lateMs: number;
    }
  | {
      /** A job ended, and its completion is being handed over. */
      type: 'ended';
      /** How the job ended. */
      outcome: Completion['outcome'];
    }
  | {
      /** A handler ended. */
      type: 'delivery';
      /** The number of this delivery of the completion. The first delivery is 1. */
      attempt: number;
      /** How the handler ended. */
      result: 'resolved' | 'rejected' | 'timed_out';
      /** How long the handler took, in milliseconds. */
      durationMs: number;
    }
  | {
      /** A completion became a dead letter. */
      type: 'dead';
      /** How many times the handler was called. */
      attempts: number;
    }
  | {
      /** The tracker found a problem that affects all jobs, such as a wrong key or an outage. */
      type: 'problem';
      /** The `code` of the error. `'storage'` means that the work in the background cannot use the database, `'newer'` that the
       * tables are newer than this process can use. */
      code: HostedErrorCode | 'storage' | 'newer';
    };
