/**
 * The service as a whole: one `fetch` function serves every environment.
 *
 * @module
 */

import { HostedValidationError } from '../errors/client-errors.js';
import { type Environment, environments, forEachEnvironment } from '../options.js';
import { completeWire, type Wire, type WireOptions } from '../protocol/assumptions.js';
import { shadowPollution, withoutUndefined } from '../runtime/untrusted-objects.js';
import {
  createEnvironment,
  type EnvironmentSettings,
  type RunningEnvironment,
  type SavedEnvironment,
} from './environment.js';
import { createKeys } from './keys.js';
import { readSaved, writeSaved } from './saved-text.js';
import { checkServiceOptions } from './service-options.js';
import type { MockService, MockServiceOptions } from './types.js';
import { toResponse } from './web-response.js';

type BaseUrls = Readonly<Record<Environment, string>>;

/**
 * The service. It also has, for each environment, the functions that a server needs to expose the service over HTTP.
 */
export interface RunningService {
  readonly service: MockService;
  readonly wire: Wire;
  readonly environments: Readonly<Record<Environment, Pick<RunningEnvironment, 'context' | 'handle'>>>;
}

/**
 * Creates the service. `onChange` is called after every change of links, jobs, results and faults. By default, ids begin
 * again after a reset, and go on from a saved state.
 */
export function createRunningService(
  given: MockServiceOptions,
  {
    onChange = () => {},
    nextIdsFrom = ({ saved }) => saved,
  }: Partial<Pick<EnvironmentSettings, 'onChange' | 'nextIdsFrom'>> = {},
): RunningService {
  const options = checkServiceOptions(given);
  const baseUrls = forEachEnvironment((name) =>
    (options.baseUrls?.[name] ?? `https://${name}.hosted.test`).replace(/\/$/, ''),
  );
  const wire = completeWire(options.wire);
  const basePaths = forEachEnvironment((name) => new URL(baseUrls[name]).pathname.replace(/^\/$/, ''));
  let lastFaultId = 0;
  const nextFaultId = (): number => ++lastFaultId;
  const running = forEachEnvironment((name) =>
    createOne(name, options, { onChange, nextIdsFrom, nextFaultId, wire, baseUrls }),
  );

  // The function is async, so that an invalid URL rejects, as with the platform's fetch.
  const fetch: typeof globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const { signal: ownSignal, ...rest } = { ...shadowPollution(), signal: undefined, ...init };
    const signal = ownSignal === undefined && input instanceof Request ? input.signal : ownSignal;
    // The signal is left out, because a Request listens to its signal until the Request is garbage-collected.
    const request = new Request(input, rest);
    const { method, url } = request;
    const name = environments.find((known) => url.startsWith(`${baseUrls[known]}/`));
    if (name === undefined) throw createHostError(new URL(url).origin, baseUrls);
    const path = new URL(url).pathname.slice(basePaths[name].length);
    const text = () => request.text();
    return toResponse(await running[name].handle({ method, path, text, signal: signal ?? undefined }));
  };

  const service = {
    ...forEachEnvironment((name) => running[name].environment),
    fetch,
    reset() {
      for (const name of environments) running[name].environment.reset();
    },
    save: () =>
      writeSaved(
        'mock service',
        forEachEnvironment((name) => running[name].save()),
      ),
    restore(state: string) {
      const saved = readSaved('mock service', state) as Partial<Record<Environment, SavedEnvironment>> | null;
      if (saved === null) {
        const issue = { path: 'state', message: 'must be a string that save() of this version wrote, unchanged' };
        throw new HostedValidationError([issue], { task: 'restore the mock service' });
      }
      for (const name of environments) running[name].restore(saved[name]);
    },
    // The options of a client depend on its environment and on the scheme. Only the overloads of `createMockService`
    // have these types, so a cast is needed here.
  } as MockService;
  return { service, wire, environments: running };
}

function createOne(
  name: Environment,
  options: MockServiceOptions,
  shared: Pick<EnvironmentSettings, 'onChange' | 'nextIdsFrom' | 'nextFaultId'> & { wire: Wire; baseUrls: BaseUrls },
): RunningEnvironment {
  const { partnerId = '085', clock, linkBaseUrl = `https://links.hosted.test/${name}/${partnerId}` } = options;
  const { wire, baseUrls } = shared;
  const keys = createKeys(options.scheme ?? 'hmac-sha256', name, partnerId, options.apiKeys?.[name]);
  return createEnvironment({
    name,
    baseUrl: baseUrls[name],
    clientOptions: {
      partnerId,
      environment: name,
      ...keys.clientOptions,
      baseUrls: { ...baseUrls },
      ...(options.wire !== undefined && { wire: withoutUndefined(options.wire) as WireOptions }),
      ...(clock !== undefined && { clock }),
    },
    partnerId,
    keys,
    // `Date` is looked up each time, so that a test runner's fake Date is used.
    clock: clock ?? { now: () => Date.now() },
    seed: options.seed ?? 1,
    spelling: options.spelling ?? 'table',
    pageSize: options.pageSize ?? 20,
    firstPage: options.firstPage ?? (wire.firstPage === 'auto' ? 1 : wire.firstPage),
    latencyMs: options.latencyMs ?? 0,
    linkBaseUrl: linkBaseUrl.replace(/\/$/, ''),
    keepRequests: options.keepRequests ?? 1_000,
    ...shared,
  });
}

/** Creates the error that the platform's fetch throws for an unknown host. */
function createHostError(origin: string, baseUrls: BaseUrls): TypeError {
  const known = environments.map((name) => baseUrls[name]).join(' or ');
  const cause = Object.assign(new Error(`getaddrinfo ENOTFOUND ${origin}`), { code: 'ENOTFOUND' });
  return new TypeError(`The mock service responds only at ${known}, but got a request to ${origin}`, { cause });
}
