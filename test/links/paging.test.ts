// Walking the list of links: what a list is, by page and as an array, where a walk begins and how far it goes.

import { HostedClient, type LinkPage } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, names, refsOf, serve, walk } from './page-service.js';

failOnStrayRejections();

// What a list is ------------------------------------------------------------

test('links.list() sends nothing before it is awaited or iterated', async () => {
  const { client, sent, settle } = serve(book(names(5)));

  const list = client.links.list({ prefetch: 3 });
  const pages = list.pages();
  list[Symbol.asyncIterator]();
  pages[Symbol.asyncIterator]();
  await settle();

  expect(sent).toEqual([]);
});

test('links.list() awaited is the first page', async () => {
  const { client, asked } = serve(book(names(5)));

  const page = await client.links.list();

  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(page.meta).toEqual({ currentPage: 1, limit: 2, totalCount: 6, totalPages: 3 });
  expect(page.hasNextPage).toBe(true);
  expect(asked()).toEqual([undefined]);
});

test('links.list().pages() is every page, in order', async () => {
  const { client, asked } = serve(book(names(5)));
  const pages: LinkPage[] = [];

  for await (const page of client.links.list().pages()) pages.push(page);

  expect(pages.map(({ links }) => refsOf(links))).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(pages.map(({ meta }) => meta.currentPage)).toEqual([1, 2, 3]);
  expect(pages.map(({ hasNextPage }) => hasNextPage)).toEqual([true, true, false]);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('the pages of a list cannot be changed', async () => {
  const { client } = serve(book(names(3)));

  const page = await client.links.list();

  expect([page, page.links, page.meta].map((value) => Object.isFrozen(value))).toEqual([true, true, true]);
});

test('awaits of a list share its first page, and each iteration fetches its own', async () => {
  const refs = names(3);
  const { client, asked } = serve((page) => book(refs)(page, 0));
  const list = client.links.list();

  const [page, first, again] = await Promise.all([list, walk(list), list]);
  refs.push('d', 'e');
  const second = await walk(list);

  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(again).toBe(page);
  expect(await list).toBe(page);
  expect([first.refs, second.refs]).toEqual([names(3), names(5)]);
  expect(asked()).toEqual([undefined, undefined, 2, undefined, 2, 3]);
});

test('the time limits of a list count for each page', async () => {
  const clock = createTestClock();
  const { fetch, sandbox } = createMockService({ clock, latencyMs: 50_000, pageSize: 2 });
  sandbox.links.seed(6);
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });

  const walked = walk(client.links.list({ timeoutMs: 60_000, totalTimeoutMs: 70_000 }));
  await clock.advance(150_000);

  const { refs, error } = await walked;
  expect(error).toBeNull();
  expect(refs).toHaveLength(6);
});

test('the headers of a list go with every page, also ahead, by nextPage(), and of a later iteration', async () => {
  const { client, sent } = serve(book(names(5)));
  const list = client.links.list({ headers: { 'x-team': 'one' }, prefetch: 1 });

  await walk(list);
  const page = await list;
  await page.nextPage();
  await walk(list);

  const headers = sent.map(({ init }) => new Headers(init.headers).get('x-team'));
  expect(headers).toEqual(Array(8).fill('one'));
});

test.each([
  [0, []],
  [1, [undefined]],
  [2, [undefined]],
  [3, [undefined, 2]],
  [Number.POSITIVE_INFINITY, [undefined, 2, 3]],
])('toArray() with a limit of %d reads no more pages than it needs', async (limit, pages) => {
  const { client, asked, settle } = serve(book(names(5)));

  const links = await client.links.list().toArray({ limit });
  await settle();

  expect(refsOf(links)).toEqual(names(5).slice(0, limit));
  expect(asked()).toEqual(pages);
});

// Where to begin -----------------------------------------------------------

test('a list that begins at another page is that page when awaited, and goes on from there', async () => {
  const { client, asked } = serve(book(names(5)));

  const page = await client.links.list({ page: 2 });
  const next = await page.nextPage();
  const afterLast = await next?.nextPage();

  expect(refsOf(page.links)).toEqual(['c', 'd']);
  expect(refsOf(next?.links ?? [])).toEqual(['e']);
  expect(afterLast).toBeNull();
  expect(asked()).toEqual([2, 3]);
});
