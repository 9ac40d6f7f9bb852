/**
 * Sends one request and reads its whole response. No other file knows how requests are sent. `error-from-response.ts`
 * and `response.ts` decide what a response means.
 *
 * @module
 */

import { HostedConnectionError } from '../errors/client-errors.js';
import type { ReceivedResponse } from '../errors/hosted-error.js';
import type { FetchInit } from '../options.js';
import { decodeLossy, decodeUtf8 } from '../runtime/bytes.js';
import { isPlatformFetch, sendableOnce, watchUndici, withoutStoring } from '../runtime/fetch.js';
import { adviceToRestart, lazy, loadErrorOf } from '../runtime/lazy.js';
import { readBytes } from '../runtime/read-body.js';
import { shadowPollution, tryCopyProperties, writeJson } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';
import {
  type Attempt,
  factsOf,
  originOf,
  outcomeWithoutResponse,
  type RequestSignature,
  type RunningCall,
} from './attempt.js';
import { type ConnectionFailure, explainFailure, noResponse, noStream } from './connection-failure.js';
import type { Encoded } from './operation.js';
import { reportEvent } from './retry.js';

/** A response, usable or not. */
export interface TransportResponse extends ReceivedResponse {
  /**
   * The reason why the body was not read, is not complete, or is not UTF-8; null if the body is complete UTF-8 text.
   */
  readonly flaw: 'too_large' | 'not_utf8' | 'redirect' | null;
  /**
   * When the whole response was there, in ms since the epoch. This machine's own clock decides whether a response is
   * fresh. The header `Date` does not decide this, because it is not signed.
   */
  readonly receivedAt: number;
}

/** Importing ky makes Node load Node's own fetch (about 30 ms), so ky is imported with the first request. */
export const loadKy = lazy(async () => (await import('ky')).default);

/**
 * At most this many bytes of an error response's body are read. More bytes would not explain the error better.
 */
const maxErrorBytes = 64 * 1024;

/**
 * Sends the request of an attempt, once, and reads the response.
 *
 * @throws {HostedConnectionError} when there is no response.
 * @throws the signal's reason when the signal aborts.
 */
export async function send(
  signed: RequestSignature,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<TransportResponse> {
  const { settings } = attempt.call.shared;
  const ky = loadKy.value ?? (await loadKy().catch(loadErrorOf));
  signal.throwIfAborted();
  if (typeof ky === 'string') {
    const advice = globalThis.TextEncoder ? adviceToRestart : noEncoder;
    const why = `the code that sends requests could not be loaded (${ky}): ${advice}`;
    throw createConnectionError(attempt, { why, reason: ky, isNotSent: true, isLasting: false });
  }
  watchUndici();
  let received: Omit<TransportResponse, 'receivedAt'>;
  try {
    const response = await fetchWith(ky, attempt, signed, signal);
    received = await readWhole(response, settings, signal);
    signal.throwIfAborted();
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // A framework, such as Next.js, knows its signals by this property, so they must reach it unchanged.
    const isSignal = typeof tryCopyProperties(Object(error), ['digest'])?.digest === 'string';
    // A request that could not be written is no failed connection.
    if (attempt.progress === 'not sent' || isSignal) throw error;
    throw createConnectionError(attempt, explainFailure(error, originOf(attempt.call), settings.fetch));
  }
  attempt.progress = 'answered';
  // The clock is read here, because an error of the caller's clock is not an error of the connection.
  return { ...received, receivedAt: settings.clock.now() };
}

function fetchWith(
  ky: Awaited<ReturnType<typeof loadKy>>,
  attempt: Attempt,
  signed: RequestSignature,
  signal: AbortSignal,
): Promise<Response> {
  const { operation, encoded, shared } = attempt.call;
  const { settings } = shared;
  const url = urlOf(operation, encoded, settings);
  const { method } = operation.route;
  const shadows = shadowPollution();
  const request = createRequest(attempt.call, signed);
  const init: FetchInit = { ...shadows, ...request, ...withoutStoring(), method, redirect: 'manual', signal };
  reportEvent(attempt.call, { type: 'request', attempt: attempt.number });
  attempt.progress = 'sent';
  // Called without `this`: as a method, a caller's fetch would get the settings with the signer, and workerd's would fail.
  const { fetch } = settings;
  const noteWrite = () => {
    if (attempt.progress === 'sent') attempt.progress = 'written';
  };
  const sent = operation.route.writes && isPlatformFetch(fetch) ? sendableOnce(init, noteWrite) : init;
  const fetchOnce = async () => {
    // The call may have been aborted while ky prepared the request, and not every custom fetch checks `signal`.
    signal.throwIfAborted();
    // A custom fetch may resolve with an object of any class. Only the properties in `FetchResponse` are read.
    const response = (await fetch(url, sent as FetchInit)) as Response;
    if (typeof response?.headers?.get !== 'function') throw noResponse;
    if (response.body && typeof response.body.getReader !== 'function') throw noStream;
    return response;
  };
  // ky is not used while `Object.prototype` is polluted, because ky would read options and hooks from it.
  if (Object.keys(shadows).length > 0) return fetchOnce();
  // ky only sends. The call itself makes the retries and keeps the time limits, for three reasons: each attempt needs
  // its own signature, the sleep for `Retry-After` must end at the deadline, and callers can pass a clock. `fetchOnce`
  // ignores the Request that ky passes to it: some custom fetches do not accept it, for example undici's own fetch.
  return ky(url, {
    method,
    redirect: 'manual',
    retry: 0,
    timeout: false,
    throwHttpErrors: false,
    fetch: fetchOnce,
  });
}

const ownHeaders = { accept: 'application/json', 'content-type': 'application/json' };

/** Writes the headers and the body. A custom fetch may change the headers, so no other request has them. */
function createRequest(
  { encoded, operation, options, shared }: RunningCall,
  { timestamp, signature }: RequestSignature,
): Pick<FetchInit, 'headers' | 'body'> {
  const { partnerId, userAgent, wire } = shared.settings;
  const field = operation.route.host === 'links' ? 'signature' : wire.jobSignatureMember;
  return {
    headers: { ...ownHeaders, 'user-agent': userAgent, ...options.headers },
    body: writeJson({ ...encoded.body, partner_id: partnerId, timestamp, [field]: signature }),
  };
}

function urlOf({ route }: RunningCall['operation'], { linkId }: Encoded, { baseUrls, wire }: Settings): string {
  const id = linkId ?? '';
  const path = route.path.replace('{brand}', wire.brand).replace('{list}', wire.listMarker).replace('{linkId}', id);
  return baseUrls[route.host] + path;
}

async function readWhole(
  response: Response,
  { maxResponseBytes }: Settings,
  signal: AbortSignal,
): Promise<Omit<TransportResponse, 'receivedAt'>> {
  const { status, headers } = response;
  if (response.redirected || response.type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    response.body?.cancel().catch(() => undefined);
    return { status, headers, text: '', flaw: 'redirect' };
  }
  const limit = response.ok ? maxResponseBytes : Math.min(maxResponseBytes, maxErrorBytes);
  const { bytes, isWhole } = await readBytes(response.body, { limit, signal });
  const text = isWhole ? decodeUtf8(bytes) : null;
  if (text !== null) return { status, headers, text, flaw: null };
  return { status, headers, text: decodeLossy(bytes), flaw: isWhole ? 'not_utf8' : 'too_large' };
}

const noEncoder = 'this environment has no TextEncoder; for jest, set "testEnvironment" to "node"';

function createConnectionError(
  attempt: Attempt,
  { why, reason, isNotSent, isLasting }: ConnectionFailure,
): HostedConnectionError {
  // A dispatcher of undici may have sent the request before the error: one that retries gives only its last error.
  const progress = isNotSent && attempt.progress !== 'written' ? 'not sent' : attempt.progress;
  const outcome = outcomeWithoutResponse({ ...attempt, progress });
  // The platform's error may contain the request, so only its code is passed on.
  const options = reason ? { cause: Object.assign(new Error(reason), { code: reason }) } : {};
  const facts = factsOf(attempt, outcome);
  return new HostedConnectionError(why, isLasting ? { ...facts, retryable: false } : facts, options);
}
