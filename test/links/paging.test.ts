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

test('links.list() awaited is one page however much is to be fetched ahead', async () => {
  const { client, asked, settle } = serve(book(names(9)));

  await client.links.list({ prefetch: 4 });
  await settle();

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

test('links.list() of an account without links is one empty page', async () => {
  const { client, asked } = serve(book([]));

  const { refs, error } = await walk(client.links.list({ prefetch: 4 }));
  const page = await client.links.list();

  expect([refs, error]).toEqual([[], null]);
  expect([page.links, page.hasNextPage, await page.nextPage()]).toEqual([[], false, null]);
  expect(asked()).toEqual([undefined, undefined]);
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

test('a later iteration of a list that begins at another page begins there, too', async () => {
  const { client, asked } = serve(book(names(5)));
  const list = client.links.list({ page: 2 });

  const walks = [await walk(list), await walk(list)];

  expect(walks.map(({ refs }) => refs)).toEqual([
    ['c', 'd', 'e'],
    ['c', 'd', 'e'],
  ]);
  expect(asked()).toEqual([2, 3, 2, 3]);
});

test('pages() can be iterated again, and then asks anew', async () => {
  const { client, asked } = serve(book(names(3)));
  const pages = client.links.list().pages();
  const seen: string[][] = [];

  for await (const page of pages) seen.push(refsOf(page.links));
  for await (const page of pages) seen.push(refsOf(page.links));

  expect(seen).toEqual([['a', 'b'], ['c'], ['a', 'b'], ['c']]);
  expect(asked()).toEqual([undefined, 2, undefined, 2]);
});

test('two iterations of a list at the same time do not disturb each other', async () => {
  const { client, asked } = serve(book(names(5)));
  const list = client.links.list();

  const [one, other] = await Promise.all([walk(list), walk(list)]);

  expect([one, other]).toEqual([
    { refs: names(5), error: null },
    { refs: names(5), error: null },
  ]);
  expect(asked().sort()).toEqual([2, 2, 3, 3, undefined, undefined]);
});

test('links.list() behaves as a promise: then, catch, finally, withResponse and Promise.all share one request', async () => {
  const { client, asked } = serve(book(names(3)));
  const list = client.links.list();
  let settled = false;

  const { data, response } = await list.withResponse();
  const [page] = await Promise.all([list]);
  const caught = await list.catch(() => null);
  await list.finally(() => {
    settled = true;
  });

  expect(refsOf(data.links)).toEqual(['a', 'b']);
  expect(response).toMatchObject({ status: 200, attempts: 1 });
  expect([page, caught, settled]).toEqual([data, data, true]);
  expect(asked()).toEqual([undefined]);
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
  [2, [undefined]],
  [3, [undefined, 2]],
  [99, [undefined, 2, 3]],
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

// The whole service -------------------------------------------------------------

const dialects = ([0, 1] as const).flatMap((firstPage) =>
  (['table', 'sample', 'random'] as const).flatMap((spelling) =>
    [0, 3].map((prefetch) => ({ firstPage, spelling, prefetch })),
  ),
);

test.each(dialects)(
  'every link of a service that pages from $firstPage and spells by $spelling comes once ($prefetch ahead)',
  async ({ firstPage, spelling, prefetch }) => {
    const { fetch, sandbox } = createMockService({ firstPage, spelling, pageSize: 3 });
    sandbox.links.seed(10);
    const client = new HostedClient({ ...sandbox.clientOptions, fetch });

    const { refs, error } = await walk(client.links.list({ prefetch }));

    const stored = sandbox.links.all().map((link) => (link as { ref_id: string }).ref_id);
    expect(error).toBeNull();
    expect(refs.toSorted()).toEqual(stored.toSorted());
    expect(new Set(refs).size).toBe(10);
    expect(sandbox.requests).toHaveLength(4);
    expect(sandbox.requests.every(({ status }) => status === 200)).toBe(true);
  },
);

test.each(dialects)(
  'a walk from the middle of a service that pages from $firstPage and spells by $spelling is complete ($prefetch ahead)',
  async ({ firstPage, spelling, prefetch }) => {
    const { fetch, sandbox } = createMockService({ firstPage, spelling, pageSize: 3 });
    sandbox.links.seed(10);
    const client = new HostedClient({ ...sandbox.clientOptions, fetch });

    const whole = await new HostedClient({ ...sandbox.clientOptions, fetch }).links.list().toArray({ limit: 99 });
    const { refs, error } = await walk(client.links.list({ page: firstPage + 2, prefetch }));

    expect(error).toBeNull();
    expect(refs).toEqual(refsOf(whole).slice(6));
  },
);

test('every page of a service without links, in either base, is the end', async () => {
  for (const firstPage of [0, 1] as const) {
    const { fetch, sandbox } = createMockService({ firstPage });
    const client = new HostedClient({ ...sandbox.clientOptions, fetch });

    const walked = await walk(client.links.list({ prefetch: 3 }));

    expect(walked).toEqual({ refs: [], error: null });
    expect(sandbox.requests).toHaveLength(1);
  }
});

test('links that are made while a service is walked shift others, and every link that was there comes once', async () => {
  const { fetch, sandbox } = createMockService({ pageSize: 3 });
  sandbox.links.seed(9);
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const before = refsOf(await client.links.list().toArray({ limit: 99 }));
  const seen: string[] = [];

  for await (const page of client.links.list().pages()) {
    seen.push(...refsOf(page.links));
    if (page.meta.currentPage === 1) sandbox.links.seed(2);
  }

  expect(seen.filter((ref) => before.includes(ref))).toEqual(before);
});
