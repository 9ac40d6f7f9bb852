/**
 * The facts about a running call, and about each of its attempts.
 *
 * @module
 */

import type { Issue, Outcome } from '../errors/hosted-error.js';
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
  /**
   * The tokens for retries: a limit on all retries of a client, so that they do not make an outage worse. Each retry takes
   * some, and each success gives some back. In an outage, a thousand calls make 1,100 requests with this limit, and
   * 3,000 without it.
   */
  retryTokens: number;
  readonly signingTimes: Readonly<Record<'links' | 'jobs', SigningTimes>>;
  /** Receives the signed time of every verified response. */
  readonly noticeAge: (signedAt: Date, now: number) => void;
  /** Gives a random number from 0 to 1. */
  readonly random: () => number;
}

/**
 * Who repeats a call in place of its own retries: a wait, the service that redelivers a callback, or none, for a list
 * whose options are invalid. The call then makes only one attempt, and a second only if it needs a new signature. It takes
 * no tokens from the bucket.
 */
export interface Repeater {
  /** The problems that it found in its own options: the call reports them, and sends nothing. Null for none. */
  readonly issues: readonly Issue[] | null;
}

/** The signature of a request, and the timestamp that it covers. */
export interface RequestSignature {
  readonly signature: string;
  /** The timestamp in the form that is sent: with exactly the characters that were signed. */
  readonly timestamp: string | number;
  /** How long before it was sent the request was signed for, in ms. */
  readonly agoMs: number;
}

/** Chooses the times for which the requests of one client are signed. */
export interface SigningTimes {
  /** Gives the time for a request at `now`, and how long before `now` it is. */
  next(now: number): { readonly time: number; readonly agoMs: number };
  /**
   * Signs later requests for an earlier time, because a response was signed for the time of its request, which was
   * signed for `agoMs` before it was sent. A service's timestamps are always about equally far from now, so this could
   * happen again.
   */
  avoid(agoMs: number): void;
}

/** A call whose input was not checked yet. */
export interface UncheckedCall<Input = unknown, Output = unknown> {
  readonly shared: SharedState;
  /** All events of the call have this id. */
  readonly id: number;
  readonly operation: Operation<Input, Output>;
  /** Who repeats the call in place of its own retries, if any. */
  readonly repeater: Repeater | undefined;
  /** The message of the call's trace; null if the channel of calls has no subscriber. */
  readonly message: CallMessage | null;
  /** When the call began, by the monotonic clock; missing if the input was invalid. */
  readonly startedAt?: number;
}

/** The facts that stay the same in all attempts of a call. */
export interface RunningCall<Input = unknown, Output = unknown> extends UncheckedCall<Input, Output> {
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

/** What is known of the attempts before an attempt. */
export interface EarlierAttempts {
  /** The number of the attempt in its call, from 1. */
  readonly number: number;
  /** Whether one was sent and may have had an effect. */
  readonly mayHaveActedBefore: boolean;
  /** Whether one was followed by another because that got a new signature, and not because its error was retryable. */
  readonly wasSignedAnew: boolean;
}

/** One attempt of a call. */
export interface Attempt<Call extends RunningCall = RunningCall> extends EarlierAttempts {
  readonly call: Call;
  /** When the attempt began, by the monotonic clock. */
  readonly startedAt: number;
  /** When the attempt began, in ms since the epoch, by this machine's clock. */
  readonly begunAt: number;
  /**
   * The client's correction, in ms, when the attempt began. It is added to this machine's time for signing. During the
   * attempt, another call may change the client's correction.
   */
  readonly offsetMs: number;
  /** Null until the attempt is signed. */
  signed: RequestSignature | null;
  /** How far the request is: given to fetch (`sent`), and taken by a connection (`written`), where that can be seen. */
  progress: 'not sent' | 'sent' | 'written' | 'answered';
  /** The HTTP status of the response; null until there is a response. */
  status: number | null;
}

/** The facts about an attempt, for the error that ends it. */
export function factsOf(attempt: Attempt, outcome: Outcome) {
  const { operation } = attempt.call;
  const retryable = assumedRepeatable[operation.name] || outcome === 'not_sent';
  return { operation: operation.name, outcome, attempts: attempt.number, retryable };
}

/** The origin of the URL that a call sends its requests to. The path is left out, because it may be secret. */
export function originOf({ operation, shared }: Pick<RunningCall, 'operation' | 'shared'>): string {
  return new URL(shared.settings.baseUrls[operation.route.host]).origin;
}

/**
 * Decides the outcome of an attempt without a response. The outcome says whether the service may have received the
 * request.
 */
export function outcomeWithoutResponse(attempt: Pick<Attempt, 'progress' | 'mayHaveActedBefore'>): Outcome {
  return attempt.progress !== 'not sent' || attempt.mayHaveActedBefore ? 'unknown' : 'not_sent';
}
