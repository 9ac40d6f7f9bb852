/** That what is said of one environment is said of each: variables and test keys have its name in them. */

import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { environments } from '../../src/options.js';

const others = environments.filter((name) => name !== 'sandbox').join('|');
const named = new RegExp(`(HOSTED_)(${others.toUpperCase()})(_[A-Z_]+)|(')(${others})(-test-key')`, 'g');

/** The texts of a file that have the name of an environment other than the default, and the same of each environment. */
function namesIn(text: string): readonly string[] {
  const found = [...text.matchAll(named)].map(([, ...parts]) => parts.filter((part) => part !== undefined));
  return found.flatMap(([before = '', own = '', after = '']) =>
    environments.map((name) => before + (own === own.toUpperCase() ? name.toUpperCase() : name) + after),
  );
}

const all = environments.join('|');
const pair = new RegExp(`\\b(${all})\\S*(?: \\([^)]*\\))? (?:and|or) (?:\\S+ )?\\S*?(?!\\1)(?:${all})`, 'gi');

/** The ends of lists of environments, such as "sandbox and production", with what stands before each. */
function listsIn(text: string): readonly string[] {
  const line = text.replace(/\n[ *]*/g, ' ');
  return [...line.matchAll(pair)].map(({ 0: found, index }) => line.slice(Math.max(0, index - 100), index) + found);
}

const files = globSync(['*.md', 'docs/*.{md,yaml}', 'skills/*/*.md', 'src/**/*.{ts,tsx}'])
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
  .filter(({ text }) => namesIn(text).length > 0 || listsIn(text).length > 0);

test.each(files)('$path names each environment where it names one that is not the default', ({ text }) => {
  expect(namesIn(text).filter((each) => !text.includes(each))).toEqual([]);
  const isWhole = (list: string) => environments.every((each) => list.toLowerCase().includes(each));
  expect(listsIn(text).filter((list) => !isWhole(list))).toEqual([]);
});
