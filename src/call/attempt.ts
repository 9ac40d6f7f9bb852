/**
 * What is known of a call while it runs, and of each of its attempts.
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

/** What the calls of one client share. */
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
 * What a call is part of: a wait, or the confirmation of a callback, which have retries of their own. Such a
 * call is made once, signed anew at most once, and takes nothing from the token bucket.
 */
export interface PartOf {
  /** The signatures of all calls of the wait or confirmation. If left out, only those of this call. */
  readonly sent?: SentSignatures;
}

/** What stays the same over the attempts of a call. */
export interface RunningCall<Input, WireResponse, Output> extends CallFacts {
  readonly operation: Operation<Input, WireResponse, Output>;
  /** What the caller gave, checked and copied. */
  readonly input: Input;
}

/** What a call is, whatever its input and its response. */
export interface CallFacts {
  readonly shared: SharedState;
  /** All events of the call have this id. */
  readonly id: number;
  readonly operation: OperationFacts;
  readonly options: CallOptions;
  /** Its request, without what signing adds. */
  readonly encoded: Encoded;
  /** By the monotonic clock, as is what follows. */
  readonly startedAt: number;
  /** When `totalTimeoutMs` is over. */
  readonly endsAt: number;
  readonly part: PartOf | undefined;
  /** Completed at the end of the call; null if the channel of calls has no subscriber. */
  readonly traced: CallTrace | null;
  /** The channel of attempts; null if it has no subscriber when the call begins. */
  readonly attemptChannel: TracingChannel | null;
  /** Every signature that was sent by the call, or by the wait or confirmation that it is part of. */
  readonly sent: SentSignatures;
}

/** What became of a call. */
export type CallOutcome = Extract<HostedEvent, { type: 'call' }>['outcome'];

/** What is known of a call once it has ended, for those who trace it. */
export interface CallTrace {
  /** The HTTP status of the last response; null where there is none. */
  status: number | null;
  /** How many attempts were made. */
  attempts: number;
  /** Null until it has ended. */
  outcome: CallOutcome | null;
  /** The `code` of the error; null where there is none, and for an abort. */
  errorCode: string | null;
}

/** One attempt of a call. */
export interface Attempt<Call extends CallFacts = CallFacts> {
  readonly call: Call;
  /** From 1. */
  readonly number: number;
  /** By the monotonic clock. */
  readonly startedAt: number;
  /** The correction of its time. It is a snapshot, because another call may learn another offset meanwhile. */
  readonly offsetMs: number;
  /** Whether this attempt or an earlier one was made only to get a new signature. */
  readonly isResigned: boolean;
  /** Whether an earlier attempt was sent, and may have had an effect. */
  readonly isUnsettled: boolean;
  /** The time of the attempt before, if a response was signed for the same time; otherwise null. */
  readonly met: SigningTime | null;
  /** The time that it is signed for; null before that. */
  signedFor: SigningTime | null;
  progress: 'not sent' | 'sent' | 'answered';
  /** The HTTP status of its response; null before that. */
  status: number | null;
}

/** What an error says of the attempt that it ended. */
export function factsOf(attempt: Attempt, outcome: Outcome): ErrorFacts {
  const { operation } = attempt.call;
  const retryable = operation.repeatable || outcome === 'not_sent';
  return { operation: operation.name, outcome, attempts: attempt.number, retryable };
}

/** What became of the request of an attempt that has no response. */
export function outcomeWithoutResponse({ progress, isUnsettled }: Pick<Attempt, 'progress' | 'isUnsettled'>): Outcome {
  return progress !== 'not sent' || isUnsettled ? 'unknown' : 'not_sent';
}
