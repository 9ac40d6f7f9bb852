/** The audit before and between releases, with an npm that answers as it is told. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

/** Runs the audit; npm writes `answer`. The flags that npm was called with are part of the result. */
function audit(answer: unknown, { code = 0, components }: { code?: number; components?: readonly object[] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'hosted-client-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: object };
  const packages = { ...lock.packages, 'node_modules/a-tool/node_modules/zod': { dev: true } };
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...lock, packages }));
  const sbom = JSON.parse(readFileSync('sbom.cdx.json', 'utf8')) as object;
  writeFileSync(join(folder, 'sbom.cdx.json'), JSON.stringify({ ...sbom, ...(components && { components }) }));
  writeFileSync(join(folder, 'answer'), typeof answer === 'string' ? answer : JSON.stringify(answer));
  const npm = `#!/bin/sh\necho "$@" > '${folder}/flags'\n/bin/cat '${folder}/answer'\nexit ${code}\n`;
  writeFileSync(join(folder, 'npm'), npm, { mode: 0o755 });
  const { status, stdout, stderr } = spawnSync(process.execPath, ['docs/audit.ts', folder], {
    encoding: 'utf8',
    env: { PATH: folder },
  });
  return { status, stdout, stderr, flags: readFileSync(join(folder, 'flags'), 'utf8').trim() };
}

/** A report in the form of npm 11. */
function reportOf(...vulnerabilities: readonly { readonly name: string }[]) {
  return {
    auditReportVersion: 2,
    vulnerabilities: Object.fromEntries(vulnerabilities.map((one) => [one.name, one])),
    metadata: {
      vulnerabilities: { info: 0, low: 0, moderate: 0, high: 0, critical: 0, total: vulnerabilities.length },
      dependencies: { prod: 2, dev: 678, optional: 96, peer: 16, peerOptional: 0, total: 679 },
    },
  };
}

const weak = (name: string, severity: string, node = `node_modules/${name}`) => ({
  name,
  severity,
  isDirect: true,
  via: [{ source: 1, name, dependency: name, title: 'A planted weakness', url: 'https://a.example/1', severity }],
  effects: [],
  range: '*',
  nodes: [node],
  fixAvailable: false,
});

test('an audit without weaknesses succeeds, and says what was asked about', () => {
  const { status, stdout, stderr, flags } = audit(reportOf());

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain('asked about hono, ky, zod and the rest');
  // A machine's own settings could otherwise make npm ask nobody, or leave out what is bundled.
  expect(flags).toBe('audit --json --offline=false --include=dev --include=optional --include=peer');
});

test.each([
  ['hono', 'low', 'built into the package'],
  ['tweetnacl', 'low', 'installed with the package'],
  ['vitest', 'critical', 'only builds or tests the package'],
])('a weakness of %s that is %s stops the release', (name, severity, where) => {
  const { status, stdout, stderr } = audit(reportOf(weak(name, severity)), { code: 1 });

  expect(status).toBe(1);
  expect(stdout).toBe(`${severity}: ${name}, ${where} (A planted weakness https://a.example/1)\n`);
  expect(stderr).toBe(`Known weaknesses that stop a release: ${name}\n`);
});

test.each([
  ['a tool', weak('vitest', 'moderate')],
  [
    'another version of a bundled package, which a tool uses',
    weak('zod', 'low', 'node_modules/a-tool/node_modules/zod'),
  ],
])('a slight weakness of %s is listed, and stops nothing', (_what, weakness) => {
  const { status, stdout, stderr } = audit(reportOf(weakness), { code: 1 });

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toContain(`${weakness.severity}: ${weakness.name}, only builds or tests the package`);
});

test('the names of what is bundled are those in sbom.cdx.json', () => {
  const { status, stderr } = audit(reportOf(weak('vitest', 'low')), { components: [{ name: 'vitest' }] });

  expect(status).toBe(1);
  expect(stderr).toContain('vitest');
});

// As npm 11 answered when a registry rejected the request, was not there, or sent a page.
test.each([
  [
    'a status',
    { message: '405 Method Not Allowed', statusCode: 405, error: { summary: '', detail: '' } },
    'status 405',
  ],
  ['a code', { error: { code: 'ENOLOCK', summary: 'no lockfile', detail: '' } }, 'ENOLOCK'],
  ['a page', '<html>', 'npm gave no JSON'],
  ['no packages', { ...reportOf(), metadata: { dependencies: { total: 0 } } }, 'npm asked about 0 packages'],
])('an audit that could not ask says so: %s', (_what, answer, why) => {
  const { status, stdout, stderr } = audit(answer, { code: 1 });

  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toBe(
    `npm could not ask for known weaknesses (${why}). So nothing is known about hono, ky, zod and the rest.\n`,
  );
});

test('the release and the schedule run the same audit', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const workflows = ['release', 'audit'].map((name) => readFileSync(`.github/workflows/${name}.yml`, 'utf8'));

  expect(scripts.audit).toBe('node docs/audit.ts');
  expect(workflows.map((text) => /run: npm run audit$/m.test(text))).toEqual([true, true]);
});
