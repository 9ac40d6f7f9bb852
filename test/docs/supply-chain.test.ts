/** What the package brings into somebody's project, and what it locks for itself. */

import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { version } from '../../src/settings.js';

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

test('what is bundled is ky, zod and, in the sandbox, hono, and their licences come along', async () => {
  const { metafile } = await build({
    entryPoints: [
      'src/index.ts',
      'src/cli/index.ts',
      'src/node/index.ts',
      'src/opentelemetry/index.ts',
      'src/sandbox/index.ts',
      'src/testing/index.ts',
      'src/testing/msw.ts',
      'src/tracking/index.ts',
    ],
    external: ['tweetnacl', 'msw', '@opentelemetry/api', 'pg', '@electric-sql/pglite', 'node:*'],
    format: 'esm',
    bundle: true,
    write: false,
    outdir: 'dist',
    metafile: true,
  });
  const bundled = new Set(
    Object.keys(metafile.inputs).flatMap((path) => /node_modules\/([^/]+)\//.exec(path)?.[1] ?? []),
  );

  expect([...bundled].sort()).toEqual(['hono', 'ky', 'zod']);
  const notices = readFileSync('THIRD-PARTY-NOTICES.md', 'utf8');
  for (const licence of ['node_modules/hono/LICENSE', 'node_modules/ky/license', 'node_modules/zod/LICENSE']) {
    expect(notices).toContain(readFileSync(licence, 'utf8').trim());
  }
});

interface Component {
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly 'bom-ref': string;
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
}

const sbom = JSON.parse(readFileSync('sbom.cdx.json', 'utf8')) as Record<string, unknown> & {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

/** What is installed of a package, by its own manifest; its digest by the lockfile. */
function installed(name: string) {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')) as Component & {
    readonly license: string;
  };
  const digest = /^sha512-(.+)$/.exec(lock.packages[`node_modules/${name}`]?.integrity ?? '')?.[1] ?? '';
  return { name, version, license, sha512: Buffer.from(digest, 'base64').toString('hex') };
}

test('the notices name each version that is bundled', () => {
  const notices = readFileSync('THIRD-PARTY-NOTICES.md', 'utf8');

  const headings = [...notices.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);

  expect(headings).toEqual(['hono', 'ky', 'zod'].map((name) => `${name} ${installed(name).version}`));
});

test('sbom.cdx.json names version, licence and digest of each package that is bundled', () => {
  const { components } = sbom;

  expect(components).toEqual(
    ['hono', 'ky', 'zod'].map((name) => {
      const { version, license, sha512 } = installed(name);
      expect(sha512).toMatch(/^[0-9a-f]{128}$/);
      return {
        type: 'library',
        'bom-ref': `pkg:npm/${name}@${version}`,
        name,
        version,
        description: expect.any(String),
        hashes: [{ alg: 'SHA-512', content: sha512 }],
        licenses: [{ license: { id: license } }],
        purl: `pkg:npm/${name}@${version}`,
      };
    }),
  );
});

// By the schema of CycloneDX 1.6, as far as it is used. It was also tried with the schema itself.
test('sbom.cdx.json is CycloneDX 1.6 about this very version, the same each time it is made', () => {
  const { metadata, components, dependencies, ...head } = sbom;
  const refs = [metadata.component, ...components].map((component) => component['bom-ref']);

  expect(head).toEqual({
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
  });
  expect(Object.keys(metadata)).toEqual(['lifecycles', 'component']);
  expect(metadata.component).toMatchObject({
    name: 'hosted-client',
    version,
    purl: `pkg:npm/hosted-client@${version}`,
  });
  expect(new Set(refs).size).toBe(4);
  expect(dependencies.map(({ ref }) => ref)).toEqual(refs);
  expect(dependencies.map(({ dependsOn }) => dependsOn)).toEqual([refs.slice(1), [], [], []]);
});

test('the papers of what is bundled are those that the script writes', () => {
  const papers = ['THIRD-PARTY-NOTICES.md', 'sbom.cdx.json'];
  const kept = papers.map((path) => readFileSync(path, 'utf8'));
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-'));

  execFileSync(process.execPath, ['docs/third-party.ts', folder]);
  const written = papers.map((path) => readFileSync(join(folder, path), 'utf8'));
  rmSync(folder, { recursive: true });

  expect(written).toEqual(kept);
});

test.each(globSync('{,bench/**/,test/dist/**/}package-lock.json', { exclude: ['**/node_modules/**'] }))(
  'every package locked in %s has its integrity, and none an address',
  (path) => {
    const { packages } = JSON.parse(readFileSync(path, 'utf8')) as typeof lock;
    const locked = Object.entries(packages).filter(([name]) => name !== '');
    const unproven = locked.filter(([, { integrity, link, inBundle }]) => !integrity && !link && !inBundle);
    const addressed = locked.filter(([, { resolved }]) => resolved !== undefined);

    expect(locked.length).toBeGreaterThan(10);
    expect([...unproven, ...addressed].map(([name]) => name)).toEqual([]);
  },
);

test('the package holds its build, its source, its examples and its papers, and nothing else', () => {
  const [packed] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'], { encoding: 'utf8' }),
  ) as { files: { path: string }[] }[];
  const paths = (packed?.files ?? []).map(({ path }) => path);

  const strangers = paths.filter(
    (path) =>
      !/^(?:dist|src)\/.+\.(?:js|tsx?|map)$|^examples\/(?:.+\.m?[jt]s|README\.md)$|^docs\/(?:(?:calls|cli|errors|observability|protocol|recipes|sandbox|settings|testing|tracking)\.md|openapi\.yaml|pictures\/[a-z-]+\.(?:svg|png))$|^skills\/[a-z]+\/SKILL\.md$|^(?:package\.json|(?:AGENTS|CHANGELOG|README|SECURITY|THIRD-PARTY-NOTICES)\.md|LICENSE|llms\.txt|sbom\.cdx\.json)$/.test(
        path,
      ),
  );
  expect(strangers).toEqual([]);
  expect(paths).toEqual(
    expect.arrayContaining([
      'package.json',
      'README.md',
      'LICENSE',
      'THIRD-PARTY-NOTICES.md',
      'sbom.cdx.json',
      'src/index.ts',
      'docs/openapi.yaml',
    ]),
  );
  expect(paths.filter((path) => path.startsWith('test/'))).toEqual([]);
}, 30_000);
