/**
 * Removes the declarations that no entry of the package leads to from `dist`, as a part of `npm run build`. The package
 * has the sources of the others alone, because declaration maps lead to them: the build fails if `files` of package.json
 * names others. In the declarations, relative links become URLs of this version of the package, because editors show
 * comments without the folder that such a link starts from.
 */

import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findSite, type Manifest } from './addresses.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

interface PackageManifest extends Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  readonly files: readonly string[];
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageManifest;
const { exports, files, version } = manifest;
const entries = Object.values(exports).flatMap((entry) => (typeof entry === 'string' ? [] : entry.types));
/** The paths of the declarations that the entries lead to, such as `links/types`. */
const kept = new Set(entries.map((path) => path.replace('./dist/', '').replace('.d.ts', '')));
for (const path of kept) {
  const text = readFileSync(join(root, `dist/${path}.d.ts`), 'utf8');
  for (const [, imported = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)\.js['"]/g)) {
    kept.add(join(dirname(path), imported));
  }
}

for (const path of globSync('dist/**/*.d.ts', { cwd: root })) {
  if (kept.has(path.replace(/^dist\/|\.d\.ts$/g, ''))) continue;
  for (const file of [path, `${path}.map`]) rmSync(join(root, file), { force: true });
}

const site = findSite(manifest) ?? `https://unpkg.com/browse/hosted-client@${version}/`;
for (const path of kept) {
  const file = join(root, `dist/${path}.d.ts`);
  writeFileSync(file, readFileSync(file, 'utf8').replace(/\]\((?:\.\.\/)+/g, `](${site}`));
}

const sources = [...kept].map((path) => `src/${path}.ts`).toSorted();
const named = files.filter((path) => path.startsWith('src/')).toSorted();
if (named.join() !== sources.join()) {
  throw new Error(
    `"files" of package.json must name these sources:\n${sources.map((path) => `    "${path}",`).join('\n')}`,
  );
}
