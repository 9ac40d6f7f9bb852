/**
 * What the testing kit offers: the types of the mock service, and nothing that acts on them.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Clock, HostedClientOptions, WireOptions } from '../options.js';
import type { OperationName } from '../routes.js';

/** Options of {@link createMockService}; every one may be left out. */
export interface MockServiceOptions {
  /** The only partner the service knows. Default `'085'`. */
  partnerId?: string;
  /** How requests and answers are signed. Default `'hmac-sha256'`. */
  scheme?: 'hmac-sha256' | 'ed25519';
  /** What the protocol leaves open: spoken by the service, and carried by `clientOptions`. */
  wire?: WireOptions;
  /** Links a page. Default 20. */
  pageSize?: number;
  /**
   * The number of the first page. `clientOptions` does not tell it. Default: that of `wire`, where
   * it is a number; else 1.
   */
  firstPage?: 0 | 1;
  /**
   * Which of the protocol's two dialects the answers are in: that of its field tables, or that of
   * its samples (`user_ids`, `signature`, absent members left out). `'random'` mixes both, and
   * other spellings that were seen, member by member. Default `'table'`.
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

/** One environment of the service: a key, links and jobs that the other knows nothing of. */
export interface MockEnvironment {
  /** The address, without a path. */
  readonly baseUrl: string;
  /**
   * Partner, environment, key, both addresses, `wire` and `clock` for a client of this environment.
   * It holds no fetch: add `fetch: service.fetch`, or use msw.
   */
  readonly clientOptions: HostedClientOptions;
  /**
   * Every request for one of the five operations, in order of arrival. `body` is null where it was
   * no JSON, `at` is in milliseconds, `status` is 0 until an answer is decided on, and stays 0 where
   * there was none.
   */
  readonly requests: readonly { operation: OperationName; body: unknown; status: number; at: number }[];
  readonly links: {
    /** Every link in order of creation, as the protocol's table has it (docs/protocol.md §2.2). */
    all(): readonly unknown[];
    /** Adds `count` links, as if they had been created. */
    seed(count: number): void;
  };
  readonly jobs: {
    /**
     * Starts a job, as the end user does by opening a link. Ids that are left out are made up; the
     * user of a single-use link is the link's.
     *
     * @throws {Error} when there is no such link, or there is such a job already.
     */
    start(job?: Partial<JobRef> & { linkRefId?: string }): JobRef;
    /**
     * Adds a result to the job's history without completing it. `final` is what the result says of
     * itself, default `false`. A `resultType` of `'ID Verification'` adds what was read from an ID.
     *
     * @throws {Error} when there is no such job.
     */
    report(job: JobRef, entry: { resultCode: string; resultText: string; resultType?: string; final?: boolean }): void;
    /**
     * Adds a final result and completes the job. Of a completed job it replaces the outcome.
     *
     * @throws {Error} when there is no such job.
     */
    complete(
      job: JobRef,
      outcome: 'approved' | 'rejected' | { resultCode: string; resultText: string; success: boolean },
    ): void;
    /**
     * The signed callback of the job's latest result, or of its `entry`th (from 0), as a request to
     * the link's callback address. One result is always sent with the same body, timestamp and
     * signature, as a service that delivers again does. Of the variants,
     * - `'forged'` is signed with a key that is not the service's,
     * - `'stale'` is correctly signed, and was so an hour before the genuine one,
     * - `'altered'` has another result under the genuine timestamp and signature,
     * - `'unsigned'` has neither timestamp nor signature.
     *
     * `padBytes` adds a member of that length, as images do.
     *
     * @throws {Error} when there is no such job or result.
     */
    callback(
      job: JobRef,
      options?: { entry?: number; variant?: 'forged' | 'stale' | 'altered' | 'unsigned'; padBytes?: number },
    ): Promise<Request>;
    /** Hands the callback to `to`, or posts it to its address by the platform's `fetch`. */
    deliverCallback(
      job: JobRef,
      options?: {
        to?: (request: Request) => Promise<Response>;
        entry?: number;
        variant?: 'forged' | 'stale' | 'altered' | 'unsigned';
        padBytes?: number;
      },
    ): Promise<Response>;
  };
  /** Spoils the next `times` (default 1) requests for `operation`; faults queue up behind each other. */
  failNext(operation: OperationName, fault: MockFault, times?: number): void;
  /** Forgets links, jobs, requests and faults, and starts again from the seed. */
  reset(): void;
}

/**
 * A way for a request to go wrong. Before the service acts:
 * - `'status'` answers with this status; a `body` of text is sent as it stands, any other as JSON,
 * - `'network'` breaks the connection,
 * - `'stall'` never answers; only the request's signal ends it.
 *
 * After the service has acted:
 * - `'truncate'` breaks the connection in the middle of the body,
 * - `'html'` answers 200 with a page,
 * - `'bad-signature'` answers under a signature made with another key,
 * - `'missing-signature'` answers without one,
 * - `'stale-timestamp'` answers correctly signed, with a timestamp an hour old.
 */
export type MockFault =
  | { kind: 'status'; status: number; body?: unknown; retryAfter?: string }
  | { kind: 'network' }
  | { kind: 'stall' }
  | { kind: 'truncate' }
  | { kind: 'html' }
  | { kind: 'bad-signature' }
  | { kind: 'missing-signature' }
  | { kind: 'stale-timestamp' };

/** The service: two environments behind one fetch. */
export interface MockService {
  readonly sandbox: MockEnvironment;
  readonly production: MockEnvironment;
  /** Answers for both environments' addresses; a request to any other address rejects. */
  readonly fetch: typeof globalThis.fetch;
  /** Resets both environments. */
  reset(): void;
}
