/**
 * Checks the options of a client. If they are invalid, throws one error with every problem. Otherwise returns settings
 * that need no more checks. `options.ts` has the types of the options that the caller passes.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedConfigError } from './errors/client-errors.js';
import type { Issue } from './errors/hosted-error.js';
import { type Environment, environments, forEachEnvironment, type HostedClientOptions } from './options.js';
import { assumedMaxResponseAgeMs, completeWire } from './protocol/assumptions.js';
import { findCallbackUrlProblem, isLoopback, isPublicUrl } from './protocol/http-url.js';
import { type Clock, createPlatformClock, createWaitingClock } from './runtime/clock.js';
import { usesEnvProxy } from './runtime/env-proxy.js';
import { isBlockedPort, platformFetch } from './runtime/fetch.js';
import { hasMethods, isRecord, readProperty, tryCopyProperties } from './runtime/untrusted-objects.js';
import { verifiesOwnSignatures } from './signing/ed25519.js';
import { hmacSha256, keyWarningsOf } from './signing/hmac-sha256.js';
import { findApiKeyIssues } from './signing/keys.js';
import type { Signer } from './signing/signer.js';
import { check, inputObject } from './validation/check.js';
import {
  anyString,
  choice,
  duration,
  durationOr,
  flag,
  functionOf,
  httpUrl,
  integer,
  loggerObject,
  maxBodyLimit,
  pastedString,
  stringOf,
} from './validation/input.js';
import { findPastedProblemOfPlain } from './validation/pasted.js';

/** The package's version, as in the `user-agent` header. */
export const version = '1.0.0';

/** Everything that a call needs to know about its client. */
export type Settings = ReturnType<typeof createSettings>;

/**
 * A client's options after the check. The object itself, `baseUrls`, `jobStatusBaseUrls` and `wire` are copies, so a
 * later change by the caller has no effect. Functions, and objects with methods (`signer`, `clock`, `logger`), are the
 * caller's own.
 */
export type CheckedOptions = z.output<typeof clientOptions>;

/**
 * Checks the options of a client.
 *
 * @throws {HostedConfigError} when the input is invalid. The error lists every problem. The error shows no part of a
 * key or a URL.
 */
export function checkOptions(options: unknown): CheckedOptions {
  const { data, issues } = check(clientOptions, options);
  // Contradictions are found between wrong options, too, so that all problems are reported at once.
  const given = data ?? tryCopyProperties(Object(options), optionNames);
  const conflicts = given ? [...findConflicts(given), ...findFetchIssues(data)] : [];
  if (data && conflicts.length === 0) return data;
  throw new HostedConfigError([...issues, ...conflicts], { task: 'create HostedClient' });
}

/** Copies the options of `overrides`, except undefined ones. */
export function readOverrides(overrides: unknown): Readonly<Record<string, unknown>> {
  const given = tryCopyProperties(Object(overrides ?? {}), optionNames);
  if (given === null) {
    const issues = [{ path: '', message: 'must have properties that can be read: reading one of them threw an error' }];
    throw new HostedConfigError(issues, { task: 'create HostedClient' });
  }
  for (const name of optionNames) if (given[name] === undefined) delete given[name];
  return given;
}

/** Creates the settings from checked options, and adds the defaults. */
export function createSettings(checked: CheckedOptions) {
  const environment = checked.environment ?? 'sandbox';
  const links = checked.baseUrls[environment] ?? '';
  return Object.freeze({
    partnerId: checked.partnerId,
    signer: checked.signer ?? hmacSha256({ apiKey: checked.apiKey ?? '' }),
    environment,
    /** The other environments that have a base URL. */
    otherEnvironments: environments.filter((name) => name !== environment && checked.baseUrls[name] !== undefined),
    /** The base URLs, without a slash at the end. §4.5 shows no production URL for job status, so that of links is used. */
    baseUrls: Object.freeze({ links, jobs: checked.jobStatusBaseUrls?.[environment] ?? links }),
    defaultCallbackUrl: checked.defaultCallbackUrl,
    timeoutMs: checked.timeoutMs ?? 30_000,
    totalTimeoutMs: checked.totalTimeoutMs ?? 120_000,
    maxRetries: checked.maxRetries ?? 2,
    fetch: checked.fetch ?? platformFetch,
    clock: checked.clock ? createWaitingClock(checked.clock) : createPlatformClock(),
    clockSkew: checked.clockSkew ?? 'auto',
    maxResponseAgeMs: checked.maxResponseAgeMs ?? assumedMaxResponseAgeMs,
    maxResponseBytes: checked.maxResponseBytes ?? 8 * 1024 * 1024,
    wire: completeWire(checked.wire),
    logger: checked.logger,
    onEvent: checked.onEvent,
    userAgent: `hosted-client/${version}${checked.userAgentSuffix ? ` ${checked.userAgentSuffix}` : ''}`,
  });
}

/** Finds options with which a client can work, but which are probably mistakes. */
export function findWarnings({ signer, baseUrls, defaultCallbackUrl }: Settings): readonly Issue[] {
  const isPublic = isPublicUrl(baseUrls.links);
  const ofKey = keyWarningsOf(signer).filter(({ kind }) => isPublic || kind === 'copied');
  const ofUrl = defaultCallbackUrl === undefined ? null : findCallbackUrlProblem(defaultCallbackUrl, baseUrls.links);
  return [
    ...ofKey.map(({ message }) => ({ path: 'apiKey', message })),
    ...(ofUrl === null ? [] : [{ path: 'defaultCallbackUrl', message: ofUrl }]),
  ];
}

const baseUrl = z.pipe(
  z.custom<string | URL>((value) => typeof value === 'string' || value instanceof URL, 'must be a string or a URL'),
  z.transform((value: string | URL, check) => {
    const url = URL.parse(String(value));
    const problem = url ? baseUrlProblemOf(url) : 'must be an absolute URL';
    const message = findPastedProblemOfPlain(String(value)) ?? problem;
    if (message) check.issues.push({ code: 'custom', input: undefined, message });
    return url ? url.origin + trimTrailingSlashes(url.pathname) : '';
  }),
);

/** `"sandbox" or "production"` */
export const oneOfEnvironments = environments.map((name) => `"${name}"`).join(' or ');

/** A URL to show in messages. */
export function exampleUrl(environment: Environment): string {
  return `https://${environment}.example.com`;
}

const baseUrlMap = inputObject(
  forEachEnvironment(() => z.optional(baseUrl)),
  `must be an object with the URL of each environment, such as { sandbox: "${exampleUrl('sandbox')}" }`,
);

const timestampFormat = choice(['iso', 'epoch-ms', 'epoch-s'], 'must be "iso", "epoch-ms" or "epoch-s"');

/** The schema of `wire`, the options about details that the protocol does not show. */
export const wireOptions = inputObject({
  brand: z.optional(stringOf(/^[a-z][a-z0-9_]{0,31}$/, 'must be a word in lower case')),
  listMarker: z.optional(stringOf(/^[A-Za-z0-9_-]{1,128}$/, 'must be letters, digits, "_" or "-"')),
  firstPage: z.optional(choice(['auto', 0, 1], 'must be "auto", 0 or 1')),
  timestampFormat: z.optional(timestampFormat),
  jobTimestampFormat: z.optional(timestampFormat),
  jobSignatureMember: z.optional(choice(['sec_key', 'signature'], 'must be "sec_key" or "signature"')),
  echoesTimestamp: z.optional(flag),
  jobFlags: z.optional(choice(['boolean', 'string'], 'must be "boolean" or "string"')),
  namesJob: z.optional(flag),
});

const mustReturnTime = 'must return the time as a finite number of milliseconds';

const optionShape = {
  partnerId: pastedString<string>(
    (value) => typeof value === 'string' && /^\S+$/.test(value),
    'must be a string without blanks',
    'must be a string: leading zeros are significant',
  ),
  apiKey: z.optional(anyString),
  signer: z.optional(
    z.custom<Signer>(
      (value) => hasMethods(value, 'sign', 'verify') && typeof readProperty(value, 'name') === 'string',
      'must have a name, sign() and verify()',
    ),
  ),
  environment: z.optional(choice(environments, `must be ${oneOfEnvironments}`)),
  baseUrls: baseUrlMap,
  jobStatusBaseUrls: z.optional(baseUrlMap),
  defaultCallbackUrl: z.optional(httpUrl),
  timeoutMs: z.optional(duration),
  totalTimeoutMs: z.optional(duration),
  maxRetries: z.optional(integer(0, 100)),
  fetch: z.optional(functionOf<NonNullable<HostedClientOptions['fetch']>>()),
  clock: z.optional(z.pipe(z.custom<Clock>(isClock, 'must have now(), and may have sleep()'), z.transform(toClock))),
  clockSkew: z.optional(choice(['auto', 'off'], 'must be "auto" or "off"')),
  maxResponseAgeMs: z.optional(durationOr(false, 'must be an integer of milliseconds, or false')),
  maxResponseBytes: z.optional(integer(1, maxBodyLimit)),
  wire: z.optional(wireOptions),
  logger: z.optional(loggerObject),
  onEvent: z.optional(functionOf<NonNullable<HostedClientOptions['onEvent']>>()),
  userAgentSuffix: z.optional(stringOf(/^[\u0020-\u007e]*$/, 'must be a single line of ASCII')),
} satisfies Record<keyof HostedClientOptions, unknown>;

const optionNames = Object.keys(optionShape);

const clientOptions = inputObject(optionShape);

/** Finds options that contradict each other. Each may have the wrong type. */
function findConflicts({
  apiKey,
  signer,
  environment = 'sandbox',
  baseUrls,
}: { readonly [Name in keyof HostedClientOptions]?: unknown }): readonly Issue[] {
  const issues: Issue[] = [];
  if ((apiKey === undefined) === (signer === undefined)) {
    issues.push({ path: 'apiKey', message: apiKey === undefined ? mustHaveKey : mustHaveOneKey });
  } else if (typeof apiKey === 'string') {
    issues.push(...findApiKeyIssues(apiKey, 'apiKey'));
  }
  if (verifiesOwnSignatures(signer as Signer)) issues.push({ path: 'signer.servicePublicKey', message: mustNotBeOwn });
  const name = environments.find((known) => known === environment);
  if (name && isRecord(baseUrls) && readProperty(baseUrls, name) === undefined) {
    const message = `must be set: this client needs the URL of its environment, such as "${exampleUrl(name)}"`;
    issues.push({ path: `baseUrls.${name}`, message });
  }
  return issues;
}

// A proxy would look for a service on its own machine. With http, which is allowed only on loopback, others could also
// read the signature on the way. A custom fetch may connect in any way, so it is not checked.
function findFetchIssues(checked: CheckedOptions | undefined): readonly Issue[] {
  if (!checked || (checked.fetch !== undefined && checked.fetch !== globalThis.fetch)) return [];
  const { environment = 'sandbox', baseUrls, jobStatusBaseUrls } = checked;
  return Object.entries({ baseUrls, jobStatusBaseUrls }).flatMap(([name, urls]) => {
    const url = URL.parse(urls?.[environment] ?? '');
    if (!url) return [];
    const isProxied = isLoopback(url.hostname) && usesEnvProxy(url.href);
    const messages = [isBlockedPort(url.port) && mustHaveAnotherPort, isProxied && mustNotBeProxied];
    return messages.filter((text) => text !== false).map((message) => ({ path: `${name}.${environment}`, message }));
  });
}

const mustHaveKey = 'must be set, unless "signer" is set instead';
const mustHaveOneKey = 'must not be given together with "signer": leave out one of the two';

const mustNotBeOwn = 'must be the public key that the service gave you: this is your own, which belongs to "secretKey"';
const mustHaveAnotherPort = 'must have another port: fetch connects to no service at this one';

const mustNotBeProxied =
  'leads to this machine, but an environment variable sets a proxy for it: add its host to NO_PROXY';

function baseUrlProblemOf(url: URL): string | null {
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return 'must be https, or http on loopback';
  if (url.username || url.password) return 'must not have a user or password in it';
  if (url.search || url.hash) return 'must not have a query or fragment';
  if (trimTrailingSlashes(url.pathname).endsWith('/v1')) return 'must not end in /v1: the client adds the version';
  return null;
}

// A regular expression for slashes at the end would be slow: its time grows with the square of their number.
function trimTrailingSlashes(path: string): string {
  let end = path.length;
  while (path.endsWith('/', end)) end -= 1;
  return path.slice(0, end);
}

function isClock(value: unknown): boolean {
  return hasMethods(value, 'now') && (readProperty(value, 'sleep') === undefined || hasMethods(value, 'sleep'));
}

// A clock may fail after the check of the options, so the result of each `now()` is checked: with NaN, every comparison
// is false, and a deadline would never be reached. `sleep` is always an own property, so that a polluted prototype
// cannot add one. It is undefined if the caller's clock has none.
function toClock(clock: Clock, { issues }: z.core.ParsePayload): Clock {
  const sleep = (ms: number, signal?: AbortSignal) => clock.sleep?.(ms, signal);
  const readFinite = () => {
    const now = clock.now();
    if (Number.isFinite(now)) return now;
    throw new HostedConfigError([{ path: 'clock', message: mustReturnTime }], { task: 'read the time' });
  };
  try {
    readFinite();
  } catch {
    issues.push({ code: 'custom', input: undefined, message: mustReturnTime });
  }
  return { now: readFinite, sleep: hasMethods(clock, 'sleep') ? sleep : undefined } as Clock;
}
