// A process of the run in replay-guard.ts: it receives callbacks, and is killed again and again.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { buffer } from 'node:stream/consumers';
import { HostedClient } from 'hosted-client';
import { postgresReplayGuard } from 'hosted-client/tracking';
import pg from 'pg';

const { DATABASE_URL, PARTNER_ID = '', API_KEY = '', LEASE_MS = '2000', SKEW_MS = '0' } = process.env;
// The clock of this process is wrong.
const { now } = Date;
Date.now = () => now() + Number(SKEW_MS);

const pool = new pg.Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 5_000 });
pool.on('error', () => {});
const client = new HostedClient({
  partnerId: PARTNER_ID,
  apiKey: API_KEY,
  baseUrls: { sandbox: 'http://127.0.0.1:9' },
});
const handle = client.callbacks.handler({
  confirm: false,
  replayGuard: await postgresReplayGuard({ pool, leaseMs: Number(LEASE_MS) }),
  async onEvent({ jobId }) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    await pool.query('insert into effects (job_id) values ($1)', [jobId]);
  },
});

const server = createServer(async (incoming, outgoing) => {
  const body = await buffer(incoming);
  const { status } = await handle(new Request('http://web.test/callbacks', { method: 'POST', body }));
  outgoing.writeHead(status).end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
process.send?.((server.address() as AddressInfo).port);
