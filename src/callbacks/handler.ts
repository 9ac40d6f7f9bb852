/**
 * Receives callbacks, in one sequence: read, verify, admit, guard, confirm, remember, `onEvent`, respond
 * (docs/protocol.md §6).
 *
 * @module
 */

import type { Started } from '../call/call.js';
import {
  HostedConfigError,
  HostedConnectionError,
  HostedResponseError,
  HostedSignatureError,
  HostedTimeoutError,
  isHostedError,
} from '../errors/errors.js';
import { ignoreErrors, type Telemetry } from '../events.js';
import { jobStatus } from '../jobs/operations.js';
import type { JobRef, JobStatus } from '../jobs/types.js';
import { assumedRedeliverySeconds } from '../protocol/assumptions.js';
import { createPlatformClock, durationSince, withTimeout } from '../runtime/clock.js';
import { readBytes } from '../runtime/read-body.js';
import { hasMethods, isRecord, readProperty, shadowPollution } from '../runtime/untrusted-objects.js';
import type { Settings } from '../settings.js';
import { type Admitted, createAdmission } from './admission.js';
import { callbackErrors, callbackFacts, createBusyError, createJobLimitError, notStored } from './callback-errors.js';
import { createConcurrencyLimit } from './concurrency-limit.js';
import { createConfirmedEvent, fetchStatus } from './confirm.js';
import type { HandlerSettings, ReceiveSettings } from './options.js';
import { limitStep, readCallback, type VerifiedCallback } from './read-callback.js';
import { begin, createReplayGuard, createResultMemory, type Lease } from './replay-guard.js';
import {
  type CallbackReport,
  codeOf,
  createDeliveryReports,
  createFailure,
  type DeliveryFailure,
  type DeliveryReports,
  type DeliveryResult,
  isFailure,
  traceDelivery,
} from './reports.js';
import type { CallbackEvent, CallbackHandler, ConfirmedEvent } from './types.js';

/** The parts that all receivers of one client share. */
export type Receiver = ReturnType<typeof createReceiver>;

/** Creates the parts that receive the callbacks of one client. */
export function createReceiver({ call, settings, telemetry }: Started) {
  const { clock } = settings;
  const reports = createDeliveryReports(telemetry, clock);
  return {
    client: settings,
    reports,
    admission: createAdmission(clock.elapsed),
    /** The replay guard of callers who pass none. */
    memory: createReplayGuard(clock),
    beginResult: createResultMemory(reports),
    confirmations: createConcurrencyLimit(clock),
    /** Fetches job status with history, without retries: if a confirmation fails, the callback is redelivered. */
    fetchOnce: ({ userId, jobId }: JobRef) =>
      call(jobStatus, { userId, jobId, history: true }, undefined, { sent: null, issues: null }),
  };
}

/**
 * Creates a handler, which never rejects. If `open` throws, because the options of a lazy client are missing or invalid,
 * the handler reports to `unstarted`.
 */
export function createHandler(
  settings: HandlerSettings,
  { open, unstarted }: { readonly open: () => Receiver; readonly unstarted: Telemetry },
): CallbackHandler {
  return async (request: Request, other?: unknown) => {
    const isWeb = isWebRequest(request);
    const event = await traceDelivery(() => receive(isWeb ? request : null));
    return isWeb ? respond(event) : respondNotWrapped(other, event.status);
  };

  async function receive(request: Request | null): Promise<CallbackReport> {
    let reports: DeliveryReports | undefined;
    let startedAt: number | undefined;
    let result: DeliveryResult;
    try {
      const receiver = open();
      reports = receiver.reports;
      // The clock is read first: if it failed later, reading the body would time out at once, with a 408 response.
      startedAt = reports.clock.elapsed();
      result = await deliver(request, settings, receiver);
    } catch (error) {
      // Without a receiver, the client has not started.
      reports ??= createDeliveryReports(unstarted, createPlatformClock());
      // The service redelivers the callback, and the options of a lazy client may be there by then.
      result = createFailure('verify', 503, codeOf(error), error);
    }
    return reports.report(result, durationSince(startedAt, reports.clock), settings.onError);
  }
}

/** Handles a request with a callback; null if the request is not a web-standard one. */
async function deliver(
  request: Request | null,
  settings: HandlerSettings,
  receiver: Receiver,
): Promise<DeliveryResult> {
  const { client, reports, admission } = receiver;
  if (request === null) return createFailure('read', 500, 'config', createNotWrappedError());
  if (request.method !== 'POST') return createFailure('read', 405, 'method', createMethodError(request));
  const body = await readBody(request, settings, client).catch(toReadFailure);
  if (isFailure(body)) return body;
  const callback = await readCallback(body, settings, client).catch(toVerifyFailure);
  if (isFailure(callback)) return callback;
  const { event } = callback;

  const admitted = await admission.admit(callback, settings.maxJobsPerSignature);
  if (settings.confirms && !admitted) return createLimitFailure(event);
  const guard = settings.replayGuard ?? receiver.memory;
  const replayGuard = settings.confirms && !admitted?.usesGuard ? receiver.memory : guard;
  const begun = await begin(callback, { ...settings, replayGuard }, reports).catch((error: unknown) =>
    createFailure('guard', 503, 'guard', error, event),
  );
  if (isFailure(begun)) return begun;
  // A signature is accepted with one unconfirmed body only: anyone who has seen the signature could put it on other
  // bodies. The key of a callback to confirm covers its body.
  if (begun.known === 'conflict' && !settings.confirms) {
    return createFailure('guard', 401, 'replayed', callbackErrors.createUnverified('replayed'), event);
  }
  if (begun.lease === undefined) return toKnownResult(begun.known, event);
  const { lease } = begun;
  if (!admitted || (settings.confirms && !admitted.take(settings.leaseMs))) {
    await lease.forget();
    return createLimitFailure(event);
  }
  if (!settings.confirms) return runOnEvent(event, [lease], () => settings.onEvent(event));
  try {
    return await confirmAndHandle({ ...callback, admitted, lease }, settings, receiver);
  } finally {
    admitted.release();
  }
}

async function confirmAndHandle(
  { event, timestamp, admitted, lease }: VerifiedCallback & { readonly admitted: Admitted; readonly lease: Lease },
  settings: HandlerSettings,
  { client, memory, beginResult, confirmations, fetchOnce }: Receiver,
): Promise<DeliveryResult> {
  const fetchInTurn = () =>
    confirmations.take(settings.maxConfirmations, () => {
      admitted.recordRequest();
      return fetchOnce(event);
    });
  const startedAt = client.clock.elapsed();
  let status: JobStatus;
  let confirmed: ConfirmedEvent;
  try {
    status = await fetchStatus(event, fetchInTurn, client.clock);
    confirmed = await createConfirmedEvent(event, status);
  } catch (error) {
    await lease.forget();
    const code = codeOf(error);
    return createFailure('confirm', 503, code === 'poll_timeout' ? 'pending' : code, error, event);
  }
  const leaseMs = settings.leaseMs - (client.clock.elapsed() - startedAt);
  // Without an entry, another result of the job has the same id, so the signed time belongs to the key.
  const key = `${status.state} ${confirmed.id}${confirmed.entry === null ? ` ${timestamp}` : ''}`;
  const held = await beginResult(key, settings.replayGuard ?? memory, leaseMs);
  if (held.lease === undefined) {
    await lease.forget();
    return toKnownResult(held.known, confirmed);
  }
  return runOnEvent(confirmed, [held.lease, lease], () => settings.onEvent(confirmed, status));
}

/** Receives a callback without a handler. The callback then counts as handled. */
export async function receiveCallback(
  body: string | Uint8Array,
  settings: ReceiveSettings,
  { client, reports, admission, memory }: Receiver,
): Promise<CallbackEvent> {
  const replayGuard = settings.replayGuard ?? memory;
  const callback = await readCallback(body, settings, client);
  const { event, key } = callback;
  const begun = await begin(callback, { ...settings, replayGuard }, reports);
  if (begun.known === 'conflict') throw callbackErrors.createUnverified('replayed');
  if (begun.known === 'repeat') return { ...event, repeat: true };
  if (begun.lease === undefined) throw createBusyError();
  if (!(await admission.admit(callback, undefined))) {
    await begun.lease.forget();
    throw createJobLimitError();
  }
  const { lease } = begun;
  try {
    await limitStep(client.clock, 'replay guard', () => replayGuard.commit(key), lease.forget);
  } catch (error) {
    // The caller gets an error instead of the callback, so the next delivery must count as new.
    await lease.forget();
    throw error;
  }
  return event;
}

// If the content-length header exceeds the limit, the body is not read. Any other body is read up to the limit.
async function readBody(
  request: Request,
  { maxBytes, bodyTimeoutMs }: HandlerSettings,
  { clock }: Settings,
): Promise<Uint8Array> {
  const contentLength = Number(request.headers.get('content-length') ?? 0);
  if (contentLength > maxBytes) throw callbackErrors.createUnusable('too_large');
  const limit = { phase: 'attempt', timeoutMs: bodyTimeoutMs } as const;
  const timedOut = () => new HostedTimeoutError('its body did not arrive within "bodyTimeoutMs"', limit, callbackFacts);
  const read = (signal: AbortSignal) => readBytes(request.body, { limit: maxBytes, signal });
  const { bytes, isWhole } = await withTimeout({ clock, ms: bodyTimeoutMs, timedOut }, read);
  if (!isWhole) throw callbackErrors.createUnusable('too_large');
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

/** Whether a value is a web-standard request, unlike the requests of `node:http` and the events of Lambda. */
function isWebRequest(request: unknown): boolean {
  try {
    return isRecord(request) && hasMethods(readProperty(request, 'headers'), 'get');
  } catch {
    return false;
  }
}

const isNotWrapped =
  'must get a web-standard request: for Express, Fastify and the server of Node, wrap it in nodeHandler(…) of hosted-client/node; for Lambda, in lambdaHandler(…)';

function createNotWrappedError(): HostedConfigError {
  return new HostedConfigError([{ path: 'handler', message: isNotWrapped }], callbackFacts);
}

/**
 * Returns a response that names the missing adapter. It also ends the response of `node:http` with it, because most of
 * its frameworks do not send what a handler returns.
 */
function respondNotWrapped(given: unknown, status: number): Response {
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

function createMethodError({ method }: Request): HostedResponseError {
  // Anyone can send any text as the method, so the message shows only a short word in capitals.
  const by = /^[A-Z]{1,7}$/.test(method) ? method : 'another method';
  const why = `it was sent with ${by}, but callbacks are sent with POST: give this handler the POST requests of its route`;
  return new HostedResponseError('malformed', [], callbackFacts, null, why);
}

function createLimitFailure(event: CallbackEvent): DeliveryFailure {
  const why = 'its signature was used for more jobs than "maxJobsPerSignature" allows, or too often for this job';
  return createFailure('guard', 503, 'limit', createBusyError(why), event);
}

/** The result for a callback that another delivery has handled, or is handling. */
function toKnownResult(known: 'busy' | 'repeat', event: CallbackEvent | ConfirmedEvent): DeliveryResult {
  if (known === 'repeat') return { status: 200, result: 'repeat' };
  return createFailure('guard', 503, 'busy', createBusyError(), event);
}

/** Runs the caller's `onEvent`. If it resolves, the leases are committed in this order; if it rejects, they are dropped. */
async function runOnEvent(
  event: CallbackEvent | ConfirmedEvent,
  leases: readonly Lease[],
  onEvent: () => unknown,
): Promise<DeliveryResult> {
  try {
    await onEvent();
  } catch (error) {
    for (const lease of leases) await lease.forget();
    if (!Object.hasOwn(Object(error), notStored)) return createFailure('handle', 500, 'handler', error, event);
    const cause: unknown = Object(error)[notStored];
    return createFailure('guard', 503, codeOf(cause), cause, event);
  }
  for (const lease of leases) await lease.commit();
  return { status: 200, result: 'accepted' };
}

function respond({ status }: CallbackReport): Response {
  const headers: Record<string, string> = {};
  if (status === 405) headers.allow = 'POST';
  if (status === 503) headers['retry-after'] = String(assumedRedeliverySeconds);
  return new Response(null, { ...shadowPollution(), status, headers });
}
