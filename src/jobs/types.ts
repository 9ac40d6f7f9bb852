/**
 * Jobs as partners see them (docs/protocol.md §2.4).
 *
 * @module
 */

/** What names a job: both ids, as the callback brought them. */
export interface JobRef {
  readonly userId: string;
  readonly jobId: string;
}

/** A question about a job (§4.5). */
export interface JobQuery extends JobRef {
  /** Asks for an expiring link to the selfie. Default `false`. */
  imageLinks?: boolean;
  /** Asks for every result the service has sent for the job. Default `false`. */
  history?: boolean;
}

/** Codes of answers that are data. 2301, 2303, 2304, 2305 and 2313 are thrown as errors (§7). */
export type JobStatusCode = '2302' | '2307' | '2310' | '2314' | (string & {});

/** What the service sends back of what the partner sent along with the job. */
export interface PartnerParams {
  readonly userId: string | null;
  readonly jobId: string | null;
  /** The job type as text, whether the wire has 4 or "4". */
  readonly jobType: string | null;
  /** The reference id of the link the job came from, where the service tells it. */
  readonly linkId: string | null;
  /** The partner's own members. */
  readonly extra: Readonly<Record<string, string>>;
}

/** One result of a job. */
export interface JobResult {
  /** Four characters, leading zeros included. What one means depends on the product. */
  readonly resultCode: string | null;
  /** For people. */
  readonly resultText: string | null;
  readonly resultType: string | null;
  /** The service's own id of the job. */
  readonly hostedJobId: string | null;
  readonly jsonVersion: string | null;
  /** False for an interim result, such as one under review. */
  readonly isFinal: boolean | null;
  /** Whether the result was made by a machine. */
  readonly isMachine: boolean | null;
  /** 0 to 100, as sent; null where the service sent no number. */
  readonly confidence: number | null;
  /** The single checks and their outcomes. */
  readonly actions: Readonly<Record<string, string>>;
  readonly partnerParams: PartnerParams | null;
  /** Members this package does not know, as they came. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** One result as it was sent to the callback, with what was read from an ID. */
export interface HistoryEntry extends JobResult {
  /** Null where the entry carries none of it. All of it is text as sent, dates too. */
  readonly identity: {
    readonly fullName: string | null;
    readonly dateOfBirth: string | null;
    readonly idNumber: string | null;
    readonly idType: string | null;
    readonly country: string | null;
    readonly expirationDate: string | null;
  } | null;
}

interface JobStatusBase extends JobRef {
  readonly code: JobStatusCode | null;
  /** `result`, where the service sends it as text. */
  readonly message: string | null;
  readonly result: JobResult | null;
  /** Null unless asked for. `expiresAt` is known where the address is a presigned one. */
  readonly imageLinks: {
    readonly selfieImage: string | null;
    readonly expiresAt: Date | null;
    readonly extra: Readonly<Record<string, unknown>>;
  } | null;
  /** Null unless asked for; the service's order. */
  readonly history: readonly HistoryEntry[] | null;
  /** The time the service signed the answer. */
  readonly signedAt: Date | null;
}

/** A job without a final status. */
export interface PendingJob extends JobStatusBase {
  readonly state: 'pending';
  readonly complete: false;
  readonly success: false;
}

/** A job that ended with a match: the user was enrolled or authenticated. */
export interface SucceededJob extends JobStatusBase {
  readonly state: 'succeeded';
  readonly complete: true;
  readonly success: true;
}

/** A job that ended without one. */
export interface FailedJob extends JobStatusBase {
  readonly state: 'failed';
  readonly complete: true;
  readonly success: false;
}

/** A job with a final status. */
export type CompletedJob = SucceededJob | FailedJob;

/** A job's status, verified. */
export type JobStatus = PendingJob | CompletedJob;
