/**
 * What happens during a call, from top to bottom: check → encode → sign → send → read → classify →
 * verify → shape → decode. One pipeline runs every row of the table of operations.
 *
 * @module
 */

import {
  type AnyHostedError,
  HostedConfigError,
  HostedConnectionError,
  HostedTimeoutError,
  isHostedError,
} from '../errors/errors.js';
import type { Outcome } from '../errors/hosted-error.js';
import { cannot, listIssues } from '../errors/messages.js';
import type { Telemetry } from '../events.js';
import type { CallOptions } from '../options.js';
import { parseJson } from '../protocol/json.js';
import { within } from '../runtime/clock.js';
import type { Settings } from '../settings.js';
import { type Answered, type ApiPromise, apiPromise } from './api-promise.js';
import { type ClockSkew, correctTime, createAgeNotice, describeOffset } from './clock-skew.js';
import type { Operation } from './operation.js';
import { addressOf, checkInput, signBody } from './request.js';
import { decoded, membersOf, verified } from './response.js';
import { retryAfter } from './retry.js';
import { createRetryBudget } from './retry-budget.js';
import { createSentSignatures, type SentSignatures } from './sent-signatures.js';
import { refusalIn, requestIdIn } from './service-error.js';
import { createSigningTimes, type SigningTime } from './signing-times.js';
import { isAnswer, type NoAnswer, send } from './transport.js';

/**
 * Runs an operation on what `input` gives. It starts at once, and rejects on bad input; whatever
 * goes wrong while the input is read is bad input too.
 */
export type Call = <Checked, Wire, Output>(
  operation: Operation<Checked, Wire, Output>,
  input: () => unknown,
  options?: CallOptions,
  part?: PartOf,
) => ApiPromise<Output>;

/**
 * What a call is part of: a wait, or the confirmation of a callback, which have ways of their own to try
 * again. Such a call is made once, signed anew at most once, and leaves the retry budget alone.
 */
export interface PartOf {
  /** The signatures of all calls of the whole. Left out: of this call alone. */
  readonly sent?: SentSignatures;
}

/** What calls share of the world. */
export interface CallWorld {
  readonly telemetry: Telemetry;
  readonly skew: ClockSkew;
  /** Chance, from 0 to 1. */
  readonly random: () => number;
}

/** A call under way. */
interface Running<Checked, Wire, Output> {
  readonly operation: Operation<Checked, Wire, Output>;
  readonly asked: Checked;
  readonly options: CallOptions;
  readonly callId: number;
  /** By the monotonic clock. */
  readonly endsAt: number;
  readonly progress: Progress;
  readonly part: PartOf | undefined;
}

/** How far it has come. */
interface Progress {
  attempts: number;
  /** Whether the attempt under way has left. */
  sent: boolean;
  /** Whether it was answered. */
  answered: boolean;
  /** Whether an earlier attempt left, and may have been acted on. */
  unsettled: boolean;
  /** The clock offset that the attempt under way is signed with. */
  offsetMs: number;
  /** The time that it is signed for, on this machine's clock. */
  signedFor: SigningTime | null;
  /** Set where a response was signed for the time of the attempt before. */
  met: SigningTime | null;
  /** Whether an attempt was made again for the sake of its signature. */
  resigned: boolean;
  /** Every signature that was sent. */
  readonly sentSignatures: SentSignatures;
}

/** Makes the one function through which every operation of a client runs. */
export function createCall(settings: Settings, { telemetry, skew, random }: CallWorld): Call {
  const { clock, wire } = settings;
  const { report, warn } = telemetry;
  const budget = createRetryBudget();
  const signingTimes = createSigningTimes(clock.now, wire);
  const noticeAge = createAgeNotice(settings, warn);

  return (operation, input, options, part) => apiPromise(run(operation, input, options, part));

  async function run<Checked, Wire, Output>(
    operation: Operation<Checked, Wire, Output>,
    input: () => unknown,
    given?: CallOptions,
    part?: PartOf,
  ): Promise<Answered<Output>> {
    const callId = telemetry.nextCallId();
    const progress: Progress = {
      attempts: 0,
      sent: false,
      answered: false,
      unsettled: false,
      offsetMs: 0,
      signedFor: null,
      met: null,
      resigned: false,
      sentSignatures: sentIn(part) ?? createSentSignatures(settings.maxResponseAgeMs),
    };
    let caller: AbortSignal | undefined;
    try {
      const { asked, options } = checkInput(operation, { input, options: given, wire });
      caller = options.signal;
      const ms = options.totalTimeoutMs ?? settings.totalTimeoutMs;
      const running = { operation, asked, options, callId, endsAt: clock.elapsed() + ms, progress, part };
      const timedOut = () => timeout(operation, progress, 'total');
      return await within({ clock, ms, signal: options.signal, timedOut }, (signal) => repeat(running, signal));
    } catch (caught) {
      if (!isHostedError(caught) || (caller?.aborted && caller.reason === caught)) throw caught;
      const error = completeError(caught, operation, progress);
      report({ type: 'error', callId, operation: operation.name, code: error.code, attempts: progress.attempts });
      throw error;
    }
  }

  async function repeat<Checked, Wire, Output>(
    running: Running<Checked, Wire, Output>,
    signal: AbortSignal,
  ): Promise<Answered<Output>> {
    const { operation, options, callId, endsAt, progress, part } = running;
    const isPart = part !== undefined;
    const maxRetries = isPart ? 0 : (options.maxRetries ?? settings.maxRetries);
    const { passingMs } = signingTimes[operation.host];
    for (let attempt = 1; ; attempt++) {
      progress.attempts = attempt;
      try {
        const answered = await attemptOnce(running, signal);
        if (!isPart) budget.earn();
        return answered;
      } catch (error) {
        // The reason of an abort may be another call's error.
        signal.throwIfAborted();
        if (!isHostedError(error)) throw error;
        const skewChanged = skew.offsetMs() !== progress.offsetMs;
        const made = { attempt, maxRetries, isPart, resigned: progress.resigned, skewChanged, passingMs };
        const { delayMs, resigns } = retryAfter(error, made, random);
        // A wait that outlasts the call would only hide what went wrong behind a timeout.
        if (delayMs === null || clock.elapsed() + delayMs >= endsAt) throw error;
        // Signing anew is not charged: nothing of the service failed, and it happens once a call.
        if (!resigns && !budget.spend()) throw error;
        progress.resigned ||= resigns;
        progress.met = resigns && error.code === 'signature' ? progress.signedFor : null;
        settle(progress, error);
        report({ type: 'retry', callId, operation: operation.name, attempt, delayMs, reason: error.code });
        if (delayMs > 0 || !resigns) await clock.sleep(delayMs, signal);
      }
    }
  }

  async function attemptOnce<Checked, Wire, Output>(
    { operation, asked, options, callId, progress, part }: Running<Checked, Wire, Output>,
    caller: AbortSignal,
  ): Promise<Answered<Output>> {
    const { name, method, host, repeatable } = operation;
    const { attempts } = progress;
    const startedAt = clock.elapsed();
    // One snapshot: another call may learn another offset while this one is under way.
    progress.offsetMs = skew.offsetMs();
    const ms = options.timeoutMs ?? settings.timeoutMs;
    const timedOut = () => timeout(operation, progress, 'attempt');

    const answer = await within({ clock, ms, signal: caller, timedOut }, async (signal) => {
      const encoded = operation.encode(asked, wire);
      const now = clock.now();
      const times = signingTimes[host];
      const isPoll = part?.sent !== undefined;
      const signedFor = progress.met ? times.after(progress.met, isPoll) : times.next(isPoll);
      progress.signedFor = signedFor;
      const instant = correctTime(signedFor.time, progress.offsetMs, now);
      const notSent = particularsOf(operation, progress, outcomeOf(progress));
      const body = await signBody(operation, { encoded, instant, notSent }, settings);
      signal.throwIfAborted();
      report({ type: 'request', callId, operation: name, attempt: attempts });
      progress.sent = true;
      progress.sentSignatures.add(body.signature, instant, now);
      return send({
        url: addressOf(operation, encoded, settings),
        method,
        headers: { ...ownHeaders, 'user-agent': settings.userAgent, ...options.headers },
        body: body.text,
        fetch: settings.fetch,
        signal,
        maxBytes: settings.maxResponseBytes,
      });
    });
    if (!isAnswer(answer)) throw disconnected(operation, progress, answer);

    progress.answered = true;
    // What is fresh is judged by this machine's own clock: a response must not vouch for its own age.
    const now = clock.now();
    const { status, headers } = answer;
    const { sentSignatures } = progress;
    const requestId = requestIdIn(headers, sentSignatures);
    const tookMs = clock.elapsed() - startedAt;
    const durationMs = Math.round(tookMs);
    report({ type: 'response', callId, operation: name, attempt: attempts, status, requestId, durationMs });

    const site = {
      operation: name,
      repeatable,
      environment: settings.environment,
      attempts,
      isUnsettled: progress.unsettled,
      now,
      sentSignatures,
    };
    const json = parseJson(answer.text);
    const refusal = refusalIn(answer, json, site);
    if (refusal) {
      // Nothing else may say what time it is: this one says that the service did not accept ours.
      const isTimeRefused = refusal.code === 'authentication' && skew.learn(headers, { receivedAt: now, tookMs });
      if (isTimeRefused) warn(describeOffset(skew.offsetMs()));
      throw refusal;
    }
    const reading = { operation, asked, sentSignatures, answer, site, settings };
    const members = membersOf(reading, json);
    const signedAt = await verified(reading, members);
    noticeAge(signedAt, now);
    const data = decoded(reading, { members, signedAt });
    return { data, response: { status, headers, requestId, attempts, rawBody: () => answer.text } };
  }
}

// Requests that were never sent, rate-limited or rejected had no effect; any other one may have had.
function settle(progress: Progress, error: AnyHostedError): void {
  const hadNoEffect = error.outcome === 'not_sent' || error.code === 'rate_limit' || error.code === 'authentication';
  progress.unsettled ||= !hadNoEffect;
  progress.sent = false;
  progress.answered = false;
}

// A clock that tells no time knows of no call, and may fail at any step of one.
function completeError(error: AnyHostedError, operation: Attempted, progress: Progress): AnyHostedError {
  if (error.code !== 'config' || error.operation !== null) return error;
  const outcome = progress.answered ? 'answered' : outcomeOf(progress);
  const message = cannot(operation.name, listIssues(error.issues));
  const particulars = { ...particularsOf(operation, progress, outcome), retryable: false };
  return new HostedConfigError(message, error.issues, particulars);
}

// The signatures of the whole that a call is part of, where it is one that remembers them.
function sentIn(part: PartOf | undefined): SentSignatures | undefined {
  return part && Object.hasOwn(part, 'sent') ? part.sent : undefined;
}

const ownHeaders = { accept: 'application/json', 'content-type': 'application/json' };

type Attempted = Pick<Operation<never, never, never>, 'name' | 'repeatable'>;

function timeout(operation: Attempted, progress: Progress, phase: 'attempt' | 'total'): HostedTimeoutError {
  const outcome = outcomeOf(progress);
  const option = phase === 'attempt' ? 'timeoutMs' : 'totalTimeoutMs';
  const message = cannot(operation.name, `no answer came within "${option}"`);
  return new HostedTimeoutError(message, phase, particularsOf(operation, progress, outcome));
}

// Of a call whose attempt under way was not answered.
function outcomeOf({ sent, unsettled }: Progress): Outcome {
  return sent || unsettled ? 'unknown' : 'not_sent';
}

function disconnected(operation: Attempted, progress: Progress, { cause, notSent }: NoAnswer): HostedConnectionError {
  const outcome = outcomeOf({ ...progress, sent: !notSent });
  const why = notSent ? 'no connection could be made' : 'the connection broke';
  const message = cannot(operation.name, cause ? `${why} (${cause})` : why);
  // What the platform threw may hold the request; the name of what happened is passed on alone.
  const options = cause ? { cause: Object.assign(new Error(cause), { code: cause }) } : {};
  return new HostedConnectionError(message, particularsOf(operation, progress, outcome), options);
}

function particularsOf(operation: Attempted, { attempts }: Progress, outcome: Outcome) {
  const retryable = operation.repeatable || outcome === 'not_sent';
  return { operation: operation.name, outcome, attempts, retryable };
}
