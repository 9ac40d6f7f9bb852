/**
 * What twenty partners cost in one process, each with a schema of its own, over one pool: statements and connections while
 * nothing is due, memory, and how long their completions take. It needs a PostgreSQL with pg_stat_statements.
 */

import process, { stdout } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker, type Tracker } from 'hosted-client/tracking';
import pg from 'pg';
import { startCluster } from '../tracking/databases.ts';
import { requirePostgresql } from './tracker-runs.ts';

requirePostgresql();
const partners = 20;
const jobsEach = 50;
const idleSeconds = 20;
const cluster = await startCluster([
  '-c shared_preload_libraries=pg_stat_statements',
  '-c pg_stat_statements.track=top',
]);
await cluster.pool.query('create extension pg_stat_statements');
const pool = new pg.Pool({ connectionString: cluster.connectionString, max: 10, connectionTimeoutMillis: 10_000 });
pool.on('error', () => {});
const service = createMockService();
const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
const trackers: Tracker[] = [];
let handled = 0;
try {
  const before = process.memoryUsage().rss;
  for (let n = 0; n < partners; n++) {
    const tracker = await createTracker({ client, pool, schema: `partner_${n}`, minDelayMs: 1_000 });
    await tracker.onCompletion(() => {
      handled += 1;
    });
    trackers.push(tracker);
  }
  const rss = (process.memoryUsage().rss - before) / 2 ** 20;
  await sleep(10_000);
  await cluster.pool.query('select pg_stat_statements_reset()');
  const cpu = process.cpuUsage();
  await sleep(idleSeconds * 1_000);
  const { user, system } = process.cpuUsage(cpu);
  const { rows } = await cluster.pool.query(
    "select coalesce(sum(calls), 0)::integer as calls from pg_stat_statements where query not like '%pg_stat%'",
  );
  const { calls } = rows[0] as { calls: number };
  const perSecond = (count: number) => (count / idleSeconds).toFixed(1);
  stdout.write(
    `${partners} partners with nothing to do: ${perSecond(calls)} statements a second (${(calls / idleSeconds / partners).toFixed(1)} each), ` +
      `${pool.totalCount} connections, ${rss.toFixed(0)} MB, ${((user + system) / idleSeconds / 10_000).toFixed(1)} % of a core\n`,
  );
  const startedAt = performance.now();
  await Promise.all(
    trackers.map((tracker) => {
      const jobs = Array.from({ length: jobsEach }, () => service.sandbox.jobs.start());
      for (const job of jobs) service.sandbox.jobs.complete(job, 'approved');
      return tracker.track(jobs);
    }),
  );
  while (handled < partners * jobsEach && performance.now() - startedAt < 120_000) await sleep(50);
  stdout.write(
    `${handled} completions of ${partners * jobsEach} jobs after ${((performance.now() - startedAt) / 1_000).toFixed(1)} s ` +
      `(10 requests a second for each partner), ${pool.totalCount} connections\n`,
  );
} finally {
  await Promise.all(trackers.map((tracker) => tracker.stop()));
  await pool.end();
  await cluster.close();
}
