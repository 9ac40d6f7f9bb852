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
  /** The only partner the service knows. Default `'085'`. */
  partnerId?: string;
  /** How requests, responses and callbacks are signed. Default `'hmac-sha256'`. */
  scheme?: 'hmac-sha256' | 'ed25519';
  /** What the protocol leaves open. The service uses it, and `clientOptions` contains it. */
  wire?: WireOptions;
  /** Links on a page: an integer of 1 or more. Default 20. */
  pageSize?: number;
  /**
   * The number of the first page. It is not part of `clientOptions`. Default: `wire.firstPage` if that is a number,
   * otherwise 1.
   */
  firstPage?: 0 | 1;
  /**
   * How responses are spelled: as in the protocol's field tables, or as in its samples (`user_ids` in place of
   * `user_id`, `signature` in place of `sec_key`, no `result` while the job is pending). `'random'` chooses for each
   * property among both of these and other spellings that were seen. Default `'table'`.
   */
  spelling?: 'table' | 'sample' | 'random';
  /** The seed of ids and of `spelling: 'random'`: the same seed gives the same values. Default 1. */
  seed?: number;
  /**
   * How long the service waits before it responds, in milliseconds on `clock`. It acts on the request before the
   * wait, so it has acted even if the client gives up meanwhile. Default 0.
   */
  latencyMs?: number;
  /** The service's clock. Default: the platform's. */
  clock?: Clock;
  /**
   * Where the service responds: the base URL of each environment, absolute http(s); they must differ. A path
   * is kept. Default: addresses under `.test`, where no host exists.
   */
  baseUrls?: Readonly<Record<Environment, string>>;
  /** Where links lead: a link's URL is this, a slash and its reference id. Default: an address under `.test`. */
  linkBaseUrl?: string;
  /** How many requests the log of each environment holds, the latest: an integer of 0 or more. Default 1,000. */
  keepRequests?: number;
  /** The partner's keys, where the fixed test keys do not fit; with `'hmac-sha256'` alone. Default: fixed test keys. */
  apiKeys?: Partial<Record<Environment, string>>;
}

/**
 * Options of a client of the mock service. Each may be overridden in a spread:
 * `new HostedClient({ ...service.sandbox.clientOptions, apiKey: 'wrong' })`.
 *
 * @typeParam Name - The environment.
 */
export interface MockClientOptions<Name extends Environment = Environment> {
  /** The partner that the service knows. */
  partnerId: string;
  /** The key of this environment; with the scheme `'ed25519'` there is a `signer` in its place. */
  apiKey: string;
  /** The environment. */
  environment: Name;
  /** The base URLs of both environments. */
  baseUrls: Record<Environment, string>;
  /** As given to the service. */
  wire?: WireOptions;
  /** As given to the service. */
  clock?: Clock;
}

/**
 * One environment of the service, with a key, links and jobs of its own.
 *
 * @typeParam Options - The options of its clients.
 *
 * @see §§2 to 7 of docs/protocol.md
 */
export interface MockEnvironment<Options = MockClientOptions> {
  /**
   * The base URL. Default: `https://sandbox.hosted.test` or `https://production.hosted.test`. Under `.test` no host
   * exists.
   */
  readonly baseUrl: string;
  /**
   * Partner, environment, key, base URLs, `wire` and `clock` for a client of this environment. They contain no fetch:
   * add `fetch: service.fetch`, or use msw.
   *
   * The same in every process, for a program that reads them from its environment: partner `'085'` unless
   * `partnerId` says otherwise; with HMAC the key `'sandbox-test-key'` or `'production-test-key'`, as `apiKey`.
   * With Ed25519 the secret keys are 32 bytes of 1 (sandbox) or 3 (production), and the service's public keys
   * `gTl3Dqh9F19Wo1Rmw0x+zMuNipG07jeiXfYPW4/Js5Q=` and `ypOsFwUYcHHWe4PH/w7+gQjo7EUwV113JoeTM9vavnw=`, as `signer`.
   */
  readonly clientOptions: Options;
  /**
   * The latest requests for one of the five operations, in order of arrival: as many as `keepRequests` says. It
   * may be emptied by setting its length.
   */
  readonly requests: readonly {
    /** The operation. */
    operation: OperationName;
    /** The parsed body; null if it was not JSON. */
    body: unknown;
    /** The HTTP status of the response; 0 until it is known, or if there was no response. */
    status: number;
    /** When it arrived, in milliseconds since the epoch, on the service's clock. */
    at: number;
    /** Why it was refused, in the service's words, or which fault it met; null where it was neither. */
    problem: string | null;
  }[];
  /** Controls of links. */
  readonly links: {
    /**
     * Gives every link in order of creation, spelled as in the protocol's table.
     *
     * @returns The links as in a response (§2.2 of docs/protocol.md).
     */
    all(): readonly unknown[];
    /**
     * Adds links, as if the partner had created them.
     *
     * @param count - How many.
     */
    seed(count: number): void;
  };
  /** Controls of jobs: what end users, reviewers and the service do. */
  readonly jobs: {
    /**
     * Starts a job, as the end user does by opening a link. Ids that are left out are generated, but the job of a
     * single-use link gets the link's user id.
     *
     * @param job - Its ids, and the reference id of its link, if any.
     * @returns Both ids of the job.
     * @throws {HostedValidationError} when the link is disabled, has expired, or is for a single use and was used.
     * @throws {Error} when there is no such link, or the job exists already.
     *
     * @example A job of a link
     * ```ts
     * const job = service.sandbox.jobs.start({ linkRefId: refId });
     * ```
     */
    start(
      job?: Partial<JobRef> & {
        /** The reference id of the link it comes from. Default: none. */
        linkRefId?: string;
      },
    ): JobRef;
    /**
     * Adds a result to the job's history without completing it.
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
        /** The type. `'ID Verification'` adds what was read from an ID. Default: left out. */
        resultType?: string;
        /** Whether the result is marked as final. Default `false`. */
        final?: boolean;
      },
    ): void;
    /**
     * Adds a final result and completes the job. If the job is already complete, its outcome is replaced.
     *
     * @param job - Both ids of the job.
     * @param outcome - `'approved'` with code 0810, `'rejected'` with 0811, or a result of your own.
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
            /** Whether the user is enrolled or authenticated. */
            success: boolean;
          },
    ): void;
    /**
     * Creates the signed callback of one of the job's results, as a request to the link's callback URL, or to one
     * that stands for the account's default. A result always gets the same body, timestamp and signature, as if the
     * service redelivered it. Variants:
     * - `'forged'` is signed with a key that is not the service's,
     * - `'stale'` is correctly signed, an hour before the genuine one,
     * - `'altered'` has another result with the genuine timestamp and signature,
     * - `'unsigned'` has neither timestamp nor signature.
     *
     * @param job - Both ids of the job.
     * @param options - Which result, and what is wrong with the callback.
     * @returns The request, to pass to your handler.
     * @throws {Error} when there is no such job or result.
     */
    callback(
      job: JobRef,
      options?: {
        /** Which result, from 0. Default: the latest. */
        entry?: number;
        /** What is wrong with it. Default: nothing. */
        variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
        /** The length of a property to add, in bytes, as large as images are. Default: none. */
        padBytes?: number;
      },
    ): Promise<Request>;
    /**
     * Delivers the callback of one of the job's results, as created by `callback`.
     *
     * @param job - Both ids of the job.
     * @param options - Where to deliver it, which result, and what is wrong with the callback.
     * @returns The response.
     * @throws {Error} when there is no such job or result.
     *
     * @example To your handler
     * ```ts
     * const response = await service.sandbox.jobs.deliverCallback(job, { to: handle });
     * ```
     */
    deliverCallback(
      job: JobRef,
      options?: {
        /** Receives the request. Default: the platform's `fetch`, which posts it to its URL. */
        to?: (request: Request) => Promise<Response>;
        /** Which result, from 0. Default: the latest. */
        entry?: number;
        /** What is wrong with it, as for `callback`. Default: nothing. */
        variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
        /** The length of a property to add, in bytes, as large as images are. Default: none. */
        padBytes?: number;
      },
    ): Promise<Response>;
  };
  /**
   * Makes the next requests for an operation fail. The faults of several calls happen one after another.
   *
   * @param operation - Which requests.
   * @param fault - What goes wrong.
   * @param times - How many requests, 0 or more. Default 1.
   * @throws {RangeError} when `times` is negative.
   *
   * @example Two server errors
   * ```ts
   * service.sandbox.failNext('links.list', { kind: 'status', status: 503 }, 2);
   * ```
   */
  failNext(operation: OperationName, fault: MockFault, times?: number): void;
  /** Deletes links, jobs, requests and faults, and restarts the seed. */
  reset(): void;
}

/**
 * A fault: `'status'`, `'network'` and `'stall'` happen before the service acts, the others after it
 * has acted.
 */
export type MockFault =
  | {
      /** Responds with another status. */
      kind: 'status';
      /** The HTTP status. */
      status: number;
      /** The body. A string is sent unchanged, anything else as JSON. Default: an error of the service. */
      body?: unknown;
      /** The header `Retry-After`: seconds, or a date. Default: none. */
      retryAfter?: string;
    }
  | {
      /** Breaks the connection. */
      kind: 'network';
    }
  | {
      /** Never responds. Only the request's signal ends the request. */
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
      /** Responds with a signature by another key. */
      kind: 'bad-signature';
    }
  | {
      /** Responds without a signature. */
      kind: 'missing-signature';
    }
  | {
      /** Responds with a correct signature an hour old. */
      kind: 'stale-timestamp';
    };

/** The service: two environments behind one fetch. */
export interface MockService {
  /** The sandbox: the default environment of a client. */
  readonly sandbox: MockEnvironment<MockClientOptions<'sandbox'>>;
  /** Production, with another key, other links and jobs. */
  readonly production: MockEnvironment<MockClientOptions<'production'>>;
  /** Responds at the base URLs of both environments; rejects for any other URL. */
  readonly fetch: typeof globalThis.fetch;
  /** Resets both environments. */
  reset(): void;
  /**
   * Writes down links, jobs, faults to come, and how far the ids of the seed have come: not the requests, and no key.
   *
   * @returns JSON, for {@link MockService.restore}.
   */
  save(): string;
  /**
   * Puts back what `save` wrote, in place of everything there is: the ids that follow, and the callbacks of
   * results, are those that the saved service would have made. Links lead to this service's addresses.
   *
   * @param state - What `save` returned, of a service of the same partner, seed and spelling.
   * @throws {HostedValidationError} when it is not that; nothing is changed.
   *
   * @example Go on where another process stopped
   * ```ts
   * const service = createMockService();
   * const state = service.save();
   * createMockService().restore(state);
   * ```
   */
  restore(state: string): void;
}
