// What a process holds after many calls, however they end: the short form of `npm run soak`.

import { expect, test } from 'vitest';
import { soak } from '../../bench/soak/soak.js';
import { collector } from '../support/collector.js';

const megabyte = 1024 * 1024;

test('2,000 calls, however they end, leave no handle, listener or socket behind, and no heap', async () => {
  const soaked = await soak({ calls: 2_000, concurrency: 50, collect: collector() });

  const { before, after, endings, mostListeners, mostSockets, warnings } = soaked;
  expect(Object.values(endings).reduce((sum, count) => sum + count, 0)).toBe(2_000);
  expect(after.listeners).toBe(0);
  expect(after.sockets).toBe(0);
  for (const kind of ['TCPSocketWrap', 'TCPServerWrap', 'Immediate']) {
    expect([kind, after.handles[kind] ?? 0]).toEqual([kind, before.handles[kind] ?? 0]);
  }
  // The test runner has timers of its own.
  expect(after.handles.Timeout ?? 0).toBeLessThanOrEqual((before.handles.Timeout ?? 0) + 3);
  expect(after.heapBytes - before.heapBytes).toBeLessThan(8 * megabyte);
  // A call listens once; a walk that reads ahead, or a wait, may do so twice.
  expect(mostListeners).toBeLessThanOrEqual(50 * 2);
  expect(mostSockets).toBeLessThanOrEqual(50 * 2);
  expect(warnings).toEqual([]);
}, 60_000);
