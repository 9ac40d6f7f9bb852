/**
 * The papers of what is bundled: its licences in THIRD-PARTY-NOTICES.md, and sbom.cdx.json, a CycloneDX 1.6
 * list for machines. `npm run third-party` writes both from package.json, the lockfile and what is
 * installed; a test compares them with that, and with what the build holds.
 */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(`${root}${path}`, 'utf8');

/** What `tsup.config.ts` bundles. */
const bundled = ['hono', 'ky', 'zod'];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
}

const own = JSON.parse(read('package.json')) as Manifest;
const lock = JSON.parse(read('package-lock.json')) as Lock;
const packages = bundled.map((name) => {
  const folder = `node_modules/${name}`;
  const { version, integrity } = lock.packages[folder] ?? { version: '', integrity: '' };
  const { license, description } = JSON.parse(read(`${folder}/package.json`)) as Manifest;
  return { name, version, integrity, license, description, licenceText: licenceIn(folder) };
});

function licenceIn(folder: string): string {
  const file = readdirSync(`${root}${folder}`).find((name) => /^licen[cs]e(?:\.|$)/i.test(name));
  if (file === undefined) throw new Error(`${folder} has no licence`);
  return read(`${folder}/${file}`).trim();
}

const notices = [
  '# Third-party notices',
  'Parts of these packages are in `dist`, unchanged but for what bundling does. `sbom.cdx.json` lists the same for machines.',
  ...packages.flatMap(({ name, version, licenceText }) => [`## ${name} ${version}`, licenceText]),
];

const purl = ({ name, version }: { readonly name: string; readonly version: string }) => `pkg:npm/${name}@${version}`;

/** A component. Its hash is the registry's own, of the package that was installed. */
function componentOf(part: Pick<Manifest, 'name' | 'version' | 'license' | 'description'>, integrity?: string) {
  return {
    type: 'library',
    'bom-ref': purl(part),
    name: part.name,
    version: part.version,
    description: part.description,
    ...(integrity && { hashes: [{ alg: 'SHA-512', content: hexOf(integrity) }] }),
    licenses: [{ license: { id: part.license } }],
    purl: purl(part),
  };
}

function hexOf(integrity: string): string {
  const [algorithm, digest = ''] = integrity.split('-');
  if (algorithm !== 'sha512') throw new Error(`The lockfile has a digest by ${algorithm}, not sha512`);
  return Buffer.from(digest, 'base64').toString('hex');
}

// Neither a serial number nor a time: the same packages make the same file.
const sbom = {
  $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
  bomFormat: 'CycloneDX',
  specVersion: '1.6',
  version: 1,
  metadata: { lifecycles: [{ phase: 'build' }], component: componentOf(own) },
  components: packages.map((each) => componentOf(each, each.integrity)),
  dependencies: [
    { ref: purl(own), dependsOn: packages.map(purl) },
    ...packages.map((each) => ({ ref: purl(each), dependsOn: [] })),
  ],
};

// Another folder may be named: for the test.
const folder = argv[2] ?? root;
writeFileSync(join(folder, 'THIRD-PARTY-NOTICES.md'), `${notices.join('\n\n')}\n`);
writeFileSync(join(folder, 'sbom.cdx.json'), `${JSON.stringify(sbom, null, 2)}\n`);
