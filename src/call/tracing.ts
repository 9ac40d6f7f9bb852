/**
 * Describes calls for the tracing channel. No message names a person, a job or a link. From the URL of a request, a
 * message takes only the origin and the template of the path.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import type { TraceMessage } from '../runtime/tracing-channel.js';
import type { CallFacts, CallTrace } from './attempt.js';

/** The message of the channel `hosted-client:call`. */
export interface CallMessage extends TraceMessage, CallTrace {
  readonly callId: number;
  readonly operation: OperationName;
  readonly method: string;
  /** Scheme, host and port of the URL. */
  readonly origin: string;
  /** The path, with `{linkId}` in place of an id. */
  readonly route: string;
}

/** Describes a call whose input was not read yet. */
export function describeCall({ id, operation, shared }: Pick<CallFacts, 'id' | 'operation' | 'shared'>): CallMessage {
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
    attempts: 0,
    outcome: null,
    errorCode: null,
  };
}
