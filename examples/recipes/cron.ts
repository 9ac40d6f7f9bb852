/** A cron script for a back end that callbacks cannot reach: it waits for the jobs whose ids are stored. */

import { env } from 'node:process';
import { HostedClient, type JobRef } from 'hosted-client';
import { Pool } from 'pg';

const client = HostedClient.fromEnv();
const db = new Pool({ connectionString: env.DATABASE_URL });
// Without a listener, an idle connection that breaks would end the process.
db.on('error', (error) => console.error(`a connection broke: ${error.message}`));

const { rows } = await db.query<JobRef>(
  `select user_id as "userId", job_id as "jobId" from jobs where state = 'pending'`,
);

// The script runs every five minutes. A job that is still pending after four minutes is left to the next run.
const deadlineMs = Number(env.DEADLINE_MS ?? 240_000);

for await (const { job, status, error } of client.jobs.waitForAll(rows, { deadlineMs })) {
  if (status) {
    await db.query('update jobs set state = $1 where user_id = $2 and job_id = $3', [
      status.state,
      job.userId,
      job.jobId,
    ]);
  } else if (error.code !== 'poll_timeout') {
    console.error('the status of a job could not be fetched', error);
  }
}

await db.end();
