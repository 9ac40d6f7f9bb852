/**
 * What following costs: statements, row writes and WAL a poll, polls a second with much that waits, and what a table
 * of a million rows looks like after many polls. It needs a PostgreSQL with pg_stat_statements.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv, stdout } from 'node:process';
import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker, type Tracker } from 'hosted-client/tracking';
import { startCluster } from '../tracking/databases.ts';
import { requirePostgresql } from './tracker-runs.ts';

requirePostgresql();
const isFull = argv.includes('--full');
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const cluster = await startCluster([
  '-c shared_preload_libraries=pg_stat_statements',
  '-c pg_stat_statements.track=top',
  '-c shared_buffers=512MB',
  '-c max_wal_size=4GB',
]);

interface Costs {
  readonly polls: number;
  readonly statements: number;
  readonly rows: number;
  readonly wal: number;
}

/** The counters of the database, and of the schema's own requests. */
async function read(schema: string): Promise<Costs> {
  // The counters of tables are told of once a second.
  await sleep(1_200);
  const query = async (text: string) => Number(Object.values((await cluster.pool.query(text)).rows[0] as object)[0]);
  return {
    polls: await query(`select requests_sent from ${schema}.fleet`),
    statements: await query(
      "select coalesce(sum(calls), 0) from pg_stat_statements where query not like '%pg_stat%' and query not like '%requests_sent from%'",
    ),
    rows: await query(
      `select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables where schemaname like '${schema}%'`,
    ),
    wal: await query("select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')"),
  };
}

/** Rows that have been due for longer than any that is due again: none is looked at twice before all were once. */
async function fill(schema: string, count: number): Promise<void> {
  await cluster.pool.query(`insert into ${schema}.tracked (key, kind, state, user_id, job_id, due, deadline, context)
    select gen_random_uuid(), 0, 1, 'user-' || n, 'job-' || n, now() - interval '1 hour' + n * interval '1 millisecond',
    now() + interval '7 days', '{"customer":1}' from generate_series(1, ${count}) n`);
  await cluster.pool.query(`vacuum analyze ${schema}.tracked`);
}

/** A client whose every job is pending: the database is measured, and not the service. */
function createPendingClient(): HostedClient {
  const service = createMockService();
  const client = new HostedClient({ ...service.sandbox.clientOptions, fetch: service.fetch });
  const job = service.sandbox.jobs.start();
  const { status } = client.jobs;
  let pending: ReturnType<typeof status> | null = null;
  client.jobs.status = () => {
    pending ??= status.call(client.jobs, job);
    return pending;
  };
  return client;
}

async function measure(
  name: string,
  schema: string,
  count: number,
  rate: number,
  workers: number,
  seconds: number,
): Promise<number> {
  const client = createPendingClient();
  const options = {
    client,
    connectionString: cluster.connectionString,
    schema,
    maxRequestsPerSecond: rate,
    concurrency: 100,
  };
  const trackers: Tracker[] = [];
  trackers.push(await createTracker(options));
  await fill(schema, count);
  for (let n = 1; n < workers; n++) trackers.push(await createTracker(options));
  for (const tracker of trackers) await tracker.onCompletion(() => {});
  await sleep(1_000);
  await cluster.pool.query('create extension if not exists pg_stat_statements');
  await cluster.pool.query('select pg_stat_statements_reset()');
  const before = await read(schema);
  const startedAt = performance.now();
  await sleep(seconds * 1_000);
  const after = await read(schema);
  const took = (performance.now() - startedAt) / 1_000;
  const polls = after.polls - before.polls;
  const per = (value: number) => Math.round((value / polls) * 1_000);
  stdout.write(
    `${name}: ${Math.round(polls / took)} polls a second; for 1,000 polls ${per(after.statements - before.statements)} statements, ` +
      `${per(after.rows - before.rows)} row writes, ${Math.round((after.wal - before.wal) / polls)} bytes of WAL a poll\n`,
  );
  await Promise.all(trackers.map((tracker) => tracker.stop()));
  return polls / took;
}

interface Sample {
  readonly at: number;
  readonly polls: number;
}

/**
 * Looks a second without a budget, while all rows stay due: each is due again at once. The sizes take turns, so that what
 * else the machine does slows each alike, and each turn begins without dead rows and ends after as many looks.
 */
async function compare(sizes: readonly number[], turns: number, looks: number): Promise<readonly number[]> {
  const optionsOf = (size: number) => ({
    client: createPendingClient(),
    connectionString: cluster.connectionString,
    schema: `due_${size}`,
    maxRequestsPerSecond: 100_000,
    concurrency: 100,
    minDelayMs: 1,
    maxDelayMs: 1,
  });
  for (const size of sizes) {
    await (await createTracker(optionsOf(size))).stop();
    await fill(`due_${size}`, size);
  }
  const rates = new Map(sizes.map((size): [number, number[]] => [size, []]));
  for (let turn = 0; turn < turns; turn++) {
    for (const size of sizes) {
      await cluster.pool.query(`vacuum analyze due_${size}.tracked`);
      await cluster.pool.query('checkpoint');
      const sample = async (): Promise<Sample> => {
        const { rows } = await cluster.pool.query(`select requests_sent as polls from due_${size}.fleet`);
        return { at: performance.now(), polls: Number((rows[0] as { polls: unknown }).polls) };
      };
      const tracker = await createTracker(optionsOf(size));
      await tracker.onCompletion(() => {});
      await sleep(500);
      const first = await sample();
      let last = first;
      while (last.polls < first.polls + looks) {
        await sleep(50);
        last = await sample();
      }
      const rate = ((last.polls - first.polls) * 1_000) / (last.at - first.at);
      rates.get(size)?.push(rate);
      const { overdue } = await tracker.stats();
      stdout.write(`unlimited, ${size} tracked: ${Math.round(rate)} polls a second, and ${overdue} are still due\n`);
      await tracker.stop();
    }
  }
  return sizes.map((size) => medianOf(rates.get(size) ?? []));
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

async function showTable(schema: string, when: string): Promise<void> {
  const { rows } = await cluster.pool.query(`select pg_size_pretty(pg_table_size('${schema}.tracked')) as table_size,
    pg_size_pretty(pg_indexes_size('${schema}.tracked')) as index_size, n_live_tup, n_dead_tup, autovacuum_count
    from pg_stat_user_tables where schemaname = '${schema}' and relname = 'tracked'`);
  stdout.write(`${when}: ${JSON.stringify(rows[0])}\n`);
}

/** What a first start in a folder takes, beside PGlite's own. */
async function measureFirstStart(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tracked-'));
  const time = async (act: () => Promise<{ close(): Promise<void> }>) => {
    const startedAt = performance.now();
    const opened = await act();
    const ms = performance.now() - startedAt;
    await opened.close();
    return ms;
  };
  try {
    const { PGlite } = await import('@electric-sql/pglite');
    const client = createPendingClient();
    const own: number[] = [];
    const ours: number[] = [];
    for (let n = 0; n < 3; n++) {
      own.push(
        await time(async () => {
          const lite = new PGlite(join(folder, `own-${n}`));
          await lite.waitReady;
          return lite;
        }),
      );
      ours.push(
        await time(async () => {
          const tracker = await createTracker({ client, folder: join(folder, `ours-${n}`) });
          return { close: () => tracker.stop() };
        }),
      );
    }
    const [own1, ours1] = [medianOf(own), medianOf(ours)];
    stdout.write(
      `a first start in a folder: ${Math.round(ours1)} ms, PGlite alone ${Math.round(own1)} ms: ${(ours1 / own1).toFixed(2)} times\n`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the gauges and `stats()` take at a thousand rows and at a million, in turns. */
async function measureGauges(): Promise<void> {
  const client = createPendingClient();
  const measured = [];
  for (const rows of [1_000, 1_000_000]) {
    const schema = `gauges_${rows}`;
    const tracker = await createTracker({ client, connectionString: cluster.connectionString, schema });
    // In ten, six are tracked, and the others are done, handed over or dead. Some have been polled since the vacuum.
    await cluster.pool.query(`insert into ${schema}.tracked (key, kind, state, user_id, job_id, due, deadline, ended_at, end_id)
      select gen_random_uuid(), 0, s, 'user-' || n, 'job-' || n, case when s = 1 then now() - interval '1 hour' end,
        now() + interval '7 days', case when s > 1 then now() - n * interval '1 millisecond' end, gen_random_uuid()
      from (select n, (array[1, 1, 1, 1, 1, 1, 3, 3, 2, 4])[1 + n % 10] as s from generate_series(1, ${rows}) n) x`);
    await cluster.pool.query(`vacuum analyze ${schema}.tracked`);
    await cluster.pool.query(
      `update ${schema}.tracked set due = due + random() * interval '1 hour' where random() < 0.05`,
    );
    measured.push({ rows, tracker, gauges: [] as number[], stats: [] as number[] });
  }
  const time = async (act: () => Promise<unknown>) => {
    const startedAt = performance.now();
    await act();
    return performance.now() - startedAt;
  };
  const gaugesOf = (tracker: object) =>
    (
      Reflect.get(tracker, Symbol.for('hosted-client:instruments')) as { readGauges(): Promise<{ jobs: object }> }
    ).readGauges();
  for (let turn = 0; turn < 300; turn++) {
    for (const { tracker, gauges, stats } of measured) {
      gauges.push(await time(() => gaugesOf(tracker)));
      if (turn % 60 === 0) stats.push(await time(() => tracker.stats()));
    }
  }
  for (const { rows, tracker, gauges, stats } of measured) {
    const { jobs } = await gaugesOf(tracker);
    stdout.write(
      `${rows} rows: the gauges take ${medianOf(gauges).toFixed(2)} ms, stats() ${medianOf(stats).toFixed(1)} ms; ${JSON.stringify(jobs)}\n`,
    );
    await tracker.stop();
  }
  const [few, many] = measured.map(({ gauges }) => medianOf(gauges));
  stdout.write(`the gauges at a million rows take ${((many ?? 0) / (few ?? 1)).toFixed(2)} times as long\n`);
}

/** What following costs. */
async function measureFollowing(): Promise<void> {
  await measureFirstStart();
  await measure('500 a second, 1 worker, 10,000 due', 'one', 10_000, 500, 1, 8);
  await measure('500 a second, 4 workers, 10,000 due', 'four', 10_000, 500, 4, 8);
  const sizes = isFull ? [10_000, 1_000_000] : [10_000];
  const [few = 0, many = 0] = await compare(sizes, isFull ? 7 : 1, 30_000);
  if (isFull) {
    stdout.write(
      `a million due: ${Math.round(many)} polls a second, ten thousand: ${Math.round(few)}; ${(many / few).toFixed(2)} of them\n`,
    );
    await showTable('due_1000000', 'a million rows, after those polls');
    const tracker = await createTracker({
      client: createPendingClient(),
      connectionString: cluster.connectionString,
      schema: 'due_1000000',
      concurrency: 200,
    });
    await tracker.onCompletion(() => {});
    const { requestsSent } = await tracker.stats();
    while ((await tracker.stats()).requestsSent < requestsSent + 300_000) await sleep(2_000);
    await showTable('due_1000000', 'after 300,000 more polls');
    await tracker.stop();
  }
}

try {
  await (argv.includes('--gauges') ? measureGauges() : measureFollowing());
} finally {
  await cluster.close();
}
