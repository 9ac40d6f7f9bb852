/** Measures the size of the package in a bundle (minified and compressed) and on disk. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import type { Figure, Row } from '../row.ts';
import { rounded } from '../statistics.ts';
import { type Context, peersFolder, root } from './context.ts';

const peers = ['ky', 'stripe', 'openai', 'axios'];

export async function sizeRows({ dist, against }: Context): Promise<readonly Row[]> {
  const builds = Object.entries({ ours: dist, ...(against !== null && { before: against }) });
  const split = await eachValue(builds, async (folder) => bundleInChunks(folder));
  const lazy = split.ours?.chunks.filter(({ isLazy }) => isLazy) ?? [];
  const whole = await eachValue(builds, async (folder) => bundle(allOf(folder), ['tweetnacl']));
  const others = await eachValue(
    peers.map((name) => [name, name]),
    async (name) => bundle(`export * from '${name}'; export { default } from '${name}'`, []),
  );
  return [
    {
      what: 'bundle: the code that loads before the first call',
      unit: 'KB brotli',
      figures: figuresOf(split, ({ chunks }) =>
        sum(chunks.filter(({ isLazy }) => !isLazy).map(({ kilobytes }) => kilobytes)),
      ),
      note: `loaded when needed: ${lazy.map(({ name, kilobytes }) => `${name} ${rounded(kilobytes)}`).join(', ')}`,
    },
    {
      what: 'bundle: the whole package in one file, without tweetnacl',
      unit: 'KB brotli',
      figures: figuresOf({ ...others, ...whole }, (kilobytes) => kilobytes),
      aims: [{ bound: 49 }],
      beyond: { bound: 46 },
    },
    installedRow(),
  ];
}

interface Chunk {
  readonly name: string;
  readonly isLazy: boolean;
  readonly kilobytes: number;
}

/** Bundles with one chunk for each lazy import. */
async function bundleInChunks(dist: string): Promise<{ readonly chunks: readonly Chunk[] }> {
  const { outputFiles = [], metafile } = await build({
    ...common(allOf(dist)),
    splitting: true,
    outdir: 'out',
    metafile: true,
  });
  const outputs = metafile?.outputs ?? {};
  const first = new Set(Object.keys(outputs).filter((path) => basename(path) === 'stdin.js'));
  for (const path of first) {
    for (const { kind, path: next } of outputs[path]?.imports ?? []) if (kind === 'import-statement') first.add(next);
  }
  const chunks = Object.entries(outputs).map(([path, output]) => ({
    name: nameOf(output),
    isLazy: !first.has(path),
    kilobytes: compressed(outputFiles.find((file) => file.path.endsWith(path))?.contents),
  }));
  return { chunks };
}

/** Names a chunk after its largest file: the name is the package of this file, or the path of our source file. */
function nameOf({ inputs }: Metafile['outputs'][string]): string {
  const [path = '<stdin>'] = Object.entries(inputs).sort(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput)[0] ?? [];
  const installed = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1];
  if (installed || path === '<stdin>') return installed ?? 'the entry';
  // The files of `dist` have the path of each source file in a comment.
  const sources = [
    ...readFileSync(join(root, path), 'utf8').matchAll(/^\/\/ (?:.*node_modules\/([^/\n]+)|src\/(.+))/gm),
  ];
  const [, dependency, source] = sources.at(-1) ?? [];
  return dependency ?? source ?? basename(path);
}

async function bundle(contents: string, external: string[]): Promise<number> {
  const { outputFiles = [] } = await build({ ...common(contents), external });
  return sum(outputFiles.map(({ contents: code }) => compressed(code)));
}

function common(contents: string) {
  return {
    stdin: { contents, resolveDir: peersFolder },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    logLevel: 'error',
  } satisfies BuildOptions;
}

function allOf(dist: string): string {
  return `export * from ${JSON.stringify(join(dist, 'index.js'))}`;
}

/** Measures the installed size: ours with its dependency, the others without theirs. */
function installedRow(): Row {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const [packed] = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8' })) as { unpackedSize: number }[];
  const ours = (packed?.unpackedSize ?? 0) + bytesIn(join(root, 'node_modules/tweetnacl'));
  const others = peers.map((name) => [name, { value: bytesIn(join(peersFolder, 'node_modules', name)) / 1e6 }]);
  return {
    what: 'installed',
    unit: 'MB',
    figures: { ...(Object.fromEntries(others) as Record<string, Figure>), ours: { value: ours / 1e6 } },
    note: 'ours includes tweetnacl; the 29 packages that axios needs are not counted',
  };
}

function bytesIn(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) =>
    statSync(join(folder, path)),
  );
  return sum(entries.map((entry) => (entry.isFile() ? entry.size : 0)));
}

function compressed(code: Uint8Array = new Uint8Array()): number {
  return brotliCompressSync(code).length / 1_024;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

async function eachValue<T>(
  entries: readonly (readonly [string, string])[],
  measure: (value: string) => Promise<T>,
): Promise<Readonly<Record<string, T>>> {
  return Object.fromEntries(await Promise.all(entries.map(async ([name, value]) => [name, await measure(value)])));
}

function figuresOf<T>(
  values: Readonly<Record<string, T>>,
  measure: (value: T) => number,
): Readonly<Record<string, Figure>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value: measure(value) }]));
}
