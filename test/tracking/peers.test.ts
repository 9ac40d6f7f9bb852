/** The packages that tracking needs: a missing one is named, with what to install. */

import { afterEach, expect, test, vi } from 'vitest';
import { loadLite, loadPg } from '../../src/tracking/places/peers.js';

afterEach(() => {
  for (const name of ['pg', '@electric-sql/pglite']) vi.doUnmock(name);
  vi.unstubAllGlobals();
});

test.each([
  ['pg', loadPg],
  ['@electric-sql/pglite', loadLite],
])('%s is missing, and the error says what to install', async (name, load) => {
  vi.doMock(name, () => {
    throw new Error('Cannot find package');
  });

  await expect(load()).rejects.toMatchObject({
    code: 'storage',
    reason: 'peer_missing',
    message: expect.stringMatching(
      new RegExp(`the package "${name}" is not installed.*: npm install ${name}, and leave it out of bundles$`),
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
