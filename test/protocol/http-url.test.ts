/** What counts as an http(s) URL: what the platform's parser takes, which says what is expected here. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isHttpUrl } from '../../src/protocol/http-url.js';

const parts = [
  'a',
  'b',
  'com',
  'xn',
  '1',
  '-',
  '--',
  '.',
  '..',
  '/',
  '%',
  '%41',
  '_',
  '?',
  '#',
  ':',
  '@',
  'ß',
  '[',
  '~',
];
const anyRest = fc.array(fc.constantFrom(...parts), { maxLength: 8 }).map((chosen) => chosen.join(''));
const anyHost = fc
  .array(fc.stringMatching(/^[a-z][a-z0-9-]{0,4}$/), { minLength: 1, maxLength: 4 })
  .map((labels) => labels.join('.'));

test('isHttpUrl() accepts what the platform parses, and nothing else', () => {
  const found = { accepted: 0, refused: 0 };
  const property = fc.property(
    fc.constantFrom('http', 'https'),
    fc.oneof(anyHost, anyRest),
    anyRest,
    (scheme, ...rest) => {
      const text = `${scheme}://${rest.join('')}`;
      const expected = URL.canParse(text);
      found[expected ? 'accepted' : 'refused'] += 1;

      expect(isHttpUrl(text)).toBe(expected);
    },
  );

  fc.assert(property, { seed: 1, numRuns: 10_000 });

  // Both happen often: else this would say nothing.
  expect(Math.min(...Object.values(found))).toBeGreaterThan(1_000);
});

test('isHttpUrl() answers for URLs of megabytes, however often their hosts could be divided', () => {
  for (const part of ['a', 'a-', 'a.', 'aa-a.', '-', '1.']) {
    const text = `https://${part.repeat(8_000_000 / part.length)}`;

    for (const end of ['', '!', '/x', 'com']) expect(isHttpUrl(`${text}${end}`)).toBe(URL.canParse(`${text}${end}`));
  }
});
