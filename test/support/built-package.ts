/** The package as it is installed: built into a folder of its own, beside packages that a user would install. */

import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build, type OutputChunk } from 'rolldown';
import config from '../../rolldown.config.ts';

export interface BuiltPackage {
  /** Where a program imports `hosted-client`, and the packages that stand beside it. */
  readonly folder: string;
  /** The file that `npx hosted-client` starts. */
  readonly command: string;
  /** A folder for `PATH` whose `npx` starts the command, without npm's own second before it. */
  readonly bin: string;
  /** What the bundler made. */
  readonly chunks: readonly OutputChunk[];
  remove(): void;
}

/** Builds the package, and puts packages of this project beside it. */
export async function buildPackage(beside: readonly string[] = []): Promise<BuiltPackage> {
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-built-'));
  const own = join(folder, 'node_modules/hosted-client');
  const { output } = await build({
    ...config,
    logLevel: 'silent',
    output: { ...config.output, dir: join(own, 'dist') },
  });
  const chunks = output.filter((part) => part.type === 'chunk');
  cpSync('package.json', join(own, 'package.json'));
  for (const name of beside) symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: Readonly<Record<string, string>> };
  const command = join(own, bin['hosted-client'] ?? '');
  mkdirSync(join(folder, 'bin'));
  const npx = `#!/bin/sh\n[ "$1" = hosted-client ] || exit 127\nshift\nexec "${process.execPath}" "${command}" "$@"\n`;
  writeFileSync(join(folder, 'bin/npx'), npx);
  chmodSync(join(folder, 'bin/npx'), 0o755);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  return { folder, command, bin: join(folder, 'bin'), chunks, remove };
}
