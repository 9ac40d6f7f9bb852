/** Fetches the status of a job, with its history and image links. */

import { readFile } from 'node:fs/promises';
import { env } from 'node:process';
import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

// A job is named by two ids. Here, the command `play` has written them into this file.
const { userId, jobId } = JSON.parse(await readFile(env.JOB_FILE ?? 'job.json', 'utf8'));

const status = await client.jobs.status({ userId, jobId, history: true, imageLinks: true });

switch (status.state) {
  case 'pending':
    console.log('no result yet:', status.message);
    break;
  case 'succeeded':
    console.log('verified:', status.result?.resultText, status.signedAt);
    break;
  case 'failed':
    console.log('not verified:', status.result?.resultText, status.history?.length, 'results');
    break;
}
