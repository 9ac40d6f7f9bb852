/**
 * Runs a call: checks the input, then makes attempts. Each attempt signs and sends a request, and reads the response.
 * All operations use this code.
 *
 * @module
 */

import { addCallerFrames } from '../errors/caller-frames.js';
import { HostedTimeoutError, HostedValidationError } from '../errors/client-errors.js';
import type { Issue } from '../errors/hosted-error.js';
import type { Telemetry } from '../events.js';
import type { CallOptions } from '../options.js';
import { type Limits, withTimeout } from '../runtime/clock.js';
import { trace } from '../runtime/tracing-channel.js';
import { isPromise } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';
import { type CheckResult, check, inputObject } from '../validation/check.js';
import { callOptions } from '../validation/input.js';
import { type ApiPromise, type CallResult, callOrReject, createApiPromise } from './api-promise.js';
import {
  type Attempt,
  type CallMessage,
  factsOf,
  originOf,
  outcomeWithoutResponse,
  type Repeater,
  type RunningCall,
  type SharedState,
  type UncheckedCall,
} from './attempt.js';
import type { Operation } from './operation.js';
import { createAgeNotice, readResponse } from './response.js';
import { reportFailure, runAttempts, tokenCounts } from './retry.js';
import { createSigningTimes, signRequest } from './sign-request.js';
import { send } from './transport.js';

/**
 * Runs an operation on a caller's input. The call starts at once. It rejects if the input is invalid, or if a getter or
 * a proxy of the input throws.
 */
export type Call = <Input, Output>(
  operation: Operation<Input, Output>,
  input: unknown,
  options?: CallOptions,
  repeater?: Repeater,
) => ApiPromise<Output>;

/** The parts of a client that its namespaces share. They need checked options. */
export interface StartedClient {
  readonly call: Call;
  readonly settings: Settings;
  readonly telemetry: Telemetry;
  /** Gives a random number from 0 to 1. */
  readonly random: () => number;
}

/**
 * Starts a client at first use, and returns its parts.
 *
 * @throws {HostedConfigError} when the options of a lazy client are missing or invalid.
 */
export type StartClient = () => StartedClient;

/** Creates a value at first use. A failure is not remembered: the next use tries again. */
export function onceItSucceeds<T extends object>(create: () => T): () => T {
  let value: T | undefined;
  return () => {
    value ??= create();
    return value;
  };
}

/** Creates a call function that starts the client first. If the client cannot be started, the call rejects. */
export function callOnceStarted(start: StartClient): Call {
  return (...given) => callOrReject(() => start().call(...given));
}

/** Creates the function that runs every operation of a client. */
export function createCall(
  settings: Settings,
  { telemetry, skew, random }: Pick<SharedState, 'telemetry' | 'skew' | 'random'>,
): Call {
  const shared: SharedState = {
    settings,
    telemetry,
    skew,
    retryTokens: tokenCounts.full,
    signingTimes: createSigningTimes(settings.wire),
    noticeAge: createAgeNotice(settings, telemetry.warn),
    random,
  };
  return (operation, input, options, repeater) => {
    telemetry.calls += 1;
    const id = telemetry.calls;
    const run = (message: CallMessage | null) =>
      runAttempts(() => prepareCall({ id, shared, operation, message, repeater }, { input, options }), runAttempt);
    return createApiPromise(trace('call', () => describeCall(id, { operation, shared }), run));
  };
}

/** Describes a call for its trace, before its input is read. */
function describeCall(callId: number, call: Pick<RunningCall, 'operation' | 'shared'>): CallMessage {
  const { name, route } = call.operation;
  const { wire } = call.shared.settings;
  return {
    callId,
    operation: name,
    method: route.method,
    origin: originOf(call),
    route: route.path.replace('{brand}', wire.brand).replace('{list}', wire.listMarker),
    status: null,
    attempts: 0,
    outcome: null,
    errorCode: null,
  };
}

async function runAttempt<Input, Output>(attempt: Attempt<RunningCall<Input, Output>>): Promise<CallResult<Output>> {
  const response = await withTimeout(limitsOf(attempt), async (signal) => {
    const signed = signRequest(attempt);
    // A value is not awaited, because that would take another turn of the engine's queue.
    return send(isPromise(signed) ? await signed : signed, attempt, signal);
  });
  // `result` is a promise if reading has to wait, for example for the signer.
  const result = readResponse(response, attempt);
  if (!isPromise(result)) return result;
  // If the signal or the time limit ends the attempt first, `result` may reject later. Without this line, no code would
  // handle that rejection.
  result.catch(() => undefined);
  return withTimeout(limitsOf(attempt, 'total'), () => result);
}

/** @throws {HostedValidationError} when the input or the options are invalid. */
function prepareCall<Input, Output>(call: UncheckedCall<Input, Output>, given: GivenInput): RunningCall<Input, Output> {
  const { settings } = call.shared;
  try {
    const checked = checkInput(call, given);
    // The first attempt begins with the call, so it uses these two times, too.
    const startedAt = settings.clock.elapsed();
    return {
      ...call,
      ...checked,
      startedAt,
      begunAt: settings.clock.now(),
      endsAt: startedAt + (checked.options.totalTimeoutMs ?? settings.totalTimeoutMs),
    };
  } catch (error) {
    // By default, an engine records only a few stack frames. The frames of this package would leave no room for the
    // caller's frames.
    throw addCallerFrames(reportFailure(error, call, null));
  }
}

type GivenInput = Readonly<Record<'input' | 'options', unknown>>;

const checkedOptions = inputObject(callOptions);
const noOptions = check(checkedOptions, {});

/**
 * Checks the input and the options of a call, and copies them. A later change by the caller has no effect. The options of
 * a call that is part of a larger task were checked when the task began.
 *
 * @throws {HostedValidationError} with every problem of the input and the options.
 */
function checkInput<Input, Output>({ operation, repeater, shared }: UncheckedCall<Input, Output>, given: GivenInput) {
  const { wire } = shared.settings;
  const input = check(operation.request, given.input);
  let options: CheckResult<unknown> = noOptions;
  if (repeater && given.options) options = { data: given.options, issues: [] };
  // If a caller gives ids one by one, the second one is in the place of the options.
  else if (given.options !== undefined && typeof given.input !== 'string')
    options = check(checkedOptions, given.options);
  const fail = (issues: readonly Issue[]) => new HostedValidationError(issues, { operation: operation.name });
  if (repeater?.issues) throw fail(repeater.issues);
  if (input.data === undefined || options.data === undefined) {
    // If the options are not an object, their issue has no path.
    throw fail([...input.issues, ...options.issues.map((issue) => ({ ...issue, path: issue.path || 'options' }))]);
  }
  const encoded = operation.encode(input.data, wire);
  // The paths of `links.get` (§4.3) and `links.list` (§4.4) have the same shape. So `links.get` with the list marker as
  // its link id would list all links.
  if (encoded.linkId === wire.listMarker) throw fail([{ path: 'refId', message: isMarker }]);
  return { input: input.data, encoded, options: options.data as CallOptions };
}

const isMarker = 'must not be the value of the option "wire.listMarker"';

// An attempt ends at `timeoutMs` or at `totalTimeoutMs`, whichever comes first. So one timer is enough.
function limitsOf(attempt: Attempt, only?: 'total'): Limits {
  const { options, endsAt, shared } = attempt.call;
  const { clock, timeoutMs } = shared.settings;
  const leftMs = Math.max(0, Math.ceil(endsAt - (only ? clock.elapsed() : attempt.startedAt)));
  const attemptMs = only === 'total' ? Number.POSITIVE_INFINITY : (options.timeoutMs ?? timeoutMs);
  const [phase, option] =
    attemptMs < leftMs ? (['attempt', 'timeoutMs'] as const) : (['total', 'totalTimeoutMs'] as const);
  const timedOut = () => {
    const limitMs = options[option] ?? shared.settings[option];
    const why = `no response came within "${option}" (${limitMs} ms)`;
    const facts = factsOf(attempt, outcomeWithoutResponse(attempt));
    return new HostedTimeoutError(why, { phase, timeoutMs: limitMs }, facts);
  };
  return { clock, ms: Math.min(attemptMs, leftMs), signal: options.signal, timedOut };
}
