/**
 * Publishes calls and attempts on the tracing channels. No message names a person, a job or a link. From the URL of a
 * request, a message takes only the origin and the template of the path.
 *
 * @module
 */

import { isHostedError } from '../errors/errors.js';
import type { OperationName } from '../protocol/routes.js';
import { completeMessage, type TraceMessage, type TracingChannel, trace } from '../runtime/tracing-channel.js';
import type { Attempt, CallFacts, CallOutcome, CallTrace } from './attempt.js';

/** A call, before its input is read. */
type CallToTrace = Pick<CallFacts, 'id' | 'operation' | 'shared'>;

/** The properties that the messages of calls and attempts share. */
export interface RequestMessage extends TraceMessage {
  readonly callId: number;
  readonly operation: OperationName;
  readonly method: string;
  /** Scheme, host and port of the URL. */
  readonly origin: string;
  /** The path, with `{linkId}` in place of an id. */
  readonly route: string;
  /** The HTTP status of the last response; null if there is none. */
  status: number | null;
  /** How the call or attempt ended; null while it runs. */
  outcome: CallOutcome | null;
}

/** The message of the channel `hosted-client:call`. */
export interface CallMessage extends RequestMessage, CallTrace {}

/** The message of the channel `hosted-client:attempt`. */
export interface AttemptMessage extends RequestMessage {
  /** The number of the attempt in its call, from 1. */
  readonly attempt: number;
}

/** Runs a call, and publishes it on the channel. `run` completes the trace that it receives. */
export function traceCall<T>(
  channel: TracingChannel,
  call: CallToTrace,
  run: (traced: CallTrace) => Promise<T>,
): Promise<T> {
  const message: CallMessage = { ...describeRequest(call), attempts: 0 };
  return trace(channel, message, () => run(message));
}

/** Runs an attempt, and publishes it on the channel. */
export function traceAttempt<Traced extends Attempt, T>(
  channel: TracingChannel,
  attempt: Traced,
  run: (attempt: Traced) => Promise<T>,
): Promise<T> {
  const message: AttemptMessage = { ...describeRequest(attempt.call), attempt: attempt.number };
  return trace(channel, message, async () => {
    try {
      const output = await run(attempt);
      completeMessage(message, { status: attempt.status, outcome: 'ok' });
      return output;
    } catch (error) {
      const isAborted = attempt.call.options.signal?.aborted === true;
      completeMessage(message, {
        status: attempt.status,
        outcome: isAborted ? 'aborted' : isHostedError(error) ? error.outcome : 'unknown',
        errorCode: isAborted ? null : codeOf(error),
      });
      throw error;
    }
  });
}

/** A short code for an error. */
function codeOf(error: unknown): string {
  return isHostedError(error) ? error.code : 'error';
}

function describeRequest({ id, operation, shared }: CallToTrace): RequestMessage {
  const { name, route } = operation;
  const { baseUrls, wire } = shared.settings;
  return {
    callId: id,
    operation: name,
    method: route.method,
    // The path of the base URL is left out, because it may be secret.
    origin: new URL(baseUrls[route.host]).origin,
    route: route.path.replace('{brand}', wire.brand).replace('{list}', wire.listMarker),
    status: null,
    outcome: null,
    errorCode: null,
  };
}
