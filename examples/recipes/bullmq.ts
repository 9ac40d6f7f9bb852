/** BullMQ: a callback becomes a job of the queue, and a worker waits for the result. */

import { env } from 'node:process';
import { Queue, Worker } from 'bullmq';
import { HostedClient, type JobRef } from 'hosted-client';

const client = HostedClient.fromEnv();
const connection = { url: env.REDIS_URL ?? 'redis://127.0.0.1:6379' };

export const queue = new Queue<JobRef>('verifications', {
  connection,
  defaultJobOptions: {
    attempts: 20,
    backoff: { type: 'exponential', delay: 1_000 },
    removeOnComplete: 1_000,
  },
});

export const POST = client.callbacks.handler({
  onEvent: async ({ userId, jobId }) => {
    // The two ids are enough: nothing of the result is stored in the queue.
    await queue.add('verification', { userId, jobId });
  },
});

export const worker = new Worker<JobRef>(
  'verifications',
  async (job, _token, signal) => {
    // If this rejects, for example because the job is still pending, the queue tries again later.
    const status = await client.jobs.waitForCompletion(job.data, { deadlineMs: 60_000, ...(signal && { signal }) });
    // A verdict may change: keep it by job, as in express-and-postgres.ts.
    console.log(`the job is ${status.state}`);
  },
  { connection },
);
