/**
 * The options of a client and of a call, as given. `settings.ts` has them as checked.
 *
 * @module
 */

import type { HostedEvent, Logger } from './events.js';
import type { WireOptions } from './protocol/assumptions.js';
import type { Clock } from './runtime/clock.js';
import type { Signer } from './signing/signer.js';

/** The environments of the service. */
export const environments = ['sandbox', 'production'] as const;

/** An environment of the service. Keys, links and jobs of one are unknown to the other. */
export type Environment = (typeof environments)[number];

/** Options of {@link HostedClient}. `apiKey` or `signer`: exactly one of the two. */
export interface HostedClientOptions {
  /** The partner id, as text and exactly as the service wrote it: leading zeros are signed. */
  partnerId: string;
  /** The key of the chosen environment; short for `signer: hmacSha256({ apiKey })`. */
  apiKey?: string;
  /** Anything that signs and verifies: `hmacSha256`, `ed25519`, or your own. §5 does not show the scheme. */
  signer?: Signer;
  /** Default `'sandbox'`: production is never reached by leaving something out. */
  environment?: Environment;
  /**
   * The base address of each environment; the chosen one's must be there. `https`, or `http` on
   * loopback; a path is kept, and the version (`/v1`) is added by the client. `http` is refused where the
   * platform's fetch would send it to a proxy of the environment: put the host into `NO_PROXY`.
   */
  baseUrls: Partial<Record<Environment, string | URL>>;
  /** Base addresses for job status alone. Default `baseUrls`: the protocol shows no production address (§4.5). */
  jobStatusBaseUrls?: Partial<Record<Environment, string | URL>>;
  /** An absolute http(s) address, used by `links.create` when `callbackUrl` is left out. Default: none. */
  defaultCallbackUrl?: string;
  /** Milliseconds one attempt may take, its body included. Default 30,000. */
  timeoutMs?: number;
  /** Milliseconds all attempts and waits of one call may take together. Default 120,000. */
  totalTimeoutMs?: number;
  /**
   * How often a call is retried at most, 0 to 100; only where that is safe. Default 2; 0 means one
   * request, whatever happens: one that is signed anew is a retry too.
   */
  maxRetries?: number;
  /**
   * Sends the requests: it is given the address as text, and method, headers, body, `redirect` and
   * signal. It must fail for the request's own reasons alone: one that sends, and then fails to reach
   * something else, looks as if nothing had been sent. Default: the platform's `fetch`, looked up at
   * each call.
   */
  fetch?: typeof globalThis.fetch;
  /**
   * Tells the time, and sleeps. What is fresh is judged by it alone, so it should be right to the minute.
   * Default: the platform's time and timers; durations and time limits are then counted by its monotonic
   * clock.
   */
  clock?: Clock;
  /**
   * `'auto'` corrects the time that is signed by the `Date` header of a response that rejects our
   * authentication, by more than a minute and at most a day, and then repeats the call once; `'off'` never
   * does. What is fresh is judged by `clock` alone. Default `'auto'`.
   */
  clockSkew?: 'auto' | 'off';
  /**
   * How far, in milliseconds and both ways, the timestamp of a signed response may be from now, by `clock`.
   * One that is more than half of it away is a warning in the log, at most once an hour. Default 300,000;
   * `false` accepts any age. §5 shows no window.
   */
  maxResponseAgeMs?: number | false;
  /** The largest body accepted, in bytes after decompression. Default 8 MiB; of an error 64 KiB are read. */
  maxResponseBytes?: number;
  /** Corrections to what is assumed where the protocol is silent. Default: none. */
  wire?: WireOptions;
  /** Receives log lines: no bodies or keys, no ids of people, jobs or links, no addresses. Default: none. */
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

/** Options of a single call; each one overrides the client's for it. */
export interface CallOptions {
  /** Ends the call at once; it then rejects with `signal.reason` itself. */
  signal?: AbortSignal;
  /** Milliseconds one attempt may take, its body included. Default: the client's. */
  timeoutMs?: number;
  /** Milliseconds all attempts and waits may take together. Default: the client's. */
  totalTimeoutMs?: number;
  /** How often the call may be retried, where that is safe; 0 means one request. Default: the client's. */
  maxRetries?: number;
  /** Headers to add; not those that the client or the platform owns (`content-type`, `host`, …). Default: none. */
  headers?: Record<string, string>;
}
