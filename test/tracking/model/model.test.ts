// The models of the tracker are explored in every setting, and without each of their protections.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Explored, explore } from './explore.ts';
import { createGapModel, gapPromises, gapsNeed } from './gaps.ts';
import { createModel } from './model.ts';
import { exploreWithout, needed, promises } from './needed.ts';
import { settings } from './settings.ts';

const explorations: ReadonlyMap<string, () => Explored> = new Map([
  ...settings.map((setting) => [setting.name, () => explore(createModel(setting))] as const),
  ['missing callbacks', () => explore(createGapModel(null))],
]);
let states = 0;

test.each([...explorations])('every promise holds in every state of the setting "%s"', (_, exploreAll) => {
  const explored = exploreAll();
  states += explored.states;

  expect(explored.broken).toBe(null);
});

test('more than 100,000 states were explored', () => {
  expect(states).toBeGreaterThan(100_000);
});

test.each(needed)('the promise "%s" breaks without the protection "%s" in the setting "%s"', (...row) => {
  expect(exploreWithout(row).broken?.promise).toBe(promises[row[0]]);
});

test.each(gapsNeed)('the promise "%s" about links breaks without the protection "%s"', (name, without) => {
  const model = createGapModel(without);
  const found = explore({ ...model, promises: model.promises.filter((promise) => promise.name === gapPromises[name]) });

  expect(found.broken?.promise).toBe(gapPromises[name]);
});

test('every promise of the models is a sentence of the documentation, and has a protection', () => {
  const texts = ['docs/tracking.md', 'src/tracking/tracker.ts'].map((file) => readFileSync(file, 'utf8'));
  const documentation = texts.join(' ').replaceAll(/\s+(?:\* )?\s*/g, ' ');
  const all = [...settings.slice(0, 1).map(createModel), createGapModel(null)];
  const names = all.flatMap((model) => model.promises.map(({ name }) => name));
  const withProtection = [...needed.map(([name]) => promises[name]), ...gapsNeed.map(([name]) => gapPromises[name])];

  expect(names.filter((name) => !documentation.includes(name))).toEqual([]);
  expect([...new Set<string>(withProtection)].toSorted()).toEqual(names.toSorted());
});
