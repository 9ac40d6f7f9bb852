/**
 * The options of a client and of a call, as given. `settings.ts` has them as checked.
 *
 * @module
 */

import type { HostedEvent, Logger } from './events.js';
import type { WireOptions } from './protocol/assumptions.js';
import type { Clock } from './runtime/clock.js';
import type { Signer } from './signing/signer.js';

/** An environment of the service. Keys, links and jobs of one are unknown to the other. */
export type Environment = 'sandbox' | 'production';

// A record, so that the compiler refuses one that is left out.
const everyEnvironment: Readonly<Record<Environment, true>> = { sandbox: true, production: true };

/** Every environment, by name. */
export const environments = Object.keys(everyEnvironment) as readonly Environment[];

/**
 * Options of {@link HostedClient}. `apiKey` or `signer`: exactly one of the two. `environment: 'production'` with
 * the base URL of production: it is never the default.
 */
export type HostedClientOptions = CommonOptions &
  (ApiKeyOption | SignerInsteadOfApiKey) &
  (SandboxOptions | ProductionOptions);

/**
 * Signs with an API key.
 *
 * @inline
 */
interface ApiKeyOption {
  /** The key of the chosen environment; short for `signer: hmacSha256({ apiKey })`. */
  apiKey: string;
  /** Not with an `apiKey`. */
  signer?: undefined;
}

/**
 * Signs otherwise.
 *
 * @inline
 */
interface SignerInsteadOfApiKey {
  /** Not with a `signer`. */
  apiKey?: undefined;
  /** Signs requests and verifies responses: `hmacSha256`, `ed25519`, or your own. §5 does not show the scheme. */
  signer: Signer;
}

/**
 * The sandbox, which is the default.
 *
 * @inline
 */
interface SandboxOptions {
  /** The environment to send requests to. Default `'sandbox'`: production is never the default. */
  environment?: 'sandbox';
  /**
   * The base URL of each environment; that of the chosen one is required. `https`, or `http` on loopback; a
   * path is kept, and the client adds the version (`/v1`). `http` is rejected where environment variables
   * make the platform's fetch use a proxy for it: put the host into `NO_PROXY`.
   */
  baseUrls: {
    /** The base URL of the sandbox. */
    sandbox: string | URL;
    /** The base URL of production. */
    production?: string | URL;
  };
}

/**
 * Production, which has to be named.
 *
 * @inline
 */
interface ProductionOptions {
  /** The environment to send requests to. */
  environment: 'production';
  /** The base URL of each environment; that of the chosen one is required. */
  baseUrls: {
    /** The base URL of production. */
    production: string | URL;
    /** The base URL of the sandbox. */
    sandbox?: string | URL;
  };
}

/**
 * What is the same for each key and environment.
 *
 * @inline
 */
interface CommonOptions {
  /** The partner id as a string, exactly as the service wrote it: leading zeros are significant. */
  partnerId: string;
  /** Base URLs for job status alone. Default `baseUrls`: the protocol shows no production URL (§4.5). */
  jobStatusBaseUrls?: Partial<Record<Environment, string | URL>>;
  /** The callback URL of `links.create` when its `callbackUrl` is left out: absolute http(s). Default: none. */
  defaultCallbackUrl?: string;
  /** The time limit of one attempt, including its body, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** The time limit of all attempts of one call and the pauses between them, in milliseconds. Default 120,000. */
  totalTimeoutMs?: number;
  /**
   * How often a call is retried at most, 0 to 100; only where that is safe. Default 2; 0 always means one
   * request: sending it again with a new signature is a retry too.
   */
  maxRetries?: number;
  /**
   * Custom fetch: that of the platform or of undici, or your own. It is given the URL as a string, and method,
   * headers, body, `redirect` and signal. It must
   * reject only when the request itself fails: an error thrown after sending (for example by a logging call)
   * may be taken for "not sent" and be retried. Default: the platform's `fetch`, looked up at each call.
   *
   * @param url - The URL.
   * @param init - The request.
   * @returns The response.
   */
  fetch?: (url: string, init: FetchInit) => Promise<FetchResponse>;
  /**
   * The time, and a way to sleep. The age of signatures is checked by it alone, so it should be right to the
   * minute. Default: the platform's time and timers; durations and time limits then use its monotonic clock.
   */
  clock?: Clock;
  /**
   * `'auto'`: when the service rejects our authentication and its `Date` header differs by more than a minute
   * and at most a day, requests are signed with its time, and the call is retried once. `'off'`: never. The
   * age of responses is checked by `clock` alone. Default `'auto'`.
   */
  clockSkew?: 'auto' | 'off';
  /**
   * How far, in milliseconds and both ways, the timestamp of a signed response may be from now, by `clock`.
   * More than half of it logs a warning, at most once an hour. Default 300,000; `false` accepts any age. §5
   * shows no window.
   */
  maxResponseAgeMs?: number | false;
  /** The largest body accepted, in bytes after decompression. Default 8 MiB; of an error 64 KiB are read. */
  maxResponseBytes?: number;
  /** Corrections to what is assumed where the protocol is silent. Default: none. */
  wire?: WireOptions;
  /**
   * Receives log lines: no bodies or keys, no ids of people, jobs or links, no URLs. Default: warnings go to the
   * platform's `console.warn`, each at most once a minute in a process; see `HOSTED_LOG` at
   * {@link HostedClient.fromEnv}.
   */
  logger?: Logger;
  /**
   * Receives what happens during calls, for metrics and traces. What it throws is ignored.
   *
   * @param event - What happened.
   */
  onEvent?: (event: HostedEvent) => void;
  /** Appended to the `user-agent` header: a single line of ASCII. Default: nothing. */
  userAgentSuffix?: string;
}

/** The request that a custom `fetch` is given. */
export interface FetchInit {
  /** `POST` or `PUT`. */
  method: string;
  /** The headers, by name in lower case. */
  headers: Record<string, string>;
  /** JSON: the text that was signed is the text to send. */
  body: string;
  /** A redirect is not to be followed: its target could use the signature. */
  redirect: 'manual';
  /** Aborts at the end of the call and at its time limits. */
  signal: AbortSignal;
}

/** As little of a `Response` as is read of what a custom `fetch` resolves with. */
export interface FetchResponse {
  /** The HTTP status. */
  readonly status: number;
  /** Whether the status is one of the 2xx. */
  readonly ok: boolean;
  /** Whether a redirect was followed: it is then rejected. */
  readonly redirected: boolean;
  /** `'opaqueredirect'` is rejected. */
  readonly type: string;
  /** The URL that responded. */
  readonly url: string;
  /** The headers. */
  readonly headers: {
    /**
     * Reads a header.
     *
     * @param name - Its name, in any case.
     * @returns Its value; null where there is none.
     */
    get(name: string): string | null;
  };
  /** The body, decompressed; null where there is none. */
  readonly body: {
    /**
     * Begins to read.
     *
     * @returns A reader of bytes.
     */
    getReader(): unknown;
    /**
     * Gives up the rest of the body.
     */
    cancel(): Promise<void>;
  } | null;
}

/** Options of a single call; each one overrides the client's for it. */
export interface CallOptions {
  /** Ends the call at once; it then rejects with `signal.reason` itself. */
  signal?: AbortSignal;
  /** The time limit of one attempt, including its body, in milliseconds. Default: the client's. */
  timeoutMs?: number;
  /** The time limit of all attempts and the pauses between them, in milliseconds. Default: the client's. */
  totalTimeoutMs?: number;
  /** How often the call may be retried, where that is safe; 0 means one request. Default: the client's. */
  maxRetries?: number;
  /** Headers to add; not those that the client or the platform sets (`content-type`, `host`, …). Default: none. */
  headers?: Record<string, string>;
}
