/**
 * Jobs as callers see them (docs/protocol.md §2.4).
 *
 * @module
 */

/** The two ids that name a job, from the callback or chosen by the partner (§2.4). */
export interface JobRef {
  /** The id of the user, `user_id` on the wire. */
  readonly userId: string;
  /** The id of the job, `job_id` on the wire: not the service's own, which is {@link JobResult.hostedJobId}. */
  readonly jobId: string;
}

/** The job whose status to fetch, and what to include (§4.5). */
export interface JobQuery extends JobRef {
  /** Includes an expiring link to the selfie. Default `false`. */
  imageLinks?: boolean;
  /** Includes every result that the service has sent to the callback for the job. Default `false`. */
  history?: boolean;
}

/** Codes of a job's status, and any that are new. 2301, 2303, 2304, 2305 and 2313 are thrown as errors (§7). */
export type JobStatusCode = '2302' | '2307' | '2310' | '2314' | (string & {});

/** What the partner sent along with the job, as the service returns it (§2.4). */
export interface PartnerParams {
  /** The id of the user; null where the service sent none. */
  readonly userId: string | null;
  /** The id of the job; null where the service sent none. */
  readonly jobId: string | null;
  /** The job type as a string, whether the wire has 4 or "4"; null where it has none. */
  readonly jobType: string | null;
  /** The reference id of the link the job came from; null where the service sent none. */
  readonly linkId: string | null;
  /** The partner's own fields; a value that is not a string is written as JSON. */
  readonly extra: Readonly<Record<string, string>>;
}

/** One result of a job (§2.4). Properties that the service did not send are null. */
export interface JobResult {
  /** The result's code, mostly four characters, leading zeros included. Its meaning depends on the product: the verdict is `success`. */
  readonly resultCode: string | null;
  /** The result in words, for people. */
  readonly resultText: string | null;
  /** Who decided: mostly `SAIA`. */
  readonly resultType: string | null;
  /** The service's own id of the job. */
  readonly hostedJobId: string | null;
  /** The version of the record. */
  readonly jsonVersion: string | null;
  /** False for an interim result, such as one under review. */
  readonly isFinal: boolean | null;
  /** Whether the result was made by a machine. */
  readonly isMachine: boolean | null;
  /** The confidence, 0 to 100, as sent; null where the service sent no number: what it sent is then in `extra`. */
  readonly confidence: number | null;
  /** The single checks and their outcomes; empty where the service sent none. */
  readonly actions: Readonly<Record<string, string>>;
  /** What the partner sent along with the job. */
  readonly partnerParams: PartnerParams | null;
  /** Fields this package does not know, and a confidence that it cannot read, as sent. Signatures are left out. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One result as it was sent to the callback, with what was read from an ID (§2.4, §6). */
export interface HistoryEntry extends JobResult {
  /** What was read from the ID, as strings as sent, dates too; null where the entry has none of it. */
  readonly identity: {
    /** The name on the ID. */
    readonly fullName: string | null;
    /** The date of birth, as the ID's issuer wrote it. */
    readonly dateOfBirth: string | null;
    /** The number of the ID. */
    readonly idNumber: string | null;
    /** The kind of ID. */
    readonly idType: string | null;
    /** The country of the ID: a code or a name. */
    readonly country: string | null;
    /** When the ID ends, as its issuer wrote it: `Not Available` was seen too. */
    readonly expirationDate: string | null;
  } | null;
}

/** What every status of a job has (§2.4). */
interface JobStatusBase extends JobRef {
  /** The service's code (§7); null where it sent none. It decides nothing: `state` does. */
  readonly code: JobStatusCode | null;
  /** The `result` field, where the service sends it as a string; null elsewhere. */
  readonly message: string | null;
  /** The final status; null before there is one, and where the service sends it empty. */
  readonly result: JobResult | null;
  /** Links to pictures; null where the response has none, for example as they were not requested. */
  readonly imageLinks: {
    /** The URL of the selfie, which expires. Null if it is not an http(s) URL: then `extra` has it, unchanged. */
    readonly selfieImage: string | null;
    /** When the URL expires, where it is a presigned one and says so (§8); null elsewhere. */
    readonly expiresAt: Date | null;
    /** Fields this package does not know, as sent. */
    readonly extra: Readonly<Record<string, unknown>>;
  } | null;
  /** Every result sent to the callback, in the service's order; null where the response has no history, for example as it was not requested. */
  readonly history: readonly HistoryEntry[] | null;
  /** When the service signed the response (§5); null if its timestamp is not a date, which is possible only when the age check is off. */
  readonly signedAt: Date | null;
}

/** A job without a final status (§3). */
export interface PendingJob extends JobStatusBase {
  /** Decided by `job_complete` alone. */
  readonly state: 'pending';
  /** There is no final status yet. */
  readonly complete: false;
  /** The user was neither enrolled nor authenticated so far. */
  readonly success: false;
}

/** A job that ended with a match: the user was enrolled or authenticated (§3). */
export interface SucceededJob extends JobStatusBase {
  /** Decided by `job_complete` and `job_success`. */
  readonly state: 'succeeded';
  /** There is a final status. */
  readonly complete: true;
  /** The user was enrolled or authenticated. */
  readonly success: true;
}

/** A job that ended without one (§3). */
export interface FailedJob extends JobStatusBase {
  /** Decided by `job_complete` and `job_success`. */
  readonly state: 'failed';
  /** There is a final status. */
  readonly complete: true;
  /** The user was neither enrolled nor authenticated. */
  readonly success: false;
}

/** A job with a final status; `success` says which. */
export type CompletedJob = SucceededJob | FailedJob;

/** A job's status, verified; `state` says which. */
export type JobStatus = PendingJob | CompletedJob;
