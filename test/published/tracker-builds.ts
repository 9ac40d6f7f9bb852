/** Programs with a version of this package: that of today, the next one, which adds something, and the one after it. */

import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type PluginBuild } from 'esbuild';

/** The folder of this package. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

const addition =
  '[(s) => ["alter table " + s + ".tracked add column note text", "create index tracked_note on " + s + ".tracked (note)"]]';

/** The version of the tables that each needs, and the changes that it knows. `afterNext` needs what `next` adds. */
const versions = {
  today: { needed: 1, changes: '[]' },
  next: { needed: 1, changes: addition },
  afterNext: { needed: 2, changes: addition },
} as const;

export type Version = keyof typeof versions;

/** A part of a source file, and what a build has in its place. */
export interface Replacement {
  /** The path in `src/tracking`. */
  readonly file: string;
  readonly part: string;
  readonly by: string;
}

/**
 * Builds programs of this folder with a version of this package, beside a version of pg-boss.
 *
 * @param outdir - The folder of the build. If it is there already, it is used as it is.
 * @param boss - A folder whose `node_modules` has pg-boss.
 */
export async function buildPrograms(
  programs: readonly string[],
  { outdir, version, boss = root, replacements = [] }: BuildOptions,
): Promise<string> {
  if (existsSync(outdir)) return outdir;
  const { needed, changes } = versions[version];
  const source = join(root, 'src/tracking');
  const replace = ({ onLoad }: PluginBuild) => {
    onLoad({ filter: /[/\\]tracking[/\\]changes\.ts$/ }, () => ({
      contents: `export const neededVersion = ${needed}; export const changes = ${changes};`,
      loader: 'js',
    }));
    onLoad({ filter: /[/\\]src[/\\]tracking[/\\]/ }, ({ path }) => {
      let contents = readFileSync(path, 'utf8');
      for (const { file, part, by } of replacements) {
        if (path !== join(source, file)) continue;
        if (!contents.includes(part)) throw new Error(`src/tracking/${file} has no "${part}"`);
        contents = contents.replace(part, () => by);
      }
      return { contents, loader: 'ts' };
    });
  };
  await build({
    entryPoints: programs.map((file) => join(root, 'test/published', file)),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    alias: {
      'hosted-client/tracking': join(source, 'index.ts'),
      'hosted-client': join(root, 'src/index.ts'),
    },
    external: ['pg', 'pg-boss', '@electric-sql/pglite', 'tweetnacl'],
    plugins: [{ name: 'version', setup: replace }],
  });
  mkdirSync(join(outdir, 'node_modules'));
  symlinkSync(join(root, 'node_modules/pg'), join(outdir, 'node_modules/pg'));
  symlinkSync(join(boss, 'node_modules/pg-boss'), join(outdir, 'node_modules/pg-boss'));
  return outdir;
}

interface BuildOptions {
  readonly outdir: string;
  readonly version: Version;
  readonly boss?: string;
  readonly replacements?: readonly Replacement[];
}
