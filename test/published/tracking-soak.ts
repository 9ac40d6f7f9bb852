/**
 * A day of tracking in twenty minutes: the waits of jobs, and all that is removed with time, are divided by 72; leases and
 * time limits are not. Workers are killed, and replaced by those of other versions while the tables change. Looks whether
 * every job was handed over with its own context, and whether statements, tables and memory stay as they were.
 *
 * `--jobs N` and `--minutes M` set the size, and `--verbose` also shows the slowest statements.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath, stdout } from 'node:process';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { randomFrom } from '../support/random.ts';
import { freePort, startCluster } from '../tracking/databases.ts';
import { buildPrograms, type Replacement, type Version } from './tracker-builds.ts';
import { endRun, postUntilTaken, requirePostgresql } from './tracker-runs.ts';

requirePostgresql();

const { values: given } = parseArgs({
  options: {
    jobs: { type: 'string', default: '120000' },
    minutes: { type: 'string', default: '20' },
    verbose: { type: 'boolean', default: false },
  },
});
const jobCount = Number(given.jobs);
const runMs = Number(given.minutes) * 60_000;
const tenthMs = runMs / 10;
/** A day in twenty minutes. */
const factor = 72;
const inRun = (ms: number) => Math.ceil(ms / factor);
const killEveryMs = 10_000;
/** Autovacuum comes once a minute, and a web server remembers 10,000 callbacks: before that, tables and memory grow. */
const isLong = Number(given.minutes) >= 20 && jobCount >= 100_000;

/** The package's own waits that a day has many of. A message is kept for an hour, and old rows are removed once a minute. */
const replacements: readonly Replacement[] = [
  { file: 'pg-boss.ts', part: 'deleteAfterSeconds: 3_600', by: `deleteAfterSeconds: ${inRun(3_600)}` },
  { file: 'pg-boss.ts', part: 'maintenanceIntervalSeconds: 60', by: `maintenanceIntervalSeconds: ${inRun(60)}` },
  { file: 'housekeeping.ts', part: 'everyMs = 30_000', by: `everyMs = ${inRun(30_000)}` },
  { file: 'statements/fleet.ts', part: "interval '1 minute'", by: `interval '${inRun(60_000)} milliseconds'` },
];

const options = {
  maxRequestsPerSecond: 100_000,
  concurrency: 100,
  handlerConcurrency: 100,
  handlerTimeoutMs: 60_000,
  minDelayMs: inRun(60_000),
  maxDelayMs: inRun(900_000),
  deadlineMs: inRun(7 * 86_400_000),
  minRetryMs: inRun(60_000),
  maxRetryMs: inRun(900_000),
  // A tenth of the run, so that the tables are full in the second tenth.
  retentionMs: tenthMs,
};

const random = randomFrom(20_261_123);
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopped.abort());
const sleep = (ms: number) => wait(Math.max(0, ms), undefined, { signal: stopped.signal });
const problems = new Set<string>();
const folder = mkdtempSync(join(tmpdir(), 'soak-'));

// The service. A job's ids name its number, and its number says when and how it ends.

const partnerId = '085';
const apiKey = 'soak-key';
/** When each job ends, in ms since 1970. */
const endsAt = new Float64Array(jobCount);
const isApproved = (n: number) => n % 5 > 0;
const idsOf = (n: number) => ({ userId: `user-${n}`, jobId: `job-${n}` });
let requests = 0;

/** Signs a record for a second ago: no request has this signature. */
function sign(record: object, at = Date.now() - 1_000): string {
  const timestamp = new Date(at).toISOString();
  const sec_key = createHmac('sha256', apiKey).update(`${timestamp}${partnerId}sid_request`).digest('base64');
  return JSON.stringify({ ...record, timestamp, sec_key });
}

function namesOf(n: number) {
  const { userId, jobId } = idsOf(n);
  return { PartnerParams: { user_id: userId, job_id: jobId, job_type: '1' } };
}

const server = createServer(async (incoming, outgoing) => {
  requests += 1;
  const { job_id } = JSON.parse(String(await buffer(incoming))) as { readonly job_id: string };
  const n = Number(job_id.slice(4));
  const record =
    Date.now() < (endsAt[n] ?? 0)
      ? { job_complete: false }
      : { job_complete: true, job_success: isApproved(n), code: '2302', job_id, result: namesOf(n) };
  outgoing.writeHead(200, { 'content-type': 'application/json' }).end(sign(record));
});

// The fleet.

interface Slot {
  readonly name: string;
  version: Version;
  child: ChildProcess | null;
  isReplaced: boolean;
}

const cluster = await startCluster(['-c shared_preload_libraries=pg_stat_statements', '-c fsync=on']);
const webPort = await freePort();
const delivered = join(folder, 'delivered');
const counts = { kills: 0, deploys: 0, callbacks: 0, deliveries: 0, handed: 0 };
let isOver = false;

function start(slot: Slot, env: Readonly<Record<string, string>> = {}): void {
  const child = spawn(execPath, ['--expose-gc', join(folder, slot.version, 'tracking-worker.mjs')], {
    env: {
      ...process.env,
      DATABASE_URL: cluster.connectionString,
      SERVICE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      API_KEY: apiKey,
      DELIVERED: delivered,
      OPTIONS: JSON.stringify(options),
      ...env,
    },
    stdio: ['ignore', 'ignore', given.verbose ? 'inherit' : 'ignore', 'ipc'],
  });
  slot.child = child;
  child.on('exit', (code, signal) => {
    if (isOver) return;
    if (signal === null && code !== 0) problems.add(`the ${slot.name} ended by itself`);
    start(slot, env);
  });
}

/** The web server and one worker live as long as the run, and their memory is measured. */
const web: Slot = { name: 'web server', version: 'today', child: null, isReplaced: false };
const steady: Slot = { name: 'worker', version: 'today', child: null, isReplaced: false };
const changing: readonly Slot[] = [1, 2].map((n) => ({
  name: `changing worker ${n}`,
  version: 'today',
  child: null,
  isReplaced: false,
}));

async function deploy(slot: Slot | undefined, version: Version): Promise<void> {
  if (!slot?.child) return;
  slot.version = version;
  slot.isReplaced = true;
  const ended = once(slot.child, 'exit');
  slot.child.kill('SIGTERM');
  await ended;
  slot.isReplaced = false;
  counts.deploys += 1;
}

async function migrate(): Promise<void> {
  const child = spawn(execPath, [join(folder, 'next', 'upgrade-migrate.mjs')], {
    env: { ...process.env, DATABASE_URL: cluster.connectionString },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) problems.add('the tables were not changed');
}

/** What changes at the beginning of each tenth. The older and the newer version work side by side until the next one. */
const deploys: readonly (() => Promise<void>)[] = [
  async () => {},
  async () => {},
  async () => {
    await migrate();
    await deploy(changing[0], 'next');
  },
  () => deploy(changing[1], 'next'),
  () => deploy(changing[0], 'afterNext'),
  () => deploy(changing[1], 'afterNext'),
  () => deploy(changing[0], 'next'),
  () => deploy(changing[1], 'today'),
  () => deploy(changing[0], 'afterNext'),
  () => deploy(changing[1], 'next'),
];

// What is fed.

const post = (path: string, body: string) =>
  postUntilTaken(`http://127.0.0.1:${webPort}${path}`, body, { signal: stopped.signal });

/** How long a job is pending: a few minutes of the day mostly, and up to an hour. */
function drawPendingMs(): number {
  return random() < 0.05 ? random() * inRun(3_600_000) : -Math.log(1 - random()) * inRun(180_000);
}

/** The jobs whose callbacks are due, by tenths of a second. */
const callbacksAt = new Map<number, number[]>();
let lastSignedAt = 0;

async function tellCallback(n: number): Promise<void> {
  counts.callbacks += 1;
  lastSignedAt = Math.max(lastSignedAt + 1, Date.now());
  const kind = { ResultCode: '0810', ResultText: 'Done', IsFinalResult: 'true', HostedJobID: String(n) };
  await post('/callbacks', sign({ ...kind, ...namesOf(n) }, lastSignedAt));
}

async function sendCallbacks(): Promise<void> {
  for (let at = Math.floor(Date.now() / 100); ; at++) {
    await sleep(at * 100 - Date.now());
    const due = callbacksAt.get(at) ?? [];
    callbacksAt.delete(at);
    for (const n of due) tellCallback(n).catch(() => undefined);
  }
}

/** Begins jobs in batches, evenly over the run. Half of them have a callback, a few of these before `track()`. */
async function feed(from: number): Promise<number> {
  let slowestMs = 0;
  const size = Math.max(1, Math.min(50, Math.round(jobCount / (runMs / 100))));
  for (let n = 0; n < jobCount; n += size) {
    const dueAt = from + (n / jobCount) * runMs;
    await sleep(dueAt - Date.now());
    slowestMs = Math.max(slowestMs, Date.now() - dueAt);
    const batch = Array.from({ length: Math.min(size, jobCount - n) }, (_, at) => n + at);
    for (const job of batch) {
      const isEarly = random() < 0.02;
      const ends = Date.now() + (isEarly ? 0 : drawPendingMs());
      endsAt[job] = ends;
      if (isEarly) await tellCallback(job);
      else if (random() < 0.5) {
        const at = Math.floor(ends / 100) + 1;
        callbacksAt.set(at, [...(callbacksAt.get(at) ?? []), job]);
      }
    }
    await post('/', JSON.stringify(batch.map((job) => ({ ...idsOf(job), context: { n: job } }))));
  }
  return slowestMs;
}

// What is looked at.

const keys = new BigUint64Array(jobCount);
let latenesses: number[] = [];
let rest = '';

/** Reads the deliveries since the last time. */
function readDelivered(file: number): void {
  const chunk = Buffer.alloc(1 << 20);
  for (let length = readSync(file, chunk); length > 0; length = readSync(file, chunk)) {
    const lines = `${rest}${chunk.toString('latin1', 0, length)}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) note(JSON.parse(line));
  }
}

interface Delivery {
  readonly key: string;
  readonly job: { readonly userId: string; readonly jobId: string };
  readonly context: { readonly n: number } | null;
  readonly outcome: string;
  readonly state: string | null;
  readonly isSigned: boolean;
  readonly at: number;
}

function note({ key, job, context, outcome, state, isSigned, at }: Delivery): void {
  counts.deliveries += 1;
  const n = context?.n ?? -1;
  const { userId, jobId } = idsOf(n);
  if (job.jobId !== jobId || job.userId !== userId) problems.add('a completion has another context');
  const expected = isApproved(n) ? 'succeeded' : 'failed';
  if (outcome !== 'completed' || state !== expected || !isSigned) problems.add('a completion has no verified status');
  const short = BigInt(`0x${key.replaceAll('-', '').slice(0, 16)}`);
  if (keys[n] === 0n) {
    keys[n] = short;
    counts.handed += 1;
    latenesses.push(at - (endsAt[n] ?? 0));
  } else if (keys[n] !== short) problems.add('a job has two keys');
}

async function ask(text: string): Promise<number> {
  const { rows } = await cluster.pool.query(text);
  return Number(Object.values(rows[0] as object)[0]);
}

const countStatements = () => ask("select coalesce(sum(calls), 0) from pg_stat_statements where query !~ 'pg_stat'");
const readBytes = () => ask('select sum(pg_total_relation_size(relid)) from pg_stat_user_tables');

/** The largest tables, with their indexes, for people. */
async function describeTables(): Promise<string> {
  const { rows } = await cluster.pool.query(
    `select string_agg(text, ', ') as text from (
       select relname || ' ' || pg_size_pretty(pg_total_relation_size(relid)) || ' (' || n_live_tup || ' rows)' as text
       from pg_stat_user_tables order by pg_total_relation_size(relid) desc limit 3) t`,
  );
  return (rows[0] as { readonly text: string }).text;
}

async function describeStatements(): Promise<string> {
  const { rows } = await cluster.pool.query(
    `select string_agg(text, E'\\n') as text from (
       select round(total_exec_time) || ' for ' || calls || ': ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 120) as text
       from pg_stat_statements order by total_exec_time desc limit 8) t`,
  );
  return (rows[0] as { readonly text: string }).text;
}

async function readHeap({ child }: Slot): Promise<number> {
  if (!child) return 0;
  const heap = once(child, 'message', { signal: stopped.signal });
  child.send('heap');
  return Number((await heap)[0]);
}

const quantile = (sorted: Float64Array, share: number) => sorted[Math.floor(sorted.length * share)] ?? 0;

interface Tenth {
  readonly handed: number;
  readonly statements: number;
  readonly bytes: number;
  readonly workerHeap: number;
  readonly webHeap: number;
  readonly medianMs: number;
  readonly slowMs: number;
}

const tenths: Tenth[] = [];
let handedBefore = 0;
let statementsBefore = 0;

async function endTenth(): Promise<void> {
  const statementsNow = await countStatements();
  const handed = counts.handed - handedBefore;
  handedBefore = counts.handed;
  const sorted = Float64Array.from(latenesses).sort();
  latenesses = [];
  const tenth = {
    handed,
    statements: (statementsNow - statementsBefore) / handed,
    bytes: await readBytes(),
    workerHeap: await readHeap(steady),
    webHeap: await readHeap(web),
    medianMs: quantile(sorted, 0.5),
    slowMs: quantile(sorted, 0.99),
  };
  statementsBefore = statementsNow;
  tenths.push(tenth);
  stdout.write(
    `tenth ${tenths.length}: ${handed} jobs handed over, ${tenth.statements.toFixed(2)} statements each; tables ${megabytes(tenth.bytes)}, ` +
      `heap of a worker ${megabytes(tenth.workerHeap)}, of the web server ${megabytes(tenth.webHeap)}; ` +
      `late by ${Math.round(tenth.medianMs)} ms (median), ${Math.round(tenth.slowMs)} ms (99 of 100)\n`,
  );
}

const megabytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MB`;

async function run(): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  for (const version of ['today', 'next', 'afterNext'] as const) {
    await buildPrograms(['tracking-worker.ts', 'upgrade-migrate.ts'], {
      outdir: join(folder, version),
      version,
      replacements,
    });
  }
  await cluster.pool.query('create extension pg_stat_statements');
  const file = openSync(delivered, 'a+');
  start(web, { WEB_PORT: String(webPort) });
  await post('/stats', '');
  for (const slot of [steady, ...changing]) start(slot);
  await sleep(2_000);
  const startedAt = Date.now();
  const background = [sendCallbacks()];
  for (const one of background) one.catch(() => undefined);
  const feeding = feed(startedAt);
  feeding.catch(() => stopped.abort());
  let killAt = startedAt + killEveryMs;
  statementsBefore = await countStatements();
  const vacuumed: number[] = [];
  for (let tenth = 0; tenth < 10; tenth++) {
    const changes = deploys[tenth]?.();
    const endAt = startedAt + (tenth + 1) * tenthMs;
    while (Date.now() < endAt) {
      await sleep(Math.min(250, endAt - Date.now()));
      readDelivered(file);
      const victim = changing[Math.floor(random() * changing.length)];
      if (Date.now() < killAt || !victim || victim.isReplaced) continue;
      killAt += killEveryMs;
      if (victim.child?.kill('SIGKILL')) counts.kills += 1;
    }
    await changes;
    await endTenth();
    if (tenth === 1 || tenth === 9) {
      await cluster.pool.query('vacuum');
      const now = await readBytes();
      stdout.write(`right after a vacuum: ${megabytes(now)}: ${await describeTables()}\n`);
      vacuumed.push(now);
    }
  }
  const slowestMs = await feeding;
  const fedAt = Date.now();
  let stats = { tracking: 1, handingOver: 0, dead: 0 };
  while (stats.tracking + stats.handingOver > 0 && Date.now() - fedAt < 300_000) {
    await sleep(1_000);
    stats = JSON.parse(await post('/stats', ''));
  }
  readDelivered(file);
  closeSync(file);

  const [, second, , , , , , , , last] = tenths;
  if (!second || !last) throw new Error('the run has no tenths');
  const lost = jobCount - counts.handed;
  if (isLong && slowestMs > tenthMs / 10) problems.add('the machine was too slow for so many jobs');
  if (lost > 0) problems.add(`${lost} jobs were not handed over`);
  if (new Set(keys).size !== jobCount) problems.add('two jobs have one key');
  if (stats.tracking + stats.handingOver + stats.dead > 0) problems.add('something was left over');
  const [vacuumedFirst = 0, vacuumedLast = 0] = vacuumed;
  const growth = [
    { what: 'statements a job', times: last.statements / second.statements, most: 1.1 },
    { what: 'tables right after a vacuum', times: vacuumedLast / vacuumedFirst, most: 1.3 },
    { what: 'heap of a worker', times: last.workerHeap / second.workerHeap, most: 1.1 },
    { what: 'heap of the web server', times: last.webHeap / second.webHeap, most: 1.1 },
  ];
  for (const { what, times, most } of growth) {
    if (isLong && !(times <= most)) problems.add(`${what}: ${times.toFixed(2)} times those of the second tenth`);
  }
  if (given.verbose) stdout.write(`the slowest statements, in ms:\n${await describeStatements()}\n`);
  const autovacuums = await ask('select sum(autovacuum_count) from pg_stat_user_tables');
  stdout.write(
    `${jobCount} jobs in ${Math.round((fedAt - startedAt) / 1_000)} s, the last one ${Math.round((Date.now() - fedAt) / 1_000)} s later, ` +
      `on ${availableParallelism()} cores; ${requests} requests, ${counts.callbacks} callbacks; the feed was late by ${Math.round(slowestMs)} ms at most\n` +
      `${counts.kills} kills, ${counts.deploys} deploys, ${autovacuums} autovacuums; ` +
      `${lost} lost, ${counts.deliveries - counts.handed} extra deliveries; stats ${JSON.stringify(stats)}\n` +
      `the last tenth, in comparison with the second: ${growth.map(({ what, times }) => `${what} ${times.toFixed(2)}`).join(', ')}\n`,
  );
}

try {
  await run();
} catch (error) {
  problems.add(stopped.signal.aborted ? 'it was stopped' : String(error));
} finally {
  isOver = true;
  stopped.abort();
  for (const { child } of [web, steady, ...changing]) child?.kill('SIGKILL');
  await wait(200);
  await cluster.close().catch(() => undefined);
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
endRun(problems);
