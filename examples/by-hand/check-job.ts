/** Typical hand-written code that compares the signature of a job status; docs/moving.md lists its mistakes. */

import { post, sign } from './post.ts';

export async function checkJob(userId: string, jobId: string) {
  const status = await post('job_status', { user_id: userId, job_id: jobId });
  if (status.signature !== sign(status.timestamp)) throw new Error('The signature is wrong');
  return status;
}
