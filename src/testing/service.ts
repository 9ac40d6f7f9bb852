/**
 * The service as a whole: both environments behind one fetch.
 *
 * @module
 */

import { type Environment, environments } from '../options.js';
import { assumedWire, type Wire } from '../protocol/assumptions.js';
import { copyProperties, shadowPollution } from '../runtime/prototype.js';
import { createEnvironment, type RunningEnvironment } from './environment.js';
import { createKeys } from './keys.js';
import type { MockService, MockServiceOptions } from './types.js';

/** RFC 6761 §6.4: no host under .test exists. */
const baseUrls = forEachEnvironment((name) => `https://${name}.hosted.test`);

/**
 * Creates a complete service for tests, without a network: it checks every request as the real one
 * does, keeps links and jobs, signs its responses and callbacks, and fails when a test says so.
 *
 * @param options - Partner, scheme, spelling and the rest; every one has a default.
 * @returns The service, without links and jobs.
 * @throws {RangeError} when `pageSize` is not an integer of 1 or more.
 *
 * @example Test against it
 * ```ts
 * const service = createMockService();
 * const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
 * const link = await client.links.create({
 *   companyName: 'Example Partner',
 *   dataPrivacyPolicyUrl: 'https://partner.example/privacy',
 *   callbackUrl: 'https://partner.example/callbacks',
 * });
 * const job = service.sandbox.jobs.start({ linkRefId: link.refId });
 * service.sandbox.jobs.complete(job, 'approved');
 * console.log((await client.jobs.status(job)).state); // succeeded
 * ```
 *
 * @see §§2 to 7 and "What is not known" of docs/protocol.md
 */
export function createMockService(options: MockServiceOptions = {}): MockService {
  const given: MockServiceOptions = copyProperties(options, optionNames);
  const running = forEachEnvironment((name) => createOne(name, given));

  // async, so that an invalid URL rejects, as it does from the platform's fetch.
  const fetch: typeof globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const { signal: ownSignal, ...rest } = { ...shadowPollution(), signal: undefined, ...init };
    const signal = ownSignal === undefined && input instanceof Request ? input.signal : ownSignal;
    // Without the signal: a Request that is given one listens to it until it is garbage-collected.
    const request = new Request(input, rest);
    return findEnvironment(new URL(request.url).origin).handle(request, signal ?? undefined);
  };

  function findEnvironment(origin: string): RunningEnvironment {
    const name = environments.find((known) => origin === baseUrls[known]);
    if (name === undefined) throw createHostError(origin);
    return running[name];
  }

  return {
    ...forEachEnvironment((name) => running[name].environment),
    fetch,
    reset() {
      for (const name of environments) running[name].environment.reset();
    },
  };
}

function forEachEnvironment<T>(create: (name: Environment) => T): Readonly<Record<Environment, T>> {
  return Object.fromEntries(environments.map((name) => [name, create(name)])) as Record<Environment, T>;
}

const optionNames: readonly (keyof MockServiceOptions)[] = [
  'partnerId',
  'scheme',
  'wire',
  'pageSize',
  'firstPage',
  'spelling',
  'seed',
  'latencyMs',
  'clock',
];

function createOne(name: Environment, options: MockServiceOptions): RunningEnvironment {
  const { partnerId = '085', pageSize = 20, clock } = options;
  if (!Number.isSafeInteger(pageSize) || pageSize < 1) {
    throw new RangeError(`Cannot create the mock service: "pageSize" must be an integer of 1 or more, got ${pageSize}`);
  }
  const wire: Wire = { ...assumedWire, ...options.wire };
  const keys = createKeys(options.scheme ?? 'hmac-sha256', name, partnerId);
  return createEnvironment({
    name,
    baseUrl: baseUrls[name],
    clientOptions: {
      partnerId,
      environment: name,
      ...keys.clientOptions,
      baseUrls: { ...baseUrls },
      ...(options.wire !== undefined && { wire: options.wire }),
      ...(clock !== undefined && { clock }),
    },
    partnerId,
    wire,
    keys,
    // Looked up each time, so that a test runner's fake Date is followed.
    clock: clock ?? { now: () => Date.now() },
    seed: options.seed ?? 1,
    spelling: options.spelling ?? 'table',
    pageSize,
    firstPage: options.firstPage ?? (wire.firstPage === 'auto' ? 1 : wire.firstPage),
    latencyMs: options.latencyMs ?? 0,
  });
}

/** Creates the error with which the platform's fetch rejects where there is no such host. */
function createHostError(origin: string): TypeError {
  const known = environments.map((name) => baseUrls[name]).join(' or ');
  const cause = Object.assign(new Error(`getaddrinfo ENOTFOUND ${origin}`), { code: 'ENOTFOUND' });
  return new TypeError(`The mock service responds at ${known}, got a request to ${origin}`, { cause });
}
