/** What is in the built files, and how many of them load together. */

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lazy } from '../../tsup.config.ts';
import { type BuiltPackage, buildPackage } from '../support/built-package.ts';

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage();
});

afterAll(() => built.remove());

/** The files that load with an entry. */
function filesOf(entry: string): ReadonlySet<string> {
  const loaded = new Set([entry]);
  for (const file of loaded) for (const next of built.files.get(file)?.imports ?? []) loaded.add(next);
  return loaded;
}

test.each([
  ['index.js', 2],
  ['node/index.js', 2],
  ['opentelemetry/index.js', 2],
  ['testing/msw.js', 2],
  ['tracking/index.js', 5],
  ['cli/index.js', 6],
  ['testing/index.js', 7],
  ['sandbox/index.js', 13],
])('importing %s loads %d files', (entry, count) => {
  expect([...filesOf(entry)]).toHaveLength(count);
});

test('the build knows each module that an import() loads', () => {
  const loaded = globSync('src/**/*.{ts,tsx}').flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/import\('(\.[^']+)\.js'\)/g)].map(([, name]) =>
      join(path, '..', `${name}`),
    ),
  );
  const isEntry = (path: string) => built.files.has(`${path.replace('src/', '')}.js`);

  expect(loaded.filter((path) => !isEntry(path)).sort()).toEqual(
    lazy.map((path) => path.replace(/\.tsx?$/, '')).sort(),
  );
});

test.each(['index.js', 'tracking/index.js'])('each class of %s has the name that it is imported by', async (entry) => {
  const names: Readonly<Record<string, unknown>> = await import(
    join(built.folder, 'node_modules/hosted-client/dist', entry)
  );
  const classes = Object.entries(names).filter(([name]) => /^Hosted/.test(name));

  expect(classes.map(([, value]) => (value as { name: string }).name)).toEqual(classes.map(([name]) => name));
  expect(classes.length).toBeGreaterThan(0);
});

test('the command line loads nothing of tracking before one of its commands', () => {
  const loaded = filesOf('cli/index.js');
  const modules = (isLoaded: boolean) =>
    [...built.files].filter(([file]) => loaded.has(file) === isLoaded).flatMap(([, file]) => file.modules);

  expect(modules(true).filter((id) => id.includes('src/cli/')).length).toBeGreaterThan(10);
  expect(modules(true).filter((id) => id.includes('src/tracking/'))).toEqual([]);
  expect(modules(false).filter((id) => id.includes('src/tracking/')).length).toBeGreaterThan(10);
});
