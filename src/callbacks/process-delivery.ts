/**
 * Processes a delivery, in order: read its body, verify it, handle it.
 *
 * @module
 */

import {
  HostedConnectionError,
  HostedResponseError,
  HostedSignatureError,
  HostedTimeoutError,
  isHostedError,
} from '../errors/errors.js';
import { withTimeout } from '../runtime/clock.js';
import { readBytes } from '../runtime/read-body.js';
import type { Settings } from '../settings.js';
import { callbackFacts, callbackSource } from './callback-errors.js';
import type { Handle } from './handle-unconfirmed.js';
import type { HandlerSettings } from './options.js';
import { readCallback, type VerifiedCallback } from './read-callback.js';
import { codeOf, createFailure, type DeliveryFailure, type DeliveryResult } from './reports.js';
import type { Handling } from './web-handler.js';

export async function processDelivery(request: Request, handle: Handle, handling: Handling): Promise<DeliveryResult> {
  const { settings, client } = handling;
  if (request.method !== 'POST') return createFailure('read', 405, 'method', createMethodError(request));
  let body: Uint8Array;
  try {
    body = await readBody(request, settings, client);
  } catch (error) {
    return toReadFailure(error);
  }
  let callback: VerifiedCallback;
  try {
    callback = await readCallback(body, settings, client);
  } catch (error) {
    return toVerifyFailure(error);
  }
  return handle(callback, handling);
}

// If the content-length header exceeds the limit, the body is not read. Any other body is read up to the limit.
async function readBody(
  request: Request,
  { maxBytes, bodyTimeoutMs }: HandlerSettings,
  { clock }: Settings,
): Promise<Uint8Array> {
  const contentLength = Number(request.headers.get('content-length') ?? 0);
  if (contentLength > maxBytes) throw callbackSource.createUnusable('too_large');
  const timedOut = () =>
    new HostedTimeoutError(
      'its body did not arrive within "bodyTimeoutMs"',
      { phase: 'attempt', timeoutMs: bodyTimeoutMs },
      callbackFacts,
    );
  const read = (signal: AbortSignal) => readBytes(request.body, { limit: maxBytes, signal });
  const { bytes, isWhole } = await withTimeout({ clock, ms: bodyTimeoutMs, timedOut }, read);
  if (!isWhole) throw callbackSource.createUnusable('too_large');
  return bytes;
}

function toReadFailure(error: unknown): DeliveryFailure {
  if (error instanceof HostedTimeoutError) return createFailure('read', 408, 'timeout', error);
  if (error instanceof HostedResponseError) return createFailure('read', 413, 'too_large', error);
  // The callback is not the cause: the connection broke, or a framework has already read the body.
  const broken = new HostedConnectionError(bodyBroken, callbackFacts);
  return createFailure('read', 503, 'connection', isHostedError(error) ? error : broken);
}

function toVerifyFailure(error: unknown): DeliveryFailure {
  if (error instanceof HostedSignatureError) return createFailure('verify', 401, error.reason, error);
  if (error instanceof HostedResponseError) return createFailure('read', 400, error.reason, error);
  // The callback is not the cause: the signer failed.
  return createFailure('verify', 503, codeOf(error), error);
}

const bodyBroken =
  'its body was cut off, or had already been read: do not let a parser read the request before the handler';

function createMethodError({ method }: Request): HostedResponseError {
  // Anyone can send any text as the method, so the message shows only a short word in capitals.
  const by = /^[A-Z]{1,7}$/.test(method) ? method : 'another method';
  const why = `it was sent with ${by}, but callbacks are sent with POST: give this handler the POST requests of its route`;
  return new HostedResponseError('malformed', [], callbackFacts, null, why);
}
