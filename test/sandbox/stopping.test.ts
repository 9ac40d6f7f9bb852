/** What is left of a sandbox when it has stopped: nothing that runs later. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWork } from '../../src/sandbox/work.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('work that has stopped starts no timer', async () => {
  const work = createWork();
  const before = vi.fn();
  const after = vi.fn();
  work.later(10, before);

  await work.stop();
  work.later(10, after)();
  await work.idle();

  expect(vi.getTimerCount()).toBe(0);
  expect([before, after].map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
});
