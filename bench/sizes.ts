/** What it takes on disk and in a bundle: installed with what it depends on, and the main entry minified. */

import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { build } from 'esbuild';
import { report, rounded } from './report.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const peers = fileURLToPath(new URL('peers', import.meta.url));
const names = ['ky', 'stripe', 'openai', 'axios'] as const;

const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], {
    cwd: root,
    encoding: 'utf8',
  }),
) as { unpackedSize: number }[];
const installed = (packed?.unpackedSize ?? 0) + bytesIn(join(root, 'node_modules/tweetnacl'));

report([
  {
    what: 'bundle of the main entry, minified + brotli',
    unit: 'KB',
    ours: await bundled(`export * from ${JSON.stringify(join(root, 'dist/index.js'))}`, ['tweetnacl']),
    aim: 26,
    others: await all(async (name) => bundled(`export * from '${name}'; export { default } from '${name}'`, [])),
  },
  {
    what: 'installed',
    unit: 'MB',
    ours: megabytes(installed),
    aim: 10,
    others: await all(async (name) => megabytes(bytesIn(join(peers, 'node_modules', name)))),
    note: '2 packages; axios brings 29 more, which are not counted',
  },
]);

async function all(measure: (name: string) => Promise<number>): Promise<Readonly<Record<string, number>>> {
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await measure(name)])));
}

async function bundled(contents: string, external: readonly string[]): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: peers },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    external: [...external],
    logLevel: 'error',
  });
  return rounded(outputFiles.reduce((sum, { contents: code }) => sum + brotliCompressSync(code).length, 0) / 1024);
}

function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => statSync(join(folder, path)))
    .reduce((sum, entry) => sum + (entry.isFile() ? entry.size : 0), 0);
}

function megabytes(bytes: number): number {
  return rounded(bytes / 1e6);
}
