/**
 * The web-standard handler of callbacks: what is done with a delivery, in order, and what the service is
 * answered.
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
import { assumedComeAgainSeconds } from '../protocol/assumptions.js';
import { withTimeout } from '../runtime/clock.js';
import { shadowPollution } from '../runtime/prototype.js';
import { readBytes } from '../runtime/read-body.js';
import type { Settings } from '../settings.js';
import { callbackFacts, callbackSource } from './callback-errors.js';
import { createFailure, type DeliveryResult, type Undelivered } from './delivery.js';
import type { Handle, Handling } from './handle.js';
import type { HandlerSettings } from './options.js';
import { type ReceivedCallback, receiveCallback } from './receive.js';

/** Creates a handler; it never rejects. */
export function createHandler(handle: Handle, handling: Handling): (request: Request) => Promise<Response> {
  const { settings, client, reports } = handling;
  return async (request) => {
    let startedAt = Number.NaN;
    let outcome: DeliveryResult;
    try {
      // With a clock that fails, the first time limit would be over at once: 408, which is not so.
      startedAt = client.clock.elapsed();
      outcome = await deliver(request, handle, handling);
    } catch (error) {
      outcome = createFailure('verify', 503, codeOf(error), error);
    }
    reports.report(outcome, durationSince(startedAt, client), settings.onError);
    return respond(outcome.status);
  };
}

async function deliver(request: Request, handle: Handle, handling: Handling): Promise<DeliveryResult> {
  const { settings, client } = handling;
  if (request.method !== 'POST') return createFailure('read', 405, 'method', wrongMethod());
  let body: Uint8Array;
  try {
    body = await readBody(request, settings, client);
  } catch (error) {
    return toReadFailure(error);
  }
  let callback: ReceivedCallback;
  try {
    callback = await receiveCallback(body, settings, client);
  } catch (error) {
    return toVerifyFailure(error);
  }
  return handle(callback, handling);
}

// A body that says it is too large is not read at all; one that does not, no further than the limit.
async function readBody(
  request: Request,
  { maxBytes, bodyTimeoutMs }: HandlerSettings,
  { clock }: Settings,
): Promise<Uint8Array> {
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > maxBytes) throw callbackSource.createUnusable('too_large');
  const timedOut = () =>
    new HostedTimeoutError('its body did not arrive within "bodyTimeoutMs"', 'attempt', callbackFacts);
  const read = (signal: AbortSignal) => readBytes(request.body, { limit: maxBytes, signal });
  const { bytes, isWhole } = await withTimeout({ clock, ms: bodyTimeoutMs, timedOut }, read);
  if (!isWhole) throw callbackSource.createUnusable('too_large');
  return bytes;
}

function toReadFailure(error: unknown): Undelivered {
  if (error instanceof HostedTimeoutError) return createFailure('read', 408, 'timeout', error);
  if (error instanceof HostedResponseError) return createFailure('read', 413, 'too_large', error);
  // Neither is the callback's fault: the connection broke, or a framework has read the body before.
  const broken = new HostedConnectionError('its body broke off, or was read before', callbackFacts);
  return createFailure('read', 503, 'connection', isHostedError(error) ? error : broken);
}

function toVerifyFailure(error: unknown): Undelivered {
  if (error instanceof HostedSignatureError) return createFailure('verify', 401, error.reason, error);
  if (error instanceof HostedResponseError) return createFailure('read', 400, error.reason, error);
  // The signer failed, which is not the callback's fault either.
  return createFailure('verify', 503, codeOf(error), error);
}

function codeOf(error: unknown): string {
  return isHostedError(error) ? error.code : 'error';
}

function durationSince(startedAt: number, { clock }: Settings): number {
  try {
    return clock.elapsed() - startedAt || 0;
  } catch {
    return 0;
  }
}

function wrongMethod(): HostedResponseError {
  return new HostedResponseError('malformed', [], callbackFacts, null, 'it was not sent by POST');
}

function respond(status: number): Response {
  const headers: Record<string, string> = {};
  if (status === 405) headers.allow = 'POST';
  if (status === 503) headers['retry-after'] = String(assumedComeAgainSeconds);
  return new Response(null, { ...shadowPollution(), status, headers });
}
