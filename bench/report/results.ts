/** Writes what a whole run found as a page: what holds and what does not, and every figure of every variant. */

import { cpus } from 'node:os';
import { type Figure, formatAims, formatFigure, type Row, reaches } from '../row.ts';

export function writeResults(rows: readonly Row[]): string {
  const aimed = rows.filter(({ aims }) => aims !== undefined);
  const missed = aimed.filter((row) => !reaches(row, row.aims ?? [])).map(({ what }) => what);
  return `# What the client costs

Written by \`npm run bench\` on ${describeMachine()}. Medians of one run in which all variants took turns, each in a process of its own, with half the range of the middle rounds; CPU of the client's process where nothing else is said. [README.md](README.md) says what each variant does, and where the time goes.

![CPU of a call and time to begin, as multiples of bare fetch, beside ky, stripe, openai and axios](results.svg)

## What must hold

${missed.length === 0 ? 'All of it holds.' : `Of ${aimed.length} aims ${missed.length} are missed: ${missed.join('; ')}.`}
${listFailures(rows)}
${writeTable(
  ['', 'unit', 'ours', 'aim', '', 'beyond', ''],
  aimed.map((row) => [
    row.what,
    row.unit,
    `**${formatOne(row.figures.ours)}**`,
    formatAims(row, row.aims ?? []),
    reaches(row, row.aims ?? []) ? 'reached' : '**missed**',
    row.beyond ? formatAims(row, [row.beyond]) : '',
    row.beyond ? (reaches(row, [row.beyond]) ? 'reached' : 'not yet') : '',
  ]),
)}

## Every variant

${writeTable(
  ['', 'unit', ...namesIn(rows).map((name) => (name === 'ours' ? '**ours**' : name)), ''],
  rows.map((row) => [
    row.what,
    row.unit,
    ...namesIn(rows).map((name) =>
      name === 'ours' ? `**${formatOne(row.figures[name])}**` : formatOne(row.figures[name]),
    ),
    row.note ?? '',
  ]),
)}
`;
}

/** Who failed, where and why: nobody is dropped. */
function listFailures(rows: readonly Row[]): string {
  const failures = rows.flatMap(({ what, figures }) =>
    Object.entries(figures).flatMap(([name, figure]) =>
      'failed' in figure ? [`- **${name} failed** in ${what}: ${figure.failed}`] : [],
    ),
  );
  return failures.length === 0 ? '' : `\n${failures.join('\n')}\n`;
}

/** The variants in the order in which they took turns, ours first. */
function namesIn(rows: readonly Row[]): readonly string[] {
  return [...new Set(['ours', ...rows.flatMap(({ figures }) => Object.keys(figures))])];
}

function formatOne(figure: Figure | undefined): string {
  return figure ? formatFigure(figure) : '';
}

function writeTable(head: readonly string[], lines: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function describeMachine(): string {
  const [first] = cpus();
  return `Node ${process.version}, ${process.platform} ${process.arch}, ${cpus().length} cores (${first?.model.trim()})`;
}
