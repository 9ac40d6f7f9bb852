/** What the package brings into somebody's project, and what it locks for itself. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { build } from 'esbuild';
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

test('the version that requests name is the package’s', () => {
  expect(version).toBe(manifest.version);
});

test('the package runs nothing when it is installed', () => {
  const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];

  expect(Object.keys(manifest.scripts).filter((name) => atInstall.includes(name))).toEqual([]);
});

test('the one runtime dependency is tweetnacl, which has none of its own', () => {
  expect(Object.keys(manifest.dependencies)).toEqual(['tweetnacl']);
  expect(lock.packages['node_modules/tweetnacl']?.dependencies).toBeUndefined();
});

test('what is bundled is ky and zod, and their licences come along', async () => {
  const { metafile } = await build({
    entryPoints: ['src/index.ts', 'src/testing/index.ts', 'src/testing/msw.ts'],
    external: ['tweetnacl', 'msw'],
    format: 'esm',
    bundle: true,
    write: false,
    outdir: 'dist',
    metafile: true,
  });
  const bundled = new Set(
    Object.keys(metafile.inputs).flatMap((path) => /node_modules\/([^/]+)\//.exec(path)?.[1] ?? []),
  );

  expect([...bundled].sort()).toEqual(['ky', 'zod']);
  const notices = readFileSync('THIRD-PARTY-NOTICES.md', 'utf8');
  for (const licence of ['node_modules/ky/license', 'node_modules/zod/LICENSE']) {
    expect(notices).toContain(readFileSync(licence, 'utf8').trim());
  }
});

test.each([
  'package-lock.json',
  'bench/peers/package-lock.json',
  'test/published/tools/package-lock.json',
  'test/published/runtimes/package-lock.json',
])('every package locked in %s has its integrity, and none an address', (path) => {
  const { packages } = JSON.parse(readFileSync(path, 'utf8')) as typeof lock;
  const locked = Object.entries(packages).filter(([name]) => name !== '');
  const unproven = locked.filter(([, { integrity, link, inBundle }]) => !integrity && !link && !inBundle);
  const addressed = locked.filter(([, { resolved }]) => resolved !== undefined);

  expect(locked.length).toBeGreaterThan(10);
  expect([...unproven, ...addressed].map(([name]) => name)).toEqual([]);
});

test('the package holds its build, its source and its papers, and nothing else', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], { encoding: 'utf8' }),
  ) as { files: { path: string }[] }[];
  const paths = (packed?.files ?? []).map(({ path }) => path);

  const strangers = paths.filter(
    (path) =>
      !/^(?:dist|src)\/.+\.(?:js|ts|map)$|^docs\/(?:moving|protocol)\.md$|^(?:package\.json|README\.md|(?:CHANGELOG|SECURITY|THIRD-PARTY-NOTICES)\.md|LICENSE)$/.test(
        path,
      ),
  );
  expect(strangers).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining(['package.json', 'README.md', 'LICENSE', 'THIRD-PARTY-NOTICES.md', 'src/index.ts']),
  );
  expect(paths.filter((path) => path.includes('test/') && !path.includes('testing/'))).toEqual([]);
});
