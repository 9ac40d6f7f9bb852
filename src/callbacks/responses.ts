/**
 * What a handler of callbacks responds: to requests that are no callbacks, to what cannot be read or verified, and to all
 * others.
 *
 * @module
 */

import {
  HostedConfigError,
  HostedConnectionError,
  HostedResponseError,
  isHostedError,
} from '../errors/client-errors.js';
import { ignoreErrors } from '../events.js';
import { assumedRedeliverySeconds } from '../protocol/assumptions.js';
import { hasMethods, readProperty, shadowPollution } from '../runtime/untrusted-objects.js';
import { callbackFacts } from './callback-errors.js';
import { type CallbackReport, codeOf, createFailure, type DeliveryFailure } from './reports.js';

/** Whether a value is a web-standard request, unlike the requests of `node:http` and the events of Lambda. */
export function isWebRequest(request: unknown): boolean {
  try {
    // The event of h3 has web-standard headers, too.
    return hasMethods(request, 'text') && hasMethods(readProperty(request, 'headers'), 'get');
  } catch {
    return false;
  }
}

const isNotWrapped =
  'must get a web-standard request: for Express, Fastify and the server of Node, wrap it in nodeHandler(…) of hosted-client/node; for Lambda, in lambdaHandler(…); for Nuxt and h3, pass it toWebRequest(event), or event.req of h3 2';

/** The failure of a request that cannot be a callback; null if it can. */
export function refuseRequest(request: Request): DeliveryFailure | null {
  if (!isWebRequest(request)) {
    const issues = [{ path: 'handler', message: isNotWrapped }];
    return createFailure('read', 500, 'config', new HostedConfigError(issues, callbackFacts));
  }
  if (request.method === 'POST') return null;
  // Anyone can send any text as the method, so the message shows only a short word in capitals.
  const by = /^[A-Z]{1,7}$/.test(request.method) ? request.method : 'another method';
  const why = `it was sent with ${by}, but callbacks are sent with POST: give this handler the POST requests of its route`;
  return createFailure('read', 405, 'method', new HostedResponseError('malformed', [], callbackFacts, null, why));
}

/**
 * Returns a response that names the missing adapter. It also ends the response of `node:http` with it, because most of
 * its frameworks do not send what a handler returns.
 */
export function respondNotWrapped(given: unknown, status: number): Response {
  const text = `The handler of callbacks ${isNotWrapped}`;
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  // Other code may have responded already.
  ignoreErrors(() => {
    const { writeHead, end } = Object(given);
    if (typeof writeHead !== 'function' || typeof end !== 'function') return;
    Reflect.apply(writeHead, given, [status, headers]);
    Reflect.apply(end, given, [text]);
  });
  return new Response(text, { status, headers });
}

/** The failure of a callback that cannot be read or verified. */
export function toFailure(phase: 'read' | 'verify', error: unknown): DeliveryFailure {
  if (isHostedError(error)) {
    const { code, retryable } = error;
    if (code === 'signature') return createFailure('verify', 401, error.reason, error);
    if (code === 'response' && retryable) return createFailure('read', 503, 'full', error);
    const status = code === 'response' && error.reason === 'too_large' ? 413 : 400;
    if (code === 'response') return createFailure('read', status, error.reason, error);
    if (code === 'timeout' && phase === 'read') return createFailure('read', 408, code, error);
  }
  // The callback is not the cause: the signer failed.
  if (phase === 'verify') return createFailure('verify', 503, codeOf(error), error);
  // The callback is not the cause: the connection broke, or a framework has already read the body.
  const broken = new HostedConnectionError(bodyBroken, callbackFacts);
  return createFailure('read', 503, 'connection', isHostedError(error) ? error : broken);
}

const bodyBroken =
  'its body was cut off, or had already been read: do not let a parser read the request before the handler';

export function respond({ status, result, reason }: CallbackReport): Response {
  const headers: Record<string, string> = { 'content-type': 'text/plain' };
  if (status === 405) headers.allow = 'POST';
  if (status === 503) headers['retry-after'] = String(assumedRedeliverySeconds);
  return new Response(reason ?? result, { ...shadowPollution(), status, headers });
}
