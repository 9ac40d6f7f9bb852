/** pg-boss: a callback becomes a job of the queue, and a worker waits for the result. */

import { env } from 'node:process';
import { HostedClient, type JobRef } from 'hosted-client';
import { PgBoss } from 'pg-boss';

const client = HostedClient.fromEnv();

export const boss = new PgBoss(env.DATABASE_URL ?? '');
boss.on('error', console.error);
await boss.start();
await boss.createQueue('verifications', {
  // The queue has at most one unfinished job for each `singletonKey`.
  policy: 'exclusive',
  retryLimit: 20,
  retryBackoff: true,
  retryDelayMax: 900,
});

export const POST = client.callbacks.handler({
  onEvent: async ({ id, userId, jobId }) => {
    // The two ids are enough: nothing of the result is stored in the queue.
    await boss.send('verifications', { userId, jobId }, { singletonKey: id });
  },
});

await boss.work<JobRef>('verifications', async ([job]) => {
  if (!job) return;
  // If this rejects, for example because the job is still pending, the queue tries again later.
  const status = await client.jobs.waitForCompletion(job.data, { deadlineMs: 60_000, signal: job.signal });
  console.log(`the job is ${status.state}`);
});
