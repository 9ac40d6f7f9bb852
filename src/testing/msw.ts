/**
 * `hosted-client/testing/msw`: the mock service as handlers of msw, for code that brings its own
 * fetch or none.
 *
 * @module hosted-client/testing/msw
 */

import { type HttpHandler, HttpResponse, http } from 'msw';
import { environments } from '../options.js';
import type { MockService } from './types.js';

/**
 * Dresses `service` as msw handlers: one for each environment, for every method and path.
 *
 * A broken connection is msw's own network error; whatever else the service can do is the same.
 *
 * @param service - The service that answers.
 * @returns Handlers for `setupServer`, `setupWorker` or `getResponse`.
 *
 * @example Test code that uses the platform's fetch
 * ```ts
 * const service = createMockService();
 * const server = setupServer(...mswHandlers(service)); // from 'msw/node'
 * server.listen({ onUnhandledFrame: 'error' });
 * ```
 *
 * @see §§2 to 7 of docs/protocol.md
 */
export function mswHandlers(service: MockService): HttpHandler[] {
  return environments.map((name) => http.all(`${service[name].baseUrl}/*`, ({ request }) => answer(service, request)));
}

async function answer(service: MockService, request: Request): Promise<Response> {
  try {
    return await service.fetch(request);
  } catch {
    // msw makes a 500 of what a handler throws; an aborted request is over already.
    return HttpResponse.error();
  }
}
