/** A consumer's project: the tarball installed, with the peers and types that its programs need. */

import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeProject, mustRun, root, writeFiles } from './project.ts';

/** A folder with the package and our programs in it, once as ES modules and once as CommonJS. */
export interface Consumer {
  readonly folder: string;
  /** Its package.json says `"type": "module"`. */
  readonly modules: string;
  /** Its package.json says `"type": "commonjs"`, as `npm init` has it. */
  readonly commonjs: string;
}

const { devDependencies, overrides } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  devDependencies: Readonly<Record<string, string>>;
  overrides: Readonly<Record<string, string>>;
};

/** Versions that npm is held to, as in the package's own project. */
export const heldVersions = overrides;

/** `msw@3.0.5`: a package in the version that the package itself is tested with. */
export const tested = (name: string) => `${name}@${devDependencies[name]}`;

const programs = {
  'call.ts': 'test/published/consumers/call.ts',
  'call-under-msw.ts': 'test/published/consumers/call-under-msw.ts',
  'call-sandbox.ts': 'test/published/consumers/call-sandbox.ts',
  'await-import.ts': 'test/published/consumers/await-import.ts',
  'identity.cjs': 'test/published/consumers/identity.cjs',
  'strict.ts': 'test/consumer/strict.ts',
  'accepted.ts': 'test/consumer/accepted.ts',
} as const;

/** Installs the tarball into a new project. */
export async function makeConsumer(tarball: string): Promise<Consumer> {
  const folder = await makeProject('consumer', {
    'package.json': JSON.stringify({ private: true, overrides: heldVersions }),
    'modules/package.json': '{ "type": "module" }',
    'commonjs/package.json': '{ "type": "commonjs" }',
  });
  const packages = [tarball, ...['msw', '@opentelemetry/api', 'vitest', '@types/node'].map(tested)];
  await mustRun('npm', ['install', '--save-exact', '--loglevel=error', ...packages], { cwd: folder });
  for (const [name, path] of Object.entries(programs)) {
    for (const form of ['modules', 'commonjs']) await copyFile(join(root, path), join(folder, form, name));
  }
  return { folder, modules: join(folder, 'modules'), commonjs: join(folder, 'commonjs') };
}

/** Writes a program that is there for one check alone; gives its path. */
export async function writeProgram(folder: string, name: string, lines: readonly string[]): Promise<string> {
  await writeFiles(folder, { [name]: `${lines.join('\n')}\n` });
  return join(folder, name);
}
