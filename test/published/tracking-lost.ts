/**
 * Loses the messages of 10,000 and of 100,000 completions, in tables without statistics, while other completions are
 * handed over: no completion may be without its message for more than five minutes. Then it retries 2,000 of 20,000
 * dead letters by their keys, which may take at most three times as long as `retry('all')` of 2,000.
 */

import process, { stdout } from 'node:process';
import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker, type SqlPool, type TrackerOptions } from 'hosted-client/tracking';
import { openLite, programs, startCluster } from '../tracking/databases.ts';

const longestMs = 300_000;
/** Completions whose messages are not lost. */
const otherCount = 20;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

const lite = await openLite();
const cluster = programs === null ? null : await startCluster();
try {
  await checkAll('PGlite', lite.pool);
  if (cluster) await checkAll('PostgreSQL', cluster.pool);
} finally {
  await Promise.all([lite.close(), cluster?.close()]);
}

async function checkAll(name: string, pool: SqlPool): Promise<void> {
  await replaceLost(name, pool, 10_000);
  await replaceLost(name, pool, 100_000);
  await retryByKeys(name, pool);
}

/** A service, and the options of a tracker with tables of its own. */
async function createWorld(pool: SqlPool, schema: string) {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const options: TrackerOptions = { client, pool, schema, logger, maxRequestsPerSecond: 1_000 };
  const tracker = await createTracker(options);
  const tables = [`${schema}.tracked`, `${schema}_boss.job_common`];
  for (const table of tables) await pool.query(`alter table ${table} set (autovacuum_enabled = false)`);
  const count = async (sql: string) =>
    Number(((await pool.query(`select count(*) as count from ${sql}`)).rows[0] as { count: string }).count);
  return { service, options, tracker, count };
}

/** Adds completions that have ended, and have no message. State 2 is `handing_over`, 4 is `dead`; outcome 2 is `expired`. */
function addEnded(pool: SqlPool, schema: string, state: 2 | 4, count: number): Promise<unknown> {
  return pool.query(`insert into ${schema}.tracked (key, kind, state, outcome, user_id, job_id, ended_at, end_id)
    select gen_random_uuid(), 0, ${state}, 2, 'user', 'job-' || n, now() - n * interval '1 millisecond', gen_random_uuid()
    from generate_series(1, ${count}) n`);
}

async function replaceLost(name: string, pool: SqlPool, lost: number): Promise<void> {
  const schema = `lost_${lost}`;
  const { service, options, tracker, count } = await createWorld(pool, schema);
  await addEnded(pool, schema, 2, lost);
  await pool.query(`update ${schema}.fleet set kept_at = now() - interval '1 hour'`);
  let handed = 0;
  const worker = await createTracker(options);
  await worker.onCompletion(() => {
    handed += 1;
  });
  const others = Array.from({ length: otherCount }, () => service.sandbox.jobs.start());
  for (const job of others) service.sandbox.jobs.complete(job, 'approved');
  await tracker.track(others);
  const startedAt = performance.now();
  let missing = lost;
  while (missing > 0 && performance.now() - startedAt < longestMs) {
    await sleep(250);
    missing = lost + otherCount - (await count(`${schema}_boss.job_common`));
  }
  const tookMs = performance.now() - startedAt;
  const handedMeanwhile = handed;
  await worker.stop({ timeoutMs: 5_000 });
  await tracker.stop();
  report(
    missing === 0 && handedMeanwhile > 0,
    `${name}, ${lost} lost messages: replaced within ${seconds(tookMs)}, ${missing} missing; meanwhile ${handedMeanwhile} completions were handed over`,
  );
}

async function retryByKeys(name: string, pool: SqlPool): Promise<void> {
  const schema = 'retried';
  const { tracker } = await createWorld(pool, schema);
  const timeOf = async (run: () => Promise<number>) => {
    const startedAt = performance.now();
    const retried = await run();
    if (retried !== 2_000) throw new Error(`${retried} were retried`);
    return performance.now() - startedAt;
  };
  const times: { readonly all: number[]; readonly keys: number[] } = { all: [], keys: [] };
  for (let turn = 0; turn < 3; turn++) {
    await pool.query(`delete from ${schema}.tracked; delete from ${schema}_boss.job_common`);
    await addEnded(pool, schema, 4, 2_000);
    times.all.push(await timeOf(() => tracker.retry('all')));
    await addEnded(pool, schema, 4, 20_000);
    const { rows } = await pool.query(`select key from ${schema}.tracked where state = 4 order by key limit 2000`);
    times.keys.push(await timeOf(() => tracker.retry(rows.map((row) => String((row as { key: string }).key)))));
  }
  await tracker.stop();
  const [all, keys] = [Math.min(...times.all), Math.min(...times.keys)];
  report(
    keys <= 3 * all,
    `${name}, retry() of 2,000 keys of 20,000: ${seconds(keys)}; retry('all') of 2,000: ${seconds(all)}`,
  );
}

function report(isRight: boolean, text: string): void {
  stdout.write(`${isRight ? 'ok' : 'NOT OK'} ${text}\n`);
  if (!isRight) process.exitCode = 1;
}
