/**
 * The key of a job. Two environments may have jobs of the same ids.
 *
 * @module
 */

import type { JobRef } from '../jobs/types.js';
import type { Environment } from '../options.js';

export function jobKey({ environment, job: { userId, jobId } }: { environment: Environment; job: JobRef }): string {
  return JSON.stringify([environment, userId, jobId]);
}
