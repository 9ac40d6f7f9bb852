/**
 * The client: checks its options and creates the namespaces.
 *
 * @module
 */

import { createCall } from './call/call.js';
import { createClockSkew } from './call/clock-skew.js';
import { type Callbacks, createCallbacks } from './callbacks/callbacks.js';
import { HostedConfigError } from './errors/errors.js';
import { createTelemetry } from './events.js';
import { readEnvironment } from './from-env.js';
import { createJobs, type Jobs } from './jobs/jobs.js';
import { createLinks, type Links } from './links/links.js';
import type { Environment, HostedClientOptions } from './options.js';
import { isBrowser } from './runtime/browser.js';
import { type CheckedOptions, checkOptions, createSettings, readOverrides } from './settings.js';

/**
 * A client of one environment of the service. It holds a secret key: keep it on the server.
 *
 * One client is safe to share between concurrent calls. They share a token bucket of retries, and what is
 * learnt of the service's clock.
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
 * @see §1 of docs/protocol.md
 */
export class HostedClient {
  /** The environment this client sends its requests to. */
  readonly environment: Environment;
  /** Hosted verification links. */
  readonly links: Links;
  /** Verification jobs. */
  readonly jobs: Jobs;
  /** Results that the service posts. */
  readonly callbacks: Callbacks;

  // Private, so that no inspection, spread or JSON of a client shows a key.
  readonly #options: CheckedOptions;

  /**
   * Checks the options and creates a client; nothing is sent.
   *
   * @param options - The partner id, a key and a base URL; the rest has defaults.
   * @throws {HostedConfigError} when options are invalid, with every problem at once; in a browser always.
   */
  constructor(options: HostedClientOptions) {
    assertNotBrowser();
    this.#options = checkOptions(options);
    const settings = createSettings(this.#options);
    const telemetry = createTelemetry(settings.onEvent, settings.logger);
    const skew = createClockSkew(settings.clockSkew);
    const random = Math.random;
    const call = createCall(settings, { telemetry, skew, random });
    this.environment = settings.environment;
    this.links = createLinks(call, settings);
    this.jobs = createJobs(call, settings, { telemetry, random });
    this.callbacks = createCallbacks(call, settings, telemetry);
  }

  /**
   * Creates a client from environment variables: `HOSTED_PARTNER_ID`, `HOSTED_API_KEY` (or
   * `HOSTED_SECRET_KEY` and `HOSTED_SERVICE_PUBLIC_KEY` for Ed25519), `HOSTED_ENVIRONMENT`,
   * `HOSTED_SANDBOX_BASE_URL`, `HOSTED_PRODUCTION_BASE_URL`.
   *
   * @param overrides - Options that replace those of the variables; one that is undefined replaces nothing.
   * @returns A client, of the sandbox unless `HOSTED_ENVIRONMENT` is `production`.
   * @throws {HostedConfigError} when variables are missing, which it names, or an option is invalid.
   *
   * @example With a logger
   * ```ts
   * const client = HostedClient.fromEnv({ logger: console });
   * ```
   */
  static fromEnv(overrides: Partial<HostedClientOptions> = {}): HostedClient {
    assertNotBrowser();
    return new HostedClient(readEnvironment(overrides));
  }

  /**
   * Creates a client with other options. `signer` replaces `apiKey`, and the reverse; an option that is
   * undefined changes nothing. The new client shares nothing with this one: not the retries, not what
   * was learnt of the service's clock, not which callbacks were received.
   *
   * @param overrides - The options that differ. Each replaces the whole option: `baseUrls` too.
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
    const kept = Object.entries(this.#options).filter(
      ([name]) => !(name === 'apiKey' && 'signer' in given) && !(name === 'signer' && 'apiKey' in given),
    );
    return new HostedClient({ ...Object.fromEntries(kept), ...given } as unknown as HostedClientOptions);
  }
}

function assertNotBrowser(): void {
  if (!isBrowser()) return;
  const message = 'must not run in a browser: it has a secret key, which visitors could read; create it on a server';
  throw new HostedConfigError([{ path: '', message }], { task: 'create HostedClient' });
}
