/** What a long run takes in each tenth of it: in its second half, statements, tables and memory are as in its first. */

import process, { stdout } from 'node:process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Promises } from './scenario.ts';
import type { World } from './world.ts';

const bytes = 'select sum(pg_total_relation_size(relid)) from pg_stat_user_tables';
const calls = "select coalesce(sum(calls), 0) from pg_stat_statements where query !~ 'pg_stat'";
const megabytes = (size: number) => `${(size / 2 ** 20).toFixed(1)} MB`;

/** Watches a run for so long. */
export async function watchTenths(world: World, runMs: number, growth: NonNullable<Promises['growth']>): Promise<void> {
  const { ask, base, counts, slots, late, sleep, problems } = world;
  const [steady] = slots;
  if (!ask || !base || !steady) return;
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const startedAt = Date.now();
  const tenths: { readonly statements: number; readonly heap: number; readonly own: number }[] = [];
  const vacuumed: number[] = [];
  let before = { handed: 0, statements: await ask(calls) };
  for (let tenth = 1; tenth <= 10; tenth++) {
    await sleep(startedAt + (runMs * tenth) / 10 - Date.now());
    const now = { handed: counts.handed, statements: await ask(calls) };
    const handed = now.handed - before.handed;
    collectGarbage();
    const own = process.memoryUsage().heapUsed;
    const one = { statements: (now.statements - before.statements) / handed, heap: await world.readHeap(steady), own };
    before = now;
    tenths.push(one);
    const [middle, slow] = quantiles(late.ends.splice(0));
    stdout.write(
      `tenth ${tenth}: ${handed} jobs handed over, ${one.statements.toFixed(2)} statements each; tables ${megabytes(await ask(bytes))}, ` +
        `heap of a worker ${megabytes(one.heap)}, of this process ${megabytes(own)}; late by ${middle} ms (median), ${slow} ms (99 of 100)\n`,
    );
    if (tenth % 8 !== 2) continue;
    await base.pool.query('vacuum');
    vacuumed.push(await ask(bytes));
    stdout.write(`right after a vacuum: ${megabytes(vacuumed.at(-1) ?? 0)}\n`);
  }
  const [first = 0, final = 0] = vacuumed;
  // A single tenth says little: how many rows a statement has depends on what else the machine does.
  const growthOf = (what: keyof (typeof tenths)[number]) => {
    const sumOf = (half: typeof tenths) => half.reduce((sum, tenth) => sum + tenth[what], 0);
    return sumOf(tenths.slice(5)) / sumOf(tenths.slice(0, 5));
  };
  for (const [what, times, most] of [
    ['statements a job', growthOf('statements'), growth.statements],
    ['tables right after a vacuum', final / first, growth.tables],
    ['heap of a worker', growthOf('heap'), growth.heap],
    ['heap of this process', growthOf('own'), growth.heap],
  ] as const) {
    const problem = `${what}: ${times.toFixed(2)} times as before`;
    stdout.write(`${problem}\n`);
    if (!(times <= most)) problems.add(problem);
  }
}

/** The median, and what 99 of 100 are below, rounded. */
export function quantiles(values: readonly number[]): readonly [middle: number, slow: number, most: number] {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return [at(0.5), at(0.99), at(1)];
}
