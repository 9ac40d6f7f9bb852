/**
 * Jobs as partners see them (docs/protocol.md §2.4).
 *
 * @module
 */

/** What names a job: both ids, as the callback brought them or the partner chose them (§2.4). */
export interface JobRef {
  /** The id of the user, `user_id` on the wire. */
  readonly userId: string;
  /** The id of the job, `job_id` on the wire: not the service's own, which is {@link JobResult.hostedJobId}. */
  readonly jobId: string;
}

/** A question about a job (§4.5). */
export interface JobQuery extends JobRef {
  /** Asks for an expiring link to the selfie. Default `false`. */
  imageLinks?: boolean;
  /** Asks for every result the service has sent to the callback for the job. Default `false`. */
  history?: boolean;
}

/** Codes of answers that are data, and any that are new. 2301, 2303, 2304, 2305 and 2313 are thrown as errors (§7). */
export type JobStatusCode = '2302' | '2307' | '2310' | '2314' | (string & {});

/** What the service sends back of what the partner sent along with the job (§2.4). */
export interface PartnerParams {
  /** The id of the user; null where the service sent none. */
  readonly userId: string | null;
  /** The id of the job; null where the service sent none. */
  readonly jobId: string | null;
  /** The job type as text, whether the wire has 4 or "4"; null where it has none. */
  readonly jobType: string | null;
  /** The reference id of the link the job came from; null where the service does not tell it. */
  readonly linkId: string | null;
  /** The partner's own members; one that is no text is written as JSON. */
  readonly extra: Readonly<Record<string, string>>;
}

/** One result of a job (§2.4). Members that the service did not send are null. */
export interface JobResult {
  /** Mostly four characters, leading zeros included. What one means depends on the product: the verdict is `success`. */
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
  /** 0 to 100, as sent; null where the service sent no number: what it sent is then in `extra`. */
  readonly confidence: number | null;
  /** The single checks and their outcomes; empty where the service sent none. */
  readonly actions: Readonly<Record<string, string>>;
  /** What the partner sent along with the job. */
  readonly partnerParams: PartnerParams | null;
  /** Fields this package does not know, and a confidence that it cannot read, as they came; signatures are left out. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One result as it was sent to the callback, with what was read from an ID (§2.4, §6). */
export interface HistoryEntry extends JobResult {
  /** Null where the entry carries none of it. All of it is text as sent, dates too. */
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
  /** `result`, where the service sends it as text; null elsewhere. */
  readonly message: string | null;
  /** The final status; null before there is one, and where the service sends it empty. */
  readonly result: JobResult | null;
  /** Pictures; null where the answer has none, as when they were not asked for. */
  readonly imageLinks: {
    /** The address of the selfie, which expires; null where it is no http(s) address: its text is then in `extra`. */
    readonly selfieImage: string | null;
    /** When the address ends, where it is a presigned one and says so (§8); null elsewhere. */
    readonly expiresAt: Date | null;
    /** Members this package does not know, as they came. */
    readonly extra: Readonly<Record<string, unknown>>;
  } | null;
  /** Every result sent to the callback, in the service's order; null where the answer has no such list, as when it was not asked for. */
  readonly history: readonly HistoryEntry[] | null;
  /** When the service signed the answer (§5); null where its timestamp is no date, which only any age lets pass. */
  readonly signedAt: Date | null;
}

/** A job without a final status (§3). */
export interface PendingJob extends JobStatusBase {
  /** Decided by `job_complete` alone. */
  readonly state: 'pending';
  /** There is no final status yet. */
  readonly complete: false;
  /** Not so far. */
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

/** A job with a final status; `success` tells which. */
export type CompletedJob = SucceededJob | FailedJob;

/** A job's status, verified; `state` tells which. */
export type JobStatus = PendingJob | CompletedJob;
