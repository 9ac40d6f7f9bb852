/**
 * The public types of the mock service.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';
import type { WireOptions } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Clock } from '../runtime/clock.js';

/** Options of {@link createMockService}. */
export interface MockServiceOptions {
  /** The id of the only partner that the service knows. Default `'085'`. */
  partnerId?: string;
  /** How requests, responses and callbacks are signed. Default `'hmac-sha256'`. */
  scheme?: 'hmac-sha256' | 'ed25519';
  /**
   * Options about details that the protocol does not show. The service uses these options, and passes them on to its
   * clients in `clientOptions`.
   */
  wire?: WireOptions;
  /** The number of links on a page: an integer of 1 or more. Default 20. */
  pageSize?: number;
  /**
   * The number of the first page. `clientOptions` does not contain this number. Default: `wire.firstPage` if it is 0 or
   * 1, otherwise 1.
   */
  firstPage?: 0 | 1;
  /**
   * How the service spells the names and values of the properties in its responses. `'table'`: as in the protocol's
   * field tables. `'sample'`: as in its samples (`user_ids` in place of `user_id`, `signature` in place of `sec_key`,
   * no `result` while the job is pending). `'random'`: for each property, one of these two spellings or a spelling that
   * was seen in deployments. Default `'table'`.
   */
  spelling?: 'table' | 'sample' | 'random';
  /**
   * The seed of the random numbers for ids and for `spelling: 'random'`. The same seed gives the same values. Default
   * 1.
   */
  seed?: number;
  /**
   * How long the service waits before it responds, in milliseconds on the service's clock. The service acts on the
   * request before it waits, so a request has its effect even if the client stops waiting. Default 0.
   */
  latencyMs?: number;
  /** The service's clock. Default: the platform's clock. */
  clock?: Clock;
  /**
   * The base URL of each environment: absolute http(s), with or without a path. The URLs must differ. Default for an
   * environment that is left out: a URL under `.test`, where no real host has a name.
   */
  baseUrls?: Partial<Readonly<Record<Environment, string>>>;
  /**
   * The beginning of the URL of every link. The URL of a link is this URL, a slash, and the reference id of the link.
   * Default: a URL under `.test`.
   */
  linkBaseUrl?: string;
  /** How many of the latest requests each environment keeps in `requests`: an integer of 0 or more. Default 1,000. */
  keepRequests?: number;
  /** The partner's keys. Only for the scheme `'hmac-sha256'`. Default: fixed test keys. */
  apiKeys?: Partial<Record<Environment, string>>;
}

/**
 * Options of a client of the mock service. You can override each option after a spread:
 * `new HostedClient({ ...service.sandbox.clientOptions, apiKey: 'wrong' })`.
 *
 * @typeParam Name - The environment.
 */
export interface MockClientOptions<Name extends Environment = Environment> {
  /** The id of the only partner that the service knows. */
  partnerId: string;
  /** The key of this environment. With the scheme `'ed25519'`, there is a `signer` instead of `apiKey`. */
  apiKey: string;
  /** The environment. */
  environment: Name;
  /** The base URL of each environment. */
  baseUrls: Record<Environment, string>;
  /** The option `wire` of the service. */
  wire?: WireOptions;
  /** The option `clock` of the service. */
  clock?: Clock;
}

/**
 * One environment of the service, with its own key, links and jobs.
 *
 * @typeParam Options - The options of its clients.
 *
 * @see [§§2 to 7](../../docs/protocol.md#2-resources) of docs/protocol.md
 */
export interface MockEnvironment<Options = MockClientOptions> {
  /**
   * The base URL. Default: `https://sandbox.hosted.test` or `https://production.hosted.test`. No real host has a name
   * under `.test`.
   */
  readonly baseUrl: string;
  /**
   * Partner, environment, key, base URLs, `wire` and `clock` for a client of this environment. The options contain no
   * fetch: add `fetch: service.fetch`, or use msw.
   *
   * The default values are the same in every process. So you can also pass them to a program in its environment
   * variables. The partner is `'085'`. With HMAC, `apiKey` is `'sandbox-test-key'` or `'production-test-key'`. With
   * Ed25519, there is a `signer` instead of `apiKey`. The secret key of the `signer` is 32 bytes long. Each of these
   * bytes is 1 (sandbox) or 3 (production). The service's public key is `gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=`
   * (sandbox) or `ypOsFwUYcHHWe4PH/w7+gQjo7EUwV113JoeTM9vavnw=` (production).
   */
  readonly clientOptions: Options;
  /**
   * The latest requests for any of the operations, in order of arrival. `keepRequests` limits their number. A test
   * may empty the list. In TypeScript, this needs a cast: `(requests as unknown[]).length = 0`.
   */
  readonly requests: readonly {
    /** The operation. */
    operation: OperationName;
    /** The parsed body; null if it was not JSON. */
    body: unknown;
    /** The HTTP status of the response; 0 until it is known, or if there was no response. */
    status: number;
    /** When the request arrived, in milliseconds since the epoch, on the service's clock. */
    at: number;
    /**
     * Why the request failed: the reason in the service's words, or the fault that was injected. Null if it did not
     * fail.
     */
    problem: string | null;
  }[];
  /** Controls of links. */
  readonly links: {
    /**
     * Returns every link in order of creation. The properties are spelled as in the protocol's field table.
     *
     * @returns The links as in a response (§2.2 of docs/protocol.md).
     */
    all(): readonly unknown[];
    /**
     * Adds links, as if the partner had created them.
     *
     * @param count - The number of links.
     */
    seed(count: number): void;
  };
  /** Controls of jobs. They do what end users, reviewers and the service do to jobs. */
  readonly jobs: {
    /**
     * Starts a job, as an end user does by opening a link. If you leave out the job id, it is generated. If you leave
     * out the user id and the link is a single-use link, the job gets the user id of the link. In all other cases, a
     * missing user id is generated.
     *
     * @param job - The ids of the job, and the reference id of its link. All of them are optional.
     * @returns Both ids of the job.
     * @throws {HostedValidationError} when the link is disabled, has expired, or is a single-use link that already has
     *   a job.
     * @throws {Error} when there is no such link, or when the job already exists.
     *
     * @example A job of a link
     * ```ts
     * const job = service.sandbox.jobs.start({ linkRefId: refId });
     * ```
     */
    start(
      job?: Partial<JobRef> & {
        /** The reference id of the job's link. Default: no link. */
        linkRefId?: string;
      },
    ): JobRef;
    /**
     * Adds a result to the job's history without completing the job.
     *
     * @param job - Both ids of the job.
     * @param entry - The result.
     * @throws {Error} when there is no such job.
     */
    report(
      job: JobRef,
      entry: {
        /** The code, such as `'0814'`. */
        resultCode: string;
        /** The text of the result. */
        resultText: string;
        /** The type. `'ID Verification'` adds the data of an ID to the result. Default: no type. */
        resultType?: string;
        /** Whether the result is marked as final. Default `false`. */
        final?: boolean;
      },
    ): void;
    /**
     * Adds a final result and completes the job. If the job is already complete, the new outcome replaces the old one.
     *
     * @param job - Both ids of the job.
     * @param outcome - `'approved'` (code 0810), `'rejected'` (code 0811), or a result of your own.
     * @throws {Error} when there is no such job.
     */
    complete(
      job: JobRef,
      outcome:
        | 'approved'
        | 'rejected'
        | {
            /** The code of the result. */
            resultCode: string;
            /** The text of the result. */
            resultText: string;
            /** Whether the job succeeded: the user is enrolled or authenticated. */
            success: boolean;
          },
    ): void;
    /**
     * Creates the callback that reports one of the job's results, and signs it. The callback is a request to the link's
     * callback URL. If the link has no callback URL, the request goes to a fixed URL. This URL stands for the default
     * callback URL of the account. A second callback of the same result has the same body, timestamp and signature,
     * like a redelivery by the service. Variants:
     * - `'forged'` is signed with a key that is not the service's key,
     * - `'stale'` is correctly signed, but its timestamp is one hour before the genuine timestamp,
     * - `'altered'` has the genuine timestamp and signature, but another result,
     * - `'unsigned'` has neither timestamp nor signature.
     *
     * @param job - Both ids of the job.
     * @param options - The result to report, and the mistake in the callback.
     * @returns The request, to pass to your handler.
     * @throws {Error} when there is no such job or result.
     */
    callback(
      job: JobRef,
      options?: {
        /** The index of the result, from 0. Default: the latest result. */
        entry?: number;
        /** The mistake in the callback. Default: none. */
        variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
        /**
         * Adds a property whose value has this many bytes. Use it to test callbacks that are as large as callbacks with
         * images. Default: no such property.
         */
        padBytes?: number;
      },
    ): Promise<Request>;
    /**
     * Creates a callback in the same way as the method `callback`, and delivers it.
     *
     * @param job - Both ids of the job.
     * @param options - The result to report, the mistake in the callback, and the function that receives the request.
     * @returns The response.
     * @throws {Error} when there is no such job or result.
     *
     * @example Deliver a callback to your handler
     * ```ts
     * const response = await service.sandbox.jobs.deliverCallback(job, { to: handle });
     * ```
     */
    deliverCallback(
      job: JobRef,
      options?: {
        /** Receives the request. Default: the platform's `fetch`, which posts the request to the callback URL. */
        to?: (request: Request) => Promise<Response>;
        /** The index of the result, from 0. Default: the latest result. */
        entry?: number;
        /** The mistake in the callback. The values mean the same as in the method `callback`. Default: none. */
        variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
        /**
         * Adds a property whose value has this many bytes. Use it to test callbacks that are as large as callbacks with
         * images. Default: no such property.
         */
        padBytes?: number;
      },
    ): Promise<Response>;
  };
  /**
   * Makes the next requests for an operation fail. If you call it several times, the faults happen in the order of the
   * calls.
   *
   * @param operation - The operation of the requests.
   * @param fault - The way in which these requests fail.
   * @param times - The number of requests that fail, 0 or more. Default 1.
   * @throws {RangeError} when `times` is negative.
   *
   * @example Two server errors
   * ```ts
   * service.sandbox.failNext('links.list', { kind: 'status', status: 503 }, 2);
   * ```
   */
  failNext(operation: OperationName, fault: MockFault, times?: number): void;
  /** Deletes links, jobs, requests and faults, and restarts the random numbers from `seed`. */
  reset(): void;
}

/**
 * A fault. `'status'`, `'network'` and `'stall'` happen before the service acts. The other faults happen after the
 * service has acted.
 */
export type MockFault =
  | {
      /** Responds with the given status. */
      kind: 'status';
      /** The HTTP status. */
      status: number;
      /**
       * The body. A string is sent unchanged. Any other value is sent as JSON. Default: a JSON error that fits the
       * status.
       */
      body?: unknown;
      /** The header `Retry-After`: seconds, or a date. Default: none. */
      retryAfter?: string;
    }
  | {
      /** Breaks the connection. */
      kind: 'network';
    }
  | {
      /** Never responds. The request ends only when its signal aborts. */
      kind: 'stall';
    }
  | {
      /** Breaks the connection in the middle of the body. */
      kind: 'truncate';
    }
  | {
      /** Responds with 200 and an HTML page. */
      kind: 'html';
    }
  | {
      /** Responds with a signature that was made with another key. */
      kind: 'bad-signature';
    }
  | {
      /** Responds without a signature. */
      kind: 'missing-signature';
    }
  | {
      /** Responds with a correct signature that is one hour old. */
      kind: 'stale-timestamp';
    };

/** The mock service: environments that share one `fetch`. */
export interface MockService {
  /** The sandbox: the default environment of a client. */
  readonly sandbox: MockEnvironment<MockClientOptions<'sandbox'>>;
  /** Production, with its own key, links and jobs. */
  readonly production: MockEnvironment<MockClientOptions<'production'>>;
  /** Responds at the base URL of each environment. Rejects for any other URL. */
  readonly fetch: typeof globalThis.fetch;
  /** Resets every environment. */
  reset(): void;
  /**
   * Saves links, jobs, faults that have not happened yet, and the position in the sequence of ids. It saves no requests
   * and no keys.
   *
   * @returns JSON, for {@link MockService.restore}.
   */
  save(): string;
  /**
   * Replaces everything in this service with a saved state. The next ids are the same as in the saved service. If the
   * saved service already created the callback of a result, this service creates the same callback. The URLs of links
   * begin with this service's own `linkBaseUrl`.
   *
   * @param state - The string that `save` returned. The service that saves and the service that restores must have the
   *   same partner, seed and spelling. Otherwise, later responses and callbacks may differ.
   * @throws {HostedValidationError} when the string is not one that `save` of this version wrote, or was changed. In
   *   that case, the service stays unchanged.
   *
   * @example Continue after another process stopped
   * ```ts
   * const service = createMockService();
   * const state = service.save();
   * createMockService().restore(state);
   * ```
   */
  restore(state: string): void;
}
