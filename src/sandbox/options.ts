/**
 * Checks the options of a sandbox.
 *
 * @module
 */

import { isIP } from 'node:net';
import * as z from 'zod/mini';
import { HostedConfigError } from '../errors/client-errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { maxTimerMs } from '../runtime/clock.js';
import { isBlockedPort } from '../runtime/fetch.js';
import { withoutUndefined } from '../runtime/untrusted-objects.js';
import { wireOptions } from '../settings.js';
import { haveNoKeys, serviceShape } from '../testing/service-options.js';
import { check, inputObject } from '../validation/check.js';
import { flag, functionOf, httpUrl, integer, nonBlank, stringOf } from '../validation/input.js';
import { isLoopbackHost } from './loopback.js';
import { toHostName } from './network-address.js';
import type { SandboxCallback, SandboxOptions, SandboxRequest } from './types.js';

/** The options that have a default of their own. */
const defaults = {
  port: 4085,
  host: '127.0.0.1',
  allowedHosts: [],
  callbackHosts: [],
  callbackRetriesMs: [1_000, 5_000, 25_000, 120_000],
  callbackBytes: 1_500_000,
  reviewMs: 3_000,
  failureRate: 0,
  keepRequests: 1_000,
} as const satisfies SandboxOptions;

/** The checked options of a sandbox, with their defaults. Names of hosts are in lower case. */
export type SandboxSettings = SandboxOptions & Required<Pick<SandboxOptions, keyof typeof defaults | 'keepBodies'>>;

const pause = integer(0, maxTimerMs);
const host = z
  .string('must be a string')
  .check(
    z.refine((value) => toHost(value) !== null, 'must be a host name or an IP address, without scheme, port and path'),
  );
const mustBeReachable = 'must be another port: fetch and browsers connect to no service at this one';

const hostWithPort = stringOf(/^[^\s/\\?#@]+$/, 'must be a host name, with or without a port');
const hosts = 'must be a list of host names';
const share = z.custom<number>(
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
  'must be a number from 0 to 1',
);

/** A limit for `callbackBytes`, because the filler of a callback is kept in memory. */
const maxCallbackBytes = 64 * 1024 * 1024;

const shape = {
  port: z.optional(integer(0, 65_535).check(z.refine((port) => !isBlockedPort(port), mustBeReachable))),
  host: z.optional(nonBlank),
  allowedHosts: z.optional(z.array(hostWithPort, hosts)),
  callbackHosts: z.optional(z.array(host, hosts)),
  defaultCallbackUrl: z.optional(httpUrl),
  callbackRetriesMs: z.optional(z.array(pause, 'must be a list of milliseconds')),
  callbackBytes: z.optional(integer(0, maxCallbackBytes)),
  reviewMs: z.optional(pause),
  failureRate: z.optional(share),
  folder: z.optional(nonBlank),
  keepBodies: z.optional(flag),
  onRequest: z.optional(functionOf<(event: SandboxRequest) => void>()),
  onCallback: z.optional(functionOf<(event: SandboxCallback) => void>()),
  wire: z.optional(wireOptions),
};

// The options of the testing kit's service, with `wire` checked further above. A sandbox has the platform's clock.
const { clock: _clock, ...ofService } = serviceShape;
const sandboxOptions = inputObject({ ...ofService, ...shape }) as z.ZodMiniType<SandboxOptions>;

/**
 * Checks the options of a sandbox.
 *
 * @throws {HostedConfigError} when an option is invalid; the error names every problem.
 */
export function checkSandboxOptions(options: SandboxOptions): SandboxSettings {
  const { data, issues } = check(sandboxOptions, options);
  if (data === undefined) throw createConfigError(...issues);
  if (data.scheme === 'ed25519' && data.apiKeys !== undefined) throw createConfigError(haveNoKeys);
  // Without `data`, options that were left out would be read from `Object.prototype`.
  const settings = { ...data, ...defaults, ...withoutUndefined(data) } as SandboxSettings;
  return {
    ...settings,
    allowedHosts: settings.allowedHosts.map((name) => name.toLowerCase()),
    callbackHosts: settings.callbackHosts.flatMap((name) => toHost(name) ?? []),
    keepBodies: data.keepBodies ?? isLoopbackHost(toHostName(settings.host)),
  };
}

/**
 * Writes a host in the form of `URL.hostname`, but removes the brackets of an IPv6 address. Returns null if the value
 * is not a host, or contains more than a host.
 */
function toHost(value: string): string | null {
  const name = value.replace(/^\[(.*)\]$/, '$1');
  const isIPv6 = isIP(name) === 6;
  if (!isIPv6 && /[\s/\\?#@:]/.test(name)) return null;
  return URL.parse(`http://${isIPv6 ? `[${name}]` : name}`)?.hostname.replace(/^\[|\]$/g, '') || null;
}

/** Creates the error of a sandbox that cannot be started. */
export function createConfigError(...issues: readonly Issue[]): HostedConfigError {
  return new HostedConfigError(issues, { task: 'start the sandbox' });
}
