/**
 * One environment of the service: its state, what handles its requests, and its controls.
 *
 * @module
 */

import type { Environment, HostedClientOptions } from '../options.js';
import type { Wire } from '../protocol/assumptions.js';
import type { Clock } from '../runtime/clock.js';
import { createCallbackWriter } from './callbacks.js';
import { type ControlContext, createJobControls, createLinkControls } from './controls.js';
import { createSpell } from './dialect.js';
import { createFaultQueue } from './faults.js';
import { handleRequest, type ServerState } from './handle-request.js';
import type { Keys } from './keys.js';
import { createRandom } from './random.js';
import { createRequestTimes } from './responses.js';
import { createStore } from './store.js';
import type { MockEnvironment, MockServiceOptions } from './types.js';

export interface EnvironmentSettings {
  readonly name: Environment;
  readonly baseUrl: string;
  readonly clientOptions: HostedClientOptions;
  readonly partnerId: string;
  readonly wire: Wire;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly seed: number;
  readonly spelling: NonNullable<MockServiceOptions['spelling']>;
  readonly pageSize: number;
  readonly firstPage: 0 | 1;
  readonly latencyMs: number;
}

/** An environment, and what handles requests to it. */
export interface RunningEnvironment {
  readonly environment: MockEnvironment;
  handle(request: Request, signal: AbortSignal | undefined): Promise<Response>;
}

/** Creates an environment without links and jobs. */
export function createEnvironment(settings: EnvironmentSettings): RunningEnvironment {
  let state = createState(settings);
  const controls = (): ControlContext => state.controls;
  return {
    handle: (request, signal) => handleRequest(request, signal, state.server),
    environment: {
      baseUrl: settings.baseUrl,
      clientOptions: settings.clientOptions,
      get requests() {
        return state.server.requests;
      },
      links: createLinkControls(controls),
      jobs: createJobControls(controls),
      failNext: (operation, fault, times = 1) => state.server.faults.add(operation, fault, times),
      reset() {
        state = createState(settings);
      },
    },
  };
}

/** Creates everything that a reset replaces. */
function createState(settings: EnvironmentSettings): { server: ServerState; controls: ControlContext } {
  const { name, partnerId, wire, keys, clock, seed, pageSize, firstPage, latencyMs } = settings;
  const now = (): number => clock.now();
  const ids = createRandom(seed, `${name} ids`);
  // A sequence of its own: the spelling changes no id.
  const spell = createSpell(settings.spelling, createRandom(seed, `${name} spelling`));
  const store = createStore({ linkBaseUrl: `https://links.hosted.test/${name}/${partnerId}`, ids, now });
  let requestCount = 0;
  return {
    server: {
      auth: { partnerId, wire, keys, now },
      context: { store, spell, wire, partnerId, pageSize, firstPage, now },
      faults: createFaultQueue(),
      requests: [],
      requestTimes: createRequestTimes(),
      clock,
      latencyMs,
      nextRequestId: () => `${name}-${++requestCount}`,
    },
    controls: {
      store,
      ids,
      partnerId,
      callbacks: createCallbackWriter({ keys, spelling: { brand: wire.brand, spell }, now }),
    },
  };
}
