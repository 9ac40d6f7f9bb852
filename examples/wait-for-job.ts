/** Waits for a job. If the process stops earlier, another process can continue with the stored ids. */

import { readFile, writeFile } from 'node:fs/promises';
import { env } from 'node:process';
import { HostedClient, HostedPollTimeoutError } from 'hosted-client';

const client = HostedClient.fromEnv();
const file = env.JOB_FILE ?? 'job.json';

// A job is stored as its two ids. Here, the command `play` has written them into this file.
const job = JSON.parse(await readFile(file, 'utf8'));

try {
  const { success, result } = await client.jobs.waitForCompletion(job, {
    deadlineMs: Number(env.DEADLINE_MS ?? 600_000),
    onPoll: ({ attempt, status }) => console.log(`poll ${attempt}: ${status?.state ?? 'no status'}`),
  });
  console.log(success ? 'verified:' : 'not verified:', result?.resultText);
} catch (error) {
  if (!(error instanceof HostedPollTimeoutError)) throw error;
  await writeFile(file, JSON.stringify(error.job));
  console.log(`still ${error.lastStatus?.state ?? 'unknown'}: run this again to go on`);
}
