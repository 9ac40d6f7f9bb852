/** What the package brings into somebody's project, and what it locks for itself. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { version } from '../src/version.js';

interface Locked {
  readonly link?: boolean;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly inBundle?: boolean;
  readonly dependencies?: object;
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string;
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
};
const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Locked> };
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

test('the version that requests name is the package’s', () => {
  expect(version).toBe(manifest.version);
});

test('the package runs nothing when it is installed', () => {
  const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];

  expect(Object.keys(manifest.scripts).filter((name) => atInstall.includes(name))).toEqual([]);
});

test('runtime dependencies are ky, zod and tweetnacl, and have none of their own', () => {
  const names = Object.keys(manifest.dependencies).sort();

  expect(names).toEqual(['ky', 'tweetnacl', 'zod']);
  for (const name of names) expect(lock.packages[`node_modules/${name}`]?.dependencies).toBeUndefined();
});

test('every locked package has its integrity, and none an address', () => {
  const unproven = locked.filter(([, { integrity, link, inBundle }]) => !integrity && !link && !inBundle);
  const addressed = locked.filter(([, { resolved }]) => resolved !== undefined);

  expect(unproven.map(([path]) => path)).toEqual([]);
  expect(addressed.map(([path]) => path)).toEqual([]);
});

test('the package holds its build, its source and its papers, and nothing else', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], { encoding: 'utf8' }),
  ) as { files: { path: string }[] }[];
  const paths = (packed?.files ?? []).map(({ path }) => path);

  const strangers = paths.filter(
    (path) =>
      !/^(?:dist|src)\/.+\.(?:js|ts|map)$|^(?:package\.json|README\.md|CHANGELOG\.md|SECURITY\.md|LICENSE)$/.test(path),
  );
  expect(strangers).toEqual([]);
  expect(paths).toEqual(expect.arrayContaining(['package.json', 'README.md', 'LICENSE', 'src/index.ts']));
  expect(paths.filter((path) => path.includes('test/') && !path.includes('testing/'))).toEqual([]);
});
