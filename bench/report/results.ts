/** Writes the results of a whole run as a page: which aims are reached or missed, and all figures of all variants. */

import { cpus } from 'node:os';
import { type Figure, formatAims, formatFigure, type Row, reaches } from '../row.ts';

export function writeResults(rows: readonly Row[]): string {
  const aimed = rows.filter(({ aims }) => aims !== undefined);
  const missed = aimed.filter((row) => !reaches(row, row.aims ?? [])).map(({ what }) => what);
  return `# What the client costs

Written by \`npm run bench\` on ${describeMachine()}. Each figure is the median of the rounds of one run, or the ratio of two medians. All variants took turns, each in a separate process. The number after ± is half the range of the middle half of the rounds. Times are CPU time of the client's process, unless the row says otherwise. [README.md](README.md) says what each variant does, and which part of a call needs how much time.

![CPU of a call and time to begin, as multiples of bare fetch, beside ky, stripe, openai and axios](results.svg)

## Aims

${missed.length === 0 ? 'All aims are reached.' : `Missed aims (${missed.length} of ${aimed.length}): ${missed.join('; ')}.`}
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

/** Lists each failed variant with its row and the reason, so that no failure is hidden. */
function listFailures(rows: readonly Row[]): string {
  const failures = rows.flatMap(({ what, figures }) =>
    Object.entries(figures).flatMap(([name, figure]) =>
      'failed' in figure ? [`- **${name} failed** in ${what}: ${figure.failed}`] : [],
    ),
  );
  return failures.length === 0 ? '' : `\n${failures.join('\n')}\n`;
}

/** Returns the variants, ours first, then the others in the order of their turns. */
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
