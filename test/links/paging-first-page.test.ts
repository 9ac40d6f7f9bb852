// Walking the list of links: the number of the first page.

import type { LinkPage } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, expectStuck, names, refsOf, serve, walk, wirePage } from './page-service.js';

failOnStrayRejections();

test.each([0, 1])('a client that has learnt that a list begins at %d walks from the middle by it', async (base) => {
  const { client, asked } = serve(book(names(5), { base }));

  const before = await walk(client.links.list({ page: base + 1 }));
  const beforeAsked = asked().length;
  await client.links.list();
  const after = await walk(client.links.list({ page: base + 1, prefetch: 8 }));

  expect(before).toEqual({ refs: ['c', 'd', 'e'], error: null });
  expect(after).toEqual(before);
  expect(asked().slice(beforeAsked)).toEqual([undefined, base + 1, base + 2]);
});

test.each([0, 1, 2])(
  'a list without links says nothing about the first page, and may have the number %d',
  async (number) => {
    const { client } = serve((page) => (page === undefined ? wirePage([], number, 0) : book(names(5))(page, 0)));

    expect(await walk(client.links.list())).toEqual({ refs: [], error: null });
    expect(await walk(client.links.list({ page: 2 }))).toEqual({ refs: ['c', 'd', 'e'], error: null });
  },
);

test('a walk from the middle goes by what another list of the client learns meanwhile', async () => {
  const { client, asked } = serve(book(names(5), { base: 0 }));
  const pages = client.links.list({ page: 1 }).pages()[Symbol.asyncIterator]();

  await pages.next();
  await client.links.list();
  const second = await pages.next();
  const third = await pages.next();

  expect(refsOf((second.value as LinkPage).links)).toEqual(['e']);
  expect(third.done).toBe(true);
  expect(asked()).toEqual([1, undefined, 2]);
});

test.each([
  [1, 0],
  [0, 1],
])('a list whose first page has the number %d, and then %d, is walked by the latest', async (from, to) => {
  let base = from;
  const { client, asked } = serve((page) => book(names(5), { base })(page, 0));

  const before = await walk(client.links.list());
  base = to;
  const after = await walk(client.links.list({ prefetch: 4 }));
  const middle = await walk(client.links.list({ page: to + 1, prefetch: 4 }));

  expect(before).toEqual({ refs: names(5), error: null });
  expect(after).toEqual({ refs: names(5), error: null });
  expect(middle).toEqual({ refs: ['c', 'd', 'e'], error: null });
  expect(asked()).toEqual([...[undefined, from + 1, from + 2], ...[undefined, to + 1, to + 2], ...[to + 1, to + 2]]);
});

test.each([
  [1, 0],
  [0, 1],
])('a walk under way ends loudly when another list finds pages counted from %d counted from %d', async (from, to) => {
  let base = from;
  const { client } = serve((page) => book(names(9), { base })(page, 0));
  const pages = client.links.list().pages()[Symbol.asyncIterator]();
  const kept = await client.links.list();

  await pages.next();
  await pages.next();
  base = to;
  await client.links.list();
  const errors = [await rejection(pages.next()), await rejection(kept.nextPage())];

  for (const error of errors) {
    expectStuck(error);
    expect(error).toMatchObject({
      message: expect.stringContaining(
        `must be counted from ${from}, as when the walk began, but is now counted from ${to}`,
      ),
      issues: [{ path: 'meta.currentPage' }],
    });
  }
});

test('a page that was fetched before the first number changed teaches it once, when it comes', async () => {
  let base = 1;
  const { client, asked } = serve((page) => book(names(2), { base })(page, 0));
  const early = client.links.list();

  await early;
  base = 0;
  await client.links.list();
  const walked = await walk(early);
  const middle = await walk(client.links.list({ page: 0 }));

  expect([walked, middle]).toEqual([
    { refs: names(2), error: null },
    { refs: names(2), error: null },
  ]);
  expect(asked()).toEqual([undefined, undefined, 0]);
});

test('an empty list teaches nothing about where a list begins', async () => {
  let refs: readonly string[] = [];
  const { client } = serve((page, before) => (refs.length === 0 ? wirePage([], 0, 0) : book(refs)(page, before)));

  const empty = await walk(client.links.list());
  refs = names(5);
  const filled = await walk(client.links.list());

  expect([empty, filled]).toEqual([
    { refs: [], error: null },
    { refs: names(5), error: null },
  ]);
});

test('two clients learn where lists begin on their own', async () => {
  const one = serve(book(names(5), { base: 0 }));
  const other = serve(book(names(5), { base: 1 }));

  await one.client.links.list();
  const walked = await walk(other.client.links.list());

  expect(walked).toEqual({ refs: names(5), error: null });
});
