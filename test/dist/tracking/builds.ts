/** Workers with a version of this package: that of today, the next one, which adds something, and the one after it. */

import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle, type PluginBuild } from 'esbuild';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const addition =
  '[(s) => ["alter table " + s + ".tracked add column note text", "create index tracked_note on " + s + ".tracked (note)"]]';

/** The version of the tables that each needs, and the changes that it knows. `afterNext` needs what `next` adds. */
const versions = {
  today: { needed: 1, changes: '[]' },
  next: { needed: 1, changes: addition },
  afterNext: { needed: 2, changes: addition },
} as const;

export type Version = keyof typeof versions;

/** The package's own waits that a day has many of: parts of its source files. */
const waits = (haste: number): ReadonlyMap<string, string> =>
  new Map([
    ['const everyMs = 30_000', `const everyMs = ${Math.ceil(30_000 / haste)}`],
    ["interval '1 minute'", `interval '${Math.ceil(60_000 / haste)} milliseconds'`],
  ]);

const builds = new Map<string, Promise<string>>();

/** Builds the programs of a run with a version of this package, once; gives their folder. */
export function buildVersion(folder: string, version: Version, haste: number): Promise<string> {
  const outdir = join(folder, version);
  const built = builds.get(outdir) ?? build(outdir, version, haste);
  builds.set(outdir, built);
  return built;
}

async function build(outdir: string, version: Version, haste: number): Promise<string> {
  const { needed, changes } = versions[version];
  const missing = new Set(['table-changes.ts', ...(haste > 1 ? waits(haste).keys() : [])]);
  const change = ({ onLoad }: PluginBuild) => {
    onLoad({ filter: /[/\\]src[/\\]tracking[/\\].*\.ts$/ }, ({ path }) => {
      if (path.endsWith('table-changes.ts')) {
        missing.delete('table-changes.ts');
        const contents = `export const neededVersion = ${needed}; export const changes = ${changes};`;
        return { contents, loader: 'ts' };
      }
      let contents = readFileSync(path, 'utf8');
      for (const [part, by] of haste > 1 ? waits(haste) : []) {
        if (contents.includes(part)) missing.delete(part);
        contents = contents.replaceAll(part, by);
      }
      return { contents, loader: 'ts' };
    });
  };
  await bundle({
    entryPoints: ['worker.ts', 'migrate.ts'].map((file) => fileURLToPath(new URL(file, import.meta.url))),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: {
      'hosted-client/tracking': join(root, 'src/tracking/index.ts'),
      'hosted-client/testing': join(root, 'src/testing/index.ts'),
      'hosted-client': join(root, 'src/index.ts'),
    },
    packages: 'external',
    plugins: [{ name: 'version', setup: change }],
  });
  if (missing.size > 0) throw new Error(`src/tracking has no "${[...missing].join('" and no "')}"`);
  symlinkSync(join(root, 'node_modules'), join(outdir, 'node_modules'));
  return outdir;
}
