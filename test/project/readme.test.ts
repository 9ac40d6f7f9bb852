/** What README.md promises who comes from npm: its order, its length, its links, and blocks that run as they stand. */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.js';
import { blocksOf, freePort, openSandbox, openTerminal } from '../support/terminal.js';

const readme = readFileSync('README.md', 'utf8');

test('it leads from what this is to the tests of one’s own, and then to all else', () => {
  expect([...readme.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual([
    'Try it',
    'Install',
    'First call',
    'Callbacks',
    'Job status',
    'Waiting for a job',
    'Testing your code',
    'What else there is',
    'For contributors',
    'Licence',
  ]);
  expect(readme.split('\n').slice(0, 25).join('\n')).toContain('\nnpx hosted-client sandbox\n');
  expect(readme).toContain('<picture>');
});

test('its prose has at most 2,500 words', () => {
  const prose = readme.replaceAll(/```.*?```|<picture>.*?<\/picture>/gs, '');

  expect(prose.split(/\s+/).length).toBeLessThanOrEqual(2_500);
});

test('every relative link of a page in the package leads to a file in the package, and to a heading there', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' })) as [{ files: { path: string }[] }];
  const paths = packed.files.map(({ path }) => path);
  const pages = paths.filter((path) => /^(?:[A-Z]+\.md|llms\.txt|docs\/\w+\.md)$/.test(path));
  const headings = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  const broken = pages.flatMap((page) => {
    const text = readFileSync(page, 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)|(?:src|srcset)="([^"]+)"/g)];
    return links.flatMap(([whole, link = '', heading, picture]) => {
      const file = link === '' && picture === undefined ? page : posix.join(posix.dirname(page), picture ?? link);
      const isThere =
        paths.some((path) => path === file || path.startsWith(`${file}/`)) &&
        (heading === undefined || headings(file).includes(heading));
      return isThere ? [] : `${page}: ${whole}`;
    });
  });

  expect(pages.length).toBeGreaterThan(12);
  expect(broken).toEqual([]);
});

let built: BuiltPackage;

beforeAll(async () => {
  built = await buildPackage(['express']);
});

afterAll(() => built.remove());

test('its blocks run, word for word, from the first call to a wait', async () => {
  const [sandboxCommand = '', , wait = ''] = blocksOf(readme, 'sh');
  const blocks = blocksOf(readme, 'ts');
  const names = [...readme.matchAll(/[Ss]ave this program as `(\S+)`/g)].map(([, name]) => name ?? '');
  expect(names).toEqual(['first-call.mjs', 'server.mjs', 'status.mjs', 'wait.mjs']);
  // Another program may have the port of the page.
  const port = String(await freePort());
  for (const [index, name] of names.entries()) {
    writeFileSync(join(built.folder, name), (blocks[index] ?? '').replaceAll('3000', port));
  }
  const at = {
    cwd: built.folder,
    env: { PATH: `${built.bin}:${process.env.PATH}`, HOME: built.folder } as NodeJS.ProcessEnv,
  };
  const sandbox = await openSandbox(sandboxCommand, at);
  onTestFinished(() => sandbox.close());
  const open = (commands: string) => {
    const terminal = openTerminal(commands, { ...at, pasted: sandbox.pasted });
    onTestFinished(() => terminal.close());
    return terminal;
  };

  const server = open('node server.mjs');
  const [, refId = ''] = /^Keep (\S+), and send/.exec(await open('node first-call.mjs').end()) ?? [];
  const waited = await open(wait.replace('REF', refId)).end();
  const { userId, jobId } = JSON.parse(readFileSync(join(built.folder, 'job.json'), 'utf8'));
  const status = await open(`USER_ID=${userId} JOB_ID=${jobId} node status.mjs`).end();

  expect(waited).toBe('poll 1: succeeded\nverified: Enroll User\n');
  expect(status).toMatch(/^verified: Enroll User /);
  await server.shows(/^result [0-9a-f]{64}: the job is succeeded$/m);
}, 120_000);
