/** Each block of code in the pages of the package is a whole file with a name, or a part of an example. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { pages, readBlocks } from '../support/page-blocks.ts';

const blocks = pages.flatMap(readBlocks);
const code = blocks.filter(({ language }) => language !== 'sh');
const sources = new Map(
  readdirSync('examples', { recursive: true, encoding: 'utf8' })
    .map((path) => `examples/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.m?[jt]s$/.test(path))
    .map((path) => [path, readFileSync(path, 'utf8')]),
);
const placeOf = ({ page, code }: (typeof blocks)[number]) => `${page}: ${code.split('\n')[0]}`;

test('every page of the package is looked at', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=error'];
  const [packed] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' })) as [{ files: { path: string }[] }];
  const packedPages = packed.files.map(({ path }) => path).filter((path) => path.endsWith('.md'));

  expect(packedPages.toSorted()).toEqual(pages.toSorted());
}, 30_000);

test('the text before each block names the file to save it as, or the example it is a part of', () => {
  const unnamed = code.filter(({ file, partOf }) => (file === null) === (partOf === null));

  expect(code.length).toBeGreaterThan(40);
  expect(unnamed.map(placeOf)).toEqual([]);
});

test('a page gives each name to one block', () => {
  const names = blocks.flatMap(({ page, file }) => (file === null ? [] : [`${page}: ${file}`]));

  expect(new Set(names).size).toBe(names.length);
});

test('a whole file is all of an example, without its first comment', () => {
  const wholes = code.filter(({ file, language }) => file !== null && language !== 'sql');

  const strangers = wholes.filter(
    ({ code }) => ![...sources.values()].some((source) => source === code || source.endsWith(`*/\n\n${code}`)),
  );

  expect(strangers.map(placeOf)).toEqual([]);
});

test('a part stands word for word in its example', () => {
  const parts = code.filter(({ partOf }) => partOf !== null);

  const strangers = parts.filter(({ partOf, code }) => !sources.get(partOf ?? '')?.includes(code));

  expect(parts.length).toBeGreaterThan(10);
  expect(strangers.map(placeOf)).toEqual([]);
});

test('every recipe is shown, and all that is written by hand', () => {
  const recipes = [...sources].filter(([path]) => /^examples\/(?:by-hand\/|recipes\/|nest\/|receive-with-)/.test(path));

  const hidden = recipes.filter(([, source]) => !code.some((block) => source.endsWith(block.code)));

  expect(recipes.length).toBeGreaterThan(15);
  expect(hidden.map(([path]) => path)).toEqual([]);
});
