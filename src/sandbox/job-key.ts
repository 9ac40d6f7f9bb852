/**
 * The keys of links and jobs. Two environments may have the same ids.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';

export function linkKey(environment: Environment, refId: string): string {
  return JSON.stringify([environment, refId]);
}

export function jobKey({ environment, job: { userId, jobId } }: { environment: Environment; job: JobRef }): string {
  return JSON.stringify([environment, userId, jobId]);
}
