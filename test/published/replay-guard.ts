/**
 * Four processes with clocks that differ receive 10,000 callbacks, of which 40 % are repeats, over one replay guard.
 * Some of them are killed. Looks whether each callback had one effect, and whether another process replaced a holder
 * that died as soon as its lease had ended. A process can die after the effect of its handler and before the guard has
 * stored it: such a callback has two effects.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import process, { argv, stdout } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sign } from '../support/fake-fetch.ts';
import { randomFrom } from '../support/random.ts';
import { startCluster } from '../tracking/databases.ts';
import { endRun, requirePostgresql } from './tracker-runs.ts';

requirePostgresql();
const deliveries = Number(argv[2] ?? 10_000);
const callbacks = deliveries * 0.6;
const leaseMs = 2_000;
const partnerId = '085';
const apiKey = 'the key of the run';
const random = randomFrom(20_261_123);
const cluster = await startCluster();
await cluster.pool.query(
  'create table effects (job_id text not null, at timestamptz not null default clock_timestamp())',
);

interface Worker {
  readonly child: ChildProcess;
  readonly url: string;
}
const skews = [-120_000, -1_000, 0, 120_000];
const workers: (Worker | null)[] = [null, null, null, null];
let isOver = false;

async function start(at: number): Promise<void> {
  const env = {
    ...process.env,
    DATABASE_URL: cluster.connectionString,
    PARTNER_ID: partnerId,
    API_KEY: apiKey,
    LEASE_MS: String(leaseMs),
    SKEW_MS: String(skews[at]),
  };
  const child = fork(fileURLToPath(new URL('replay-guard-worker.ts', import.meta.url)), {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const [port] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('a process did not start'))),
  ]);
  if (isOver) child.kill('SIGKILL');
  workers[at] = { child, url: `http://127.0.0.1:${port}/` };
}

const startedAt = Date.now();
const bodies = Array.from({ length: callbacks }, (_, n) => {
  const timestamp = new Date(startedAt - n).toISOString();
  const PartnerParams = { user_id: 'user', job_id: `job-${n}`, job_type: '1' };
  return JSON.stringify({
    ResultCode: '0810',
    PartnerParams,
    timestamp,
    signature: sign(timestamp, apiKey, partnerId),
  });
});

/** When a delivery was broken off by a kill, for each callback. */
const broken = new Map<number, number>();
const statuses = new Map<number, number>();

/** Delivers a callback to a process, and again after a 503 or a broken connection, as the service does. */
async function deliver(n: number): Promise<void> {
  for (;;) {
    const worker = workers[Math.floor(random() * workers.length)];
    if (!worker) {
      await sleep(20);
      continue;
    }
    const response = await fetch(worker.url, { method: 'POST', body: bodies[n] ?? '' }).catch(() => null);
    if (response === null) broken.set(n, Date.now());
    else {
      await response.arrayBuffer();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status === 200) return;
      if (response.status !== 503) throw new Error(`a callback got ${response.status}`);
    }
    await sleep(100);
  }
}

const problems: string[] = [];
try {
  await Promise.all(workers.map((_, at) => start(at)));
  const plan = [
    ...bodies.keys(),
    ...Array.from({ length: deliveries - callbacks }, () => Math.floor(random() * callbacks)),
  ].toSorted(() => random() - 0.5);
  let next = 0;
  let kills = 0;
  const killing = (async () => {
    while (next < plan.length) {
      await sleep(1_000);
      const at = Math.floor(random() * workers.length);
      const victim = workers[at];
      if (!victim || next >= plan.length) continue;
      workers[at] = null;
      victim.child.kill('SIGKILL');
      kills += 1;
      void start(at);
    }
  })();
  const lanes = Array.from({ length: 40 }, async () => {
    while (next < plan.length) {
      const at = next;
      next += 1;
      await deliver(plan[at] ?? 0);
    }
  });
  await Promise.all(lanes);
  await killing;

  const { rows } = await cluster.pool.query(
    'select job_id, count(*)::integer as effects, extract(epoch from min(at)) * 1000 as at from effects group by job_id',
  );
  const effects = rows as { job_id: string; effects: number; at: string }[];
  // A process may die after the effect of its handler, and before the guard knows of it.
  const twice = effects.filter((row) => row.effects > 1);
  const replaced = effects.flatMap((row) => {
    const brokenAt = broken.get(Number(row.job_id.slice(4)));
    return brokenAt === undefined ? [] : [Number(row.at) - brokenAt];
  });
  if (effects.length !== callbacks) problems.push(`${callbacks - effects.length} callbacks had no effect`);
  if (twice.some((row) => !broken.has(Number(row.job_id.slice(4))))) problems.push('a callback had two effects');
  const latest = Math.max(0, ...replaced);
  if (latest > leaseMs + 2_000) problems.push('a holder that died was not replaced within its lease and two seconds');
  stdout.write(
    `${deliveries} deliveries of ${callbacks} callbacks, ${kills} kills, ${((Date.now() - startedAt) / 1_000).toFixed(0)} s; ` +
      `${statuses.get(200)} × 200, ${statuses.get(503) ?? 0} × 503\n` +
      `${effects.length} callbacks had an effect, ${twice.length} of them twice; ${broken.size} deliveries were broken off, ` +
      `and the last effect after that came after ${(latest / 1_000).toFixed(1)} s (lease ${leaseMs / 1_000} s)\n`,
  );
} finally {
  isOver = true;
  for (const worker of workers) worker?.child.kill('SIGKILL');
  await sleep(200);
  await cluster.close();
}
endRun(problems);
