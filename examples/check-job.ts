/** Fetches the status of a job, with its history and image links. */

import { env } from 'node:process';
import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const status = await client.jobs.status({
  userId: env.USER_ID ?? '',
  jobId: env.JOB_ID ?? '',
  history: true,
  imageLinks: true,
});

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
