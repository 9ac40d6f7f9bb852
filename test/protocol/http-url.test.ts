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

test.each([
  'http://partner.test',
  'https://partner.test/callback?a=b',
  'HTTPS://Partner.Test/Callback',
  'https://127.0.0.1:8080/x',
  'https://[::1]/',
])('isHttpUrl() accepts %s', (value) => {
  expect(isHttpUrl(value)).toBe(true);
});

test.each<[unknown]>([
  ['ftp://partner.test/'],
  ['javascript:alert(1)'],
  ['https:partner.test'],
  ['https:/partner.test'],
  ['https://'],
  ['partner.test'],
  ['see https://partner.test/'],
  ['ftp://partner.test/https://partner.test/'],
  [' https://partner.test/'],
  ['https://partner.test/ '],
  ['https://partner.test/a b'],
  ['https://partner.test/\n'],
  ['https://part\tner.test/'],
  ['https://partner.test/\u0000'],
  ['https://partner.test/\u2028'],
  [new URL('https://partner.test/')],
  [['https://partner.test/']],
  [{ href: 'https://partner.test/' }],
  [5],
  [null],
  [undefined],
])('isHttpUrl() refuses %j', (value) => {
  expect(isHttpUrl(value)).toBe(false);
});
