/**
 * The `callbacks` namespace of a client that reads its options at its first call.
 *
 * @module
 */

import type { Telemetry } from '../events.js';
import { createPlatformClock } from '../runtime/clock.js';
import type { Callbacks } from './callbacks.js';
import { copyHandlerOptions } from './options.js';
import { createDeliveryReports } from './reports.js';
import type { HandlerOptions } from './types.js';
import { createHandler } from './web-handler.js';

/**
 * Creates a namespace. Each call of `receive` or `confirm` gets the real namespace from `start`. At its first delivery,
 * a handler gets the real handler from the real namespace. If `start` throws, the call rejects, and a handler reports
 * the error and responds with 503.
 */
export function createLazyCallbacks(start: () => Callbacks, telemetry: Telemetry): Callbacks {
  const clock = createPlatformClock();
  const reports = createDeliveryReports(telemetry, clock);
  return {
    receive: async (...given) => start().receive(...given),
    confirm: async (...given) => start().confirm(...given),
    handler(options: HandlerOptions) {
      // The handler's options are checked and copied now, as in any other client. Only the client's own options are
      // read later.
      const given = copyHandlerOptions(options);
      let handle: ((request: Request) => Promise<Response>) | undefined;
      return async (request) => {
        try {
          handle ??= start().handler(given as Parameters<Callbacks['handler']>[0]);
        } catch (error) {
          const handling = { settings: { onError: given.onError }, client: { clock }, reports };
          return createHandler(() => Promise.reject(error), handling)(request);
        }
        return handle(request);
      };
    },
  };
}
