/** That what is said of one environment is said of each: variables and test keys have the name in them. */

import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { environments } from '../../src/options.js';

const [one = ''] = environments.filter((name) => name !== 'sandbox');
const named = new RegExp(`HOSTED_${one.toUpperCase()}_[A-Z_]+|${one}-test-key`, 'g');

const files = globSync(['*.md', 'docs/*.{md,yaml}', 'skills/*/*.md', 'src/**/*.ts']).map((path) => {
  const text = readFileSync(path, 'utf8');
  return { path, text, found: [...text.matchAll(named)].map(([match]) => match) };
});

test.each(files.filter(({ found }) => found.length > 0))('$path names each environment', ({ text, found }) => {
  const expected = environments.flatMap((name) =>
    found.map((match) => match.replace(one, name).replace(one.toUpperCase(), name.toUpperCase())),
  );

  expect(expected.filter((each) => !text.includes(each))).toEqual([]);
});

test('docs/protocol.md names the environments', () => {
  const [, list = ''] = /^The environments are (.+?)\. /m.exec(readFileSync('docs/protocol.md', 'utf8')) ?? [];

  expect(list.split(/, | and /).sort()).toEqual([...environments].sort());
});
