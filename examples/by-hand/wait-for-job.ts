/** Typical hand-written code that waits for a job; docs/moving.md lists its mistakes. */

import { checkJob } from './check-job.ts';

export async function waitForJob(userId: string, jobId: string): Promise<'verified' | 'not verified'> {
  for (;;) {
    const status = await checkJob(userId, jobId);
    if (status.code === '2302' && status.job_complete) {
      return status.job_success ? 'verified' : 'not verified';
    }
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
}
