/** Several processes that receive callbacks share a replay guard in PostgreSQL. Install `pg`. */

import { env } from 'node:process';
import { HostedClient } from 'hosted-client';
import { postgresReplayGuard } from 'hosted-client/tracking';
import { Pool } from 'pg';

const client = HostedClient.fromEnv();
export const pool = new Pool({ connectionString: env.DATABASE_URL, connectionTimeoutMillis: 5_000 });
// Without a listener, an idle connection that breaks would end the process.
pool.on('error', (error) => console.error(`a connection broke: ${error.message}`));

export const POST = client.callbacks.handler({
  // Any store with atomic writes can do this: see the interface `ReplayGuard`.
  replayGuard: await postgresReplayGuard({ pool }),
  onEvent: (event, status) => {
    console.log(`change ${event.id} is handled by one process: the job is ${status.state}`);
  },
});
