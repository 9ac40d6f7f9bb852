/**
 * The options of a client and of a call, as the caller gives them. `settings.ts` has the checked options.
 *
 * @module
 */

import type { HostedEvent, Logger } from './events.js';
import type { WireOptions } from './protocol/assumptions.js';
import type { Clock } from './runtime/clock.js';
import type { Signer } from './signing/signer.js';

/** An environment of the service. Each environment has its own keys, links and jobs. */
export type Environment = 'sandbox' | 'production';

// This is a record, so that the compiler reports a missing environment.
const everyEnvironment: Readonly<Record<Environment, true>> = { sandbox: true, production: true };

/** Every environment, by name. */
export const environments = Object.keys(everyEnvironment) as readonly Environment[];

/** Creates a value for each environment. */
export function forEachEnvironment<T>(create: (name: Environment) => T): Readonly<Record<Environment, T>> {
  return Object.fromEntries(environments.map((name) => [name, create(name)])) as Record<Environment, T>;
}

/**
 * Options of {@link HostedClient}. Exactly one of `apiKey` and `signer` is required. Production is never the default:
 * it needs `environment: 'production'` and its base URL.
 */
// The compiler explains a mistake by the last type of a union that has the given property. Up to TypeScript 6, it sorts
// them as they are written and declared, from 7 on by their names: the type that most callers want is the last by both.
export type HostedClientOptions = CommonOptions &
  (SignerInsteadOfApiKey | WithApiKey) &
  (ProductionOptions | SandboxOptions);

/**
 * The client signs with the given `signer`, in place of an API key.
 *
 * @inline
 */
interface SignerInsteadOfApiKey {
  /** Must not be given together with `signer`. */
  apiKey?: undefined;
  /**
   * Signs requests and verifies responses: `hmacSha256`, `ed25519`, or your own. No document of the service shows the
   * signature scheme (§5 of docs/protocol.md).
   */
  signer: Signer;
}

/**
 * The client signs with an API key.
 *
 * @inline
 */
interface WithApiKey {
  /** The key of the chosen environment. This option is short for `signer: hmacSha256({ apiKey })`. */
  apiKey: string;
  /** Must not be given together with `apiKey`. */
  signer?: undefined;
}

/**
 * Production: `environment` is required.
 *
 * @inline
 */
interface ProductionOptions {
  /** The environment to send requests to. */
  environment: 'production';
  /** The base URL of each environment. The base URL of the chosen environment is required. */
  baseUrls: {
    /** The base URL of production. */
    production: string | URL;
    /** The base URL of the sandbox. */
    sandbox?: string | URL;
  };
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
   * The base URL of each environment. The URL of the chosen environment is required. It must be `https`, or `http` on
   * loopback. The client keeps the path of the URL, and adds the version (`/v1`) to it. Environment variables can make
   * the platform's fetch send requests through a proxy. In this case, a URL on loopback is rejected: add its host to
   * `NO_PROXY`.
   */
  baseUrls: {
    /** The base URL of the sandbox. */
    sandbox: string | URL;
    /** The base URL of production. */
    production?: string | URL;
  };
}

/**
 * The options that do not depend on the key or the environment.
 *
 * @inline
 */
interface CommonOptions {
  /** The partner id as a string, exactly as the service gave it to you: keep leading zeros. */
  partnerId: string;
  /**
   * Base URLs for job status only. Default: `baseUrls`, because the protocol shows no production URL for job status
   * (§4.5).
   */
  jobStatusBaseUrls?: Partial<Record<Environment, string | URL>>;
  /** The absolute http(s) URL that `links.create` uses if its `callbackUrl` is left out. Default: none. */
  defaultCallbackUrl?: string;
  /** The time limit of one attempt, including the body of the response, in milliseconds. Default 30,000. */
  timeoutMs?: number;
  /** The time limit of all attempts of one call and the pauses between them, in milliseconds. Default 120,000. */
  totalTimeoutMs?: number;
  /**
   * The maximum number of retries of a call, 0 to 100. A call is retried only if a second request is safe. Default 2.
   * With 0, exactly one request is sent. Then there is also no retry with a new signature.
   */
  maxRetries?: number;
  /**
   * A custom fetch: the fetch of the platform or of undici, or your own. It receives the URL as a string, and an object
   * with method, headers, body, `redirect`, `cache` and signal. It must reject only when the request itself fails. If it
   * throws after sending, for example in a logging call, the client may conclude that nothing was sent, and send the
   * request again. Default: the platform's `fetch`, looked up at each call.
   *
   * @param url - The URL.
   * @param init - The request.
   * @returns The response.
   */
  fetch?: (url: string, init: FetchInit) => Promise<FetchResponse>;
  /**
   * A source of the time, and a way to sleep. Only this clock is used to compute the age of signatures, so it should be
   * wrong by less than a minute. Default: the platform's time and timers, with its monotonic clock for durations and
   * time limits.
   */
  clock?: Clock;
  /**
   * Whether the client corrects the time that it signs. With `'auto'`, the client corrects the time after a response
   * that rejects the signature. The client does this only if the `Date` header of this response differs from `clock` by
   * more than a minute, and by at most a day. The call is then retried once, with the corrected time. Later requests
   * are also signed with the corrected time. With `'off'`, the time is never corrected. In both cases, the age of
   * responses is computed only with `clock`. Default `'auto'`.
   */
  clockSkew?: 'auto' | 'off';
  /**
   * The largest accepted difference between the timestamp of a signed response and the time of `clock`, in
   * milliseconds. The timestamp may be in the past or in the future. If a difference is larger than half of this limit,
   * a warning is logged, at most once an hour. Default 300,000; `false` accepts any age. §5 of docs/protocol.md does
   * not show a limit.
   */
  maxResponseAgeMs?: number | false;
  /**
   * The largest body that is accepted, in bytes after decompression. Default 8 MiB. At most 64 KiB of an error response
   * are read.
   */
  maxResponseBytes?: number;
  /**
   * Where your service differs from what this package assumes, such as its brand word in paths (`brand`). You need it
   * only if the paths or fields that your service documents differ. The command `sandbox` has flags for most of them, to
   * try them. Default: none.
   */
  wire?: WireOptions;
  /**
   * Receives log lines. They have no bodies, no keys, no URLs, and no ids of people, jobs or links. Default: warnings
   * go to the platform's `console.warn`. A process shows the same warning at most once a minute. See also `HOSTED_LOG`
   * at {@link HostedClient.fromEnv}.
   */
  logger?: Logger;
  /**
   * Receives events during calls, for metrics and traces. Errors of this function are ignored.
   *
   * @param event - What happened.
   */
  onEvent?: (event: HostedEvent) => void;
  /** A string to append to the `user-agent` header: a single line of ASCII. Default: nothing. */
  userAgentSuffix?: string;
}

/** The request that a custom `fetch` receives. */
export interface FetchInit {
  /** `POST` or `PUT`. */
  method: string;
  /** The headers, by name in lower case. */
  headers: Record<string, string>;
  /** The body, as JSON. Send it unchanged. */
  body: string;
  /** A redirect must not be followed, because its target could use the signature. */
  redirect: 'manual';
  /**
   * A framework such as Next must not store the response, which may have personal data. Missing on platforms whose fetch
   * does not take it.
   */
  cache?: 'no-store';
  /** Aborts when the caller's signal aborts, or when a time limit is reached. */
  signal: AbortSignal;
}

/** The parts of a `Response` that the client reads. A custom `fetch` must resolve with at least these. */
export interface FetchResponse {
  /** The HTTP status. */
  readonly status: number;
  /** Whether the status is one of the 2xx. */
  readonly ok: boolean;
  /** Whether a redirect was followed. If true, the response is rejected. */
  readonly redirected: boolean;
  /** The type of the response. A response of type `'opaqueredirect'` is rejected. */
  readonly type: string;
  /** The URL that the response came from. */
  readonly url: string;
  /** The headers. */
  readonly headers: {
    /**
     * Reads a header.
     *
     * @param name - The header's name, in upper or lower case.
     * @returns Its value; null if there is none.
     */
    get(name: string): string | null;
  };
  /** The body, decompressed; null if there is none. */
  readonly body: {
    /**
     * Begins to read.
     *
     * @returns A reader of bytes.
     */
    getReader(): unknown;
    /**
     * Cancels the rest of the body.
     */
    cancel(): Promise<void>;
  } | null;
}

/**
 * Options of a single call. For this call, an option overrides the client's option of the same name, if there is one.
 */
export interface CallOptions {
  /** If this signal aborts, the call ends at once. The call then rejects with `signal.reason` itself. */
  signal?: AbortSignal;
  /** The time limit of one attempt, including the body of the response, in milliseconds. Default: the client's. */
  timeoutMs?: number;
  /** The time limit of all attempts and the pauses between them, in milliseconds. Default: the client's. */
  totalTimeoutMs?: number;
  /**
   * The maximum number of retries of the call. A call is retried only if a second request is safe. With 0, exactly one
   * request is sent. Default: the client's.
   */
  maxRetries?: number;
  /**
   * Headers to add; `accept` and `user-agent` replace the client's headers. Headers about the body or the connection,
   * such as `content-type` and `host`, are not allowed. Default: none.
   */
  headers?: Record<string, string>;
}
