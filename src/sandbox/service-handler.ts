/**
 * Handles requests to the service. The testing kit creates the responses. The sandbox keeps a list of the requests,
 * with a verdict on each signature.
 *
 * @module
 */

import type { Environment } from '../options.js';
import type { OperationName } from '../protocol/routes.js';
import { isRecord, parseJson } from '../runtime/untrusted-objects.js';
import type { Random } from '../testing/random.js';
import { createError, serviceCode, type WrittenResponse, writeResponse } from '../testing/responses.js';
import { matchRoute } from '../testing/routing.js';
import type { RunningService } from '../testing/running-service.js';
import { type Diagnosis, diagnoseSignature } from './diagnose-signature.js';
import type { ReceivedRequest } from './http-server.js';
import { findNotes } from './request-notes.js';
import type { SigningFacts } from './signing-mistakes.js';
import type { SandboxRequest } from './types.js';

export interface ServiceHandlerSettings {
  readonly running: RunningService;
  readonly origin: string;
  readonly signing: SigningFacts;
  /** The share of requests that get a response with status 503. */
  readonly failureRate: number;
  random(): Random;
  onRequest(request: Omit<SandboxRequest, 'id'>, body: unknown): void;
}

/** Creates the function that responds to the requests of an environment. */
export function createServiceHandler({
  running,
  origin,
  signing,
  failureRate,
  random,
  onRequest,
}: ServiceHandlerSettings) {
  const notNeeded: Diagnosis = { problem: null, message: 'Nothing was checked: no operation has this method and path' };

  async function diagnose(environment: Environment, operation: OperationName | null, body: unknown) {
    if (operation === null) return notNeeded;
    if (!isRecord(body)) return { problem: 'missing', message: 'Send a JSON object' };
    return diagnoseSignature({ environment, operation, body, nowMs: Date.now() }, signing);
  }

  /** Responds to a request. Rejects if a fault of the testing kit breaks the connection. */
  return async (environment: Environment, request: ReceivedRequest): Promise<WrittenResponse> => {
    const startedAt = performance.now();
    const at = new Date();
    const { pathname: fullPath } = new URL(request.target, origin);
    // A path with `..` may lead out of the environment. Such a path becomes `/`, which no operation has.
    const path = fullPath.startsWith(`/${environment}/`) ? fullPath.slice(environment.length + 1) : '/';
    const { operation } = matchRoute(request.method, path, signing.wire);
    const text = request.body.toString();
    const body = parseJson(text);
    const signature = await diagnose(environment, operation, body);
    let status = 0;
    try {
      const response = await respond();
      status = response.status;
      return response;
    } finally {
      const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
      const notes = findNotes(operation, body, at.getTime());
      onRequest(
        { at, environment, operation, method: request.method, path, status, durationMs, notes, signature },
        body,
      );
    }

    function respond(): Promise<WrittenResponse> | WrittenResponse {
      if (operation !== null && failureRate > 0 && random().fraction() < failureRate) {
        return writeResponse(createError('System error', serviceCode(operation, '01'), 503), {});
      }
      const { method, signal } = request;
      return running.environments[environment].handle({ method, path, signal, text: () => text });
    }
  };
}
