/** A cron script that follows the jobs whose ids are stored, without a process that stays. */

import { env } from 'node:process';
import { HostedClient, type JobRef } from 'hosted-client';
import { createTracker } from 'hosted-client/tracking';
import { Pool } from 'pg';

const client = HostedClient.fromEnv();
const pool = new Pool({ connectionString: env.DATABASE_URL, connectionTimeoutMillis: 5_000 });
// Without a listener, an idle connection that breaks would end the process.
pool.on('error', (error) => console.error(`a connection broke: ${error.message}`));

const tracker = await createTracker({ client, pool });
const { rows } = await pool.query<JobRef>(
  `select user_id as "userId", job_id as "jobId" from jobs where state = 'pending'`,
);
// A job that is tracked already stays as it is.
await tracker.track(rows);

// The script runs every five minutes. What is not done after four minutes is left to the next run.
await tracker.work({
  forMs: Number(env.WORK_MS ?? 240_000),
  handler: async (completion) => {
    const status = completion.outcome === 'completed' ? completion.status : null;
    // A verdict may change. Only what was signed later replaces it.
    await pool.query(
      `update jobs set state = $1, signed_at = $2
       where user_id = $3 and job_id = $4 and (signed_at is null or signed_at < $2)`,
      [status?.state ?? completion.outcome, status?.signedAt, completion.job?.userId, completion.job?.jobId],
    );
  },
});

await tracker.stop();
await pool.end();
