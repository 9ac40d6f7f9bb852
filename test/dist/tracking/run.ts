/**
 * Runs scenarios of tracking, and judges them: `npm run check:tracking` runs those of the gate, and with `-- NAME`, any
 * other (`-- all`: all). `--full` is the long run, `--place NAME` another place of the database, and `--verbose` shows
 * what workers say.
 */

import process, { stdout } from 'node:process';
import { parseArgs } from 'node:util';
import { type Cluster, isRequired, programs, startCluster } from '../../tracking/databases.ts';
import { measures } from './costs.ts';
import { describeStatements, readCounters } from './database.ts';
import { feed } from './feed.ts';
import { type PlaceName, places } from './places.ts';
import type { Scenario } from './scenario.ts';
import { atTheGate, scenarios } from './scenarios.ts';
import { quantiles, watchTenths } from './tenths.ts';
import { deadlocks, make } from './troubles.ts';
import { untilStored } from './worker.ts';
import { openWorld, type World } from './world.ts';

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: { type: 'boolean', default: false }, place: { type: 'string' }, verbose: { type: 'boolean' } },
});
if (given.place !== undefined && !(given.place in places)) {
  throw new Error(`--place must be one of ${Object.keys(places).join(', ')}`);
}
const known = [...Object.keys(scenarios), ...Object.keys(measures)];
for (const name of positionals) {
  if (name !== 'all' && !known.includes(name)) throw new Error(`the scenarios are ${known.join(', ')}`);
}
const failures: string[] = [];
const clusters = new Set<Cluster>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const cluster of clusters) cluster.stop();
    process.exit(1);
  });
}

if (programs === null) {
  if (isRequired) throw new Error('PostgreSQL is not installed');
  stdout.write('skipped: no PostgreSQL is installed (apt-get install postgresql)\n');
} else if (positionals.length === 0) {
  await Promise.all(atTheGate.map(runAll));
} else {
  for (const name of positionals.includes('all') ? known : positionals) await runAll(name);
}
for (const failure of failures) stdout.write(`FAILED: ${failure}\n`);
if (failures.length > 0) process.exitCode = 1;

/** Runs the scenarios of a name, on one server. */
async function runAll(name: string): Promise<void> {
  const rows = (scenarios[name] ?? []).map((row) => (given.full && row.full ? { ...row, ...row.full } : row));
  const settings = ['-c shared_preload_libraries=pg_stat_statements', '-c pg_stat_statements.track=top'];
  const cluster = await startCluster([...settings, ...(rows[0]?.settings ?? [])]);
  clusters.add(cluster);
  try {
    await measures[name]?.({ cluster, isFull: given.full, fail: (problem) => failures.push(`${name}: ${problem}`) });
    const all = rows.map((row, at) => async () => {
      const title = [name, row.name].filter(Boolean).join(', ');
      for (const problem of await runScenario(title, row, cluster, at)) failures.push(`${title}: ${problem}`);
    });
    // Those that mostly wait run side by side.
    if (rows.every(({ waits }) => waits)) await Promise.all(all.map((run) => run()));
    else for (const run of all) await run();
  } finally {
    clusters.delete(cluster);
    await cluster.close().catch(() => undefined);
  }
}

async function runScenario(title: string, row: Scenario, cluster: Cluster, at: number): Promise<readonly string[]> {
  const placeName = (given.place as PlaceName | undefined) ?? row.place ?? 'directly';
  const { feed: fed, troubles = [], promises = {} } = row;
  const world = await openWorld(row, row.place === 'memory' || row.place === 'folder' ? null : cluster, placeName, at);
  const { tracker, counts, problems, service, sleep, ask, expected } = world;
  const startedAt = performance.now();
  try {
    const before = ask && (await readCounters(ask));
    await world.startWork();
    const watching = promises.lockMs === undefined ? null : watchLocks(world);
    const making = troubles.map((trouble) => make(world, trouble));
    if (promises.growth) making.push(watchTenths(world, fed.overMs, promises.growth));
    const limitMs = (fed.restAfterMs ?? 0) + fed.overMs + 300_000;
    const all = Promise.all([feed(world), ...making]);
    const slowestMs = await Promise.race([all.then(([late]) => late), sleep(limitMs).then(() => null)]);
    if (slowestMs === null) problems.add(`it was not over after ${limitMs / 1_000} s`);
    const fedAt = performance.now();
    const polls = ((service.stillPending - world.rest.pending) * 1_000) / (fedAt - world.rest.at);
    while (counts.handed < expected && performance.now() - fedAt < (promises.lastMs ?? 90_000) * 2) await sleep(50);
    const lastMs = Math.max(0, world.lastAt() - fedAt);
    if (counts.handed < expected) problems.add(`${expected - counts.handed} of ${expected} jobs were not handed over`);
    const stats = await waitForEnd(row.jobs - expected);
    const after = ask && (await readCounters(ask));
    const lockMs = (await watching?.()) ?? 0;
    if (ask) counts.deadlocks += await ask(deadlocks);
    if (given.verbose && world.base) stdout.write(`${await describeStatements(world.base.pool)}\n`);
    await world.stop();

    const repeats = counts.deliveries - counts.handed;
    const [middle, slow, latest] = quantiles(world.late.ends);
    const found = Math.round(world.late.found);
    const aheadOfRate = countAhead(service.bySecond, row.options?.maxRequestsPerSecond ?? 10);
    const judged: readonly (readonly [boolean, string])[] = [
      [counts.deadlocks > 0, `${counts.deadlocks} deadlocks`],
      [world.hasTwins(), 'two jobs have one key'],
      [repeats > (promises.repeats ?? counts.kills + counts.broken), `${repeats} deliveries were repeats`],
      [lastMs > (promises.lastMs ?? 90_000), `the last came ${Math.round(lastMs / 1_000)} s after the last trouble`],
      [latest > (promises.lateMs ?? latest), `a completion came ${latest} ms after the end of its job`],
      [found > (promises.foundMs ?? found), `a completion came ${found} ms after a poll had found it`],
      [polls < (promises.polls ?? 0), `only ${polls.toFixed(0)} polls a second`],
      [lockMs > (promises.lockMs ?? 0), `a statement waited ${lockMs} ms for a lock`],
      [counts.blocks > (promises.blocks ?? counts.blocks), `${counts.blocks.toFixed(1)} times the blocks`],
      [aheadOfRate > 0, `${aheadOfRate} requests came before the rate allowed them`],
      [stats !== null && stats.left > 0, `${stats?.left} jobs were left over`],
    ];
    for (const [isWrong, problem] of judged) if (isWrong) problems.add(problem);
    const costs =
      before && after && counts.kills === 0
        ? `; a job took ${((after.statements - before.statements) / expected).toFixed(2)} statements`
        : '';
    stdout.write(
      `${title}, ${placeName}: ${counts.handed} of ${expected} jobs handed over in ${Math.round((performance.now() - startedAt) / 1_000)} s, ` +
        `${repeats} repeats; ${counts.kills} kills or cuts, ${counts.deploys} deploys, ${counts.deadlocks} deadlocks; ` +
        `the last ${(lastMs / 1_000).toFixed(1)} s after the last trouble; late by ${middle} ms (median), ${slow} ms (99 of 100), ${latest} ms (most), ` +
        `${found} ms after it was found; ${service.requests} requests, ${service.failed} broken, busiest second ${Math.max(0, ...Object.values(service.bySecond))}; ` +
        `${counts.callbacks} callbacks, ${counts.repeated} repeated${promises.lockMs ? `; ${lockMs} ms for a lock` : ''}` +
        `${promises.polls ? `; ${polls.toFixed(0)} polls a second` : ''}${costs}\n`,
    );
    return [...problems];
  } catch (error) {
    return problems.size > 0 ? [...problems] : [String(error)];
  } finally {
    await world.close();
  }

  /** Waits until nothing is followed or handed over: a worker that was killed late may have left one more repeat. */
  async function waitForEnd(lasting: number): Promise<{ readonly left: number } | null> {
    // Invented jobs are followed for a while.
    if (!tracker || fed.linked) return null;
    for (let seconds = 0; ; seconds++) {
      const { tracking, handingOver, dead } = await untilStored(() => tracker.stats());
      const left = tracking + handingOver + dead - lasting;
      if (left === 0 || seconds === 60) return { left };
      await sleep(1_000);
    }
  }
}

/** Looks for statements that wait for a lock; gives the longest wait, in ms. */
function watchLocks({ ask, ended }: World): () => Promise<number> {
  let longest = 0;
  let isOver = false;
  const waiting = (async () => {
    while (!isOver && !ended.signal.aborted && ask) {
      const ms = await ask(
        `select coalesce(max(extract(epoch from clock_timestamp() - query_start)) * 1000, 0)
         from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      );
      longest = Math.max(longest, Math.round(ms));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return async () => {
    isOver = true;
    await waiting;
    return longest;
  };
}

/**
 * How many requests came before the rate allowed them, counted from the start: a busy machine delays requests, and then
 * they come closer together than they were sent, but none comes early. The bucket holds what 0.3 s bring.
 */
function countAhead(bySecond: readonly number[], rate: number): number {
  let sum = 0;
  let ahead = 0;
  for (let second = 0; second < bySecond.length; second++) {
    sum += bySecond[second] ?? 0;
    ahead = Math.max(ahead, sum - Math.ceil(rate * (second + 1.3)));
  }
  return ahead;
}
