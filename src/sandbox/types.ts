/**
 * The public types of the sandbox.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { IdType } from '../links/types.js';
import type { Environment, HostedClientOptions } from '../options.js';
import type { OperationName } from '../protocol/routes.js';
import type { MockService, MockServiceOptions } from '../testing/types.js';

/** Options of {@link startSandbox}: the options of the testing kit's service, and options of the server. */
export interface SandboxOptions extends Omit<MockServiceOptions, 'clock'> {
  /** The base URLs that clients get, if they must not use the sandbox's own URLs. Example: the URLs of a proxy. */
  baseUrls?: Readonly<Record<Environment, string>>;
  /** The beginning of all links' URLs. Default: `/links` of the sandbox. */
  linkBaseUrl?: string;
  /** The port; 0 takes any free port. If the port is in use, an error names it. Default 4085. */
  port?: number;
  /**
   * The address to listen on. With any address but loopback, others on the network can use the sandbox, and a warning
   * says so. Default `'127.0.0.1'`.
   */
  host?: string;
  /**
   * Names that the header `Host` of a request may have besides `localhost`, `127.0.0.1` and `[::1]`, with a port or
   * without. A request with any other `Host` gets 421. Default: none.
   */
  allowedHosts?: readonly string[];
  /**
   * Hosts that callbacks may be posted to besides this machine: names or IP addresses. A name that is not listed must
   * resolve to this machine, or to a listed address. Default: none.
   */
  callbackHosts?: readonly string[];
  /** The callback URL for links without one: absolute http(s). Default: nowhere. */
  defaultCallbackUrl?: string;
  /** The pauses before a failed callback is posted again, in milliseconds. Default: 1, 5, 25 and 120 seconds. */
  callbackRetriesMs?: readonly number[];
  /** How long a review lasts, from "under review" to the final result, in milliseconds. Default 3,000. */
  reviewMs?: number;
  /** The share of requests that get the status 503, from 0 to 1; `seed` decides which ones. Default 0. */
  failureRate?: number;
  /** The folder in which links, jobs and callbacks are kept, so that they survive a restart. Default: only in memory. */
  folder?: string;
  /** How many requests and callbacks are remembered: an integer of 0 or more. Default 1,000. */
  keepRequests?: number;
  /**
   * Receives every request to the service, after its response. Its errors are ignored.
   *
   * @param request - The request.
   */
  onRequest?: (request: SandboxRequest) => void;
}

/**
 * How a verification can end, with the result codes that the service reports:
 * - `'approved'`: 0810;
 * - `'rejected'`: 0811;
 * - `'review_approved'`: 0814 "under review", and 0810 after `reviewMs`;
 * - `'review_rejected'`: 0814, and 0816 after `reviewMs`;
 * - `'id_verified'`: 1012 with the data of the ID, and 0810;
 * - `'id_not_found'`: 1013, and 0811;
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
 * - `'missing'`: no partner id, timestamp or signature;
 * - `'partner'`: the id of another partner; `'leading_zeros'`: the leading zeros of the partner id were lost;
 * - `'stale'`: the timestamp is too far from now; `'timestamp_text'`: the signed timestamp differs from the sent one;
 * - `'other_environment'`: the key of the other environment;
 * - `'context'`: the end of the signed text is wrong; `'order'`: its parts are in another order; `'body_signed'`: the
 *   body was signed, too;
 * - `'encoding'`: the right bytes, but not in base64;
 * - `'key_whitespace'`: the key was read with white space or quotation marks; `'key_decoded'`: the key was decoded;
 * - `'unkeyed'`: a hash that needs no key;
 * - `'other'`: none of these.
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
  | 'unkeyed'
  | 'other'
  | (string & {});

/** A request to the service. The sandbox remembers no body, no key and no signature. */
export interface SandboxRequest {
  /** Its number, from 1. */
  readonly id: number;
  /** When it arrived. */
  readonly at: Date;
  /** The environment that it was sent to. */
  readonly environment: Environment;
  /** The operation; null if no operation has this method and path. */
  readonly operation: OperationName | null;
  /** The HTTP method. */
  readonly method: string;
  /** The path below the environment's base URL. */
  readonly path: string;
  /** The HTTP status of the response; 0 if there was none. */
  readonly status: number;
  /** How long it took to respond, in milliseconds. */
  readonly durationMs: number;
  /** The verdict on its signature. */
  readonly signature: {
    /** Which mistake was made; null if the signature is right, or none is needed. */
    readonly problem: SignatureProblem | null;
    /** One sentence that says what to do. */
    readonly message: string;
  };
}

/** A callback and its deliveries. */
export interface SandboxCallback {
  /** Its number, from 1. */
  readonly id: number;
  /** The environment of its job. */
  readonly environment: Environment;
  /** Both ids of its job. */
  readonly job: JobRef;
  /** The reference id of the job's link; null for a job without a link. */
  readonly linkRefId: string | null;
  /** The code of the result that it reports. */
  readonly resultCode: string;
  /** The URL that it is posted to. */
  readonly url: string;
  /**
   * `'waiting'`: it waits for its turn, a response or its next delivery. `'delivered'`: a delivery got a 2xx.
   * `'gave_up'`: the last delivery failed. `'not_allowed'`: its URL is neither on this machine nor in `callbackHosts`.
   */
  readonly state: 'waiting' | 'delivered' | 'gave_up' | 'not_allowed';
  /** Every delivery, oldest first. */
  readonly attempts: readonly {
    /** When it began. */
    readonly at: Date;
    /** The HTTP status; null if there was no response. */
    readonly status: number | null;
    /** Why it failed; null if it did not fail. */
    readonly problem: string | null;
    /** How long it took, in milliseconds. */
    readonly durationMs: number;
  }[];
}

/** A running sandbox. */
export interface Sandbox {
  /**
   * The URL of the sandbox: `http://127.0.0.1:4085`, unless its options say otherwise. Its front page is the console.
   */
  readonly origin: string;
  /** The base URL of each environment. */
  readonly baseUrls: Readonly<Record<Environment, string>>;
  /**
   * The testing kit's controls of the service, for the same links and jobs. They do not send callbacks automatically.
   */
  readonly service: MockService;
  /** The latest requests to both environments, oldest first: as many as `keepRequests` says. */
  readonly requests: readonly SandboxRequest[];
  /** The latest callbacks of both environments, oldest first: as many as `keepRequests` says. */
  readonly callbacks: readonly SandboxCallback[];
  /**
   * Gives the options of a client.
   *
   * @param environment - The environment of the client. Default `'sandbox'`.
   * @returns Partner, environment, key, base URLs and `wire`.
   */
  clientOptions(environment?: Environment): HostedClientOptions;
  /**
   * Does what an end user does on the link's page. Results follow, each with its callback.
   *
   * @param refId - The reference id of the link.
   * @param outcome - How the verification ends.
   * @param options - The environment of the link (default `'sandbox'`) and the ID type (default: the link's first one).
   * @returns Both ids of the job, after it has started.
   * @throws {HostedValidationError} when there is no such link, outcome or ID type, when the link is disabled or has
   *   expired, or when it is for a single use and was used.
   */
  play(
    refId: string,
    outcome: SandboxOutcome,
    options?: {
      /** The environment of the link. Default `'sandbox'`. */
      environment?: Environment;
      /** One of the link's ID types. Default: its first. */
      idType?: IdType;
    },
  ): Promise<JobRef>;
  /**
   * Posts a callback again, once. It becomes a new callback in the list.
   *
   * @param callbackId - The number of the callback.
   * @param options - The mistake to make in it.
   * @returns The new callback, after its delivery.
   * @throws {HostedValidationError} when there is no such callback or variant.
   */
  resend(
    callbackId: number,
    options?: {
      /** The mistake in it, as in `jobs.callback` of the testing kit. Default: nothing. */
      variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
    },
  ): Promise<SandboxCallback>;
  /**
   * Waits until all work has ended: no review is running, and no callback is being posted or will be posted again.
   *
   * @returns Nothing.
   */
  idle(): Promise<void>;
  /**
   * Deletes links, jobs, callbacks, requests and faults, and restarts the seed.
   *
   * @returns Nothing, after all running work has ended.
   */
  reset(): Promise<void>;
  /**
   * Stops the server. With a folder, the state is written, and the next sandbox of this folder continues with it.
   *
   * @returns Nothing, after all timers and sockets have ended.
   */
  stop(): Promise<void>;
}
