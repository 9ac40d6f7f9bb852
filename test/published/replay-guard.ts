/**
 * Two processes whose clocks differ hand over 10,000 deliveries about versions of 1,000 jobs, with one replay guard. Again
 * and again, one of them is killed between an effect and its commit. Looks whether each job's effects came in order and
 * one at a time, the last version had one, and whether a version had two only where a process died over it.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import process, { argv, stdout } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { randomFrom } from '../support/random.ts';
import { startCluster } from '../tracking/databases.ts';
import type { Delivery } from './replay-guard-worker.ts';
import { endRun, requirePostgresql } from './tracker-runs.ts';

requirePostgresql();
const count = Number(argv[2] ?? 10_000);
const versions = 6;
const jobs = Math.ceil((count * 0.6) / versions);
const leaseMs = 3_000;
const random = randomFrom(20_261_123);
const cluster = await startCluster();
await cluster.pool.query(`create table effects (n bigint generated always as identity, job integer not null,
  version integer not null, at timestamptz not null default clock_timestamp())`);

const skews = [-120_000, 120_000];
const workers: (ChildProcess | null)[] = skews.map(() => null);
let kills = 0;
let isOver = false;

async function start(at: number): Promise<void> {
  const env = {
    ...process.env,
    DATABASE_URL: cluster.connectionString,
    LEASE_MS: String(leaseMs),
    SKEW_MS: String(skews[at]),
    SEED: String(100 * kills + at),
  };
  const child = fork(fileURLToPath(new URL('replay-guard-worker.ts', import.meta.url)), { env, stdio: 'inherit' });
  child.setMaxListeners(100);
  await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('a process did not start'))),
  ]);
  workers[at] = child;
  child.once('exit', () => {
    workers[at] = null;
    if (isOver) return;
    kills += 1;
    void start(at);
  });
}

/** When processes died over deliveries about a version. */
const deaths = new Map<string, number[]>();
const said = new Map<string, number>();
let busy = 0;

/** Delivers to a process, and again while another one hands over a version of the job, or if the process dies. */
async function deliver({ job, version }: Delivery): Promise<void> {
  for (;;) {
    const worker = workers[Math.floor(random() * workers.length)];
    const word = worker?.connected ? await ask(worker, { job, version }) : 'away';
    if (word === null) deaths.set(`${job} ${version}`, [...(deaths.get(`${job} ${version}`) ?? []), Date.now()]);
    else if (word === 'busy') busy += 1;
    else if (word !== 'away') {
      said.set(word, (said.get(word) ?? 0) + 1);
      return;
    }
    await sleep(50);
  }
}

let asked = 0;

/** What a process says; null if it dies. */
function ask(worker: ChildProcess, delivery: Delivery): Promise<string | null> {
  const id = asked++;
  return new Promise((resolve) => {
    const end = (word: string | null) => {
      worker.off('message', hear).off('exit', die);
      resolve(word);
    };
    const hear = (message: unknown) => {
      const [of, word] = message as [number, string];
      if (of === id) end(word);
    };
    const die = () => end(null);
    worker.on('message', hear).on('exit', die);
    worker.send([id, delivery], () => undefined);
  });
}

const problems: string[] = [];
const startedAt = Date.now();
try {
  await Promise.all(skews.map((_, at) => start(at)));
  const all = Array.from({ length: jobs * versions }, (_, n) => ({ job: n % jobs, version: Math.floor(n / jobs) }));
  const repeats = Array.from({ length: count - all.length }, () => all[Math.floor(random() * all.length)] ?? all[0]);
  // About in order: a delivery may come after those of the next two versions.
  const plan = [...all, ...repeats]
    .flatMap((delivery) => (delivery ? [{ delivery, at: delivery.version + 3 * random() }] : []))
    .toSorted((a, b) => a.at - b.at);
  const lanes = Array.from({ length: 40 }, async () => {
    for (let next = plan.shift(); next; next = plan.shift()) await deliver(next.delivery);
  });
  await Promise.all(lanes);

  const { rows } = await cluster.pool.query(
    'select job, version, extract(epoch from at)::float8 * 1000 as at from effects order by job, n',
  );
  const effects = rows as (Delivery & { at: number })[];
  let twice = 0;
  let latest = 0;
  for (const [n, { job, version, at }] of effects.entries()) {
    const before = effects[n - 1];
    if (before?.job !== job) continue;
    if (version < before.version) problems.push('an older version had an effect after a newer one');
    if (version !== before.version) continue;
    const died = (deaths.get(`${job} ${version}`) ?? []).filter((time) => time <= at);
    if (died.length === 0) problems.push('a version had two effects, and no process died over it');
    latest = Math.max(latest, at - Math.max(...died));
    twice += 1;
  }
  const last = new Set(effects.filter(({ version }) => version === versions - 1).map(({ job }) => job));
  if (last.size !== jobs) problems.push(`the last version of ${jobs - last.size} jobs had no effect`);
  if (latest > leaseMs + 2_000) problems.push('a holder that died was not replaced within its lease and two seconds');
  const open = await cluster.pool.query('select 1 as one from hosted_tracking.handed_over where not is_committed');
  if (open.rows.length > 0) problems.push(`${open.rows.length} jobs are not committed`);
  if (kills === 0) problems.push('no process was killed');
  const words = ['new', 'known', 'older'].map((word) => `${said.get(word) ?? 0} ${word}`).join(', ');
  stdout.write(
    `${count} deliveries about ${jobs} jobs, ${kills} kills, ${((Date.now() - startedAt) / 1_000).toFixed(0)} s: ` +
      `${words}; ${busy} were busy at first\n${effects.length} effects, ${twice} of them of a version that had one; ` +
      `the last of these came ${(latest / 1_000).toFixed(1)} s after the death (lease ${leaseMs / 1_000} s)\n`,
  );
} finally {
  isOver = true;
  for (const worker of workers) worker?.kill('SIGKILL');
  await sleep(200);
  await cluster.close();
}
endRun(problems);
