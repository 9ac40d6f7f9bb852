/** Draws one SVG that compares the ratios of all variants as bars, for light and dark backgrounds. */

import { formatAims, type Row, valueIn } from '../row.ts';
import { rounded } from '../statistics.ts';

const width = 860;
const margin = 24;
const headHeight = 112;
const panel = { width: 392, gap: 28, head: 50, foot: 6, bar: 15, step: 22, label: 84 };
const barsWidth = panel.width - panel.label - 48;

/** The variants that sign, verify and decode: the chart gives them their own colours. */
const whole = new Set(['ours', 'floor']);

/** Draws a panel for each charted row, with two panels side by side. */
export function drawChart(rows: readonly Row[]): string {
  const charted = rows.filter(({ isCharted }) => isCharted);
  const pairs = Array.from({ length: Math.ceil(charted.length / 2) }, (_, index) =>
    charted.slice(2 * index, 2 * index + 2),
  );
  let top = headHeight;
  const panels = pairs.flatMap((pair) => {
    const drawn = pair.map((row, column) => drawPanel(row, margin + column * (panel.width + panel.gap), top));
    top += Math.max(...pair.map(heightOf)) + panel.gap;
    return drawn;
  });
  const told = charted.map((row) => `${row.what}: ${listFigures(row)}.`).join(' ');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" role="img" aria-labelledby="title desc">
<title id="title">What hosted-client costs beside bare fetch, ky, stripe, openai and axios</title>
<desc id="desc">Multiples of bare fetch with JSON.parse; less is better. ${escapeText(told)}</desc>
<style>
  svg { --page: #ffffff; --ink: #1f2328; --quiet: #59636e; --line: #d1d9e0; --whole: #0f6b6b; --least: #6fb3ae; --other: #b3bac2; --aim: #b35900 }
  @media (prefers-color-scheme: dark) {
    svg { --page: #0d1117; --ink: #f0f6fc; --quiet: #9198a1; --line: #3d444d; --whole: #3fb8ad; --least: #22706b; --other: #59636e; --aim: #f0a35e }
  }
  .page { fill: var(--page) }
  text { fill: var(--ink); font: 13px system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif }
  .title { font-size: 18px; font-weight: 600 } .head { font-size: 14px; font-weight: 600 }
  .quiet { fill: var(--quiet); font-size: 12px } .ours { font-weight: 600 }
  .bar { fill: var(--other) } .bar.floor { fill: var(--least) } .bar.ours { fill: var(--whole) }
  .one { stroke: var(--quiet); stroke-dasharray: 2 3 } .aim { stroke: var(--aim); stroke-width: 2 }
</style>
<rect class="page" width="${width}" height="${top}" rx="8"/>
<text class="title" x="${margin}" y="36">What a call costs, as multiples of bare fetch + JSON.parse</text>
<text class="quiet" x="${margin}" y="56">Less is better. The dotted line is bare fetch. Each panel has its own scale. Written by npm run bench.</text>
${drawLegend(margin, 72)}
${panels.join('\n')}
</svg>
`;
}

function drawLegend(left: number, top: number): string {
  const entries = [
    ['ours', 'signs, verifies, decodes', 190],
    ['floor', 'the same, at the lowest cost with ky', 275],
    ['', 'does none of these', 135],
  ] as const;
  let x = left;
  const marks = entries.map(([kind, words, space]) => {
    const box = drawBox(kind, { x, y: top, width: 11, height: 11 });
    const label = drawText(words, { x: x + 17, y: top + 10, kind: 'quiet' });
    x += space;
    return box + label;
  });
  return [
    ...marks,
    drawLine('aim', x + 5, top - 2, top + 13),
    drawText('aim', { x: x + 17, y: top + 10, kind: 'quiet' }),
  ].join('');
}

function heightOf({ figures }: Row): number {
  return panel.head + Object.keys(figures).length * panel.step + panel.foot;
}

function drawPanel(row: Row, left: number, top: number): string {
  const names = namesOf(row);
  // If a row has several aims, the strictest one is drawn. An aim whose base failed is not a number, and is not drawn.
  const bounds = (row.aims ?? []).map((aim) => aim.bound).filter((bound) => Number.isFinite(bound));
  const bound = bounds.length > 0 ? Math.min(...bounds) : 0;
  const longest = Math.max(1, bound, ...names.map((name) => lengthOf(row, name)));
  const zero = left + panel.label;
  const toX = (value: number) => zero + (value / longest) * barsWidth;
  const first = top + panel.head;

  const bars = names.map((name, index) => {
    const y = first + index * panel.step;
    const isOurs = name === 'ours';
    const end = toX(lengthOf(row, name));
    return [
      drawText(name, { x: zero - 8, y: y + panel.bar - 3, kind: isOurs ? 'ours' : '', anchor: 'end' }),
      drawBox(whole.has(name) ? name : '', { x: zero, y, width: end - zero, height: panel.bar }),
      drawText(formatLength(row, name), {
        // The text starts to the right of the aim's mark, so that it does not cover the mark.
        x: (isOurs ? Math.max(end, toX(bound)) : end) + 7,
        y: y + panel.bar - 3,
        kind: isOurs ? 'ours' : 'quiet',
      }),
      ...(isOurs && bound > 0 ? [drawLine('aim', toX(bound), y - 3, y + panel.bar + 3)] : []),
    ].join('');
  });
  return [
    '<g>',
    drawText(row.what, { x: left, y: top + 16, kind: 'head' }),
    drawText(describeRow(row), { x: left, y: top + 34, kind: 'quiet' }),
    ...bars,
    drawLine('one', toX(1), first - 4, first + names.length * panel.step),
    '</g>',
  ].join('\n');
}

/** Returns the length of a variant's bar in multiples of bare fetch, or 0 if the variant failed. */
function lengthOf({ figures }: Row, name: string): number {
  return valueIn(figures[name]) || 0;
}

/** Returns the variants: ours and the floor first, bare last, the others from the most to the least expensive. */
function namesOf(row: Row): readonly string[] {
  const rank = (name: string) => (name === 'ours' ? -1 : name === 'floor' ? 0 : name === 'bare' ? 2 : 1);
  return Object.keys(row.figures).sort((a, b) => rank(a) - rank(b) || lengthOf(row, b) - lengthOf(row, a));
}

function describeRow(row: Row): string {
  return [row.note, ...(row.aims ? [`aim ${formatAims(row, row.aims)}`] : [])].filter(Boolean).join(' · ');
}

function listFigures(row: Row): string {
  return namesOf(row)
    .map((name) => `${name} ${formatLength(row, name)}`)
    .join(', ');
}

function formatLength({ figures }: Row, name: string): string {
  const value = valueIn(figures[name]);
  return Number.isNaN(value) ? 'failed' : String(rounded(value));
}

function drawText(
  text: string,
  { x, y, kind, anchor }: { x: number; y: number; kind: string; anchor?: string },
): string {
  const placed = anchor ? ` text-anchor="${anchor}"` : '';
  return `<text class="${kind}" x="${x.toFixed(1)}" y="${y}"${placed}>${escapeText(text)}</text>`;
}

function drawBox(
  kind: string,
  { x, y, width, height }: { x: number; y: number; width: number; height: number },
): string {
  return `<rect class="bar ${kind}" x="${x}" y="${y}" width="${width.toFixed(1)}" height="${height}" rx="2"/>`;
}

function drawLine(kind: string, x: number, top: number, bottom: number): string {
  return `<line class="${kind}" x1="${x.toFixed(1)}" x2="${x.toFixed(1)}" y1="${top}" y2="${bottom}"/>`;
}

function escapeText(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
