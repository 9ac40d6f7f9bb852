/**
 * Handles requests to the service. The testing kit creates the responses. The sandbox keeps a record of each request,
 * which says why the request failed.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { writeTimestamp } from '../call/sign-request.js';
import { type Environment, environments } from '../options.js';
import type { OperationName } from '../protocol/routes.js';
import { isRecord, parseJson } from '../runtime/untrusted-objects.js';
import { signaturePropertyOf } from '../testing/authenticate.js';
import type { Body } from '../testing/request-rules.js';
import { createError, firstHalf, serviceCode, type WrittenResponse, writeResponse } from '../testing/responses.js';
import { matchRoute, type RouteMatch } from '../testing/routing.js';
import type { RunningService } from '../testing/running-service.js';
import type { MockFault } from '../testing/types.js';
import { type Diagnosis, diagnoseSignature } from './diagnose-signature.js';
import { findElsewhere, summarize } from './explain-response.js';
import { describeFault } from './faults.js';
import type { ReceivedRequest } from './http-server.js';
import { type KeptTexts, maskSecrets, readBody } from './kept-bodies.js';
import type { Rejection } from './request-check.js';
import { findNotes } from './request-notes.js';
import type { SigningFacts } from './signing-mistakes.js';
import type { SandboxRequest } from './types.js';

export interface ServiceHandlerSettings {
  readonly running: RunningService;
  readonly origin: string;
  readonly signing: SigningFacts;
  /** Whether links and jobs survive a restart. */
  readonly isKept: boolean;
  /** Whether the next request for an operation gets a response with status 503. */
  isFailing(): boolean;
  /** Called with each request, and with a function that writes the texts to keep of it. Returns the record. */
  onRequest(request: Omit<SandboxRequest, 'id'>, writeTexts: () => KeptTexts): SandboxRequest;
}

type ServiceRequest = Omit<ReceivedRequest, 'headers'>;

export interface ServiceHandler {
  /** Responds to a request. Rejects if a fault of the testing kit breaks the connection. */
  respond(environment: Environment, request: ServiceRequest): Promise<WrittenResponse>;
  /** Sends a request to the service, with a fresh signature if its body is a JSON object. Resolves with its record. */
  send(to: Pick<SandboxRequest, 'environment' | 'method' | 'path'>, body: string): Promise<SandboxRequest>;
  /** Records a request for an operation whose path names no environment. Returns the header with its hint, if it is one. */
  recordStray(request: Pick<ReceivedRequest, 'method' | 'target' | 'body'>): Readonly<Record<string, string>>;
  /** Records a request that was rejected before its body was read. Returns the rejection with a hint. */
  reject(rejection: Rejection, message: Pick<IncomingMessage, 'method' | 'url'>): Rejection;
}

/** The environment that a request was sent to; undefined if the request is not for the service. */
export function environmentOf(target: string): Environment | undefined {
  return environments.find((name) => target.startsWith(`/${name}/`));
}

const paths = environments.map((name) => `"/${name}"`).join(' or ');

const unread: Diagnosis = { problem: null, message: 'Nothing was checked: the request was rejected before' };
const notNeeded: Diagnosis = { problem: null, message: 'Nothing was checked: no operation has this method and path' };

/** How many characters of an id a record has. Records are not counted as bodies are, so they must be small. */
const longestId = 1_000;

type Recorded = Pick<SandboxRequest, 'at' | 'environment' | 'method' | 'path' | 'status' | 'durationMs'>;

/** A request, and what the service did with it. */
interface Exchange extends Recorded {
  readonly route: RouteMatch;
  readonly sent: string;
  readonly responded: string;
  readonly diagnosis: Diagnosis;
  readonly fault: MockFault | null;
  /** Further keys and signatures that must not be kept. */
  readonly secrets: readonly string[];
}

/** Creates the functions that respond to the requests of every environment. */
export function createServiceHandler(settings: ServiceHandlerSettings): ServiceHandler {
  const { running, origin, signing, onRequest } = settings;
  const keys = Object.values(signing.apiKeys ?? {});
  const storeOf = (environment: Environment) => running.environments[environment].context().store;

  type Operation = OperationName | null;
  async function diagnose(environment: Environment, operation: Operation, body: unknown): Promise<Diagnosis> {
    if (operation === null) return notNeeded;
    if (!isRecord(body)) return { problem: 'missing', message: 'Send a JSON object' };
    return diagnoseSignature({ environment, operation, body, nowMs: Date.now() }, signing);
  }

  function readTarget(environment: Environment, method: string, target: string) {
    const pathname = URL.parse(target, origin)?.pathname ?? '/';
    // A path with `..` may lead out of the environment. Such a path becomes `/`, which no operation has.
    const path = pathname.startsWith(`/${environment}/`) ? pathname.slice(environment.length + 1) : '/';
    return { path, route: matchRoute(method, path, signing.wire) };
  }

  /** Records an exchange, without keys and signatures. */
  function record(exchange: Exchange): SandboxRequest {
    const { route, sent, responded, diagnosis, fault, secrets, path, ...rest } = exchange;
    const [request, response] = [readBody(sent), readBody(responded)];
    const [input, output] = [request.object, response.object];
    const all = [...keys, ...secrets, ...request.secrets, ...response.secrets];
    const clean = (value: unknown) => maskSecrets(isText(value) ? String(value) : '', all);
    const idOf = (value: unknown) => clean(value).slice(0, longestId);
    const { expectedText, signedText, ...signature } = diagnosis;
    const { operation } = route;
    const refId = operation === 'links.create' ? output.ref_id : operation !== null && route.linkId;
    const hasJob = operation === 'jobs.status' && (isText(input.user_id) || isText(input.job_id));
    const { environment } = rest;
    const answered = operation !== null && fault === null ? { environment, operation, input, output, storeOf } : null;
    const said = isText(output.error) ? clean(output.error) : null;
    const reasons = [reasonOf(exchange, said), answered && findElsewhere(answered, clean(refId), settings.isKept)];
    return onRequest(
      {
        ...rest,
        operation,
        path: clean(path),
        linkRefId: clean(refId) || null,
        job: hasJob ? { userId: idOf(input.user_id), jobId: idOf(input.job_id) } : null,
        code: clean(output.code) || null,
        summary: answered !== null && rest.status === 200 ? idOf(summarize(answered)) || null : null,
        notes: rest.status === 200 ? findNotes(operation, input, rest.at.getTime()).map(clean) : [],
        reason: reasons.filter((text) => text !== null).join(': ') || null,
        fault: fault?.kind ?? null,
        signature,
      },
      () => ({
        sent: maskSecrets(request.text, all),
        response: maskSecrets(response.text, all),
        ...(expectedText !== undefined && { expectedText: clean(expectedText) }),
        ...(signedText !== undefined && { signedText: clean(signedText) }),
      }),
    );
  }

  /** Handles a request. `response` rejects if a fault of the testing kit breaks the connection. */
  async function handle(environment: Environment, { method, target, body: bytes, signal }: ServiceRequest) {
    const startedAt = performance.now();
    const at = new Date();
    const { path, route } = readTarget(environment, method, target);
    const sent = bytes.toString();
    const body = parseJson(sent);
    const diagnosis = await diagnose(environment, route.operation, body);
    const timestamp = isRecord(body) ? String(body.timestamp) : '';
    const secrets = [await signing.sign(environment, timestamp, signing.partnerId)];
    let fault: MockFault | null = null;
    let onFault: (given: MockFault) => void = () => {};
    const stalled = new Promise<null>((resolve) => {
      onFault = (given) => {
        fault = given;
        // Such a response never comes, so the request is recorded at once.
        if (given.kind === 'stall') resolve(null);
      };
    });
    const isFailing = route.operation !== null && settings.isFailing();
    if (isFailing) onFault({ kind: 'status', status: 503 });
    const response = isFailing
      ? Promise.resolve(writeResponse(createError('System error', serviceCode(route.operation, '01'), 503), {}))
      : running.environments[environment].handle({ method, path, signal, text: () => sent, onFault });
    const written = await Promise.race([response, stalled]).catch(() => null);
    const responded = written?.body ?? '';
    const about = { at, environment, method, path, route, sent, diagnosis, fault, secrets };
    const recorded = record({
      ...about,
      status: written?.status ?? 0,
      responded: written?.isTruncated ? Buffer.from(firstHalf(responded)).toString() : responded,
      durationMs: Math.round((performance.now() - startedAt) * 100) / 100,
    });
    return { response, recorded };
  }

  function hintOf({ id, fault, signature, code, status }: SandboxRequest) {
    const cause = fault === null ? (signature.problem ?? code ?? status) : `fault_${fault}`;
    return { 'x-sandbox-hint': `${cause}; ${origin}/console/requests/${id}` };
  }

  return {
    async respond(environment, request) {
      const { response, recorded } = await handle(environment, request);
      const { status, headers, ...rest } = await response;
      const isSuccess = status >= 200 && status < 300;
      return { ...rest, status, headers: isSuccess ? headers : { ...headers, ...hintOf(recorded) } };
    },

    async send({ environment, method, path }, text) {
      const { route } = readTarget(environment, method, `/${environment}${path}`);
      const body = parseJson(text);
      const signed = isRecord(body)
        ? JSON.stringify({ ...body, ...(await sign(environment, route.operation, body)) })
        : text;
      // The fault `stall` ends only with the signal.
      const signal = AbortSignal.timeout(10_000);
      const request = { method, target: `/${environment}${path}`, body: Buffer.from(signed), signal };
      const { response, recorded } = await handle(environment, request);
      await response.catch(() => null);
      return recorded;
    },

    recordStray({ method, target, body }) {
      const path = URL.parse(target, origin)?.pathname ?? '/';
      const route = matchRoute(method, path, signing.wire);
      if (route.operation === null) return {};
      const about = { at: new Date(), environment: 'sandbox', method, path, status: 404, durationMs: 0 } as const;
      const error = `begin the path with ${paths}, as in ${origin}/sandbox${path}`;
      const recorded = record({
        ...{ ...about, fault: null, secrets: [], diagnosis: unread },
        route: { operation: null, status: 404 },
        sent: body.toString(),
        responded: JSON.stringify({ error: `No environment has this path: ${error}` }),
      });
      return hintOf(recorded);
    },

    reject(rejection, { method = 'GET', url = '/' }) {
      const environment = environmentOf(url);
      if (environment === undefined) return rejection;
      const { status, message } = rejection;
      const about = { at: new Date(), environment, method, status, durationMs: 0, fault: null, secrets: [] };
      const responded = JSON.stringify({ error: message });
      const target = readTarget(environment, method, url);
      const recorded = record({ ...about, ...target, sent: '', responded, diagnosis: unread });
      return { ...rejection, headers: hintOf(recorded) };
    },
  };

  /** The properties that sign a request now. */
  async function sign(environment: Environment, operation: OperationName | null, body: Body) {
    const { wire, partnerId } = signing;
    const timestamp = writeTimestamp(Date.now(), operation === 'jobs.status' ? 'jobs' : 'links', wire);
    const signature = await signing.sign(environment, String(timestamp), partnerId);
    return {
      partner_id: body.partner_id ?? partnerId,
      timestamp,
      [signaturePropertyOf(body, operation ?? 'links.get', wire)]: signature,
    };
  }
}

/** Says why a request failed; null if it did not fail. `said` is the service's text. */
function reasonOf({ fault, diagnosis, status, route }: Exchange, said: string | null): string | null {
  if (fault !== null) return `Injected fault: the service ${describeFault(fault)}`;
  if (diagnosis.problem !== null) return diagnosis.message;
  if (status === 0) return 'The client disconnected before the response';
  if (status < 400) return null;
  if (status === 404 && route.operation === null)
    return said?.startsWith('No environment') ? said : 'No operation has this path: check the base URL and the path';
  if (status === 405 && route.operation === null) return 'No operation has this path with this method';
  return said ?? `The service responded with ${status}`;
}

/** Whether a value is an id, a code or a message: other values are not written into a record. */
function isText(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}
