/**
 * Jobs as callers see them (docs/protocol.md §2.4).
 *
 * @module
 */

/** The two ids that identify a job. They come from the callback, or the partner chose them (§2.4). */
export interface JobRef {
  /**
   * The id of the user, `user_id` on the wire: the `userId` that you passed for a single-use link, or else an id that the
   * service chose, and which does not tell you whose job it is.
   */
  readonly userId: string;
  /**
   * The id of the job, `job_id` on the wire. {@link JobResult.hostedJobId} is a different id: the service's own id of
   * the job.
   */
  readonly jobId: string;
}

/** The job to fetch, and the optional parts of its status (§4.5). */
export interface JobQuery extends JobRef {
  /** If true, the response includes a URL of the selfie. The URL expires. Default `false`. */
  imageLinks?: boolean;
  /**
   * If true, the response includes every result that the service posted to the callback URL for this job. Default
   * `false`.
   */
  history?: boolean;
}

/**
 * A known code of a job's status, or a newer code. If a response has code 2301, 2303, 2304, 2305 or 2313, the call
 * throws an error (§7).
 */
export type JobStatusCode = '2302' | '2307' | '2310' | '2314' | (string & {});

/** The fields that the partner sent with the job, as the service returns them (§2.4). */
export interface PartnerParams {
  /** The id of the user; null if the service sent none. */
  readonly userId: string | null;
  /** The id of the job; null if the service sent none. */
  readonly jobId: string | null;
  /** The job type as a string, even if the service sent a number; null if the service sent none. */
  readonly jobType: string | null;
  /** The reference id of the job's link; null if the service sent none. */
  readonly linkId: string | null;
  /** The partner's own fields; a value that is not a string is written as JSON. Signatures are left out. */
  readonly extra: Readonly<Record<string, string>>;
}

/** One result of a job (§2.4). Properties that the service did not send are null. */
export interface JobResult {
  /**
   * The result's code, usually four characters. The meaning of a code differs between products. For the verdict, read
   * the `success` of the status.
   */
  readonly resultCode: string | null;
  /** The result in words, for people. */
  readonly resultText: string | null;
  /** What decided the result: usually the algorithm `SAIA`. */
  readonly resultType: string | null;
  /** The service's own id of the job. */
  readonly hostedJobId: string | null;
  /** The version of the record. */
  readonly jsonVersion: string | null;
  /** False for an interim result, for example during a review. */
  readonly isFinal: boolean | null;
  /** Whether the result was made by a machine. */
  readonly isMachine: boolean | null;
  /**
   * The confidence that the service sent, 0 to 100. Null if the service sent no number. A value that is not a number is
   * in `extra`.
   */
  readonly confidence: number | null;
  /** Each check and its outcome; empty if the service sent none. */
  readonly actions: Readonly<Record<string, string>>;
  /** The fields that the partner sent with the job. */
  readonly partnerParams: PartnerParams | null;
  /**
   * Fields that this package does not know, and those that it cannot read. They are unchanged, and have the service's
   * names. Signatures are left out.
   */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One result that was posted to the callback URL, with the data that was read from an ID (§2.4, §6). */
export interface HistoryEntry extends JobResult {
  /**
   * The data that was read from the ID. All values, also dates, are unchanged strings. Null if the entry has no such
   * data.
   */
  readonly identity: {
    /** The name on the ID. */
    readonly fullName: string | null;
    /** The date of birth, as the issuer of the ID writes it. */
    readonly dateOfBirth: string | null;
    /** The number of the ID. A number that the service sent as a JSON number may have lost digits: it is null here. */
    readonly idNumber: string | null;
    /** The kind of ID. */
    readonly idType: string | null;
    /** The country of the ID: a code or a name. */
    readonly country: string | null;
    /** When the ID expires, as the issuer of the ID writes the date. The value can also be `Not Available`. */
    readonly expirationDate: string | null;
  } | null;
}

/** The properties that every status of a job has (§2.4). */
interface JobStatusBase extends JobRef {
  /**
   * The verdict, and all that you need to decide by: `'pending'` until there is one, then `'succeeded'` (the person was
   * verified) or `'failed'` (the person was not verified, which is a result and not an error). It depends only on
   * `job_complete` and `job_success` (§3), never on a result code. A later status may have another one.
   */
  readonly state: 'pending' | 'succeeded' | 'failed';
  /** Whether there is a final status. */
  readonly complete: boolean;
  /** The verdict: whether the user was enrolled or authenticated. It is false while the job is pending. */
  readonly success: boolean;
  /**
   * The service's code (§7); null if the service sent none. The code does not decide the `state`, but a status that says
   * the job succeeded is rejected if it has another code than 2302.
   */
  readonly code: JobStatusCode | null;
  /**
   * What the service says instead of a result, mostly why the job is still pending: a text for people and logs, which
   * may change. It is the `result` field, if the service sent it as a string; otherwise null.
   */
  readonly message: string | null;
  /**
   * The job's result. Null if the service sent none, an empty one, or one that is no object; a string is then the
   * `message`. Even a succeeded job may have none.
   */
  readonly result: JobResult | null;
  /** The URLs of images; null if the response has none, for example because they were not requested. */
  readonly imageLinks: {
    /**
     * The URL of the selfie. The URL expires. Null if it is not an http(s) URL; `extra` then has the value that the
     * service sent.
     */
    readonly selfieImage: string | null;
    /** When the URL expires (§8); null if the URL does not contain this time. */
    readonly expiresAt: Date | null;
    /** Fields that this package does not know, unchanged. Signatures are left out. */
    readonly extra: Readonly<Record<string, unknown>>;
  } | null;
  /**
   * Every result that was posted to the callback URL, in the service's order; null if the response has no `history`, or
   * one that is no list of objects.
   */
  readonly history: readonly HistoryEntry[] | null;
  /**
   * When the service signed the response (§5). It is null only if `maxResponseAgeMs` is false and the timestamp of the
   * response is not a date.
   */
  readonly signedAt: Date | null;
}

/** A job without a final status (§3). */
export interface PendingJob extends JobStatusBase {
  readonly state: 'pending';
  readonly complete: false;
  readonly success: false;
}

/** A job that ended with a match: the user was enrolled or authenticated (§3). */
export interface SucceededJob extends JobStatusBase {
  readonly state: 'succeeded';
  readonly complete: true;
  readonly success: true;
}

/** A job that ended without a match (§3). */
export interface FailedJob extends JobStatusBase {
  readonly state: 'failed';
  readonly complete: true;
  readonly success: false;
}

/** A job with a final status; `success` is the verdict, which the service may change later. */
export type CompletedJob = SucceededJob | FailedJob;

/** A job's verified status; `state` says which of the three kinds it is. */
export type JobStatus = PendingJob | CompletedJob;
