/**
 * The public types of the sandbox.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { IdType } from '../links/types.js';
import type { Environment, HostedClientOptions } from '../options.js';
import type { OperationName } from '../protocol/routes.js';
import type { MockFault, MockService, MockServiceOptions } from '../testing/types.js';

/** Options of {@link startSandbox}: the options of the testing kit's service, and options of the server. */
export interface SandboxOptions extends Omit<MockServiceOptions, 'clock'> {
  /**
   * The base URLs that clients use, such as the URLs of a proxy in front of the sandbox. Default for an environment that
   * is left out: the sandbox's own URL.
   */
  baseUrls?: Partial<Readonly<Record<Environment, string>>>;
  /**
   * The beginning of the URL of every link. Default: `/links` of the sandbox, at the first IPv4 address of this machine
   * if the sandbox listens on all its addresses.
   */
  linkBaseUrl?: string;
  /**
   * The port. If it is 0, the sandbox chooses a free port. If the port is in use, the start fails with an error that
   * contains the port. Default 4085.
   */
  port?: number;
  /**
   * The address to listen on: `'0.0.0.0'` for all addresses of this machine. If it is not a loopback address, anyone on
   * the network can use the sandbox, and a warning is emitted. Default `'127.0.0.1'`.
   */
  host?: string;
  /**
   * Further values that the sandbox accepts in the header `Host` of requests: names with or without a port.
   * `localhost`, `127.0.0.1` and `[::1]` are always allowed, and so are the addresses that the sandbox listens on. A
   * request with any other `Host` gets 421. Default: none.
   */
  allowedHosts?: readonly string[];
  /**
   * Hosts that callbacks may be posted to: names or IP addresses. This machine is always allowed. A name that is not in
   * this list is allowed only if it resolves to this machine or to a listed IP address. Default: none.
   */
  callbackHosts?: readonly string[];
  /**
   * The callback URL for links that have none. It must be an absolute http(s) URL. Default: the results of such links
   * are not posted.
   */
  defaultCallbackUrl?: string;
  /**
   * The pauses before a failed callback is posted again, in milliseconds. Default: `[1_000, 5_000, 25_000, 120_000]`.
   */
  callbackRetriesMs?: readonly number[];
  /**
   * The size of the callbacks that have pictures in reality: those with the result code 0810, 0811 or 1012. In bytes;
   * default 1,500,000, which is the largest that was seen. With 0, no callback has a picture.
   */
  callbackBytes?: number;
  /** How long a review lasts, from "under review" to the final result, in milliseconds. Default 3,000. */
  reviewMs?: number;
  /**
   * The share of requests that get a response with status 503: a number from 0 to 1. The option `seed` determines which
   * requests these are. Default 0.
   */
  failureRate?: number;
  /**
   * The seed of the random numbers for ids, `failureRate` and `spelling: 'random'`: an integer. With the same seed, a
   * restarted sandbox hands out the same ids, which a receiver that kept running takes for repeats. Default: drawn at
   * each start.
   */
  seed?: number;
  /** The folder in which links, jobs and callbacks are kept, so that they survive a restart. Default: only in memory. */
  folder?: string;
  /**
   * The largest number of entries that each of the lists `requests` and `callbacks` keeps: an integer of 0 or more.
   * Default 1,000.
   */
  keepRequests?: number;
  /**
   * Whether the console shows the bodies of requests, responses and callbacks. They are kept only in memory, 8 MB in all,
   * without keys and signatures. Default true; false if `host` is not a loopback address, because then others can read
   * them.
   */
  keepBodies?: boolean;
  /**
   * Called with every request to the service, after its response was created. Errors that this function throws are
   * ignored.
   *
   * @param request - The request.
   */
  onRequest?: (request: SandboxRequest) => void;
  /**
   * Called with a callback after each of its deliveries. Errors that this function throws are ignored.
   *
   * @param callback - The callback.
   */
  onCallback?: (callback: SandboxCallback) => void;
}

/**
 * How a verification can end, with the result codes that the service reports:
 * - `'approved'`: 0810;
 * - `'rejected'`: 0811;
 * - `'review_approved'`: 0814 "under review", then 0810 after `reviewMs`;
 * - `'review_rejected'`: 0814 "under review", then 0816 after `reviewMs`;
 * - `'id_verified'`: 1012 with the data of the ID, then 0810;
 * - `'id_not_found'`: 1013, then 0811;
 * - `'never'`: no result; the job stays pending.
 */
export type SandboxOutcome =
  | 'approved'
  | 'rejected'
  | 'review_approved'
  | 'review_rejected'
  | 'id_verified'
  | 'id_not_found'
  | 'never';

/**
 * The mistake in a signature. Later versions may add values:
 * - `'missing'`: the request has no partner id, no timestamp or no signature;
 * - `'partner'`: the request has the id of another partner;
 * - `'leading_zeros'`: the partner id has lost its leading zeros;
 * - `'stale'`: the timestamp is too far from now;
 * - `'timestamp_text'`: the timestamp cannot be read, or the signed timestamp is not the sent timestamp;
 * - `'other_environment'`: the key belongs to another environment;
 * - `'context'`: the end of the signed text is wrong;
 * - `'order'`: the parts of the signed text are in another order;
 * - `'body_signed'`: the signed text contains the body;
 * - `'encoding'`: the bytes of the signature are right, but are not sent as base64;
 * - `'key_whitespace'`: the key was used with white space or quotation marks around it;
 * - `'key_decoded'`: the key was decoded or encoded before it was used;
 * - `'algorithm'`: the signature was made with another algorithm than HMAC-SHA256;
 * - `'swapped'`: the signed text was used as the key, and the key as the text;
 * - `'unkeyed'`: the signature is a hash that was made without the key;
 * - `'other'`: none of these mistakes explains the signature.
 */
export type SignatureProblem =
  | 'missing'
  | 'partner'
  | 'leading_zeros'
  | 'stale'
  | 'timestamp_text'
  | 'other_environment'
  | 'context'
  | 'order'
  | 'encoding'
  | 'key_whitespace'
  | 'key_decoded'
  | 'body_signed'
  | 'algorithm'
  | 'swapped'
  | 'unkeyed'
  | 'other'
  | (string & {});

/** A request to the service. The record has no body, no key and no signature. */
export interface SandboxRequest {
  /** The number of the request, from 1. */
  readonly id: number;
  /** When the request arrived. */
  readonly at: Date;
  /** The environment that the request was sent to. */
  readonly environment: Environment;
  /** The operation; null if no operation has this method and path. */
  readonly operation: OperationName | null;
  /** The HTTP method. */
  readonly method: string;
  /** The path below the environment's base URL. */
  readonly path: string;
  /** The HTTP status of the response; 0 if there was no response. */
  readonly status: number;
  /** The time from request to response, in milliseconds. */
  readonly durationMs: number;
  /** What a successful response says, in a few words: "pending", "2 links", a link's name. Null for any other response. */
  readonly summary: string | null;
  /** What the service may refuse, although the sandbox accepts it: a code of no country, a time in the past, a user id without effect. */
  readonly notes: readonly string[];
  /** The reference id of the link that the request was about or created; null if there is none. */
  readonly linkRefId: string | null;
  /** The ids of the job that the request was about, as sent; null if the request has none. */
  readonly job: JobRef | null;
  /** The service's code in an error response; null if there is none. */
  readonly code: string | null;
  /** Why the request failed: the injected fault, the mistake in the signature, or the service's text; null if it did not. */
  readonly reason: string | null;
  /** The fault that was injected into the request; null if there was none. */
  readonly fault: MockFault['kind'] | null;
  /** The verdict on the signature. */
  readonly signature: {
    /** The mistake in the signature; null if the signature is right, or not needed. */
    readonly problem: SignatureProblem | null;
    /** One sentence that says what to do. */
    readonly message: string;
  };
}

/** A callback and its deliveries. */
export interface SandboxCallback {
  /** The number of the callback, from 1. */
  readonly id: number;
  /** When the callback was created. */
  readonly at: Date;
  /** The environment of the job. */
  readonly environment: Environment;
  /** Both ids of the job. */
  readonly job: JobRef;
  /** The reference id of the job's link; null for a job without a link. */
  readonly linkRefId: string | null;
  /** The code of the reported result. */
  readonly resultCode: string;
  /** The URL that the callback is posted to, without user name, password and the values of its query. */
  readonly url: string;
  /** The mistake that was put into the callback on purpose; null if there is none. */
  readonly variant: 'forged' | 'stale' | 'altered' | 'unsigned' | null;
  /** The number of the callback that this one is a copy of; null if it is no copy. */
  readonly copyOf: number | null;
  /** When the next delivery is planned; null if none is planned. */
  readonly nextAttemptAt: Date | null;
  /**
   * The progress of the callback:
   * - `'waiting'`: a delivery is running or planned;
   * - `'delivered'`: the receiver responded with a 2xx status;
   * - `'gave_up'`: the last delivery failed, and no other delivery is planned;
   * - `'not_allowed'`: the sandbox does not post callbacks to this URL. The URL belongs to the sandbox itself, has a user
   *   name or password, or its host is not allowed (see `callbackHosts`).
   */
  readonly state: 'waiting' | 'delivered' | 'gave_up' | 'not_allowed';
  /** Every delivery, oldest first. */
  readonly attempts: readonly {
    /** When the delivery began. */
    readonly at: Date;
    /** The HTTP status; null if there was no response. */
    readonly status: number | null;
    /** Why the delivery failed, or why the receiver should not have accepted it; null if nothing is wrong. */
    readonly problem: string | null;
    /** How long the delivery took, in milliseconds. */
    readonly durationMs: number;
  }[];
}

/** An injected fault that has not happened yet. */
export interface SandboxFault {
  /** The number of the fault, from 1. */
  readonly id: number;
  /** The environment whose requests fail. */
  readonly environment: Environment;
  /** The operation whose requests fail. */
  readonly operation: OperationName;
  /** The way in which they fail. */
  readonly fault: MockFault;
  /** How many requests will fail. */
  readonly left: number;
}

/** A running sandbox. */
export interface Sandbox {
  /** The URL of the sandbox and of its console. With the default options, it is `http://127.0.0.1:4085`. */
  readonly origin: string;
  /** The base URL of each environment. */
  readonly baseUrls: Readonly<Record<Environment, string>>;
  /**
   * The testing kit's service with the sandbox's links and jobs. Its controls do not send callbacks automatically, and
   * ids go on after its `reset`.
   */
  readonly service: MockService;
  /** The latest requests to every environment, oldest first: at most `keepRequests`. */
  readonly requests: readonly SandboxRequest[];
  /** The latest callbacks of every environment, oldest first: at most `keepRequests`. */
  readonly callbacks: readonly SandboxCallback[];
  /**
   * Returns the options for a client that uses this sandbox.
   *
   * @param environment - The environment of the client. Default `'sandbox'`.
   * @returns The partner id, the environment, the key, the base URLs and `wire`.
   */
  clientOptions(environment?: Environment): HostedClientOptions;
  /**
   * Plays an outcome on a link, as an end user does on the link's page. The promise resolves when the job has started.
   * The results of the job are reported at once. If there is a review, the final result is reported after `reviewMs`.
   * If there is a callback URL, the sandbox posts a callback for each result.
   *
   * @param refId - The reference id of the link.
   * @param outcome - How the verification ends.
   * @param options - The environment of the link (default `'sandbox'`) and the ID type (default: the link's first one).
   * @returns Both ids of the job, after it has started.
   * @throws {HostedValidationError} when there is no such link, outcome or ID type, or when the link is disabled, has
   *   expired, or is a single-use link that already has a job.
   */
  play(
    refId: string,
    outcome: SandboxOutcome,
    options?: {
      /** The environment of the link. Default `'sandbox'`. */
      environment?: Environment;
      /** One of the link's ID types. Default: the link's first one. */
      idType?: IdType;
    },
  ): Promise<JobRef>;
  /**
   * Posts a callback again. The new callback is a new entry of `callbacks`, and has only one delivery.
   *
   * @param callbackId - The number of the callback.
   * @param options - The option `variant`: the mistake to put into the new callback.
   * @returns The new callback, after its delivery.
   * @throws {HostedValidationError} when there is no such callback or variant.
   */
  resend(
    callbackId: number,
    options?: {
      /** The mistake in the new callback, as in `jobs.callback` of the testing kit. Default: no mistake. */
      variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
    },
  ): Promise<SandboxCallback>;
  /**
   * Posts a callback at once, if it waits for its next delivery or was given up.
   *
   * @param callbackId - The number of the callback.
   * @returns The callback, after the delivery.
   * @throws {HostedValidationError} when there is no such callback, or it is neither waiting nor given up.
   */
  retryNow(callbackId: number): Promise<SandboxCallback>;
  /**
   * Gives up a waiting callback. A delivery that is running is the last one.
   *
   * @param callbackId - The number of the callback.
   * @returns The callback.
   * @throws {HostedValidationError} when there is no such callback, or it is not waiting.
   */
  stopTrying(callbackId: number): Promise<SandboxCallback>;
  /** The injected faults that have not happened yet, in every environment. */
  readonly faults: readonly SandboxFault[];
  /**
   * Cancels an injected fault.
   *
   * @param id - The number of the fault.
   * @returns Nothing.
   * @throws {HostedValidationError} when no waiting fault has this number.
   */
  cancelFault(id: number): void;
  /**
   * Sends a remembered request again, with a fresh signature.
   *
   * @param requestId - The number of the request.
   * @returns The new request, after its response.
   * @throws {HostedValidationError} when there is no such request, or its body is not kept.
   */
  replay(requestId: number): Promise<SandboxRequest>;
  /**
   * Waits until all work has ended: no review is running, and no delivery of a callback is running or planned.
   *
   * @returns Nothing.
   */
  idle(): Promise<void>;
  /**
   * Deletes links, jobs, callbacks, requests and faults. Random numbers go on, so later ids differ from earlier ones.
   *
   * @returns A promise that resolves when all running work has ended.
   */
  reset(): Promise<void>;
  /**
   * Stops the server. With the option `folder`, it also saves the state, for the next sandbox with this folder.
   *
   * @returns A promise that resolves when all timers and sockets have ended.
   */
  stop(): Promise<void>;
}
