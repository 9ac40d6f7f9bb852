/**
 * What the testing kit offers: the types of the mock service, and nothing that acts on them.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { HostedClientOptions } from '../options.js';
import type { WireOptions } from '../protocol/assumptions.js';
import type { OperationName } from '../protocol/routes.js';
import type { Clock } from '../runtime/clock.js';

/** Options of {@link createMockService}; every one may be left out. */
export interface MockServiceOptions {
  /** The only partner the service knows. Default `'085'`. */
  partnerId?: string;
  /** How requests, answers and callbacks are signed. Default `'hmac-sha256'`. */
  scheme?: 'hmac-sha256' | 'ed25519';
  /** What the protocol leaves open: spoken by the service, and carried by `clientOptions`. */
  wire?: WireOptions;
  /** Links a page: a whole number of 1 or more. Default 20. */
  pageSize?: number;
  /**
   * The number of the first page. `clientOptions` does not tell it. Default: that of `wire`, where
   * it is a number; else 1.
   */
  firstPage?: 0 | 1;
  /**
   * Which of the protocol's two dialects the answers are in: that of its field tables, or that of
   * its samples (`user_ids` in place of `user_id`, `signature` in place of `sec_key`, no `result` while
   * the job is pending). `'random'` mixes both, and other spellings that were seen, property by property.
   * Default `'table'`.
   */
  spelling?: 'table' | 'sample' | 'random';
  /** Where ids and the mixture of `spelling: 'random'` start: one seed, one course. Default 1. */
  seed?: number;
  /**
   * Milliseconds from acting on a request to answering it, slept on `clock`. A client that gives up
   * meanwhile has been served all the same. Default 0.
   */
  latencyMs?: number;
  /** The service's time. Default: the platform's. */
  clock?: Clock;
}

/**
 * One environment of the service: a key, links and jobs that the other knows nothing of.
 *
 * @see §§2 to 7 of docs/protocol.md
 */
export interface MockEnvironment {
  /** The address, without a path: under `.test`, so that it is nobody's. */
  readonly baseUrl: string;
  /**
   * Partner, environment, key, both addresses, `wire` and `clock` for a client of this environment.
   * It holds no fetch: add `fetch: service.fetch`, or use msw.
   */
  readonly clientOptions: HostedClientOptions;
  /** Every request for one of the five operations, in order of arrival. */
  readonly requests: readonly {
    /** What was asked for. */
    operation: OperationName;
    /** The body, parsed; null where it was no JSON. */
    body: unknown;
    /** The HTTP status; 0 until an answer is decided on, and for good where there was none. */
    status: number;
    /** When it arrived, in milliseconds since the epoch, on the service's clock. */
    at: number;
  }[];
  /** What the service keeps of links. */
  readonly links: {
    /**
     * Gives every link in order of creation, as the protocol's table has it.
     *
     * @returns Links as they travel, spelt as in §2.2 of docs/protocol.md.
     */
    all(): readonly unknown[];
    /**
     * Adds links, as if they had been created.
     *
     * @param count - How many.
     */
    seed(count: number): void;
  };
  /** What end users, reviewers and the service itself do about jobs. */
  readonly jobs: {
    /**
     * Starts a job, as the end user does by opening a link. Ids that are left out are made up; the
     * user of a single-use link is the link's.
     *
     * @param job - Its ids, and the reference id of its link; a job needs no link.
     * @returns Both ids of the job.
     * @throws {Error} when there is no such link, or there is such a job already.
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
        /** The result in words. */
        resultText: string;
        /** Who decided. `'ID Verification'` adds what was read from an ID. Default: left out. */
        resultType?: string;
        /** What the result says of itself. Default `false`. */
        final?: boolean;
      },
    ): void;
    /**
     * Adds a final result and completes the job. Of a completed job it replaces the outcome.
     *
     * @param job - Both ids of the job.
     * @param outcome - How it ends: `'approved'` with code 0810, `'rejected'` with 0811, or as said.
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
            /** The result in words. */
            resultText: string;
            /** Whether the user is enrolled or authenticated. */
            success: boolean;
          },
    ): void;
    /**
     * Writes the signed callback of one of the job's results, as a request to the link's callback
     * address, or to one that stands for the account's default. One result is always sent with the
     * same body, timestamp and signature, as a service that delivers again does. Of the variants,
     * - `'forged'` is signed with a key that is not the service's,
     * - `'stale'` is correctly signed, and was so an hour before the genuine one,
     * - `'altered'` has another result under the genuine timestamp and signature,
     * - `'unsigned'` has neither timestamp nor signature.
     *
     * @param job - Both ids of the job.
     * @param options - Which result, and what is wrong with the callback.
     * @returns The request, for a handler of yours.
     * @throws {Error} when there is no such job or result.
     */
    callback(
      job: JobRef,
      options?: {
        /** Which result, from 0. Default: the latest. */
        entry?: number;
        /** What is wrong with it. Default: nothing. */
        variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
        /** How long a member to add, in bytes, as images do. Default: none. */
        padBytes?: number;
      },
    ): Promise<Request>;
    /**
     * Delivers the callback of one of the job's results: the one that `callback` writes.
     *
     * @param job - Both ids of the job.
     * @param options - To whom, which result, and what is wrong with the callback.
     * @returns What it was answered.
     * @throws {Error} when there is no such job or result.
     *
     * @example To a handler of yours
     * ```ts
     * const response = await service.sandbox.jobs.deliverCallback(job, { to: handle });
     * ```
     */
    deliverCallback(
      job: JobRef,
      options?: {
        /** Takes the request. Default: the platform's `fetch`, which posts it to its address. */
        to?: (request: Request) => Promise<Response>;
        /** Which result, from 0. Default: the latest. */
        entry?: number;
        /** What is wrong with it, as for `callback`. Default: nothing. */
        variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
        /** How long a member to add, in bytes, as images do. Default: none. */
        padBytes?: number;
      },
    ): Promise<Response>;
  };
  /**
   * Spoils the next requests for an operation; faults queue up behind each other.
   *
   * @param operation - Which requests.
   * @param fault - What goes wrong.
   * @param times - How many requests, 0 or more. Default 1.
   * @throws {RangeError} when `times` is negative.
   *
   * @example A service in trouble, twice
   * ```ts
   * service.sandbox.failNext('links.list', { kind: 'status', status: 503 }, 2);
   * ```
   */
  failNext(operation: OperationName, fault: MockFault, times?: number): void;
  /** Forgets links, jobs, requests and faults, and starts again from the seed. */
  reset(): void;
}

/**
 * A way for a request to go wrong: `'status'`, `'network'` and `'stall'` before the service acts, the
 * others after it has acted.
 */
export type MockFault =
  | {
      /** Answers with another status. */
      kind: 'status';
      /** The HTTP status. */
      status: number;
      /** The body: text is sent as it stands, anything else as JSON. Default: an error as the service words it. */
      body?: unknown;
      /** The header `Retry-After`: seconds, or a date. Default: none. */
      retryAfter?: string;
    }
  | {
      /** Breaks the connection. */
      kind: 'network';
    }
  | {
      /** Never answers; only the request's signal ends it. */
      kind: 'stall';
    }
  | {
      /** Breaks the connection in the middle of the body. */
      kind: 'truncate';
    }
  | {
      /** Answers 200 with a page. */
      kind: 'html';
    }
  | {
      /** Answers under a signature made with another key. */
      kind: 'bad-signature';
    }
  | {
      /** Answers without a signature. */
      kind: 'missing-signature';
    }
  | {
      /** Answers correctly signed, with a timestamp an hour old. */
      kind: 'stale-timestamp';
    };

/** The service: two environments behind one fetch. */
export interface MockService {
  /** The environment that clients talk to unless told otherwise. */
  readonly sandbox: MockEnvironment;
  /** The other one: another key, other links and jobs. */
  readonly production: MockEnvironment;
  /** Answers for both environments' addresses; a request to any other address rejects. */
  readonly fetch: typeof globalThis.fetch;
  /** Resets both environments. */
  reset(): void;
}
