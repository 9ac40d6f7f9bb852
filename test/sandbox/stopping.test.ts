/** What is left of a sandbox when it has stopped: nothing that runs later. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLive } from '../../src/sandbox/live.js';
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

test('pages that stop while a change is collected are not notified of it', async () => {
  const live = createLive();
  const page = live.open();
  live.changed();

  live.stop();

  expect(vi.getTimerCount()).toBe(0);
  expect(await page.text()).toBe('retry: 1000\n\n');
});

test('several changes are one event for each page, and none without pages', async () => {
  const live = createLive();
  live.changed();
  expect(vi.getTimerCount()).toBe(0);
  const page = live.open();

  live.changed();
  live.changed();
  vi.runAllTimers();
  live.stop();

  expect(await page.text()).toBe('retry: 1000\n\nevent: change\ndata: \n\n');
});
