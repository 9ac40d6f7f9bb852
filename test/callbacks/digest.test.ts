/** The digest of a callback tells apart whatever JSON tells apart. */

import { expect, test } from 'vitest';
import { bodyDigestOf } from '../../src/callbacks/read-callback.js';

test('the digests of values that differ in JSON differ, whatever they are', async () => {
  const texts = ['1', '"1"', '[1]', '{"1":1}', 'true', '"true"', 'null', '"null"', '1e400', '-1e400', '"Infinity"'];

  const digests = await Promise.all(texts.map((text) => bodyDigestOf(JSON.parse(`{"a":${text}}`), 'time')));

  expect(new Set(digests).size).toBe(texts.length);
});
