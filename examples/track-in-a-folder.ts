/** Tracks the jobs of a link in a folder, without a database server: one process, for a first try with the sandbox. */

import process, { env } from 'node:process';
import express from 'express';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { createTracker } from 'hosted-client/tracking';

const client = HostedClient.fromEnv();

// With PostgreSQL, pass { client, connectionString }. Then any number of processes can track jobs.
export const tracker = await createTracker({ client, folder: env.JOBS_FOLDER ?? 'jobs' });

await tracker.onCompletion((completion) => {
  const end = completion.outcome === 'completed' ? completion.status.state : completion.outcome;
  console.log(`${JSON.stringify(completion.context)}: ${end}`);
});

const app = express();
app.use(express.json({ limit: '2mb' }));
app.post('/callbacks', nodeHandler(tracker.handler()));
export const server = app.listen(Number(env.PORT ?? 3000), '127.0.0.1');

export const link = await client.links.create({
  companyName: 'Example Partner',
  dataPrivacyPolicyUrl: 'https://partner.example/privacy',
  callbackUrl: 'http://127.0.0.1:3000/callbacks',
});
await tracker.trackLink(link.refId, { context: { customer: 7 } });
console.log(`Open ${link.url}`);

process.once('SIGINT', async () => {
  server.close();
  await tracker.stop();
});
