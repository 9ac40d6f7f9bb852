/**
 * Asks npm for known weaknesses of what is published and of what builds it: `npm run audit`. The release and a
 * scheduled workflow run it. It exits with 1 for a weakness, and with 2 if npm could not ask, because then nothing is
 * known.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit, stderr, stdout } from 'node:process';
import { fileURLToPath } from 'node:url';

// Another folder may be named: for the test.
const root = argv[2] ?? fileURLToPath(new URL('../', import.meta.url));
const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8')) as unknown;

interface Weakness {
  readonly name: string;
  readonly severity: string;
  /** Where the package is installed. */
  readonly nodes: readonly string[];
  /** The advisories; a name stands for a package that brings the weakness. */
  readonly via: readonly (string | { readonly title: string; readonly url: string })[];
}

interface Report {
  readonly vulnerabilities: Readonly<Record<string, Weakness>>;
}

const { components } = read('sbom.cdx.json') as { readonly components: readonly { readonly name: string }[] };
const { packages } = read('package-lock.json') as {
  readonly packages: Readonly<Record<string, { readonly dev?: boolean }>>;
};
const bundled = components.map(({ name }) => `node_modules/${name}`);

/** Whether a weakness stops a release, and how the package gets to users. */
function judge({ severity, nodes }: Weakness): { readonly isGrave: boolean; readonly where: string } {
  if (nodes.some((node) => bundled.includes(node))) return { isGrave: true, where: 'built into the package' };
  // What the lockfile does not know counts as installed with the package, too.
  if (nodes.length === 0 || nodes.some((node) => packages[node]?.dev !== true)) {
    return { isGrave: true, where: 'installed with the package' };
  }
  return { isGrave: ['high', 'critical'].includes(severity), where: 'only builds or tests the package' };
}

function describe({ name, severity, via }: Weakness, where: string): string {
  const reasons = via.map((reason) => (typeof reason === 'string' ? `by ${reason}` : `${reason.title} ${reason.url}`));
  return `${severity}: ${name}, ${where} (${reasons.join('; ')})\n`;
}

/** The report of npm; or, as a string, why there is none. */
function ask(): Report | string {
  // Without these flags, a setting of the machine makes npm ask nobody, or leave out what is bundled, and still succeed.
  const flags = ['--json', '--offline=false', '--include=dev', '--include=optional', '--include=peer'];
  const { stdout: text, error } = spawnSync('npm', ['audit', ...flags], {
    cwd: root,
    encoding: 'utf8',
    timeout: 300_000,
    maxBuffer: 256 * 1024 * 1024,
  });
  if (error !== undefined) return (error as NodeJS.ErrnoException).code ?? error.name;
  try {
    const answer = JSON.parse(text) as Partial<Report> & {
      readonly statusCode?: number;
      readonly error?: { readonly code?: string };
      readonly metadata?: { readonly dependencies?: { readonly total?: number } };
    };
    const { vulnerabilities, metadata } = answer;
    if (vulnerabilities === undefined || answer.error !== undefined) {
      return answer.statusCode === undefined ? (answer.error?.code ?? 'no connection') : `status ${answer.statusCode}`;
    }
    const asked = metadata?.dependencies?.total ?? 0;
    return asked < bundled.length ? `npm asked about ${asked} packages` : { vulnerabilities };
  } catch {
    return 'npm gave no JSON';
  }
}

const names = components.map(({ name }) => name).join(', ');
const report = ask();
if (typeof report === 'string') {
  stderr.write(
    `npm could not ask for known weaknesses (${report}). So nothing is known about ${names} and the rest.\n`,
  );
  exit(2);
}
const found = Object.values(report.vulnerabilities).map((weakness) => ({ weakness, ...judge(weakness) }));
for (const { weakness, where } of found) stdout.write(describe(weakness, where));
const grave = found.filter(({ isGrave }) => isGrave).map(({ weakness }) => weakness.name);
if (grave.length > 0) {
  stderr.write(`Known weaknesses that stop a release: ${grave.join(', ')}\n`);
  exit(1);
}
stdout.write(`npm knows no weakness that stops a release: asked about ${names} and the rest of the lockfile\n`);
