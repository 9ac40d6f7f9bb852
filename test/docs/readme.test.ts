/**
 * What the pages promise who comes from npm: the order and length of README.md, links that lead to files of the
 * package, and blocks of code that are whole files with a name, or parts of examples. `test/dist/readme.ts` runs
 * the README.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { toAbsolute } from '../../docs/addresses.ts';
import { pages, readBlocks } from '../support/page-blocks.ts';

const readme = readFileSync('README.md', 'utf8');
const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
const [{ files }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' })) as [{ files: { path: string }[] }];
const packed = files.map(({ path }) => path);
const linking = [...pages, 'llms.txt'];
const countWords = (text: string) => text.split(/\s+/).filter((word) => word !== '').length;

test('it leads from the first call to the tests of one’s own, and then to all else', () => {
  expect([...readme.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)).toEqual([
    'First call',
    'The console',
    'Callbacks',
    'How a result finds your customer',
    'If a callback is lost',
    'Job status',
    'Waiting for a job',
    'Testing your code',
    'With the real service',
    'What else there is',
    'For contributors',
    'Licence',
  ]);
});

test('its first call stands on the first screen: its code begins within 900 px', () => {
  const [before = ''] = readme.split(/(?<=^```ts$)/m);
  // As npm and GitHub show it, in a column of 830 px: 16 px a letter, 24 px a line.
  const heights = before.split(/\n{2,}/).map((part) => {
    const [, picture] = /src="([^"]+\.svg)"/.exec(part) ?? [];
    if (picture !== undefined) return 16 + Number(/ height="(\d+)"/.exec(readFileSync(picture, 'utf8'))?.[1]);
    if (part.startsWith('#')) return 64;
    if (part.startsWith('```sh')) return 48 + 20 * (part.split('\n').length - 2);
    return 16 + 24 * Math.ceil(part.length / 100);
  });

  expect(before).toContain('npm install hosted-client\nnpx hosted-client sandbox');
  expect(heights.reduce((sum, height) => sum + height)).toBeLessThanOrEqual(900);
});

test('its prose has at most 2,500 words', () => {
  const prose = readme.replaceAll(/```.*?```|<picture>.*?<\/picture>/gs, '');

  expect(countWords(prose)).toBeLessThanOrEqual(2_500);
});

test('the Markdown of the package says each thing once: it has at most 28,000 words', () => {
  const counts = packed.filter((path) => path.endsWith('.md')).map((path) => countWords(readFileSync(path, 'utf8')));

  expect(counts.reduce((sum, count) => sum + count)).toBeLessThanOrEqual(28_000);
});

test('the text of each picture has at most 25 words', () => {
  const alts = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/<img [^>]*?alt="([^"]*)"/g)].map(([, alt = '']) => alt),
  );

  expect(alts.length).toBeGreaterThan(3);
  expect(alts.filter((alt) => alt === '' || countWords(alt) > 25)).toEqual([]);
});

test('on the page of the package, every link and picture of it is absolute where a repository is named', () => {
  const repository = { url: 'git+https://github.com/example/client.git' };

  const shown = toAbsolute(readme, { version: '1.2.0', repository });

  expect(shown).toContain('](https://github.com/example/client/blob/v1.2.0/docs/sandbox.md)');
  expect(shown).toContain('src="https://github.com/example/client/raw/v1.2.0/docs/pictures/console.png"');
  expect(shown.match(/(?:\]\(|src(?:set)?=")(?!https?:|#)[^)"]+/g)).toBeNull();
});

test('every relative link of a page in the package leads to a file in the package, and to a heading there', () => {
  const headings = (path: string) =>
    [...readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  const broken = linking.flatMap((page) => {
    const text = readFileSync(page, 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)|(?:src|srcset)="([^"]+)"/g)];
    return links.flatMap(([whole, link = '', heading, picture]) => {
      const file = link === '' && picture === undefined ? page : posix.join(posix.dirname(page), picture ?? link);
      const isThere =
        packed.some((path) => path === file || path.startsWith(`${file}/`)) &&
        (heading === undefined || headings(file).includes(heading));
      return isThere ? [] : `${page}: ${whole}`;
    });
  });

  expect(broken).toEqual([]);
});

test('every file that a page names in the installed package is there', () => {
  const named = linking.flatMap((page) => {
    const paths = readFileSync(page, 'utf8').matchAll(/\bnode_modules\/hosted-client\/([\w./-]*\w)/g);
    return [...paths].map(([, path = '']) => path);
  });

  expect(named.length).toBeGreaterThan(4);
  expect(named.filter((path) => !packed.some((file) => file === path || file.startsWith(`${path}/`)))).toEqual([]);
});

// The page about hand-written calls stays in the repository.
const blocks = [...pages, 'docs/moving.md'].flatMap(readBlocks);
const code = blocks.filter(({ language }) => language !== 'sh');
const sources = new Map(
  readdirSync('examples', { recursive: true, encoding: 'utf8' })
    .map((path) => `examples/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.m?[jt]s$/.test(path))
    .map((path) => [path, readFileSync(path, 'utf8')]),
);
const placeOf = ({ page, code }: (typeof blocks)[number]) => `${page}: ${code.split('\n')[0]}`;

test('every page of the package is looked at', () => {
  const packedPages = packed.filter((path) => path.endsWith('.md'));

  expect(packedPages.toSorted()).toEqual(pages.toSorted());
});

test('the text before each block names the file to save it as, or the example it is a part of', () => {
  const unnamed = code.filter(({ file, partOf }) => (file === null) === (partOf === null));

  expect(code.length).toBeGreaterThan(30);
  expect(unnamed.map(placeOf)).toEqual([]);
});

test('a page gives each name to one block', () => {
  const names = blocks.flatMap(({ page, file }) => (file === null ? [] : [`${page}: ${file}`]));

  expect(new Set(names).size).toBe(names.length);
});

test('a whole file is all of an example, without its first comment', () => {
  const wholes = code.filter(({ file, language }) => file !== null && !['json', 'sql', 'yaml'].includes(language));

  const strangers = wholes.filter(
    ({ code }) => ![...sources.values()].some((source) => source === code || source.endsWith(`*/\n\n${code}`)),
  );

  expect(strangers.map(placeOf)).toEqual([]);
});

test('a part stands word for word in its example', () => {
  const parts = code.filter(({ partOf }) => partOf !== null);

  const strangers = parts.filter(({ partOf, code }) => !sources.get(partOf ?? '')?.includes(code));

  expect(parts.length).toBeGreaterThan(5);
  expect(strangers.map(placeOf)).toEqual([]);
});

test('every recipe is shown', () => {
  // Of the routes of Next, the page shows the one on Node, and says how those on Edge and of the pages router differ.
  const recipes = [...sources]
    .filter(([path]) => !/\/(?:edge|pages)-/.test(path))
    .filter(([path]) => /^examples\/(?:recipes\/|nest\/|receive-with-)/.test(path));

  const hidden = recipes.filter(([, source]) => !code.some((block) => source.endsWith(block.code)));

  expect(recipes.length).toBeGreaterThan(8);
  expect(hidden.map(([path]) => path)).toEqual([]);
});
