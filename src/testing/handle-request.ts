/**
 * Handles one request, in order: match its route, authenticate it, check it, act, sign, respond.
 *
 * @module
 */

import type { OperationName } from '../protocol/routes.js';
import type { Clock } from '../runtime/clock.js';
import { detachFromPrototype, isRecord } from '../runtime/untrusted-objects.js';
import { type AuthContext, findAuthProblem, parseTimestamp, signaturePropertyOf } from './authenticate.js';
import { sleepOn, whileBusy } from './clock.js';
import { chooseSigning, createFaultResponse, createNetworkError, type FaultQueue, htmlPage, stall } from './faults.js';
import { type RequestContext, runOperation } from './handlers.js';
import {
  createError,
  type ResponseData,
  type Signing,
  serviceCode,
  signResponse,
  type WrittenResponse,
  writeResponse,
} from './responses.js';
import { matchRoute, type RouteMatch } from './routing.js';
import type { ParsedTimestamp } from './timestamps.js';
import type { MockFault } from './types.js';

/** A line of the request log. */
export interface LogLine {
  readonly operation: OperationName;
  readonly body: unknown;
  status: number;
  readonly at: number;
  problem: string | null;
}

/** The state of one environment. */
export interface ServerState {
  readonly auth: AuthContext;
  readonly context: RequestContext;
  readonly faults: FaultQueue;
  readonly requests: LogLine[];
  /** The largest number of lines in the log. */
  readonly keepRequests: number;
  readonly clock: Clock;
  readonly latencyMs: number;
  /** Gives the `x-request-id` of the next response. */
  nextRequestId(): string;
}

interface ParsedRequest {
  readonly operation: OperationName;
  readonly linkId: string;
  readonly body: unknown;
  readonly timestamp: ParsedTimestamp | null;
  readonly fault: MockFault | null;
}

/** The parts of a request that the service reads. */
export interface ServiceRequest {
  readonly method: string;
  /** The path below the base URL. */
  readonly path: string;
  text(): string | Promise<string>;
  readonly signal: AbortSignal | undefined;
  /** Called with the fault that the request gets. */
  onFault?(fault: MockFault): void;
}

/** Responds to a request. Rejects if a fault breaks the connection, or if the signal aborts. */
export async function handleRequest(request: ServiceRequest, server: ServerState): Promise<WrittenResponse> {
  const { auth, clock } = server;
  const { signal } = request;
  signal?.throwIfAborted();
  const route = matchRoute(request.method, request.path, auth.wire);
  if (route.operation === null) return send(createRouteError(route), server);

  const { operation, linkId } = route;
  const body = parseJson(await request.text());
  const line: LogLine = { operation, body, status: 0, at: clock.now(), problem: null };
  server.requests.push(line);
  server.requests.splice(0, server.requests.length - server.keepRequests);
  const timestamp = isRecord(body) ? parseTimestamp(body, operation, auth.wire) : null;

  const fault = server.faults.take(operation);
  if (fault !== null) {
    line.problem = `Fault "${fault.kind}" of failNext()`;
    request.onFault?.(fault);
  }
  if (fault?.kind === 'network') throw createNetworkError();
  if (fault?.kind === 'stall') return stall(signal);

  const parsed: ParsedRequest = { operation, linkId, body, timestamp, fault };
  const data = await whileBusy(clock, () => createResponse(parsed, server));
  line.status = data.status;
  line.problem ??= problemOf(data);
  if (server.latencyMs > 0) await sleepOn(clock, server.latencyMs, signal);
  const signed = await whileBusy(clock, () => sign(data, parsed, server));
  signal?.throwIfAborted();
  return { ...send(signed, server), isTruncated: fault?.kind === 'truncate' };
}

async function createResponse(request: ParsedRequest, server: ServerState): Promise<ResponseData> {
  const { fault } = request;
  if (fault?.kind === 'status') return createFaultResponse(fault, request.operation);
  const data = await serve(request, server);
  return fault?.kind === 'html' ? htmlPage : data;
}

async function serve(request: ParsedRequest, { auth, context }: ServerState): Promise<ResponseData> {
  const { operation, linkId, body } = request;
  if (!isRecord(body)) return createError('Invalid JSON', serviceCode(operation, '03'));
  const problem = await findAuthProblem(body, operation, auth);
  if (problem !== null) return createError(problem, serviceCode(operation, '05'));
  return runOperation(operation, { body, linkId }, context);
}

/** Signs a response. Only successful responses of job status are signed (§4.5), unless a fault changes this. */
function sign(data: ResponseData, request: ParsedRequest, server: ServerState): Promise<ResponseData> {
  const { auth, clock } = server;
  const { operation, fault } = request;
  const isJobStatus = operation === 'jobs.status';
  const isSigned = isJobStatus && data.status === 200 && fault?.kind !== 'status';
  const usual: Signing = isSigned ? 'fresh' : 'not at all';
  return signResponse(data, chooseSigning(fault, usual), {
    keys: auth.keys,
    property: isJobStatus ? chooseSignatureProperty(request, server) : 'signature',
    requestTimestamp: request.timestamp,
    echoes: auth.wire.echoesTimestamp,
    nowMs: clock.now(),
  });
}

/**
 * Chooses the property for the signature of a response. If the request has its signature in another property than
 * expected, the response uses the property of the request.
 */
function chooseSignatureProperty({ operation, body }: ParsedRequest, { auth, context }: ServerState): string {
  const spelled = context.spell('sec_key', 'signature');
  const given = isRecord(body) ? signaturePropertyOf(body, operation, auth.wire) : auth.wire.jobSignatureMember;
  return given === auth.wire.jobSignatureMember ? spelled : given;
}

/** Why a request was rejected, in the service's words. */
function problemOf({ status, body }: ResponseData): string | null {
  return status >= 400 && isRecord(body) && typeof body.error === 'string' ? body.error : null;
}

function send(data: ResponseData, { clock, nextRequestId }: ServerState): WrittenResponse {
  return writeResponse(data, { date: new Date(clock.now()).toUTCString(), 'x-request-id': nextRequestId() });
}

function createRouteError({ status }: RouteMatch & { operation: null }): ResponseData {
  return { status, body: { error: status === 404 ? 'Not found' : 'Method not allowed' } };
}

/** Parses JSON; null if the string is not JSON. */
function parseJson(text: string): unknown {
  try {
    return detachFromPrototype(JSON.parse(text));
  } catch {
    return null;
  }
}
