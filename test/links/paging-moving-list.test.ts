// Walking the list of links: a list that changes during the walk.

import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, names, noneAndSomeAhead, refsOf, serve, shelf, walk, whereStuck } from './page-service.js';

failOnStrayRejections();

test.each(noneAndSomeAhead)(
  'links that a new one shifted onto the next page come once (%d ahead)',
  async (prefetch) => {
    const refs = names(6);
    const { client, settle } = serve((page = 1) => book(refs)(page, 0));
    const seen: string[] = [];

    for await (const page of client.links.list({ prefetch }).pages()) {
      seen.push(...refsOf(page.links));
      await settle();
      if (page.meta.currentPage === 1) refs.unshift('new');
    }

    expect(seen).toEqual(names(6));
  },
);

test('a page of several links that repeats all but one is no repeated page', async () => {
  const { client } = serve(
    shelf([
      ['a', 'b', 'c'],
      ['b', 'c', 'd'],
    ]),
  );

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c', 'd'], null]);
});

test.each(noneAndSomeAhead)(
  'a whole page that comes again once, and once later, is no end (%d ahead)',
  async (prefetch) => {
    const pages = ['ab', 'ab', 'cd', 'cd', 'ef', 'gh', 'gh', 'ij'].map((refs) => [...refs]);
    const { client } = serve(shelf(pages));

    const { refs, error } = await walk(client.links.list({ prefetch }));

    expect([refs, error]).toEqual([names(10), null]);
  },
);

test.each([
  ['as it is', ['ab', 'ab', 'ab', 'cd']],
  ['in another order', ['ab', 'ba', 'ab', 'cd']],
  ['in part', ['abc', 'ab', 'ba', 'de']],
  ['with empty pages between', ['ab', '', 'ab', '', 'ab', 'cd']],
  ['in the middle of a list', ['ab', 'cd', 'cd', 'cd', 'ef']],
  ['with one link a page', ['a', 'a', 'a', 'b']],
])('a page that comes again twice in a row, %s, ends the walk loudly', async (_how, pages) => {
  const { client } = serve(shelf(pages.map((refs) => [...refs])));

  const { refs, error } = await walk(client.links.list());

  expect(whereStuck(error)).toBe('links');
  expect(refs).toEqual([...new Set(pages.slice(0, -1).join(''))]);
});

// A page that newer links pushed back makes the list a page longer: as the last one it is none of these.
test.each([
  ['of two links', ['ab', 'ab']],
  ['in another order', ['ab', 'ba']],
  ['of one link', ['a', 'a']],
  ['after another', ['ab', 'cd', 'cd']],
  ['after an empty one', ['ab', '', 'ab']],
])('a last page that is the one before again, %s, ends the walk loudly', async (_what, pages) => {
  const { client } = serve(shelf(pages.map((refs) => [...refs])));

  const { refs, error } = await walk(client.links.list());

  expect(whereStuck(error)).toBe('links');
  expect(refs).toEqual([...new Set(pages.join(''))]);
});

test.each(noneAndSomeAhead)(
  'as many new links as a page has, made while pages are read, shift all others and lose none (%d ahead)',
  async (prefetch) => {
    const refs = names(8);
    const { client, settle } = serve((page = 1) => book(refs)(page, 0));
    const seen: string[] = [];

    for await (const page of client.links.list({ prefetch }).pages()) {
      seen.push(...refsOf(page.links));
      await settle();
      if (page.meta.currentPage === 2) refs.unshift('new-1', 'new-2');
    }

    expect(seen).toEqual(names(8));
  },
);

test('nextPage() of a page that newer links pushed back once is a page without links, and not the last', async () => {
  const { client } = serve(shelf(['ab', 'ab', 'cd'].map((refs) => [...refs])));

  const first = await client.links.list();
  const again = await first.nextPage();
  const next = await again?.nextPage();

  expect(again).toMatchObject({ links: [], hasNextPage: true });
  expect(refsOf(next?.links ?? [])).toEqual(['c', 'd']);
});

test('a link that stood on the page before an empty one is dropped too', async () => {
  const { client } = serve(shelf([['a', 'b'], [], ['b', 'c']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c'], null]);
});

test('with one link a page, a link that was shifted onto the next page comes once', async () => {
  const { client } = serve(shelf([['a'], ['a'], ['b'], ['c']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c'], null]);
});

test('with one link a page, an older link that two new ones shifted here is left to the reader', async () => {
  const { client } = serve(shelf([['a'], ['b'], ['c'], ['b'], ['c'], ['d']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c', 'b', 'c', 'd'], null]);
});

test('a last page that holds nothing but a shifted link is the end', async () => {
  const { client } = serve(shelf([['a', 'b'], ['b']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b'], null]);
});

test.each([
  ['shares links with', ['d', 'e', 'j']],
  ['has but some of the links of', ['d', 'e']],
])('a page that %s an older one is no repeated page', async (_what, last) => {
  const { client } = serve(shelf([['a', 'b', 'c'], ['d', 'e', 'f'], ['g', 'h', 'i'], last]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([[...names(9), ...last], null]);
});

test('a link that comes again later than on the next page is left to the reader', async () => {
  const { client } = serve(
    shelf([
      ['a', 'b'],
      ['c', 'd'],
      ['a', 'e'],
    ]),
  );

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c', 'd', 'a', 'e'], null]);
});

test('what one walk has seen does not count in another', async () => {
  const { client } = serve(book(names(2)));
  const list = client.links.list();

  const walks = [await walk(list), await walk(list), await walk(client.links.list())];

  expect(walks.map(({ refs }) => refs)).toEqual([names(2), names(2), names(2)]);
});
