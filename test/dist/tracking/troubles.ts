/** What goes wrong in a run: each kind of trouble makes itself in its world, and is over when it resolves. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import process, { execPath, stdout } from 'node:process';
import { buildVersion } from './builds.ts';
import { mark, moveClock, readCounters, statements } from './database.ts';
import type { Trouble } from './scenario.ts';
import type { Slot, World } from './world.ts';

type Makers = {
  readonly [Is in Trouble['is']]: (world: World, trouble: Extract<Trouble, { is: Is }>) => Promise<void>;
};

/** Makes a trouble, once its time has come. */
export async function make(world: World, trouble: Trouble): Promise<void> {
  if ('when' in trouble) {
    const { when } = trouble;
    if ('atMs' in when) await world.sleep(when.atMs);
    else while (world.counts.handed < when.afterHanded) await world.sleep(50);
  }
  await (makers[trouble.is] as (world: World, trouble: Trouble) => Promise<void>)(world, trouble);
}

const makers: Makers = {
  async kills(world, { everyMs, times, fixed = 0 }) {
    for (let done = 0; done < times; done++) {
      await world.sleep(everyMs);
      const victims = world.slots.slice(fixed).filter(({ child, isStopping }) => child && !isStopping);
      const victim = victims[Math.floor(world.random() * victims.length)];
      if (victim) world.kill(victim);
    }
  },

  async kill(world, { worker, forGood = false }) {
    world.kill(slotOf(world, worker), forGood);
  },

  async restart({ cluster, counts, ask }) {
    // The server forgets its counters.
    counts.deadlocks += (await ask?.(deadlocks)) ?? 0;
    cluster?.restart();
  },

  async outage({ service, sleep }, { fault, forMs }) {
    service.fault = fault;
    await sleep(forMs);
    service.fault = null;
  },

  vanish: breakAt,
  silence: breakAt,

  async cuts(world, { everyMs, times }) {
    const { sleep, random, ended } = world;
    const made = new Map<string, number>();
    for (let done = 0; done < times; done++) {
      await sleep(everyMs);
      const living = world.slots.filter(({ proxy, child }) => proxy && child);
      const slot = living[Math.floor(random() * living.length)];
      if (!slot?.proxy) continue;
      const { proxy } = slot;
      await new Promise<void>((resolve) => {
        ended.signal.addEventListener('abort', () => resolve(), { once: true });
        const armedAt = performance.now();
        proxy.judge = (text) => {
          if (!text.includes(mark)) return 'forward';
          const before = made.get(text) ?? 0;
          made.set(text, before);
          const isRare = before === Math.min(...made.values());
          if (!isRare && performance.now() - armedAt < 300) return 'forward';
          made.set(text, before + 1);
          proxy.judge = () => 'forward';
          // Its network, its machine, and again.
          if (before % 6 >= 3) world.kill(slot);
          else world.counts.kills += 1;
          resolve();
          return (['cut before', 'cut after', 'cut within'] as const)[before % 3] ?? 'cut before';
        };
      });
    }
    stdout.write(`${times} cuts of ${made.size} statements, each ${Math.min(...made.values())} times or more\n`);
  },

  async clock({ base }, { byMs }) {
    if (base) await moveClock(base.pool, byMs / 1_000);
  },

  async transaction(world, { requests }) {
    const { base, ask, service, counts, sleep } = world;
    if (!base || !ask) return;
    const measure = async () => {
      await base.pool.query('select pg_stat_statements_reset()');
      await sleep(10_000);
      return (await readCounters(ask)).blocks;
    };
    const before = await measure();
    const connection = await base.pool.connect();
    await connection.query('begin isolation level repeatable read; select count(*) from pg_class');
    const until = service.requests + requests;
    while (service.requests < until || !world.isFed || counts.handed < world.expected) await sleep(200);
    const most = await measure();
    // As many versions come in hours at the usual rate, and a scan passes those of the last minute.
    await world.openTracker({ maxRequestsPerSecond: 10 });
    await sleep(100_000);
    const after = await measure();
    await connection.query('commit');
    connection.release();
    counts.blocks = after / before;
    stdout.write(
      `blocks a call of the heaviest statement: ${before}, after ${requests} requests ${most}, and later ${after}\n`,
    );
  },

  async flood(world, { times, jobs, wholeSeconds = false }) {
    const { service, tracker, sleep } = world;
    if (!tracker) return;
    const handle = tracker.handler();
    const dayAgo = Date.now() - 86_400_000;
    const signedAt = Array.from({ length: times }, (_, at) => new Date(dayAgo + at * 80_000 + 7).toISOString());
    const accepted = new Set<string>();
    // All of it as fast as it goes, and then again and again, a hundred a second.
    for (let round = 0; !world.isFed; round++) {
      for (let n = 0; n < jobs && !world.isFed; n++) {
        for (const [at, time] of signedAt.entries()) {
          const jobId = `invented ${at} ${n}`;
          const text = wholeSeconds ? `${time.slice(0, 19)}Z` : time;
          const body = service.writeCallback({ userId: 'nobody', jobId }, text);
          const { status } = await handle(new Request('http://web.test/', { method: 'POST', body }));
          if (status === 200) accepted.add(jobId);
          if (round > 0) await sleep(10);
          if (world.isFed) break;
        }
      }
    }
    const isKept = async (jobId: string) =>
      service.asked.has(jobId) || (await tracker.get({ userId: 'nobody', jobId })) !== null;
    const kept = await Promise.all([...accepted].map(isKept));
    const forgotten = kept.filter((is) => !is).length;
    stdout.write(
      `${accepted.size} invented jobs were accepted, ${service.asked.size} asked about, ${forgotten} forgotten\n`,
    );
    if (forgotten > 0) world.problems.add('jobs were forgotten before their first poll');
  },

  async migrate(world) {
    const folder = await buildVersion(world.folder, 'next', world.scenario.haste ?? 1);
    const child = spawn(execPath, [join(folder, 'migrate.mjs')], {
      env: { ...process.env, DATABASE_URL: world.base?.connectionString },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const [code] = await once(child, 'exit');
    if (code !== 0) world.problems.add('the tables were not changed');
  },

  async deploy(world, { version, workers }) {
    for (const at of workers) {
      const slot = slotOf(world, at);
      slot.version = version;
      while (!slot.child) await world.sleep(50);
      slot.isStopping = true;
      const exited = once(slot.child, 'exit');
      slot.child.kill('SIGTERM');
      await exited;
      world.counts.deploys += 1;
    }
  },
};

/** The deadlocks that the server has counted. */
export const deadlocks = 'select deadlocks from pg_stat_database where datname = current_database()';

async function breakAt(
  world: World,
  { is, worker, at }: Extract<Trouble, { is: 'vanish' | 'silence' }>,
): Promise<void> {
  const slot = slotOf(world, worker);
  await new Promise<void>((resolve) => {
    const { proxy } = slot;
    if (!proxy) throw new Error('the worker has no proxy');
    proxy.judge = (text) => {
      if (!text.includes(mark) || !text.includes(statements[at])) return 'forward';
      slot.isGone = true;
      world.counts.kills += 1;
      resolve();
      return is;
    };
  });
  if (is === 'vanish') slot.child?.kill('SIGKILL');
}

function slotOf({ slots }: World, at: number): Slot {
  const slot = slots[at];
  if (!slot) throw new Error(`there is no worker ${at}`);
  return slot;
}
