/**
 * Checks the options of a sandbox.
 *
 * @module
 */

import { isIP } from 'node:net';
import * as z from 'zod/mini';
import { HostedConfigError } from '../errors/errors.js';
import type { Issue } from '../errors/hosted-error.js';
import { maxTimerMs } from '../runtime/clock.js';
import { withoutUndefined } from '../runtime/untrusted-objects.js';
import { wireOptions } from '../settings.js';
import { check, inputObject } from '../validation/check.js';
import { choice, flag, httpUrl, integer, nonBlank, stringOf } from '../validation/input.js';
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
const hostWithPort = stringOf(/^[^\s/\\?#@]+$/, 'must be a host name, with or without a port');
const hosts = 'must be a list of host names';
const share = z.custom<number>(
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
  'must be a number from 0 to 1',
);
const key = z.optional(nonBlank);

function listener<T>() {
  return z.custom<(event: T) => void>((value) => typeof value === 'function', 'must be a function');
}

/** A limit for `callbackBytes`, because the filler of a callback is kept in memory. */
const maxCallbackBytes = 64 * 1024 * 1024;

const shape = {
  port: z.optional(integer(0, 65_535)),
  host: z.optional(nonBlank),
  allowedHosts: z.optional(z.array(hostWithPort, hosts)),
  callbackHosts: z.optional(z.array(host, hosts)),
  defaultCallbackUrl: z.optional(httpUrl),
  callbackRetriesMs: z.optional(z.array(pause, 'must be a list of milliseconds')),
  callbackBytes: z.optional(integer(0, maxCallbackBytes)),
  reviewMs: z.optional(pause),
  failureRate: z.optional(share),
  folder: z.optional(nonBlank),
  keepRequests: z.optional(integer(0)),
  keepBodies: z.optional(flag),
  onRequest: z.optional(listener<SandboxRequest>()),
  onCallback: z.optional(listener<SandboxCallback>()),
  partnerId: z.optional(
    stringOf(/^\S+$/, 'must be a string without blanks', 'must be a string: leading zeros are significant'),
  ),
  scheme: z.optional(choice(['hmac-sha256', 'ed25519'], 'must be "hmac-sha256" or "ed25519"')),
  wire: z.optional(wireOptions),
  pageSize: z.optional(integer(1)),
  firstPage: z.optional(choice([0, 1], 'must be 0 or 1')),
  spelling: z.optional(choice(['table', 'sample', 'random'], 'must be "table", "sample" or "random"')),
  seed: z.optional(z.custom<number>(Number.isSafeInteger, 'must be an integer')),
  latencyMs: z.optional(pause),
  apiKeys: z.optional(
    inputObject({ sandbox: key, production: key }, 'must be an object with the API keys of the environments'),
  ),
  baseUrls: z.optional(
    inputObject({ sandbox: httpUrl, production: httpUrl }, 'must have the URLs of both environments'),
  ),
  linkBaseUrl: z.optional(httpUrl),
};

const sandboxOptions = inputObject(shape);

/**
 * Checks the options of a sandbox.
 *
 * @throws {HostedConfigError} when an option is invalid; the error names every problem.
 */
export function checkSandboxOptions(options: SandboxOptions): SandboxSettings {
  const { data, issues } = check(sandboxOptions, options);
  if (data === undefined) throw createConfigError(...issues);
  if (data.scheme === 'ed25519' && data.apiKeys !== undefined) {
    throw createConfigError({ path: 'apiKeys', message: 'must be left out if the scheme is "ed25519"' });
  }
  if (data.baseUrls !== undefined && data.baseUrls.sandbox === data.baseUrls.production) {
    throw createConfigError({ path: 'baseUrls', message: 'must have different URLs' });
  }
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
