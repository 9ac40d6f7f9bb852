/**
 * The `jobs` namespace: what partners call (docs/protocol.md §4.5).
 *
 * @module
 */

import type { ApiPromise } from '../api-promise.js';
import type { Call } from '../call.js';
import type { CallOptions } from '../options.js';
import { jobStatus } from './operations.js';
import type { JobQuery, JobStatus } from './types.js';

/** Verification jobs. */
export interface Jobs {
  /**
   * Asks for a job's status, and believes it only when the service signed it.
   *
   * @param query - Both ids of the job, and whether to ask for image links and history.
   * @throws {HostedNotFoundError} when the service knows no such job (code 2304).
   * @throws {HostedAuthenticationError} when partner id and key do not belong together (2305).
   * @throws {HostedSignatureError} when the answer is not signed by the service, or not lately.
   * @throws {HostedResponseError} when the answer is about another job, or cannot be read.
   *
   * @example
   * ```ts
   * const status = await client.jobs.status({ userId, jobId, history: true });
   * if (status.complete) console.log(status.success);
   * ```
   *
   * docs/protocol.md §4.5
   */
  status(query: JobQuery, options?: CallOptions): ApiPromise<JobStatus>;
}

/**
 * Makes the namespace over a way to call.
 *
 * @internal
 */
export function createJobs(call: Call): Jobs {
  return {
    status: (query, options) => call(jobStatus, query, options),
  };
}
