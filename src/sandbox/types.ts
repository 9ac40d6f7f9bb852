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

/** Options of {@link startSandbox}: those of the testing kit's service, and those of a server. */
export interface SandboxOptions extends Omit<MockServiceOptions, 'clock'> {
  /** The addresses that are handed out where others are to use them, a proxy's for example. Default: the sandbox's own. */
  baseUrls?: Readonly<Record<Environment, string>>;
  /** Where links lead, if not to the sandbox's own `/links`. */
  linkBaseUrl?: string;
  /** The port. 0 takes any that is free. One in use is an error that names it. Default 4085. */
  port?: number;
  /** The address to listen on. Anything but loopback lets others on the network in, and warns. Default `'127.0.0.1'`. */
  host?: string;
  /**
   * Names that a request's `Host` may carry beside `localhost`, `127.0.0.1` and `[::1]`, with a port or without.
   * Anything else gets 421. Default: none.
   */
  allowedHosts?: readonly string[];
  /**
   * Where callbacks may be posted beside this machine: names or IP addresses. What counts is the address that is
   * connected to. Default: none.
   */
  callbackHosts?: readonly string[];
  /** Where the results of links without a callback URL are posted: absolute http(s). Default: nowhere. */
  defaultCallbackUrl?: string;
  /** The pauses before each further delivery of a callback that failed, in milliseconds. Default 1, 5, 25 and 120 seconds. */
  callbackRetriesMs?: readonly number[];
  /** How long a review lasts, from "under review" to the final result, in milliseconds. Default 3,000. */
  reviewMs?: number;
  /** The share of requests that is answered with 503, from 0 to 1, drawn from `seed`. Default 0. */
  failureRate?: number;
  /** The folder in which links, jobs and callbacks are kept, so that they survive a restart. Default: memory alone. */
  folder?: string;
  /** How many requests and callbacks are remembered: an integer of 0 or more. Default 1,000. */
  keepRequests?: number;
  /**
   * Receives every request to the service once it was answered. What it throws is ignored.
   *
   * @param request - The request.
   */
  onRequest?: (request: SandboxRequest) => void;
}

/**
 * What an end user may bring about, with the codes that the service reports:
 * - `'approved'`: 0810;
 * - `'rejected'`: 0811;
 * - `'review_approved'`: 0814 "under review", and 0810 after `reviewMs`;
 * - `'review_rejected'`: 0814, and 0816 after `reviewMs`;
 * - `'id_verified'`: 1012 with what was read from the ID, and 0810;
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
 * Why a signature is not accepted, and any reason that is new:
 * - `'missing'`: no partner id, timestamp or signature;
 * - `'partner'`: another partner id; `'leading_zeros'`: its leading zeros were lost;
 * - `'stale'`: the timestamp is too far from now; `'timestamp_text'`: another text was signed than was sent;
 * - `'other_environment'`: the key of the other environment;
 * - `'context'`, `'order'`, `'body_signed'`: another text was signed;
 * - `'encoding'`: the right bytes in another form;
 * - `'key_whitespace'`, `'key_decoded'`: the key was read wrongly;
 * - `'unkeyed'`: a digest without a key;
 * - `'other'`: none of these explains it.
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

/** A request to the service, as the sandbox remembers it: no body, no key, no signature. */
export interface SandboxRequest {
  /** Its number, from 1. */
  readonly id: number;
  /** When it arrived. */
  readonly at: Date;
  /** The environment that it was sent to. */
  readonly environment: Environment;
  /** The operation; null where method and path are those of none. */
  readonly operation: OperationName | null;
  /** The HTTP method. */
  readonly method: string;
  /** The path below the environment's base URL. */
  readonly path: string;
  /** The HTTP status of the response; 0 where there was none. */
  readonly status: number;
  /** How long it took to respond, in milliseconds. */
  readonly durationMs: number;
  /** What is to be said of its signature. */
  readonly signature: {
    /** Which mistake was made; null where the signature is right, or none is needed. */
    readonly problem: SignatureProblem | null;
    /** One sentence that says what to do. */
    readonly message: string;
  };
}

/** A callback, and what became of it. */
export interface SandboxCallback {
  /** Its number, from 1. */
  readonly id: number;
  /** The environment of its job. */
  readonly environment: Environment;
  /** Both ids of its job. */
  readonly job: JobRef;
  /** The reference id of the link that the job came from; null where it came from none. */
  readonly linkRefId: string | null;
  /** The code of the result that it reports. */
  readonly resultCode: string;
  /** Where it is posted. */
  readonly url: string;
  /**
   * `'waiting'` for its turn, a response or its next delivery; `'delivered'` after a 2xx; `'gave_up'` after the last
   * delivery failed; `'not_allowed'` where its address is not on this machine and not among `callbackHosts`.
   */
  readonly state: 'waiting' | 'delivered' | 'gave_up' | 'not_allowed';
  /** Every delivery, oldest first. */
  readonly attempts: readonly {
    /** When it began. */
    readonly at: Date;
    /** The HTTP status; null where there was no response. */
    readonly status: number | null;
    /** Why it failed; null where it did not. */
    readonly problem: string | null;
    /** How long it took, in milliseconds. */
    readonly durationMs: number;
  }[];
}

/** A running sandbox. */
export interface Sandbox {
  /** `http://127.0.0.1:4085`, or as it was started. Its front page is the console. */
  readonly origin: string;
  /** The base URL of each environment. */
  readonly baseUrls: Readonly<Record<Environment, string>>;
  /** The service: the testing kit's controls, over the same links and jobs. They send no callbacks by themselves. */
  readonly service: MockService;
  /** The latest requests to both environments, oldest first: as many as `keepRequests` says. */
  readonly requests: readonly SandboxRequest[];
  /** The latest callbacks of both environments, oldest first: as many as `keepRequests` says. */
  readonly callbacks: readonly SandboxCallback[];
  /**
   * Gives the options of a client.
   *
   * @param environment - Of which environment. Default `'sandbox'`.
   * @returns Partner, environment, key, base URLs and `wire`.
   */
  clientOptions(environment?: Environment): HostedClientOptions;
  /**
   * Does what an end user does on the link's page. Results follow, each with its callback.
   *
   * @param refId - The reference id of the link.
   * @param outcome - What comes of it.
   * @param options - The environment of the link, default `'sandbox'`, and the ID type, default the link's first.
   * @returns Both ids of the job, once it is started.
   * @throws {HostedValidationError} when there is no such link, outcome or ID type, or the link is disabled, has
   *   expired, or is for a single use and was used.
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
   * Posts a callback again, once, as a callback of its own in the list.
   *
   * @param callbackId - The number of the callback.
   * @param options - What is to be wrong with it.
   * @returns The new callback, after its delivery.
   * @throws {HostedValidationError} when there is no such callback or variant.
   */
  resend(
    callbackId: number,
    options?: {
      /** What is wrong with it, as for `jobs.callback` of the testing kit. Default: nothing. */
      variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
    },
  ): Promise<SandboxCallback>;
  /**
   * Waits until nothing is under way: no review, and no callback that is being posted or is to be posted again.
   *
   * @returns Nothing.
   */
  idle(): Promise<void>;
  /**
   * Deletes links, jobs, callbacks, requests and faults, and restarts the seed.
   *
   * @returns Nothing, once nothing of it is under way.
   */
  reset(): Promise<void>;
  /**
   * Stops the server. What is kept in a folder is written, and goes on when a sandbox is started there again.
   *
   * @returns Nothing, once no timer and no socket is left.
   */
  stop(): Promise<void>;
}
