/** A consumer's project: the tarball installed, with the peers and types that its programs need. */

import { existsSync, readFileSync } from 'node:fs';
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

const readJson = <T>(folder: string, file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as T;

const { devDependencies } = readJson<{ devDependencies: Readonly<Record<string, string>> }>(root, 'package.json');

/** `msw@3.0.5`: a package in the version that the package itself is tested with, whatever version is given. */
export function tested(given: string): string {
  const name = given.replace(/(?<=.)@[\d.]+$/, '');
  return `${name}@${devDependencies[name]}`;
}

/**
 * Installs packages into a folder. What they depend on comes in the versions of our own lockfile, unless the folder has
 * locked it already: a release that the registry gets tomorrow, or has only in part, changes nothing.
 */
export async function install(cwd: string, packages: readonly string[], flags: readonly string[] = []): Promise<void> {
  const manifest = readJson<{ readonly overrides?: object }>(cwd, 'package.json');
  const own = existsSync(join(cwd, 'package-lock.json')) ? lockedIn(cwd) : [];
  const overrides = manifest.overrides ?? overridesBeside(own);
  await writeFiles(cwd, { 'package.json': JSON.stringify({ ...manifest, overrides }) });
  await mustRun('npm', ['install', '--save-exact', '--loglevel=error', ...flags, ...packages], { cwd });
  const held = new Set(['hosted-client', ...[...own, ...lockedIn(root)].map(specOf)]);
  const chosen = lockedIn(cwd).filter((locked) => !held.has(locked.name) && !held.has(specOf(locked)));
  if (chosen.length > 0) throw new Error(`No lockfile holds ${chosen.map(specOf).join(', ')}`);
}

interface Locked {
  readonly name: string;
  readonly version: string;
}

const specOf = ({ name, version }: Locked) => `${name}@${version}`;

function overridesBeside(own: readonly Locked[]): Readonly<Record<string, string>> {
  const names = new Set(own.map(({ name }) => name));
  // npm takes the first that a range intersects: of two versions of one major, that has to be the newer one.
  const held = lockedIn(root)
    .filter(({ name }) => !names.has(name))
    .sort((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }));
  return Object.fromEntries(held.map(({ name, version }) => [`${name}@^${version}`, version]));
}

/** What a folder's lockfile has, by the names that others depend on; an alias is the name of one project alone. */
function lockedIn(folder: string): readonly Locked[] {
  type Packages = Readonly<Record<string, { readonly name?: string; readonly version: string }>>;
  const { packages } = readJson<{ packages: Packages }>(folder, 'package-lock.json');
  return Object.entries(packages).flatMap(([path, { name, version }]) =>
    path === '' || name !== undefined ? [] : [{ name: path.split('node_modules/').at(-1) ?? '', version }],
  );
}

const programs = {
  'call.ts': 'test/dist/consumers/call.ts',
  'call-under-msw.ts': 'test/dist/consumers/call-under-msw.ts',
  'every-entry.ts': 'test/dist/consumers/every-entry.ts',
  'call-sandbox.ts': 'test/dist/consumers/call-sandbox.ts',
  'advance.js': 'test/dist/consumers/advance.js',
  'await-import.ts': 'test/dist/consumers/await-import.ts',
  'identity.cjs': 'test/dist/consumers/identity.cjs',
  'strict.ts': 'test/consumer/strict.ts',
  'accepted.ts': 'test/consumer/accepted.ts',
  'declared.ts': 'test/consumer/declared.ts',
} as const;

/** Installs the tarball into a new project. */
export async function makeConsumer(tarball: string): Promise<Consumer> {
  const folder = await makeProject('consumer', {
    'package.json': JSON.stringify({ private: true }),
    'modules/package.json': '{ "type": "module" }',
    'commonjs/package.json': '{ "type": "commonjs" }',
  });
  await install(folder, [tarball, ...['msw', '@opentelemetry/api', 'vitest', '@types/node'].map(tested)]);
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
