/**
 * The facts about a running call, and about each of its attempts.
 *
 * @module
 */

import type { ErrorFacts, Outcome } from '../errors/hosted-error.js';
import type { HostedEvent, Telemetry } from '../events.js';
import type { CallOptions } from '../options.js';
import type { TracingChannel } from '../runtime/tracing-channel.js';
import type { Settings } from '../settings.js';
import type { AgeNotice, ClockSkew } from './clock-skew.js';
import type { Encoded, Operation, OperationFacts } from './operation.js';
import type { SentSignatures } from './sent-signatures.js';
import type { SigningTime, SigningTimes } from './signing-times.js';

/** The state that all calls of one client share. */
export interface SharedState {
  readonly settings: Settings;
  readonly telemetry: Telemetry;
  readonly skew: ClockSkew;
  readonly retryTokens: TokenBucket;
  readonly signingTimes: Readonly<Record<'links' | 'jobs', SigningTimes>>;
  readonly noticeAge: AgeNotice;
  /** Gives a random number from 0 to 1. */
  readonly random: () => number;
}

/**
 * Limits all retries of a client, so that they do not make an outage worse. Each retry takes tokens, and each success
 * gives some back. In an outage, a thousand calls then make 1,100 requests, not 3,000.
 */
export interface TokenBucket {
  /** Takes the tokens for a retry; false if there are not enough. */
  take(): boolean;
  /** Adds the tokens for a success. */
  earn(): void;
}

/**
 * The larger task that a call is part of: a wait, or the confirmation of a callback. These have their own retries. Such
 * a call is made once. It is signed again at most once, and takes no tokens from the bucket.
 */
export interface PartOf {
  /**
   * The signatures of all calls of the wait or confirmation. If this is left out, only the signatures of this call
   * count.
   */
  readonly sent?: SentSignatures;
}

/** The facts that stay the same in all attempts of a call. */
export interface RunningCall<Input, WireResponse, Output> extends CallFacts {
  readonly operation: Operation<Input, WireResponse, Output>;
  /** The caller's input and options, checked and copied. */
  readonly input: Input;
}

/** The operation of the call. */
export interface CallFacts {
  readonly shared: SharedState;
  /** All events of the call have this id. */
  readonly id: number;
  readonly operation: OperationFacts;
  readonly options: CallOptions;
  /** Its request, without the fields that signing adds. */
  readonly encoded: Encoded;
  /** When the call began, by the monotonic clock. The times below also use this clock. */
  readonly startedAt: number;
  /** When `totalTimeoutMs` is over. */
  readonly endsAt: number;
  readonly part: PartOf | undefined;
  /** Completed at the end of the call; null if the channel of calls has no subscriber. */
  readonly traced: CallTrace | null;
  /** The channel of attempts; null if it has no subscriber when the call begins. */
  readonly attemptChannel: TracingChannel | null;
  /**
   * Every signature that the call has sent. If the call is part of a wait or a confirmation, it has every signature of
   * that wait or confirmation.
   */
  readonly sent: SentSignatures;
}

/** How a call ended. */
export type CallOutcome = Extract<HostedEvent, { type: 'call' }>['outcome'];

/** The facts about a call that has ended, for tracing. */
export interface CallTrace {
  /** The HTTP status of the last response; null if there is none. */
  status: number | null;
  /** How many attempts were made. */
  attempts: number;
  /** Null until it has ended. */
  outcome: CallOutcome | null;
  /** The `code` of the error; null if there is none, and for an abort. */
  errorCode: string | null;
}

/** One attempt of a call. */
export interface Attempt<Call extends CallFacts = CallFacts> {
  readonly call: Call;
  /** From 1. */
  readonly number: number;
  /** When it began, by the monotonic clock. */
  readonly startedAt: number;
  /**
   * The correction of the attempt's time. It is a copy, because another call may learn another offset during the
   * attempt.
   */
  readonly offsetMs: number;
  /** Whether a new signature was the only reason for this attempt, or for an earlier one. */
  readonly isResigned: boolean;
  /** Whether an earlier attempt was sent and may have had an effect. */
  readonly isUnsettled: boolean;
  /** The signed time of the previous attempt, if its response was signed for the same time; otherwise null. */
  readonly collided: SigningTime | null;
  /** The time that it is signed for; null until it is signed. */
  signedFor: SigningTime | null;
  progress: 'not sent' | 'sent' | 'answered';
  /** The HTTP status of its response; null until there is a response. */
  status: number | null;
}

/** The facts that an error has about the attempt that it ended. */
export function factsOf(attempt: Attempt, outcome: Outcome): ErrorFacts {
  const { operation } = attempt.call;
  const retryable = operation.repeatable || outcome === 'not_sent';
  return { operation: operation.name, outcome, attempts: attempt.number, retryable };
}

/** Whether the request of an attempt without a response may have been received. */
export function outcomeWithoutResponse({ progress, isUnsettled }: Pick<Attempt, 'progress' | 'isUnsettled'>): Outcome {
  return progress !== 'not sent' || isUnsettled ? 'unknown' : 'not_sent';
}
