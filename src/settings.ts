/**
 * A client's options, checked once: either every problem in one error, or settings that nothing has
 * to check again.
 *
 * @module
 */

import * as z from 'zod/mini';
import { assumedMaxResponseAgeMs, assumedWire, type Wire } from './assumptions.js';
import { HostedConfigError } from './errors.js';
import type { Logger } from './events.js';
import type { Issue } from './hosted-error.js';
import { duration, httpUrl, maxTimer, wholeNumber } from './input.js';
import { issuesOf } from './issues.js';
import { listIssues } from './messages.js';
import type { Clock, Environment, HostedClientOptions } from './options.js';
import { hmacSha256 } from './signing/hmac-sha256.js';
import { apiKeyIssues } from './signing/keys.js';
import type { Signer } from './signing/signer.js';
import { platformClock, type WaitingClock, waitingClock } from './time.js';
import { platformFetch } from './transport.js';
import { version } from './version.js';

/** Everything a call needs to know of its client. */
export interface Settings {
  readonly partnerId: string;
  readonly signer: Signer;
  readonly environment: Environment;
  /** Without a slash at the end. */
  readonly baseUrls: Readonly<Record<'links' | 'jobs', string>>;
  readonly defaultCallbackUrl: string | undefined;
  readonly timeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxRetries: number;
  readonly fetch: typeof globalThis.fetch;
  readonly clock: WaitingClock;
  readonly clockSkew: 'auto' | 'off';
  readonly maxResponseAgeMs: number | false;
  readonly maxResponseBytes: number;
  readonly wire: Wire;
  readonly logger: Logger | undefined;
  readonly onEvent: HostedClientOptions['onEvent'];
  readonly userAgent: string;
}

/**
 * Checks the options of a client.
 *
 * @throws {HostedConfigError} with every problem, and no text of a key or an address.
 */
export function readSettings(options: HostedClientOptions): Settings {
  const parsed = z.safeParse(clientOptions, options);
  const issues = [
    ...(parsed.success ? [] : issuesOf(parsed.error.issues)),
    ...keyIssues(options),
    ...addressIssues(options),
  ];
  if (!parsed.success || issues.length > 0) {
    throw new HostedConfigError(`Cannot make a client: ${listIssues(issues)}`, issues);
  }
  const checked = parsed.data;
  const environment = checked.environment ?? 'sandbox';
  const base = (urls: BaseUrls | undefined) => urls?.[environment]?.replace(/\/+$/, '');
  const links = base(checked.baseUrls) ?? '';
  const given = checked.fetch as typeof globalThis.fetch | undefined;
  return Object.freeze({
    partnerId: checked.partnerId,
    signer: checked.signer ?? hmacSha256({ apiKey: checked.apiKey ?? '' }),
    environment,
    // §4.5 shows no production address for job status: that of the links is taken.
    baseUrls: { links, jobs: base(checked.jobStatusBaseUrls) ?? links },
    defaultCallbackUrl: checked.defaultCallbackUrl,
    timeoutMs: checked.timeoutMs ?? 30_000,
    totalTimeoutMs: checked.totalTimeoutMs ?? 120_000,
    maxRetries: checked.maxRetries ?? 2,
    fetch: given ?? platformFetch,
    clock: checked.clock ? waitingClock(checked.clock) : platformClock,
    clockSkew: checked.clockSkew ?? 'auto',
    maxResponseAgeMs: checked.maxResponseAgeMs ?? assumedMaxResponseAgeMs,
    maxResponseBytes: checked.maxResponseBytes ?? 8 * 1024 * 1024,
    wire: wireOf(checked.wire ?? {}),
    logger: checked.logger,
    onEvent: checked.onEvent as HostedClientOptions['onEvent'],
    userAgent: ['hosted-client', version].join('/') + (checked.userAgentSuffix ? ` ${checked.userAgentSuffix}` : ''),
  });
}

const aFunction = z.custom<(...given: never[]) => unknown>(
  (value) => typeof value === 'function',
  'must be a function',
);

const baseUrl = z.pipe(
  z.custom<string | URL>((value) => typeof value === 'string' || value instanceof URL, 'must be an address'),
  z.transform((value: string | URL, check) => {
    const url = URL.parse(String(value));
    const message = url ? baseUrlFault(url) : 'must be an absolute address';
    if (message) check.issues.push({ code: 'custom', input: undefined, message });
    return url ? url.origin + url.pathname : '';
  }),
);

const baseUrlsOf = z.strictObject(
  { sandbox: z.optional(baseUrl), production: z.optional(baseUrl) },
  'must be an object with "sandbox" or "production"',
);

type BaseUrls = z.output<typeof baseUrlsOf>;

const timestampFormat = z.enum(['iso', 'epoch-ms', 'epoch-s'], 'must be "iso", "epoch-ms" or "epoch-s"');

const wireOptions = z.strictObject(
  {
    brand: z.optional(
      z.string('must be a text').check(z.regex(/^[a-z][a-z0-9_]{0,31}$/, 'must be a word in small letters')),
    ),
    listMarker: z.optional(
      z.string('must be a text').check(z.regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be letters, digits, "_" or "-"')),
    ),
    firstPage: z.optional(z.literal(['auto', 0, 1], 'must be "auto", 0 or 1')),
    timestampFormat: z.optional(timestampFormat),
    jobTimestampFormat: z.optional(timestampFormat),
    jobSignatureMember: z.optional(z.enum(['sec_key', 'signature'], 'must be "sec_key" or "signature"')),
    echoesTimestamp: z.optional(z.boolean('must be true or false')),
    jobFlags: z.optional(z.enum(['boolean', 'string'], 'must be "boolean" or "string"')),
    namesJob: z.optional(z.boolean('must be true or false')),
  },
  'must be an object',
);

const clientOptions = z.strictObject(
  {
    partnerId: z
      .string('must be a text: leading zeros are part of it')
      .check(z.regex(/^\S+$/, 'must be a text without blanks')),
    apiKey: z.optional(z.string('must be a text')),
    signer: z.optional(z.custom<Signer>(isSigner, 'must have a name, sign() and verify()')),
    environment: z.optional(z.enum(['sandbox', 'production'], 'must be "sandbox" or "production"')),
    baseUrls: baseUrlsOf,
    jobStatusBaseUrls: z.optional(baseUrlsOf),
    defaultCallbackUrl: z.optional(httpUrl),
    timeoutMs: z.optional(duration),
    totalTimeoutMs: z.optional(duration),
    maxRetries: z.optional(wholeNumber(0, 100)),
    fetch: z.optional(aFunction),
    clock: z.optional(z.custom<Clock>(isClock, 'must have now(), and may have sleep()')),
    clockSkew: z.optional(z.enum(['auto', 'off'], 'must be "auto" or "off"')),
    maxResponseAgeMs: z.optional(z.union([z.literal(false), duration], 'must be whole milliseconds, or false')),
    maxResponseBytes: z.optional(wholeNumber(1, maxTimer)),
    wire: z.optional(wireOptions),
    logger: z.optional(z.custom<Logger>(isLogger, 'must have debug(), info(), warn() and error()')),
    onEvent: z.optional(aFunction),
    userAgentSuffix: z.optional(
      z.string('must be a text').check(z.regex(/^[\u0020-\u007e]*$/, 'must be a single line of ASCII')),
    ),
  },
  'must be an object',
);

function wireOf(given: z.output<typeof wireOptions>): Wire {
  const said = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return Object.freeze({ ...assumedWire, ...said });
}

function keyIssues(options: Partial<HostedClientOptions> | null | undefined): readonly Issue[] {
  const { apiKey, signer } = options ?? {};
  if ((apiKey === undefined) === (signer === undefined)) {
    return [{ path: 'apiKey', message: 'or "signer" must be there, and only one of the two' }];
  }
  return typeof apiKey === 'string' ? apiKeyIssues(apiKey, 'apiKey') : [];
}

function addressIssues(options: Partial<HostedClientOptions> | null | undefined): readonly Issue[] {
  const environment = options?.environment ?? 'sandbox';
  if (!options?.baseUrls || options.baseUrls[environment] !== undefined) return [];
  if (environment !== 'sandbox' && environment !== 'production') return [];
  return [{ path: `baseUrls.${environment}`, message: 'must be there: it is the environment of this client' }];
}

function baseUrlFault(url: URL): string | null {
  const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) return 'must be https, or http on loopback';
  if (url.username || url.password) return 'must not have a user or password in it';
  if (url.search || url.hash) return 'must not have a query or fragment';
  if (/\/v1\/*$/.test(url.pathname)) return 'must not end in /v1: the client adds the version';
  return null;
}

function isSigner(value: unknown): boolean {
  const signer = value as Partial<Signer> | null;
  return typeof signer?.name === 'string' && typeof signer.sign === 'function' && typeof signer.verify === 'function';
}

function isClock(value: unknown): boolean {
  const clock = value as Partial<Clock> | null;
  return typeof clock?.now === 'function' && (clock.sleep === undefined || typeof clock.sleep === 'function');
}

function isLogger(value: unknown): boolean {
  const logger = value as Partial<Logger> | null;
  return [logger?.debug, logger?.info, logger?.warn, logger?.error].every((write) => typeof write === 'function');
}
