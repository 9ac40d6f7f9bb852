/** What is made once for all who ask. */

import { expect, test, vi } from 'vitest';
import { isLoading, lazy } from '../../src/runtime/lazy.js';

test('it is made once, however many ask at the same time', async () => {
  const make = vi.fn(async () => ({}));
  const get = lazy(make);

  const [first, second] = await Promise.all([get(), get()]);

  expect(first).toBe(second);
  expect(await get()).toBe(first);
  expect(make).toHaveBeenCalledOnce();
});

test('after a failure it is made anew for the next caller', async () => {
  const make = vi.fn().mockRejectedValueOnce(new Error('no file handle is free')).mockResolvedValue('made');
  const get = lazy<string>(make);

  await expect(get()).rejects.toThrow('no file handle is free');
  await expect(get()).resolves.toBe('made');
  await expect(get()).resolves.toBe('made');
  expect(make).toHaveBeenCalledTimes(2);
});

test('it is known whether anything is being made', async () => {
  const fails = lazy(() => Promise.reject(new Error('no file handle is free')));
  const made = lazy(async () => 'made')();
  const failed = fails();

  expect(isLoading()).toBe(true);
  await Promise.allSettled([made, failed]);
  expect(isLoading()).toBe(false);
});

test('a failure that is thrown at once is not kept, either', async () => {
  const make = vi
    .fn<() => Promise<string>>()
    .mockImplementationOnce(() => {
      throw new Error('no crypto yet');
    })
    .mockResolvedValue('made');
  const get = lazy(make);

  await expect(get()).rejects.toThrow('no crypto yet');
  await expect(get()).resolves.toBe('made');
});
