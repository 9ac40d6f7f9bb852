// The caller's own function in the stack of every error: every method, in every way that it is called, with every
// kind of error. `npm run check:runtimes` runs the same on other versions of Node, and on Deno.

import { expect, test } from 'vitest';
import { routes } from '../../src/protocol/routes.js';

interface Result {
  readonly name: string;
  readonly problem: string | null;
  readonly stack: string;
}

const { runStacks } = (await import(new URL('../dist/stacks.js', import.meta.url).href)) as {
  runStacks: () => Promise<readonly Result[]>;
};

test("every error of every call has the caller's function in its stack", async () => {
  const results = await runStacks();

  expect(results.filter(({ problem }) => problem !== null)).toEqual([]);
  expect(results.length).toBeGreaterThan(3_000);
  const isCalled = (operation: string) => results.some(({ name }) => name.includes(operation));
  expect(Object.keys(routes).filter((operation) => !isCalled(operation))).toEqual([]);
}, 60_000);
