/**
 * The drawn pictures, in light and dark, and their text alternatives. `npm run pictures` writes both into `docs/pictures`
 * and beside the pictures in the documents, with names that it reads from the source. A test compares them.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { TrackerOptions } from '../src/tracking/options.ts';
import type { Tracker } from '../src/tracking/tracker.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

interface Source {
  readonly routes: object;
  readonly stateNames: Readonly<Record<number, string>>;
  readonly states: Readonly<Record<string, number>>;
}

const { routes, states, stateNames } = await readSource();
const operations = Object.keys(routes);

async function readSource(): Promise<Source> {
  const contents = `
    export { routes } from './src/protocol/routes.ts';
    export { states } from './src/tracking/rules.ts';
    export { stateNames } from './src/tracking/rows.ts';`;
  const stdin = { contents, resolveDir: root };
  const { outputFiles } = await build({ stdin, bundle: true, write: false, format: 'esm', platform: 'node' });
  return (await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]?.text ?? '')}`)) as Source;
}

function operationOf(name: string): string {
  if (!operations.includes(name)) throw new Error(`No operation has the name ${name}`);
  return name;
}

function stateOf(name: string): string {
  const text = stateNames[states[name] ?? -1];
  if (text === undefined) throw new Error(`No job has the state ${name}`);
  return text;
}

interface Palette {
  readonly text: string;
  readonly quiet: string;
  readonly line: string;
  readonly box: string;
  readonly edge: string;
  readonly signed: string;
}

const palettes: Readonly<Record<'light' | 'dark', Palette>> = {
  light: { text: '#1f2328', quiet: '#59636e', line: '#8c959f', box: '#f6f8fa', edge: '#d1d9e0', signed: '#0b6e4f' },
  dark: { text: '#f0f6fc', quiet: '#9198a1', line: '#6e7681', box: '#151b23', edge: '#3d444d', signed: '#4ac99b' },
};

interface Picture {
  readonly name: string;
  /** The document that shows the picture. */
  readonly document: string;
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** What it is for, in at most 25 words. */
  readonly alt: string;
  /** All that the picture shows, in words. */
  readonly text: string;
  readonly draw: (palette: Palette) => readonly string[];
}

const escapeXml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

interface Style {
  readonly fill: string;
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly weight?: number;
  readonly isCode?: boolean;
}

function write(x: number, y: number, text: string, { fill, anchor = 'middle', weight = 400, isCode }: Style): string {
  const font = isCode ? ' class="code"' : '';
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" font-weight="${weight}" fill="${fill}"${font}>${escapeXml(text)}</text>`;
}

function box(x: number, y: number, width: number, height: number, { box, edge }: Palette): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="6" fill="${box}" stroke="${edge}"/>`;
}

/** A line that ends in an arrow. */
function arrow(path: string, color: string, dashes = ''): string {
  const dash = dashes && ` stroke-dasharray="${dashes}"`;
  return `<path d="${path}" fill="none" stroke="${color}" stroke-width="1.5"${dash} marker-end="url(#${markerOf(color)})"/>`;
}

const markerOf = (color: string) => `head-${color.slice(1)}`;

function marker(color: string): string {
  const shape = `<path d="M0 0 8 4 0 8Z" fill="${color}"/>`;
  return `<marker id="${markerOf(color)}" markerWidth="8" markerHeight="8" refX="8" refY="4" orient="auto">${shape}</marker>`;
}

/** One arrow of the sequence. */
interface Message {
  readonly from: Participant;
  readonly to: Participant;
  readonly label: string;
  /** What the client does about it; drawn in a color of its own. */
  readonly isSigned?: boolean;
}

const participants = ['Your server', 'Service', 'End user'] as const;
type Participant = (typeof participants)[number];

const messages: readonly Message[] = [
  { from: 'Your server', to: 'Service', label: `1. ${operationOf('links.create')} (signed)`, isSigned: true },
  { from: 'Your server', to: 'End user', label: '2. the link' },
  { from: 'End user', to: 'Service', label: '3. verifies identity' },
  { from: 'Service', to: 'Your server', label: '4. callback: only a hint' },
  { from: 'Your server', to: 'Service', label: `5. ${operationOf('jobs.status')} (verified)`, isSigned: true },
];

const columns: Readonly<Record<Participant, number>> = { 'Your server': 66, Service: 268, 'End user': 420 };
const firstMessage = 74;
const step = 39;

const sequence: Picture = {
  name: 'verification',
  document: 'README.md',
  width: 480,
  height: 250,
  title: 'A verification from the link to the result',
  alt: 'Your server creates a link. The end user verifies. The service sends a callback, only a hint. Your server requests and verifies the job status.',
  text: messages.map(({ from, to, label }) => `${label}, from ${from} to ${to}.`).join(' '),
  draw: (palette) => [
    ...participants.flatMap((name) => {
      const x = columns[name];
      return [
        `<path d="M${x} 38V244" stroke="${palette.edge}"/>`,
        box(x - 56, 6, 112, 32, palette),
        write(x, 27, name, { fill: palette.text, weight: 600 }),
      ];
    }),
    ...messages.flatMap(({ from, to, label, isSigned }, index) => {
      const y = firstMessage + index * step;
      const direction = columns[to] > columns[from] ? 1 : -1;
      const color = isSigned ? palette.signed : palette.line;
      // Over the lifeline of the service, a label would be hard to read.
      const ends = from === 'Your server' ? [columns[from], columns.Service] : [columns[from], columns[to]];
      return [
        arrow(`M${columns[from] + direction * 4} ${y}H${columns[to] - direction * 4}`, color),
        write(((ends[0] ?? 0) + (ends[1] ?? 0)) / 2, y - 7, label, { fill: isSigned ? palette.signed : palette.text }),
      ];
    }),
  ],
};

/** One arrow between two states. The path and the place of its label are drawn by hand. */
interface Change {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly path: string;
  readonly at: readonly [x: number, y: number];
  readonly anchor?: Style['anchor'];
}

const [heard, tracking, handingOver, done, dead] = ['heard', 'tracking', 'handingOver', 'done', 'dead'].map(
  stateOf,
) as [string, string, string, string, string];
const unknown = 'unknown';

const call = (method: keyof Tracker) => `${method}()`;
const option = (name: keyof TrackerOptions) => name;

/** The left and upper edge of each state. */
const places: Readonly<Record<string, readonly [x: number, y: number]>> = {
  [unknown]: [130, 72],
  [heard]: [130, 192],
  [tracking]: [340, 72],
  [handingOver]: [620, 72],
  [done]: [900, 72],
  [dead]: [620, 192],
};
const stateWidth = 120;
const stateHeight = 36;

const changes: readonly Change[] = [
  { from: unknown, to: tracking, label: call('track'), path: 'M250 90H340', at: [295, 82] },
  {
    from: unknown,
    to: heard,
    label: 'a callback names the job',
    path: 'M210 108V192',
    at: [218, 146],
    anchor: 'start',
  },
  {
    from: heard,
    to: tracking,
    label: `${call('track')}, ${call('trackLink')}`,
    path: 'M250 210H420V108',
    at: [258, 202],
    anchor: 'start',
  },
  {
    from: tracking,
    to: heard,
    label: 'its link is not tracked',
    path: 'M450 108V222H250',
    at: [258, 238],
    anchor: 'start',
  },
  {
    from: heard,
    to: unknown,
    label: `after ${option('deadlineMs')}`,
    path: 'M170 192V108',
    at: [162, 146],
    anchor: 'end',
  },
  { from: tracking, to: tracking, label: 'the status is pending', path: 'M370 72V30H430V72', at: [400, 22] },
  { from: tracking, to: handingOver, label: 'completed or expired', path: 'M460 84H620', at: [540, 76] },
  { from: handingOver, to: tracking, label: 'pending again', path: 'M620 96H460', at: [540, 114] },
  { from: handingOver, to: handingOver, label: 'the handler rejects', path: 'M650 72V30H710V72', at: [680, 22] },
  { from: handingOver, to: done, label: 'the handler resolves', path: 'M740 84H900', at: [820, 76] },
  { from: done, to: handingOver, label: 'another verdict', path: 'M900 96H740', at: [820, 114] },
  {
    from: handingOver,
    to: dead,
    label: `after ${option('maxAttempts')}`,
    path: 'M660 108V192',
    at: [652, 156],
    anchor: 'end',
  },
  { from: dead, to: handingOver, label: call('retry'), path: 'M700 192V108', at: [708, 156], anchor: 'start' },
  { from: dead, to: done, label: 'a handler resolves late', path: 'M740 210H960V108', at: [750, 202], anchor: 'start' },
];

const untrack = `${call('untrack')} makes a job unknown from every state.`;

const jobStates: Picture = {
  name: 'job-states',
  document: 'docs/tracking.md',
  width: 1040,
  height: 284,
  title: 'The states of a tracked job',
  alt: `The states of a job: ${[heard, tracking, handingOver, done, dead].join(', ')}. A tracked job completes or expires, and is handed over until done or dead.`,
  text: `${changes.map(({ from, to, label }) => `From ${from} to ${to}: ${label}.`).join(' ')} ${untrack}`,
  draw: (palette) => [
    ...changes.flatMap(({ label, path, at: [x, y], anchor = 'middle' }) => [
      arrow(path, palette.line),
      write(x, y, label, { fill: palette.quiet, anchor, isCode: /\(\)|Ms|max/.test(label) }),
    ]),
    ...Object.entries(places).flatMap(([name, [x, y]]) => [
      box(x, y, stateWidth, stateHeight, palette),
      write(x + stateWidth / 2, y + 23, name, { fill: palette.text, weight: 600, isCode: name !== unknown }),
    ]),
    write(130, 270, untrack, { fill: palette.quiet, anchor: 'start' }),
  ],
};

export const pictures: readonly Picture[] = [sequence, jobStates];

function render({ width, height, title, text, draw }: Picture, palette: Palette): string {
  const colors = [...new Set([palette.line, palette.signed])];
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<desc>${escapeXml(text)}</desc>`,
    `<style>text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif}.code{font:12px ui-monospace,Menlo,Consolas,monospace}</style>`,
    `<defs>${colors.map(marker).join('')}</defs>`,
    ...draw(palette),
    '</svg>',
  ].join('\n')}\n`;
}

/** The picture in a document. `npm` and GitHub show the one that fits the reader's colors. */
function embed({ name, document, alt }: Picture): string {
  const folder = document.startsWith('docs/') ? 'pictures' : 'docs/pictures';
  return [
    '<picture>',
    `  <source media="(prefers-color-scheme: dark)" srcset="${folder}/${name}-dark.svg">`,
    `  <img src="${folder}/${name}-light.svg" alt="${escapeXml(alt)}">`,
    '</picture>',
  ].join('\n');
}

/** Every file with what it must contain. */
export function writePictures(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const picture of pictures) {
    const { name, document } = picture;
    for (const [theme, palette] of Object.entries(palettes)) {
      files.set(`docs/pictures/${name}-${theme}.svg`, render(picture, palette));
    }
    const kept = files.get(document) ?? readFileSync(join(root, document), 'utf8');
    const [before] = kept.match(new RegExp(`<picture>\\n[^\\n]*/${name}-[^]*?</picture>`)) ?? [];
    if (before === undefined) throw new Error(`${document} does not show docs/pictures/${name}-light.svg`);
    files.set(
      document,
      kept.replace(before, () => embed(picture)),
    );
  }
  return files;
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, content] of writePictures()) writeFileSync(join(root, path), content);
}
