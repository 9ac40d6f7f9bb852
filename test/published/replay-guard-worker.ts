// A process of the run in replay-guard.ts: it hands over versions, and kills itself now and then before it commits one.

import process from 'node:process';
import { postgresReplayGuard } from 'hosted-client/tracking';
import pg from 'pg';
import { randomFrom } from '../support/random.ts';

/** A delivery about a version of a job. */
export interface Delivery {
  readonly job: number;
  readonly version: number;
}

const { DATABASE_URL, LEASE_MS = '3000', SKEW_MS = '0', SEED = '0' } = process.env;
// The clock of this process is wrong.
const { now } = Date;
Date.now = () => now() + Number(SKEW_MS);

const random = randomFrom(Number(SEED));
const pool = new pg.Pool({ connectionString: DATABASE_URL, connectionTimeoutMillis: 5_000 });
pool.on('error', () => {});
const guard = await postgresReplayGuard({ pool });

async function handOver({ job, version }: Delivery): Promise<string> {
  const given = [`job ${job}`, { id: `${job} ${version}`, signedAt: new Date(3_000 * version) }] as const;
  const said = await guard.begin(...given, Number(LEASE_MS), 86_400_000);
  if (said !== 'new') return said;
  await pool.query('insert into effects (job, version) values ($1, $2)', [job, version]);
  if (random() < 0.01) process.kill(process.pid, 'SIGKILL');
  await guard.commit(...given);
  return said;
}

process.on('message', async ([id, delivery]: [number, Delivery]) => {
  process.send?.([id, await handOver(delivery)]);
});
process.send?.('ready');
