/**
 * `hosted-client/testing/msw`: the mock service as msw handlers, for code that does not let you replace its fetch.
 *
 * @module hosted-client/testing/msw
 */

import { type HttpHandler, HttpResponse, http } from 'msw';
import { type Environment, environments } from '../options.js';
import type { MockEnvironment, MockService } from './types.js';

/**
 * Creates msw handlers for `service`. Each environment has one handler, for every method and every path under its base
 * URL.
 *
 * A broken connection becomes msw's own network error. Everything else works as with `service.fetch`.
 *
 * @param service - The service that responds, whatever it signs with.
 * @returns Handlers for `setupServer`, `setupWorker` or `getResponse`.
 *
 * @example Test a program that uses the platform's fetch
 * ```ts
 * const service = createMockService();
 * const server = setupServer(...mswHandlers(service)); // from 'msw/node'
 * server.listen({ onUnhandledFrame: 'error' });
 * ```
 *
 * @see [§§2 to 7](../../docs/protocol.md#2-resources) of docs/protocol.md
 */
export function mswHandlers(
  service: Pick<MockService, 'fetch'> & Readonly<Record<Environment, Pick<MockEnvironment, 'baseUrl'>>>,
): HttpHandler[] {
  return environments.map((name) => http.all(`${service[name].baseUrl}/*`, ({ request }) => respond(service, request)));
}

async function respond(service: Pick<MockService, 'fetch'>, request: Request): Promise<Response> {
  try {
    return await service.fetch(request);
  } catch {
    // If a handler throws, msw responds with 500, so this returns a network error. An aborted request has ended
    // already, and does not receive the error.
    return HttpResponse.error();
  }
}
