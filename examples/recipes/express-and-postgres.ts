/** Express 5 and PostgreSQL: creates links for users, and stores each result once. */

import { env } from 'node:process';
import express from 'express';
import { HostedClient } from 'hosted-client';
import { nodeHandler } from 'hosted-client/node';
import { Pool } from 'pg';

const client = HostedClient.fromEnv();
const db = new Pool({ connectionString: env.DATABASE_URL });
// Without a listener, an idle connection that breaks would end the process.
db.on('error', (error) => console.error(`a connection broke: ${error.message}`));

await db.query(`
  create table if not exists results (
    event_id text primary key,
    user_id text not null,
    job_id text not null,
    state text not null,
    received_at timestamptz not null default now()
  )`);

const handle = client.callbacks.handler({
  onEvent: async (event, status) => {
    // This is an interim result. The final result has its own callback.
    if (!status.complete) return;
    // A result that is delivered again has the same id.
    await db.query(
      'insert into results (event_id, user_id, job_id, state) values ($1, $2, $3, $4) on conflict do nothing',
      [event.id, event.userId, event.jobId, status.state],
    );
  },
  onError: (error, { phase, status }) => {
    console.error(`a callback ended in ${status}: ${phase}`, error);
  },
});

const app = express();

// Callbacks carry images: they grow to 1.5 MB, and the usual limit is 100 KB.
app.use(express.json({ limit: '8mb' }));
app.post('/callbacks', nodeHandler(handle));

app.post('/verifications', async (request, response) => {
  const { url, refId } = await client.links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://example.test/privacy',
    callbackUrl: 'https://example.test/callbacks',
    isSingleUse: true,
    userId: request.body.userId,
  });
  response.status(201).json({ url, refId });
});

export const server = app.listen(Number(env.PORT ?? 3000), '127.0.0.1');
