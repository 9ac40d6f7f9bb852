/** Express 5 and PostgreSQL: creates links for users, and keeps the verdict of each job. */

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
    environment text,
    partner_id text,
    user_id text,
    job_id text,
    state text not null,
    signed_at timestamptz not null,
    primary key (environment, partner_id, user_id, job_id)
  )`);

const handle = client.callbacks.handler({
  onEvent: async (event, status) => {
    // A verdict may change. It is kept by job, and only what was signed later replaces it.
    await db.query(
      `insert into results (environment, partner_id, user_id, job_id, state, signed_at) values ($1, $2, $3, $4, $5, $6)
       on conflict (environment, partner_id, user_id, job_id) do update
       set state = excluded.state, signed_at = excluded.signed_at where results.signed_at < excluded.signed_at`,
      [client.environment, env.HOSTED_PARTNER_ID, event.userId, event.jobId, status.state, event.signedAt],
    );
  },
  onError: (error, { phase, status }) => {
    console.error(`a callback ended in ${status}: ${phase}`, error);
  },
});

const app = express();

// Callbacks carry images: they grow to 1.5 MB, and the usual limit is 100 KB.
app.use(express.json({ limit: '2mb' }));
app.post('/callbacks', nodeHandler(handle));

app.post('/verifications', async (request, response) => {
  const { userId } = request.body;
  const { refId } = await client.links.create({
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://example.test/privacy',
    callbackUrl: 'https://example.test/callbacks',
    isSingleUse: true,
    userId,
  });
  // The signature covers no body, so nothing but this shows that the link is this user's.
  const { url, userIds } = await client.links.get(refId);
  if (!userIds.includes(userId)) throw new Error('the link is of another user');
  response.status(201).json({ url, refId });
});

export const server = app.listen(Number(env.PORT ?? 3000), '127.0.0.1');
