/**
 * Workers of several versions share a schema while its tables change, and while the fleet goes back. One of them is killed
 * every second. Looks whether every job was handed over with its context, whether a process ended by itself, and how long
 * a statement waited for a lock. Then the same with older versions of pg-boss, whose workers must stop taking work. `--full` is the
 * long run.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process, { argv, execPath, stdout } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostedClient, type JobRef } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker, type Tracker } from 'hosted-client/tracking';
import { randomFrom } from '../support/random.ts';
import { startCluster } from '../tracking/databases.ts';
import { serveService } from './service.ts';
import { buildPrograms, root, type Version } from './tracker-builds.ts';
import { endRun, requirePostgresql } from './tracker-runs.ts';

requirePostgresql();
const jobsInAll = argv.includes('--full') ? 10_000 : 1_500;
/** The older versions that package.json allows. */
const olderBosses = ['12.34.0', '12.35.0'];
const lockBoundMs = 2_500;
const random = randomFrom(20_261_124);
const folder = mkdtempSync(join(tmpdir(), 'upgrade-'));
const cluster = await startCluster();
const problems: string[] = [];

/** Builds the programs of a run with a version of this package, beside a version of pg-boss. */
function makeBuild(version: Version, boss: string): Promise<string> {
  const outdir = join(folder, `${version}-${boss === root ? 'here' : basename(boss)}`);
  return buildPrograms(['tracking-worker.ts', 'upgrade-migrate.ts'], { outdir, version, boss });
}

const service = createMockService();
const deliveries: { job: JobRef; context: { n: number } | null; outcome: string }[] = [];
const server = await serveService(service, ({ url }, body, response) => {
  if (url !== '/delivered') return false;
  deliveries.push(JSON.parse(body));
  response.end();
  return true;
});
const { apiKey = '', partnerId } = service.sandbox.clientOptions;
const env = {
  ...process.env,
  SERVICE_URL: server.origin,
  API_KEY: apiKey,
  RATE: '400',
};

interface Slot {
  build: string;
  child: ChildProcess | null;
  log: string;
}

/** A fleet on a database of its own: its workers are started again when they end. */
async function openFleet(database: string) {
  await cluster.pool.query(`create database ${database}`);
  const connectionString = cluster.connectionString.replace(/postgres$/, database);
  const slots: Slot[] = [];
  let isOver = false;
  let downs = 0;
  const start = (slot: Slot) => {
    const child = spawn(execPath, [join(slot.build, 'tracking-worker.mjs')], {
      env: { ...env, DATABASE_URL: connectionString },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    slot.child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        slot.log = `${slot.log}${chunk}`.slice(-20_000);
      });
    }
    child.on('exit', (_, signal) => {
      if (isOver) return;
      if (signal !== 'SIGKILL') {
        downs += 1;
        stdout.write(`a process ended by itself: ${slot.log.slice(-600)}\n`);
      }
      start(slot);
    });
  };
  return {
    connectionString,
    slots,
    add(build: string) {
      const slot = { build, child: null, log: '' };
      slots.push(slot);
      start(slot);
    },
    kill(slot: Slot) {
      slot.child?.kill('SIGKILL');
    },
    migrate(build: string): Promise<string> {
      const file = join(build, 'upgrade-migrate.mjs');
      return new Promise((resolve, reject) => {
        const child = spawn(execPath, [file], { env: { ...env, DATABASE_URL: connectionString } });
        let text = '';
        child.stdout.on('data', (chunk) => (text += chunk));
        child.stderr.on('data', (chunk) => (text += chunk));
        child.on('exit', (code) => (code === 0 ? resolve(text.trim()) : reject(new Error(text))));
      });
    },
    async end() {
      isOver = true;
      for (const { child } of slots) child?.kill('SIGKILL');
      await sleep(200);
      return downs;
    },
  };
}

/** Tracks jobs over so much time; each completes a little later. Gives what is lost in the end. */
function feed(tracker: Tracker<{ n: number }>, count: number, forMs: number) {
  const jobs: JobRef[] = [];
  const from = deliveries.length;
  const feeding = (async () => {
    for (let n = 0; n < count; n += 50) {
      const batch = Array.from({ length: Math.min(50, count - n) }, () => service.sandbox.jobs.start());
      const first = jobs.length;
      jobs.push(...batch);
      await tracker.track(batch.map((job, at) => ({ ...job, context: { n: first + at } })));
      for (const job of batch) {
        setTimeout(() => service.sandbox.jobs.complete(job, 'approved'), random() * 5_000);
      }
      await sleep((forMs * 50) / count);
    }
  })();
  return async () => {
    await feeding;
    const seen = () => new Set(deliveries.slice(from).map(({ job }) => job.jobId)).size;
    for (let tries = 0; tries < 720 && seen() < count; tries++) await sleep(250);
    if (seen() !== count) problems.push(`${count - seen()} jobs were not handed over`);
    const isWrong = ({ job, context, outcome }: (typeof deliveries)[number]) =>
      jobs[context?.n ?? -1]?.jobId !== job.jobId || outcome !== 'completed';
    if (deliveries.slice(from).some(isWrong)) problems.push('a completion has another context, or no result');
    return { handed: seen(), extra: deliveries.length - from - seen() };
  };
}

const open = (connectionString: string) => {
  const client = new HostedClient({ partnerId, apiKey, baseUrls: { sandbox: env.SERVICE_URL } });
  return createTracker<{ n: number }>({ client, connectionString, maxRequestsPerSecond: 400 });
};

/** Our own tables: both versions work through the change, and through going back. */
async function changeTables(): Promise<void> {
  const [today, next, afterNext] = [
    await makeBuild('today', root),
    await makeBuild('next', root),
    await makeBuild('afterNext', root),
  ];
  const fleet = await openFleet('tables');
  await fleet.migrate(today);
  const tracker = await open(fleet.connectionString);
  for (const version of [today, next]) for (let n = 0; n < 4; n++) fleet.add(version);
  const seconds = argv.includes('--full') ? 60 : 24;
  const feeding = feed(tracker, jobsInAll, seconds * 1_000 - 4_000);
  let longestMs = 0;
  let isWatching = true;
  const watching = (async () => {
    while (isWatching) {
      const { rows } = await cluster.pool.query(
        `select coalesce(max(extract(epoch from clock_timestamp() - query_start)) * 1000, 0)::float8 as ms
         from pg_stat_activity where wait_event_type = 'Lock' and datname = 'tables'`,
      );
      longestMs = Math.max(longestMs, (rows[0] as { ms: number }).ms);
      await sleep(50);
    }
  })();
  let kills = 0;
  const exchange = async (before: string, after: string) => {
    for (const slot of fleet.slots.filter(({ build }) => build === before)) {
      slot.build = after;
      fleet.kill(slot);
      await sleep(300);
    }
  };
  let migrating: Promise<void> | null = null;
  for (let second = 0; second < seconds; second++) {
    await sleep(1_000);
    const victim = fleet.slots[Math.floor(random() * fleet.slots.length)];
    if (victim) fleet.kill(victim);
    kills += 1;
    if (second === Math.floor(seconds / 4)) {
      migrating = fleet.migrate(next).then((text) => void stdout.write(`migrated: ${text}\n`));
    }
    if (second === Math.floor(seconds / 2)) {
      await migrating;
      await exchange(next, afterNext);
    }
    if (second === Math.floor((seconds * 3) / 4)) await exchange(afterNext, today);
  }
  await migrating;
  const { handed, extra } = await feeding();
  isWatching = false;
  await watching;
  const downs = await fleet.end();
  await tracker.stop();
  if (downs > 0) problems.push(`${downs} processes ended by themselves`);
  if (longestMs > lockBoundMs) problems.push('a statement waited too long for a lock');
  stdout.write(
    `8 workers, ${kills} kills: ${handed} of ${jobsInAll} jobs handed over, ${extra} extra deliveries; ` +
      `no statement was seen to wait for a lock for more than ${longestMs.toFixed(0)} ms\n`,
  );
}

/** The tables of pg-boss: workers with the older one stop taking work, and lose nothing. */
async function changeBoss(olderBoss: string): Promise<void> {
  const older = join(folder, olderBoss);
  mkdirSync(older);
  writeFileSync(join(older, 'package.json'), '{"private":true}');
  try {
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error', `pg-boss@${olderBoss}`], {
      cwd: older,
    });
  } catch {
    stdout.write(`skipped: pg-boss ${olderBoss} cannot be installed\n`);
    return;
  }
  const [before, after] = [await makeBuild('today', older), await makeBuild('today', root)];
  const fleet = await openFleet(`queue_${olderBoss.replaceAll('.', '_')}`);
  stdout.write(`${await fleet.migrate(before)}\n`);
  const tracker = await open(fleet.connectionString);
  const count = Math.min(jobsInAll, 1_500);
  for (let n = 0; n < 4; n++) fleet.add(before);
  const feeding = feed(tracker, count, 10_000);
  while (deliveries.length < 100) await sleep(100);
  const handedBefore = deliveries.length;
  stdout.write(`${await fleet.migrate(after)}\n`);
  const said = (slot: Slot) => slot.log.includes('the tables of pg-boss are newer than the installed pg-boss');
  for (let tries = 0; tries < 200 && !fleet.slots.every(said); tries++) await sleep(100);
  if (!fleet.slots.every(said)) problems.push('a worker with an older pg-boss does not say so');
  for (let n = 0; n < 4; n++) fleet.add(after);
  const { handed, extra } = await feeding();
  await tracker.stop();
  if ((await fleet.end()) > 0) problems.push('a process ended by itself');
  stdout.write(
    `pg-boss ${olderBoss} met newer tables after ${handedBefore} deliveries: ${handed} of ${count} jobs handed over, ${extra} extra\n`,
  );
}

try {
  await changeTables();
  for (const olderBoss of olderBosses) {
    deliveries.length = 0;
    await changeBoss(olderBoss);
  }
} finally {
  server.close();
  await cluster.close().catch(() => undefined);
  rmSync(folder, { recursive: true, force: true });
}
endRun(problems);
