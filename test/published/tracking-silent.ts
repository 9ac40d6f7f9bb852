/**
 * Lets three of four workers fail at once. Two are behind proxies that forward nothing more from the moment of a
 * `commit`, and keep all sockets open, as a machine does that loses its power or its network. The third is killed while
 * its handlers run. The fourth has to do the work of all: each effect once, and the last in time.
 */

import { type ChildProcess, fork } from 'node:child_process';
import process, { argv, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { HostedClient } from 'hosted-client';
import { createTracker } from 'hosted-client/tracking';
import pg from 'pg';
import { startCluster } from '../tracking/databases.ts';
import { startSilentProxy } from '../tracking/silent-proxy.ts';
import { completedJob, withService } from './service.ts';
import { requirePostgresql, silent } from './tracker-runs.ts';

const jobCount = 300;
const handlerTimeoutMs = 5_000;
/** The longest time from the failures to the last effect. */
const boundMs = handlerTimeoutMs + 40_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

requirePostgresql();
await (argv.includes('--worker') ? work() : check());

/** A worker with a pool of its own, which has no limits. Its handler makes its effect in a transaction. */
async function work(): Promise<void> {
  const { DATABASE_URL = '', EFFECTS_URL = '' } = process.env;
  const pool = new pg.Pool({ connectionString: DATABASE_URL });
  const effects = new pg.Pool({ connectionString: EFFECTS_URL });
  for (const one of [pool, effects]) one.on('error', () => {});
  const tracker = await createTracker<{ n: number }>({
    client: HostedClient.fromEnv(),
    pool,
    maxRequestsPerSecond: 400,
    handlerTimeoutMs,
    logger: argv.includes('--verbose') ? console : silent,
  });
  await tracker.onCompletion(async ({ key, context }) => {
    process.send?.(1);
    await sleep(200 + Math.random() * 200);
    const connection = await effects.connect();
    connection.on('error', () => {});
    await connection.query("begin; set local idle_in_transaction_session_timeout = '10s'");
    const added = await connection.query('insert into handled (key) values ($1) on conflict do nothing', [key]);
    if (added.rowCount === 1) await connection.query('update effects set times = times + 1 where n = $1', [context?.n]);
    await connection.query('commit');
    connection.removeAllListeners('error');
    connection.release();
    process.send?.(-1);
  });
}

async function check(): Promise<void> {
  const cluster = await startCluster();
  const port = Number(new URL(cluster.connectionString).port);
  const proxies = [await startSilentProxy(port), await startSilentProxy(port)] as const;
  const children: ChildProcess[] = [];
  try {
    await withService(async (env, service) => {
      await cluster.pool.query(`create table handled (key uuid primary key, at timestamptz default clock_timestamp());
        create table effects (n integer primary key, times integer not null default 0)`);
      await cluster.pool.query('insert into effects (n) select generate_series(0, $1::integer - 1)', [jobCount]);
      Object.assign(process.env, env);
      const client = HostedClient.fromEnv();
      const tracker = await createTracker<{ n: number }>({ client, connectionString: cluster.connectionString });
      await tracker.track(Array.from({ length: jobCount }, (_, n) => ({ ...completedJob(service), context: { n } })));

      const direct = cluster.connectionString;
      const silentUrls = proxies.map((proxy) => direct.replace(`:${port}/`, `:${proxy.port}/`));
      const running = [0, 0, 0, 0];
      for (const [at, [url = '', effectsUrl = '']] of [
        [silentUrls[0], silentUrls[0]],
        [silentUrls[1], direct],
        [direct, direct],
        [direct, direct],
      ].entries()) {
        const child = fork(fileURLToPath(import.meta.url), ['--worker', ...argv.slice(2)], {
          env: { ...process.env, DATABASE_URL: url, EFFECTS_URL: effectsUrl },
        });
        child.on('message', (change) => {
          running[at] = (running[at] ?? 0) + Number(change);
        });
        children.push(child);
      }

      const count = async (text: string) => Number((await cluster.pool.query(text)).rows.length);
      const handled = () => count('select 1 from handled');
      await until('the first effects', 60_000, async () => (await handled()) > jobCount / 10);
      // The first one falls silent at the commit of an effect, the second one when it stores a result.
      proxies[0].silenceAt('commit');
      proxies[1].silenceAt('select * from begun');
      await until('silence and running handlers', 60_000, async () => {
        return proxies.every(({ isSilent }) => isSilent) && (running[2] ?? 0) >= 3;
      });
      children[2]?.kill('SIGKILL');
      const failedAt = performance.now();
      const before = await handled();
      await until('all effects', boundMs * 2, async () => (await handled()) === jobCount);
      const lastMs = performance.now() - failedAt;
      await until('all results', boundMs, async () => (await tracker.stats()).handingOver === 0);
      const settledMs = performance.now() - failedAt;
      const once = await count('select 1 from effects where times = 1');
      const stats = await tracker.stats();
      await tracker.stop();

      stdout.write(
        `two silent workers and a killed one: ${once} of ${jobCount} effects once, ${before} before they failed; the last ${(lastMs / 1_000).toFixed(1)} s later, its result stored ${(settledMs / 1_000).toFixed(1)} s later\n`,
      );
      if (once !== jobCount || stats.dead > 0 || lastMs > boundMs) {
        stdout.write(`FAILED: an effect is missing or was made twice, or came later than ${boundMs} ms\n`);
        process.exitCode = 1;
      }
    });
  } finally {
    for (const child of children) child.kill('SIGKILL');
    for (const proxy of proxies) await proxy.close();
    await cluster.close();
  }
}

async function until(what: string, withinMs: number, isTrue: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + withinMs;
  while (!(await isTrue())) {
    if (performance.now() > endsAt) throw new Error(`${what} did not come within ${withinMs} ms`);
    await sleep(50);
  }
}
