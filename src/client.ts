/**
 * The client: checks its options and creates the namespaces.
 *
 * @module
 */

import { createCall, onceItSucceeds } from './call/call.js';
import { createClockSkew } from './call/clock-skew.js';
import { type Callbacks, createCallbacks } from './callbacks/callbacks.js';
import { HostedConfigError } from './errors/client-errors.js';
import { listIssues } from './errors/reasons.js';
import { createTelemetry, type Report, type Telemetry } from './events.js';
import { readEnvironment, readSource } from './from-env.js';
import { createJobs, type Jobs } from './jobs/jobs.js';
import { createLinks, type Links } from './links/links.js';
import type { Environment, HostedClientOptions } from './options.js';
import { isBrowser } from './runtime/browser.js';
import { type CheckedOptions, checkOptions, createSettings, findWarnings, readOverrides } from './settings.js';
import { check } from './validation/check.js';
import { functionOf, loggerObject } from './validation/input.js';

/**
 * A client of one environment of the service. It contains a secret key, so keep it on the server.
 *
 * Concurrent calls can share one client. These calls share the client's token bucket for retries, and the known
 * difference between the client's clock and the service's clock.
 *
 * @example The sandbox, with a key from the process's environment
 * ```ts
 * const client = new HostedClient({
 *   partnerId: '085',
 *   apiKey: process.env.HOSTED_API_KEY ?? '',
 *   baseUrls: { sandbox: 'https://sandbox.hosted.test' },
 * });
 * ```
 *
 * @see [§1](../docs/protocol.md#1-what-it-does) of docs/protocol.md
 */
export class HostedClient {
  /**
   * The environment to which this client sends its requests. If the options of a lazy client are missing or invalid,
   * reading this property throws an error. A call would reject with the same error.
   */
  declare readonly environment: Environment;
  /** Hosted verification links. */
  readonly links: Links;
  /** Verification jobs. */
  readonly jobs: Jobs;
  /** Receives the results that the service posts. */
  readonly callbacks: Callbacks;

  /** How a lazy client reads its options; undefined for a client whose options were checked when it was created. */
  readonly #later: LaterOptions | undefined;

  /**
   * Checks the options and creates a client; nothing is sent.
   *
   * @param options - The partner id, a key and a base URL. All other options have defaults.
   * @throws {HostedConfigError} when options are invalid (the error lists every problem), and always in a browser.
   */
  constructor(options: HostedClientOptions) {
    assertNotBrowser();
    const later = laterOptions.get(options);
    const start = onceItSucceeds(() => startClient(later ? later.read() : options));
    // The property of a lazy client is not enumerable, so that JSON and inspection do not read it.
    if (later) Object.defineProperty(this, 'environment', { get: () => start().settings.environment });
    else this.environment = start().settings.environment;
    this.#later = later;
    starts.set(this, start);
    this.links = createLinks(start);
    this.jobs = createJobs(start);
    this.callbacks = createCallbacks(start, later ? createUnstartedTelemetry(later) : start().telemetry);
  }

  /**
   * Creates a client from environment variables:
   * - `HOSTED_PARTNER_ID`;
   * - `HOSTED_API_KEY`, or for Ed25519 `HOSTED_SECRET_KEY` and `HOSTED_SERVICE_PUBLIC_KEY`;
   * - `HOSTED_ENVIRONMENT`: `sandbox` (the default) or `production`;
   * - `HOSTED_SANDBOX_BASE_URL` and `HOSTED_PRODUCTION_BASE_URL`: only the URL of the chosen environment is required;
   * - `HOSTED_SANDBOX_JOB_STATUS_BASE_URL` and `HOSTED_PRODUCTION_JOB_STATUS_BASE_URL`: optional, for job status only;
   * - `HOSTED_LOG`: what the console shows if there is no `logger`. `debug` shows everything, `info` shows warnings,
   *   retries and calls that failed, `warn` (the default) shows warnings, and `off` shows nothing.
   *
   * A lazy client reads and checks the variables with its first call. So a module that creates a lazy client can be
   * built and imported on a machine that has no secrets. While variables are missing or invalid, each call reads them
   * again, and rejects with the error that the constructor would throw. During this time, a handler of callbacks
   * responds with 503, and reports the error to its `onError` and to the `logger` of `overrides`.
   *
   * @param overrides - Options that replace the options from the variables. An undefined option replaces nothing.
   * @param from - Where the variables come from, and when the client reads them.
   * @returns A client. It uses the sandbox, unless `HOSTED_ENVIRONMENT` or `overrides` choose `production`.
   * @throws {HostedConfigError} when variables are missing (the error names them), when an option is invalid, and
   *   always in a browser. With `lazy`, it throws only in a browser, or when `from` is invalid.
   *
   * @example In a module that is also imported without secrets, for example during a Next.js build
   * ```ts
   * export const client = HostedClient.fromEnv({}, { lazy: true });
   * ```
   *
   * @example In a Worker, with its bindings
   * ```ts
   * const client = HostedClient.fromEnv({}, { env: bindings });
   * ```
   */
  static fromEnv(
    overrides: Partial<HostedClientOptions> = {},
    from: {
      /** The variables, by name. Other properties are not read. Default: the variables of the process. */
      env?: object;
      /** Whether the variables are read later, with the first call. Default `false`: they are read now. */
      lazy?: boolean;
    } = {},
  ): HostedClient {
    assertNotBrowser();
    const source = readSource(from);
    const known = readOverrides(overrides);
    const read = () => readEnvironment(known, source.env);
    return source.lazy ? createLazyClient({ read, known }) : createClient(read());
  }

  /**
   * Creates a client with other options. `signer` replaces `apiKey`, and `apiKey` replaces `signer`; an undefined
   * option changes nothing. The new client shares no state with this one: it has its own token bucket, clock correction
   * and memory of the changes that were handed over. If this client is lazy, the new client is lazy, too.
   *
   * @param overrides - The options that differ. Each override replaces a whole option, even if the option is an object
   *   such as `baseUrls`.
   * @returns Another client; this one stays as it is.
   * @throws {HostedConfigError} when an option is invalid, or options contradict each other.
   *
   * @example Production beside the sandbox
   * ```ts
   * const live = client.withOptions({ environment: 'production', apiKey: productionKey });
   * ```
   */
  withOptions(overrides: Partial<HostedClientOptions>): HostedClient {
    const given = readOverrides(overrides);
    const read = () => mergeOptions(optionsOf(this), given);
    if (!this.#later) return createClient(read());
    return createLazyClient({ read, known: { ...this.#later.known, ...given } });
  }
}

// Outside the class: the bundler gives a class that names itself another name.
function createClient(options: HostedClientOptions): HostedClient {
  return new HostedClient(options);
}

// Beside the class, so that inspecting, spreading or serialising a client never shows a key.
const starts = new WeakMap<HostedClient, () => ReturnType<typeof startClient>>();

/**
 * Reads the checked options of a client, for code of this package that uses the client.
 *
 * @internal
 */
export function optionsOf(client: HostedClient): Partial<CheckedOptions> {
  return starts.get(client)?.().options ?? {};
}

/** @throws {HostedConfigError} when options are invalid. */
function startClient(given: unknown) {
  const options = checkOptions(given);
  const settings = createSettings(options);
  const telemetry = createTelemetry(settings.onEvent, settings.logger);
  const warnings = findWarnings(settings);
  if (warnings.length > 0) telemetry.warn(listIssues(warnings));
  const random = Math.random;
  const call = createCall(settings, { telemetry, skew: createClockSkew(settings.clockSkew), random });
  return { options, settings, telemetry, random, call };
}

function mergeOptions(options: Partial<CheckedOptions>, given: Readonly<Record<string, unknown>>): HostedClientOptions {
  const kept = Object.entries(options).filter(
    ([name]) => !(name === 'apiKey' && 'signer' in given) && !(name === 'signer' && 'apiKey' in given),
  );
  return { ...Object.fromEntries(kept), ...given } as unknown as HostedClientOptions;
}

/** How a lazy client reads its options with its first call. */
interface LaterOptions {
  readonly read: () => HostedClientOptions;
  /** The options that are known before, not checked yet. */
  readonly known: Readonly<Record<string, unknown>>;
}

// The constructor of a lazy client gets an empty object in place of options, and finds the reader by it.
const laterOptions = new WeakMap<object, LaterOptions>();

function createLazyClient(later: LaterOptions): HostedClient {
  const inPlaceOfOptions = {};
  laterOptions.set(inPlaceOfOptions, later);
  return createClient(inPlaceOfOptions as HostedClientOptions);
}

/** Creates the functions that report problems of a lazy client that could not be started. */
function createUnstartedTelemetry({ known: { onEvent, logger } }: LaterOptions): Telemetry {
  return createTelemetry(check(functionOf<Report>(), onEvent).data, check(loggerObject, logger).data);
}

function assertNotBrowser(): void {
  if (!isBrowser()) return;
  const message = 'must not run in a browser: it has a secret key, which visitors could read; create it on a server';
  throw new HostedConfigError([{ path: '', message }], { task: 'create HostedClient' });
}
