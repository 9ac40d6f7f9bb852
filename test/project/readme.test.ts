/** What README.md promises who comes from npm: its order, its length, its links, and blocks that run as they stand. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BuiltPackage, buildPackage } from '../support/built-package.js';
import { followReadme } from '../support/readme-flow.ts';

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
  const env = { PATH: `${built.bin}:${process.env.PATH}`, HOME: built.folder };

  const { waited, status } = await followReadme({ cwd: built.folder, env });

  expect(waited).toBe('poll 1: succeeded\nverified: Enroll User\n');
  expect(status).toMatch(/^verified: Enroll User /);
}, 120_000);
