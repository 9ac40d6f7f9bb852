/** The package as it is installed: built into a folder of its own, beside packages that a user would install. */

import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { build, type Options } from 'tsup';
import config from '../../tsup.config.ts';

export interface BuiltPackage {
  /** Where a program imports `hosted-client`, and the packages that stand beside it. */
  readonly folder: string;
  /** The file that `npx hosted-client` starts. */
  readonly command: string;
  /** A folder for `PATH` whose `npx` starts the command, without npm's own second before it. */
  readonly bin: string;
  /** The modules of the source in each file, and the files that load with it. */
  readonly files: ReadonlyMap<string, BuiltFile>;
  remove(): void;
}

export interface BuiltFile {
  readonly modules: readonly string[];
  readonly imports: readonly string[];
}

/** What esbuild writes about its output. */
interface Metafile {
  readonly outputs: Readonly<Record<string, Output>>;
}

interface Output {
  readonly inputs: object;
  readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
}

/** Builds the package, and puts packages of this project beside it. */
export async function buildPackage(beside: readonly string[] = []): Promise<BuiltPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-built-'));
  const own = join(folder, 'node_modules/hosted-client');
  const dist = join(own, 'dist');
  await build({ ...(config as Options), config: false, outDir: dist, metafile: true });
  const files = readFiles(dist);
  cpSync('package.json', join(own, 'package.json'));
  for (const name of beside) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: Readonly<Record<string, string>> };
  const command = join(own, bin['hosted-client'] ?? '');
  mkdirSync(join(folder, 'bin'));
  const npx = `#!/bin/sh\n[ "$1" = hosted-client ] || exit 127\nshift\nexec "${process.execPath}" "${command}" "$@"\n`;
  writeFileSync(join(folder, 'bin/npx'), npx);
  chmodSync(join(folder, 'bin/npx'), 0o755);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, command, bin: join(folder, 'bin'), files, remove };
}

function readFiles(dist: string): ReadonlyMap<string, BuiltFile> {
  const { outputs } = JSON.parse(readFileSync(join(dist, 'metafile-esm.json'), 'utf8')) as Metafile;
  const nameOf = (path: string) => relative(dist, path);
  const files = Object.entries(outputs).map(([path, { inputs, imports }]): [string, BuiltFile] => [
    nameOf(path),
    {
      modules: Object.keys(inputs),
      imports: imports.flatMap(({ path, kind, external }) =>
        kind === 'import-statement' && !external ? nameOf(path) : [],
      ),
    },
  ]);
  return new Map(files);
}
