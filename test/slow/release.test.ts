/** The first step of the release: without the repository in package.json, as docs/releasing.md sets it, nothing goes out. */

import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';

const indentedBy = (spaces: number, text: string) => text.replaceAll(new RegExp(`^ {${spaces}}`, 'gm'), '');
const [, step = ''] = / {8}run: \|\n((?: {10}.*\n)+)/.exec(readFileSync('.github/workflows/release.yml', 'utf8')) ?? [];
const [, commands = ''] = / {2}```sh\n([\s\S]*?) {2}```/.exec(readFileSync('docs/releasing.md', 'utf8')) ?? [];

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hosted-client-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const file of ['package.json', 'CHANGELOG.md']) copyFileSync(file, join(folder, file));
});

function nameRepository(): void {
  const filled = indentedBy(2, commands).replace('OWNER/NAME', 'example/hosted');
  execFileSync('bash', ['-ec', filled], { cwd: folder });
}

function check(tag = 'v1.0.0') {
  const env = { ...process.env, GITHUB_REF_NAME: tag, GITHUB_REPOSITORY: 'example/hosted' };
  const { status, stdout } = spawnSync('bash', ['-ec', indentedBy(10, step)], { cwd: folder, env, encoding: 'utf8' });
  return { status, stdout };
}

test('a release of a package that names its repository goes on', () => {
  nameRepository();

  expect(check()).toEqual({ status: 0, stdout: '' });
});

test('a release of another tag than the version stops', () => {
  nameRepository();

  expect(check('v1.0.1')).toMatchObject({ status: 1, stdout: expect.stringContaining('The tag is v1.0.1') });
});

test.each(['repository', 'homepage', 'bugs'])('a release without %s in package.json stops', (field) => {
  nameRepository();
  execFileSync('npm', ['pkg', 'delete', field], { cwd: folder });

  expect(check()).toMatchObject({
    status: 1,
    stdout: expect.stringContaining(`does not name this repository in ${field}`),
  });
});

test('a release of a package that names another repository stops', () => {
  nameRepository();
  execFileSync('npm', ['pkg', 'set', 'homepage=https://github.com/example/hosted-other'], { cwd: folder });

  expect(check()).toMatchObject({ status: 1, stdout: expect.stringContaining('in homepage') });
});
