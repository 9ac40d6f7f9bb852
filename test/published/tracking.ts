/**
 * Kills workers and the database while jobs are tracked, and looks whether every job was handed over: with its own
 * context and a verified status, under one key, within the budget. `--full` is the long run. Meanwhile,
 * tracking-silent.ts lets workers fall silent. `--through` names a place of the table in docs/tracking.md: `pgbouncer`,
 * `without-names`, `without-rights`, `search-path` or `serializable`.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { argv, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import type { JobRef } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { migrateTracking, type TrackerStats } from 'hosted-client/tracking';
import { startPgBouncer } from '../support/pgbouncer.ts';
import { createRole, grantRights } from '../support/postgresql-places.ts';
import { randomFrom } from '../support/random.ts';
import { freePort, startCluster } from '../tracking/databases.ts';
import { serveService } from './service.ts';
import { busiestSecond, endRun, postUntilTaken, requirePostgresql } from './tracker-runs.ts';

const isFull = argv.includes('--full');
const plan = isFull
  ? { jobs: 10_000, workers: 4, killSeconds: 60, feedMs: 40_000, completeWithinMs: 20_000, rate: 400 }
  : { jobs: 1_500, workers: 3, killSeconds: 15, feedMs: 8_000, completeWithinMs: 8_000, rate: 400 };

requirePostgresql();

const random = randomFrom(20_261_122);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const service = createMockService();
const requestTimes: number[] = [];
const deliveries: {
  key: string;
  job: JobRef;
  context: { n: number } | null;
  outcome: string;
  state: string | null;
  isSigned: boolean;
}[] = [];
let failed = 0;

const server = await serveService(service, ({ url }, body, response) => {
  if (url === '/delivered') {
    const isTaken = random() >= 0.03;
    if (isTaken) deliveries.push(JSON.parse(body));
    response.writeHead(isTaken ? 200 : 500).end();
    return true;
  }
  requestTimes.push(performance.now());
  if (random() >= 0.02) return false;
  failed += 1;
  if (random() < 0.5) response.destroy();
  else response.writeHead(random() < 0.5 ? 503 : 200, { 'content-type': 'text/html' }).end('<html>');
  return true;
});
const cluster = await startCluster();
const apiKey = service.sandbox.clientOptions.apiKey ?? '';

/** How the processes reach the database, as variables of theirs. */
const places: Readonly<Record<string, () => Promise<Readonly<Record<string, string>>>>> = {
  directly: async () => ({}),
  async pgbouncer() {
    const bouncer = await startPgBouncer(cluster.connectionString);
    closing.push(bouncer.close);
    return { DATABASE_URL: bouncer.connectionString };
  },
  'without-names': async () => ({ WITHOUT_NAMES: '1' }),
  async 'without-rights'() {
    await migrateTracking({ connectionString: cluster.connectionString, apply: true });
    const connectionString = await createRole(cluster, 'app', { mayCreate: false });
    await grantRights(cluster.pool, 'app', { page: new URL('../../docs/tracking.md', import.meta.url) });
    return { DATABASE_URL: connectionString, OPTIONS: '{"migrate":false}' };
  },
  'search-path': () => asRole('search_path = nowhere'),
  serializable: () => asRole('default_transaction_isolation = serializable'),
};
const closing: (() => Promise<void>)[] = [];
const asRole = async (setting: string) => ({ DATABASE_URL: await createRole(cluster, 'app', { settings: [setting] }) });
const through = argv.includes('--through') ? String(argv[argv.indexOf('--through') + 1]) : 'directly';
const place = await places[through]?.();
if (!place) throw new Error(`--through must be one of ${Object.keys(places).join(', ')}`);
const workers = new Set<ChildProcess>();
let isOver = false;

const webPort = await freePort();

function startProcess(role: object): ChildProcess {
  const env = {
    ...process.env,
    DATABASE_URL: cluster.connectionString,
    SERVICE_URL: server.origin,
    API_KEY: apiKey,
    RATE: String(plan.rate),
    ...place,
    ...role,
  };
  const file = fileURLToPath(new URL('tracking-worker.ts', import.meta.url));
  return spawn(process.execPath, [file], {
    env,
    stdio: ['ignore', 'ignore', argv.includes('--verbose') ? 'inherit' : 'ignore'],
  });
}

function startWorker(): void {
  const child = startProcess({});
  workers.add(child);
  child.on('exit', () => {
    workers.delete(child);
    if (!isOver) startWorker();
  });
}

const web = startProcess({ WEB_PORT: String(webPort) });
const silentFile = fileURLToPath(new URL('tracking-silent.ts', import.meta.url));
const silent = once(spawn(process.execPath, [silentFile], { stdio: ['ignore', 'inherit', 'inherit'] }), 'exit');
try {
  await killWithFolder();
  deliveries.length = 0;
  requestTimes.length = 0;
  failed = 0;

  const lost = { callbacks: 0, doubled: 0, early: 0, repeated: 0 };

  /** Posts to the web server. */
  const post = (path: string, body: string) =>
    postUntilTaken(`http://127.0.0.1:${webPort}${path}`, body, { onRepeat: () => (lost.repeated += 1) });

  await post('/stats', '');
  for (let n = 0; n < plan.workers; n++) startWorker();

  const startedAt = performance.now();
  const jobs: JobRef[] = [];

  async function complete(job: JobRef): Promise<void> {
    service.sandbox.jobs.complete(job, random() < 0.8 ? 'approved' : 'rejected');
    if (random() < 0.4) {
      lost.callbacks += 1;
      return;
    }
    const request = await service.sandbox.jobs.callback(job);
    const body = await request.text();
    await post('/callbacks', body);
    if (random() < 0.15) {
      lost.doubled += 1;
      await post('/callbacks', body);
    }
  }

  async function liveBatch(from: number, to: number): Promise<void> {
    const batch = Array.from({ length: to - from }, (_, at) => ({ n: from + at, isEarly: random() < 0.05 }));
    for (const { n } of batch) jobs[n] = service.sandbox.jobs.start();
    const early = batch.filter(({ isEarly }) => isEarly);
    lost.early += early.length;
    const jobOf = (n: number) => jobs[n] as JobRef;
    await Promise.all(early.map(({ n }) => complete(jobOf(n))));
    await post('/', JSON.stringify(batch.map(({ n }) => ({ ...jobOf(n), context: { n } }))));
    await Promise.all(
      batch.map(async ({ n, isEarly }) => {
        if (isEarly) return;
        await sleep(random() * plan.completeWithinMs);
        await complete(jobOf(n));
      }),
    );
  }

  const living: Promise<void>[] = [];
  const feeding = (async () => {
    for (let n = 0; n < plan.jobs; n += 50) {
      living.push(liveBatch(n, Math.min(n + 50, plan.jobs)));
      await sleep(plan.feedMs / (plan.jobs / 50));
    }
  })();

  if (argv.includes('--verbose')) void tellProgress();
  async function tellProgress(): Promise<void> {
    for (; !isOver; await sleep(5_000)) {
      const second = Math.round((performance.now() - startedAt) / 1_000);
      const stats = await post('/stats', '');
      stdout.write(
        `${second} s: ${jobs.length} begun, ${requestTimes.length} requests, ${deliveries.length} delivered, ${stats}\n`,
      );
    }
  }

  let kills = 0;
  for (let second = 0; second < plan.killSeconds; second++) {
    await sleep(1_000);
    if (second === Math.floor(plan.killSeconds / 2)) cluster.restart();
    const victims = [...workers];
    const victim = victims[Math.floor(random() * victims.length)];
    if (victim?.kill('SIGKILL')) kills += 1;
  }
  const lastKillAt = performance.now();
  await feeding;
  await Promise.all(living);

  const seen = new Map<string, string>();
  for (let at = 0; performance.now() - lastKillAt < 180_000; await sleep(250)) {
    for (; at < deliveries.length; at++) {
      const { key, job } = deliveries[at] as (typeof deliveries)[number];
      seen.set(key, job.jobId);
    }
    if (seen.size >= plan.jobs) break;
  }
  const lastMs = performance.now() - lastKillAt;
  const stats = await waitForEnd(async () => JSON.parse(await post('/stats', '')));

  const keyOf = new Map<string, string>();
  const problems: string[] = [];
  for (const { key, job, context, outcome, state, isSigned } of deliveries) {
    const known = keyOf.get(job.jobId);
    if (known !== undefined && known !== key) problems.push('a job has two keys');
    keyOf.set(job.jobId, key);
    if (jobs[context?.n ?? -1]?.jobId !== job.jobId) problems.push('a completion has another context');
    if (outcome !== 'completed' || state === null || !isSigned) problems.push('a completion has no verified status');
  }
  const extra = deliveries.length - keyOf.size;
  const busiest = busiestSecond(requestTimes);
  if (keyOf.size !== plan.jobs) problems.push(`${plan.jobs - keyOf.size} jobs were not handed over`);
  if (new Set(keyOf.values()).size !== keyOf.size) problems.push('two jobs have one key');
  if (extra > plan.jobs * 0.05) problems.push('more than 5 % extra deliveries');
  if (busiest > plan.rate * 1.3) problems.push('a second saw more than 1.3 times the budget');
  if (lastMs > 90_000) problems.push('the last came later than 90 s after the last kill');
  if (stats.dead > 0 || stats.tracking > 0) problems.push('something was left over');

  isOver = true;
  const stopping = [...workers].map(async (worker) => {
    const ended = once(worker, 'exit');
    worker.kill('SIGTERM');
    await Promise.race([ended, sleep(15_000)]);
    if (worker.exitCode !== 0) problems.push('a worker that was stopped did not end by itself');
  });
  await Promise.all(stopping);

  stdout.write(
    `${through}: ${plan.jobs} jobs, ${plan.workers} workers, ${kills} kills, 1 immediate restart, ${Math.round((performance.now() - startedAt) / 1_000)} s\n`,
  );
  stdout.write(
    `callbacks: ${lost.callbacks} lost, ${lost.doubled} doubled, ${lost.early} before track(), ${lost.repeated} posts repeated\n`,
  );
  stdout.write(`${requestTimes.length} requests, ${failed} failed; busiest second ${busiest} of ${plan.rate}\n`);
  stdout.write(
    `${deliveries.length} deliveries of ${keyOf.size} jobs, ${extra} extra; the last ${(lastMs / 1_000).toFixed(1)} s after the last kill\n`,
  );
  stdout.write(`stats ${JSON.stringify(stats)}\n`);
  const [silentCode] = await silent;
  if (silentCode !== 0) problems.push('the workers that fell silent');
  endRun(problems);
} finally {
  isOver = true;
  for (const child of [...workers, web]) child.kill('SIGKILL');
  await sleep(200);
  for (const close of closing) await close();
  await cluster.close().catch(() => undefined);
  server.close();
}

/** The same in a folder: its one process is killed three times. */
async function killWithFolder(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tracked-'));
  const port = await freePort();
  const jobs = Array.from({ length: 200 }, () => service.sandbox.jobs.start());
  for (const job of jobs) service.sandbox.jobs.complete(job, 'approved');
  let only: ChildProcess | null = null;
  const delivered = () => new Set(deliveries.map(({ key }) => key)).size;
  try {
    let isTracked = false;
    for (let kills = 0; kills <= 3; kills++) {
      only = startProcess({ WEB_PORT: String(port), FOLDER: folder, RATE: '40', OPTIONS: '{}' });
      while (!isTracked) {
        const body = JSON.stringify(jobs.map((job, n) => ({ ...job, context: { n } })));
        const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body }).catch(() => null);
        isTracked = response?.ok === true;
        await sleep(100);
      }
      const before = delivered();
      const until = kills < 3 ? before + 5 + random() * 30 : jobs.length;
      for (let at = 0; at < 1_200 && delivered() < until; at++) await sleep(50);
      const ended = once(only, 'exit');
      only.kill('SIGKILL');
      await ended;
    }
    stdout.write(
      `a folder: ${delivered()} of ${jobs.length} jobs handed over, ${deliveries.length - delivered()} extra, killed three times\n`,
    );
    if (delivered() !== jobs.length) throw new Error('a folder lost a completion');
  } finally {
    only?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
    rmSync(`${folder}.lock`, { force: true });
  }
}

/** Waits until nothing is followed or handed over: a worker that was killed late may have left one more repeat. */
async function waitForEnd(fetchStats: () => Promise<TrackerStats>): Promise<TrackerStats> {
  for (let seconds = 0; ; seconds++) {
    const stats = await fetchStats();
    if (stats.tracking + stats.handingOver === 0 || seconds === 60) return stats;
    await sleep(1_000);
  }
}
