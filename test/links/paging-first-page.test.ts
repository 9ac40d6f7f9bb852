// Walking the list of links: the number of the first page.

import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, names, serve, walk, wirePage } from './page-service.js';

failOnStrayRejections();

test.each([0, 1, 2])('an account without links may have the page number %d', async (number) => {
  const { client } = serve(() => wirePage([], number, 0));

  expect(await walk(client.links.list())).toEqual({ refs: [], error: null });
});

test.each([
  [1, 0],
  [0, 1],
])('lists whose first pages have the number %d, and then %d, are each walked by their own', async (from, to) => {
  let base = from;
  const { client, asked } = serve((page) => book(names(5), { base })(page, 0));

  const before = await walk(client.links.list());
  base = to;
  const after = await walk(client.links.list({ prefetch: 4 }));

  expect([before, after]).toEqual([
    { refs: names(5), error: null },
    { refs: names(5), error: null },
  ]);
  expect(asked()).toEqual([...[undefined, from + 1, from + 2], ...[undefined, to + 1, to + 2]]);
});

test('a walk from the middle does not go by what another list has shown', async () => {
  const { client, asked } = serve(book(names(5), { base: 0 }));
  await client.links.list();

  expect(await walk(client.links.list({ page: 1 }))).toEqual({ refs: ['c', 'd', 'e'], error: null });
  // Page 3 is after the last one. It is empty, and ends the walk.
  expect(asked()).toEqual([undefined, 1, 2, 3]);
});
