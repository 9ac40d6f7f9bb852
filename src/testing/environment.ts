/**
 * One environment of the service: its memory, its door and its controls.
 *
 * @module
 */

import type { Environment, HostedClientOptions } from '../options.js';
import type { Wire } from '../protocol/assumptions.js';
import type { Clock } from '../runtime/clock.js';
import { createDispatch } from './callbacks.js';
import { type Backstage, createJobControls, createLinkControls } from './controls.js';
import { createSay } from './dialect.js';
import { createFaultQueue } from './faults.js';
import { type Desk, exchange } from './handle-request.js';
import type { Keys } from './keys.js';
import { createRandom } from './random.js';
import { createRequestTimes } from './responses.js';
import { createStore } from './store.js';
import type { MockEnvironment, MockServiceOptions } from './types.js';

/** What an environment is made from. */
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

/** An environment, and the way in for requests. */
export interface RunningEnvironment {
  readonly environment: MockEnvironment;
  receive(request: Request, signal: AbortSignal | undefined): Promise<Response>;
}

/** Creates an environment without links and jobs. */
export function createEnvironment(settings: EnvironmentSettings): RunningEnvironment {
  let state = begin(settings);
  const backstage = (): Backstage => state.backstage;
  return {
    receive: (request, signal) => exchange(request, signal, state.desk),
    environment: {
      baseUrl: settings.baseUrl,
      clientOptions: settings.clientOptions,
      get requests() {
        return state.desk.requests;
      },
      links: createLinkControls(backstage),
      jobs: createJobControls(backstage),
      failNext: (operation, fault, times = 1) => state.desk.faults.add(operation, fault, times),
      reset() {
        state = begin(settings);
      },
    },
  };
}

/** Everything that a reset throws away. */
function begin(settings: EnvironmentSettings): { readonly desk: Desk; readonly backstage: Backstage } {
  const { name, partnerId, wire, keys, clock, seed, pageSize, firstPage, latencyMs } = settings;
  const now = (): number => clock.now();
  const ids = createRandom(seed, `${name} ids`);
  // A course of its own: the spelling changes no id.
  const say = createSay(settings.spelling, createRandom(seed, `${name} spelling`));
  const store = createStore({ linkBaseUrl: `https://links.hosted.test/${name}/${partnerId}`, ids, now });
  let requestCount = 0;
  return {
    desk: {
      gate: { partnerId, wire, keys, now },
      office: { store, say, wire, partnerId, pageSize, firstPage, now },
      faults: createFaultQueue(),
      requests: [],
      requestTimes: createRequestTimes(),
      clock,
      latencyMs,
      nextRequestId: () => `${name}-${++requestCount}`,
    },
    backstage: {
      store,
      ids,
      partnerId,
      dispatch: createDispatch({ keys, writing: { brand: wire.brand, say }, now }),
    },
  };
}
