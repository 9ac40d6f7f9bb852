/**
 * Makes relative links of the package absolute, for places that show a text without the folder that a link starts from:
 * the doc comments in editors, and README.md on the page of the package. `npm pack` runs it before (`README.md` is kept
 * aside) and after, with `--restore`. Until package.json names a repository, README.md stays as it is.
 */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

export interface Manifest {
  readonly version: string;
  readonly repository?: { readonly url: string };
}

/** Where the files of this version can be read; null if no repository is named. */
export function findSite({ version, repository }: Manifest, kind: 'blob' | 'raw' = 'blob'): string | null {
  return repository ? `${repository.url.replace(/^git\+|\.git$/g, '')}/${kind}/v${version}/` : null;
}

/** Gives README.md with absolute links and pictures. */
export function toAbsolute(readme: string, manifest: Manifest): string {
  const [site, raw] = [findSite(manifest), findSite(manifest, 'raw')];
  return readme
    .replace(/\]\((?!https?:|#)/g, `](${site ?? ''}`)
    .replace(/(src|srcset)="(?!https?:)/g, `$1="${raw ?? ''}`);
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../', import.meta.url));
  const [page, kept] = [join(root, 'README.md'), join(root, '.README.md')];
  // A pack that broke off has left the page as it was packed.
  if (existsSync(kept)) renameSync(kept, page);
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  if (argv[2] !== '--restore' && manifest.repository) {
    const readme = readFileSync(page, 'utf8');
    writeFileSync(kept, readme);
    writeFileSync(page, toAbsolute(readme, manifest));
  }
}
