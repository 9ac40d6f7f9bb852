/** Waits for many jobs at once. Each job is an object with its own row number. */

import { env } from 'node:process';
import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const rows = [
  { row: 1, userId: env.USER_ID ?? '', jobId: env.JOB_ID ?? '' },
  { row: 2, userId: env.USER_ID ?? '', jobId: 'a-job-that-nobody-knows' },
];

for await (const { job, status, error } of client.jobs.waitForAll(rows, { concurrency: 5, notFoundGraceMs: 0 })) {
  if (error) console.log(`row ${job.row}: ${error.code}`);
  else console.log(`row ${job.row}: ${status.state}`);
}
