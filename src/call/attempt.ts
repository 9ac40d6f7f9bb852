/**
 * The facts about a running call, and about each of its attempts.
 *
 * @module
 */

import type { ErrorFacts, Issue, Outcome } from '../errors/hosted-error.js';
import type { HostedEvent, Telemetry } from '../events.js';
import type { CallOptions } from '../options.js';
import { assumedRepeatable } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { TraceMessage } from '../runtime/tracing-channel.js';
import type { Settings } from '../settings.js';
import type { ClockSkew } from './clock-skew.js';
import type { Encoded, Operation } from './operation.js';

/** The state that all calls of one client share. */
export interface SharedState {
  readonly settings: Settings;
  readonly telemetry: Telemetry;
  readonly skew: ClockSkew;
  readonly retryTokens: TokenBucket;
  readonly signingTimes: Readonly<Record<'links' | 'jobs', SigningTimes>>;
  /** Receives the signed time of every verified response. */
  readonly noticeAge: (signedAt: Date, now: number) => void;
  /** Gives a random number from 0 to 1. */
  readonly random: () => number;
}

/**
 * Limits all retries of a client, so that they do not make an outage worse. Each retry takes tokens, and each success
 * gives some back. In an outage, a thousand calls make 1,100 requests with this limit, and 3,000 without it.
 */
export interface TokenBucket {
  /** Takes the tokens for a retry; false if there are not enough. */
  take(): boolean;
  /** Adds the tokens for a success. */
  earn(): void;
}

/**
 * The larger task that a call is part of: a wait, the confirmation of a callback, or a list whose options are invalid. A
 * wait and a confirmation have their own retries, so the call makes only one attempt. It makes a second attempt only if it
 * needs a new signature. The call takes no tokens from the bucket.
 */
export interface PartOf {
  /**
   * The signatures of all calls of a wait. Null for a confirmation: each of its calls remembers only its own
   * signatures.
   */
  readonly sent: SentSignatures | null;
  /** The problems that the task found in its own options: the call reports them, and sends nothing. Null for none. */
  readonly issues: readonly Issue[] | null;
}

/**
 * The signatures that were sent recently. The fields are plain arrays to save memory, because each wait has its own
 * record of this type, and there may be a million waits.
 */
export interface SentSignatures {
  /** The greatest age, in ms, at which a response is still fresh; false if any age is accepted. */
  readonly maxAgeMs: number | false;
  /** The signatures, in the order in which they were sent. */
  readonly signatures: string[];
  /** The times that these signatures cover, in ms since the epoch, as they are read from a timestamp. */
  readonly times: number[];
  /** The latest time for which a forgotten signature was made, in ms since the epoch. */
  forgottenUntil: number;
}

/** A time that a request is signed for, in ms. */
export interface SigningTime {
  /** The time since the epoch, by this machine's clock. */
  readonly time: number;
  /** How far the time is ahead of now; negative if it is in the past. */
  readonly leadMs: number;
  /**
   * The planned value of `leadMs`. `leadMs` differs if another request already had the planned time.
   */
  readonly plannedLeadMs: number;
}

/** Chooses the time for which each request of one client is signed. */
export interface SigningTimes {
  /** How long to wait after a collision, in ms. The service then signs for a later time. */
  readonly passingMs: number;
  /**
   * Gives the time for a request at `now`. `isPoll` is true for the polls of a wait. The polls of one wait share one
   * memory of sent signatures.
   */
  next(now: number, isPoll: boolean): SigningTime;
  /**
   * Gives the time for a request that is sent again after a collision. The request is sent {@link passingMs} after the
   * collision. `collided` is the time for which both the request and its response were signed. This call may also
   * change the planned lead of later requests.
   */
  nextAfterCollision(collided: SigningTime, now: number, isPoll: boolean): SigningTime;
}

/** A call that has begun. Its input may be invalid. */
export interface BegunCall<Input = unknown, Output = unknown> {
  readonly shared: SharedState;
  /** All events of the call have this id. */
  readonly id: number;
  readonly operation: Operation<Input, Output>;
  /** The larger task that the call is part of, if any. */
  readonly part: PartOf | undefined;
  /** The message of the call's trace; null if the channel of calls has no subscriber. */
  readonly message: CallMessage | null;
  /** When the call began, by the monotonic clock; missing if the input was invalid. */
  readonly startedAt?: number;
}

/** The facts that stay the same in all attempts of a call. */
export interface RunningCall<Input = unknown, Output = unknown> extends BegunCall<Input, Output> {
  /** The caller's input, checked and copied. */
  readonly input: Input;
  /** The caller's options, checked and copied. */
  readonly options: CallOptions;
  /** The request, without the fields that signing adds. */
  readonly encoded: Encoded;
  readonly startedAt: number;
  /** When the call began, in ms since the epoch, by this machine's clock. */
  readonly begunAt: number;
  /** When `totalTimeoutMs` is over, by the monotonic clock. */
  readonly endsAt: number;
  /** Every signature that the call has sent. All calls of a wait share one list. */
  readonly sent: SentSignatures;
}

/**
 * The message of the channel `hosted-client:call`. It names no person, job or link: of the URL, it has only the origin
 * and the template of the path.
 */
export interface CallMessage extends TraceMessage {
  readonly callId: number;
  readonly operation: OperationName;
  readonly method: string;
  /** Scheme, host and port of the URL. */
  readonly origin: string;
  /** The path, with `{linkId}` in place of an id. */
  readonly route: string;
  /** The HTTP status of the last response; null if there is none. */
  status: number | null;
  /** How many attempts were made. */
  attempts: number;
  /** How the call ended; null while it runs. */
  outcome: Extract<HostedEvent, { type: 'call' }>['outcome'] | null;
}

/** One attempt of a call. */
export interface Attempt<Call extends RunningCall = RunningCall> {
  readonly call: Call;
  /** The number of the attempt in its call, from 1. */
  readonly number: number;
  /** When the attempt began, by the monotonic clock. */
  readonly startedAt: number;
  /** When the attempt began, in ms since the epoch, by this machine's clock. */
  readonly begunAt: number;
  /**
   * The client's correction, in ms, when the attempt began. It is added to this machine's time for signing. During the
   * attempt, another call may change the client's correction.
   */
  readonly offsetMs: number;
  /** The attempts before this one, oldest first. */
  readonly history: readonly PastAttempt[];
  /** The time that the attempt is signed for; null until it is signed. */
  signedFor: SigningTime | null;
  progress: 'not sent' | 'sent' | 'answered';
  /** The HTTP status of the response; null until there is a response. */
  status: number | null;
}

/** An attempt that failed, and that another attempt follows. */
export interface PastAttempt {
  /** Whether the attempt was sent and may have had an effect. */
  readonly mayHaveActed: boolean;
  /** The time that the attempt was signed for; null if it was not signed. */
  readonly signedFor: SigningTime | null;
  /**
   * Why another attempt follows: the response was signed for the same time (`'collision'`), the signed time was
   * corrected (`'clock'`), or the error is retryable.
   */
  readonly retriedFor: 'collision' | 'clock' | 'error';
}

/** The facts about an attempt, for the error that ends it. */
export function factsOf(attempt: Attempt, outcome: Outcome): ErrorFacts {
  const { operation } = attempt.call;
  const retryable = assumedRepeatable[operation.name] || outcome === 'not_sent';
  return { operation: operation.name, outcome, attempts: attempt.number, retryable };
}

/** The origin of the URL that a call sends its requests to. The path is left out, because it may be secret. */
export function originOf({ operation, shared }: Pick<RunningCall, 'operation' | 'shared'>): string {
  return new URL(shared.settings.baseUrls[operation.route.host]).origin;
}

/** Whether an earlier attempt may have had an effect. */
export function mayHaveActedBefore({ history }: Pick<Attempt, 'history'>): boolean {
  return history.some(({ mayHaveActed }) => mayHaveActed);
}

/**
 * Decides the outcome of an attempt without a response. The outcome says whether the service may have received the
 * request.
 */
export function outcomeWithoutResponse(attempt: Pick<Attempt, 'progress' | 'history'>): Outcome {
  return attempt.progress !== 'not sent' || mayHaveActedBefore(attempt) ? 'unknown' : 'not_sent';
}
