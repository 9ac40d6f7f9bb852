/**
 * One environment of the service: its state, its request handling, and its controls.
 *
 * @module
 */

import type { Environment } from '../options.js';
import type { Wire } from '../protocol/assumptions.js';
import type { Clock } from '../runtime/clock.js';
import { createCallbackWriter } from './callbacks.js';
import { type ControlContext, createJobControls, createLinkControls } from './controls.js';
import { createSpell } from './dialect.js';
import { type ComingFault, createFaultQueue } from './faults.js';
import { handleRequest, type LogLine, type ServiceRequest } from './handle-request.js';
import type { Keys } from './keys.js';
import { createRandom } from './random.js';
import type { WrittenResponse } from './responses.js';
import { createStore, type StoredState } from './store.js';
import type { MockEnvironment, MockServiceOptions } from './types.js';

export interface EnvironmentSettings {
  readonly name: Environment;
  readonly baseUrl: string;
  readonly clientOptions: object;
  readonly partnerId: string;
  readonly wire: Wire;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly seed: number;
  readonly spelling: NonNullable<MockServiceOptions['spelling']>;
  readonly pageSize: number;
  readonly firstPage: 0 | 1;
  readonly latencyMs: number;
  readonly linkBaseUrl: string;
  readonly keepRequests: number;
  /** Chooses the position from which ids go on after a reset or a restore; if there is none, they begin with `seed`. */
  nextIdsFrom(positions: Readonly<Record<'saved' | 'last', number | undefined>>): number | undefined;
  /** Gives the id of the next fault. */
  nextFaultId(): number;
  /** Called after every change of links, jobs, results and faults. */
  onChange(): void;
}

/** An environment, in the saved form. */
export interface SavedEnvironment extends StoredState {
  readonly faults: readonly ComingFault[];
  readonly lastSignedAt: number | null;
  readonly requestCount: number;
  readonly ids: number;
  readonly spelling: number;
}

/** An environment, and the function that handles its requests. */
export interface RunningEnvironment {
  readonly environment: MockEnvironment<object>;
  handle(request: ServiceRequest): Promise<WrittenResponse>;
  /** The current context of the controls. A reset replaces the context. */
  context(): ControlContext;
  save(): SavedEnvironment;
  /** Without a saved state, the environment becomes empty. */
  restore(saved: SavedEnvironment | undefined): void;
}

/** Creates an environment without links and jobs. */
export function createEnvironment(settings: EnvironmentSettings): RunningEnvironment {
  let state = createState(settings);
  const controls = (): ControlContext => state.controls;

  function restore(saved?: SavedEnvironment): void {
    state = createState(settings, saved, state.controls.ids.position);
    settings.onChange();
  }

  return {
    handle: (request) => handleRequest(request, state.server),
    context: controls,
    save: () => state.save(),
    restore,
    environment: {
      baseUrl: settings.baseUrl,
      clientOptions: settings.clientOptions,
      get requests() {
        return state.server.requests;
      },
      links: createLinkControls(controls),
      jobs: createJobControls(controls),
      failNext: (operation, fault, times = 1) => state.server.faults.add(operation, fault, times),
      reset: () => restore(),
    },
  };
}

/** Creates a state: empty, or the saved one. `lastIds` is the position of the ids in the state that it replaces. */
function createState(settings: EnvironmentSettings, saved?: SavedEnvironment, lastIds?: number) {
  const { name, partnerId, wire, keys, clock, seed, pageSize, firstPage, latencyMs, keepRequests } = settings;
  const { onChange, nextFaultId } = settings;
  const now = (): number => clock.now();
  const position = settings.nextIdsFrom({ saved: saved?.ids, last: lastIds });
  const ids = createRandom(seed, `${name} ids`, position);
  // Spellings have their own sequence of random numbers, so that the option `spelling` does not change ids.
  const spelling = createRandom(seed, `${name} spelling`, saved?.spelling);
  const spell = createSpell(settings.spelling, spelling);
  const store = createStore({ linkBaseUrl: settings.linkBaseUrl, ids, now, onChange }, saved);
  const callbacks = createCallbackWriter({
    keys,
    spelling: { brand: wire.brand, spell },
    now,
    onChange,
    lastSignedAt: saved?.lastSignedAt ?? null,
  });
  const faults = createFaultQueue({ nextId: nextFaultId, onChange });
  for (const { operation, fault, left } of saved?.faults ?? []) faults.add(operation, fault, left);
  let requestCount = saved?.requestCount ?? 0;
  return {
    server: {
      auth: { partnerId, wire, keys, now },
      context: { store, spell, wire, partnerId, pageSize, firstPage, now },
      faults,
      requests: [] as LogLine[],
      keepRequests,
      clock,
      latencyMs,
      nextRequestId: () => `${name}-${++requestCount}`,
    },
    controls: { store, ids, partnerId, callbacks, faults, now },
    save: (): SavedEnvironment => ({
      ...store.state(),
      faults: faults.all(),
      lastSignedAt: callbacks.lastSignedAt,
      requestCount,
      ids: ids.position,
      spelling: spelling.position,
    }),
  };
}
