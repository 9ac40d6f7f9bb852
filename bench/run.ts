/**
 * Runs all benches, each in a process of its own, and writes what they found to the screen and to
 * `RESULTS.md`: `npm run bench`. The figures are ratios of one run, so that any machine may make them.
 */

import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isReached, lineOf, type Row } from './report.ts';

const peers = fileURLToPath(new URL('peers', import.meta.url));
if (!existsSync(`${peers}/node_modules`)) {
  execFileSync('npm', ['ci', '--loglevel=error'], { cwd: peers, stdio: 'inherit' });
}

const rows: Row[] = [];
const benches = [
  'calls status',
  'calls loopback',
  'calls list',
  'start-up',
  'sizes',
  'signing',
  'walking',
  'waiting',
  'refusing',
];
for (const bench of benches) {
  const [file = '', ...args] = bench.split(' ');
  const child = fork(new URL(`${file}.ts`, import.meta.url), args, { execArgv: ['--expose-gc'] });
  child.on('message', (found: readonly Row[]) => {
    for (const row of found) console.log(lineOf(row));
    rows.push(...found);
  });
  const [code] = (await once(child, 'exit')) as [number];
  if (code !== 0) throw new Error(`bench/${file}.ts ended with ${code}`);
}

const names = [...new Set(rows.flatMap(({ others = {} }) => Object.keys(others)))];
const table = [
  ['', 'unit', 'ours', 'aim', '', ...names],
  ['---', '---', '---', '---', '---', ...names.map(() => '---')],
  ...rows.map((row) => [
    row.note ? `${row.what} (${row.note})` : row.what,
    row.unit,
    `**${row.ours}**`,
    row.aim === undefined ? '' : `${row.better === 'higher' ? '≥' : '≤'} ${row.aim}`,
    row.aim === undefined ? '' : isReached(row) ? 'reached' : 'missed',
    ...names.map((name) => String(row.others?.[name] ?? '')),
  ]),
].map((cells) => `| ${cells.join(' | ')} |`);

const machine = `Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} cores (${cpus()[0]?.model.trim()})`;
writeFileSync(
  new URL('RESULTS.md', import.meta.url),
  `# What the client costs

Written by \`npm run bench\` on ${machine}. Medians of one run in which all took turns; CPU is the client process's. The others neither sign, nor verify, nor decode. [docs/performance.md](../docs/performance.md) says what keeps a figure from its aim.

${table.join('\n')}
`,
);
