// What grows with its input does so in proportion: URLs, sleepers, names.

import type { HostedValidationError } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { isHttpUrl } from '../../src/protocol/http-url.js';
import { clientOf, newLink, rejection } from '../support/fake-fetch.js';
import { created } from '../validation/expect-refusal.js';

test('isHttpUrl() answers for URLs of megabytes, however often their hosts could be divided', () => {
  for (const part of ['a', 'a-', 'a.', 'aa-a.', '-', '1.']) {
    const text = `https://${part.repeat(8_000_000 / part.length)}`;

    for (const end of ['', '!', '/x', 'com']) expect(isHttpUrl(`${text}${end}`)).toBe(URL.canParse(`${text}${end}`));
  }
});

test('a test clock with 20,000 sleepers wakes them in order and forgets the aborted ones', async () => {
  const clock = createTestClock(0);
  const controller = new AbortController();
  const wokenAt: number[] = [];
  const sleepers = Array.from({ length: 20_000 }, async (_, index) => {
    // A permutation of 0 to 19,999, 200 of them to each of 100 instants.
    const ms = (((index * 7_919) % 20_000) % 100) + 1;
    await clock.sleep?.(ms, index % 2 === 0 ? controller.signal : undefined).catch(() => undefined);
    if (index % 2 === 1) wokenAt.push(clock.now());
  });

  controller.abort();
  await clock.advance(100);
  await Promise.all(sleepers);

  expect(wokenAt).toHaveLength(10_000);
  expect(wokenAt).toEqual(wokenAt.toSorted((a, b) => a - b));
});

test('a hundred thousand names are compared no further than they are named', async () => {
  const { client } = clientOf(created);
  const letters = (index: number) => [...String(index)].map((digit) => 'abcdefghij'[Number(digit)]).join('');
  const names = Array.from({ length: 100_000 }, (_, index) => [`callback_${letters(index)}`, 1]);

  const error = await rejection(client.links.create({ ...newLink, ...Object.fromEntries(names) } as never));

  expect((error as HostedValidationError).issues).toHaveLength(20);
});
