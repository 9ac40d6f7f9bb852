/** The packages that tracking needs: one that cannot be loaded is named. test/cli/process.test.ts has a missing one. */

import { afterEach, expect, test, vi } from 'vitest';
import { loadLite, loadPg } from '../../src/tracking/places/peers.js';

afterEach(() => {
  for (const name of ['pg', '@electric-sql/pglite']) vi.doUnmock(name);
  vi.unstubAllGlobals();
});

test.each([
  ['pg', loadPg],
  ['@electric-sql/pglite', loadLite],
])('%s cannot be loaded, and the error says so', async (name, load) => {
  vi.doMock(name, () => {
    throw new Error('Dynamic require of "events" is not supported');
  });

  await expect(load()).rejects.toMatchObject({
    code: 'storage',
    reason: 'peer_missing',
    message: expect.stringMatching(
      new RegExp(`the package "${name}" could not be loaded \\(Error\\): leave it out of bundles$`),
    ),
  });
});

test('a runtime without setImmediate lets others run, too', async () => {
  vi.stubGlobal('setImmediate', undefined);
  vi.resetModules();
  const { letOthersRun } = await import('../../src/tracking/pause.ts');
  const order: string[] = [];
  const timer = new Promise<void>((resolve) => {
    setTimeout(() => {
      order.push('a timer of the process');
      resolve();
    }, 0);
  });

  await letOthersRun();
  order.push('the loop');
  await timer;

  expect(order).toEqual(['a timer of the process', 'the loop']);
});
