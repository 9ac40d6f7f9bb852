/**
 * The command `npm run bench` measures everything in one run, and writes `RESULTS.md` and `results.svg`. All
 * variants take turns. `npm run bench -- job list` runs only the measures `job` and `list`, and
 * `--against <folder of a build>` compares this build with another build. With names of measures or `--against`, the
 * results are only printed. If a variant fails, the run prints its name and fails.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { drawChart } from './report/chart.ts';
import { writeResults } from './report/results.ts';
import { formatRow, type Row } from './row.ts';
import { jobStatusRows, listRows } from './rows/calls.ts';
import { type Context, peersFolder, root } from './rows/context.ts';
import { inFlightRows, waitRows } from './rows/growth.ts';
import { sandboxRows } from './rows/sandbox.ts';
import { signingRows } from './rows/signing.ts';
import { sizeRows } from './rows/sizes.ts';
import { startUpRows } from './rows/start-up.ts';
import { longWalkRows, walkRows } from './rows/walks.ts';

const measures: Readonly<Record<string, (context: Context) => Promise<readonly Row[]>>> = {
  job: jobStatusRows,
  list: listRows,
  walk: walkRows,
  start: startUpRows,
  size: sizeRows,
  waits: waitRows,
  flight: inFlightRows,
  million: longWalkRows,
  signing: signingRows,
  sandbox: sandboxRows,
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { against: { type: 'string' } } });
const unknown = positionals.filter((name) => !measures[name]);
if (unknown.length > 0)
  throw new Error(`There is no measure ${unknown}; the measures are ${Object.keys(measures).join(', ')}`);
const against = values.against === undefined ? null : resolve(values.against);
if (against !== null && !existsSync(join(against, 'index.js'))) throw new Error(`There is no build in ${against}`);

if (!existsSync(join(peersFolder, 'node_modules'))) {
  execFileSync('npm', ['ci', '--loglevel=error'], { cwd: peersFolder, stdio: 'inherit' });
}

const rows: Row[] = [];
for (const [name, measure] of Object.entries(measures)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const startedAt = performance.now();
  const found = await measure({ dist: join(root, 'dist'), against });
  for (const row of found) console.log(formatRow(row));
  console.log(`(${name}: ${Math.round((performance.now() - startedAt) / 1000)} s)`);
  rows.push(...found);
}

if (positionals.length === 0 && against === null) {
  writeFileSync(join(root, 'bench/RESULTS.md'), writeResults(rows));
  writeFileSync(join(root, 'bench/results.svg'), drawChart(rows));
}
if (rows.some(({ figures }) => Object.values(figures).some((figure) => 'failed' in figure))) process.exitCode = 1;
