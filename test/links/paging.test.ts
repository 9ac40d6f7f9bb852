// Walking the list of links: what a list is, by page and as an array, where a walk begins and how far it goes.

import { HostedClient, HostedServerError, HostedValidationError, type LinkPage } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, expectStuck, names, reason, refsOf, serve, shelf, walk, wirePage } from './page-service.js';

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

test('links.list() iterated is every link, in order', async () => {
  const { client, asked } = serve(book(names(5)));

  const { refs, error } = await walk(client.links.list());

  expect(error).toBeNull();
  expect(refs).toEqual(names(5));
  expect(asked()).toEqual([undefined, 2, 3]);
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

test('the first await and the first iteration of a list share the first page', async () => {
  const { client, asked } = serve(book(names(5)));
  const list = client.links.list();

  const page = await list;
  const { refs } = await walk(list);

  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(refs).toEqual(names(5));
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('a list that is iterated first shares the first page with a later await', async () => {
  const { client, asked } = serve(book(names(3)));
  const list = client.links.list();

  const { refs } = await walk(list);
  const page = await list;
  const again = await list;

  expect(refs).toEqual(names(3));
  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(again).toBe(page);
  expect(asked()).toEqual([undefined, 2]);
});

test('an await and an iteration at the same time share the first page', async () => {
  const { client, asked } = serve(book(names(3)));
  const list = client.links.list();

  const [page, { refs }] = await Promise.all([list, walk(list)]);

  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(refs).toEqual(names(3));
  expect(asked()).toEqual([undefined, 2]);
});

test('every later iteration of a list asks anew', async () => {
  const refs = names(3);
  const { client, asked } = serve((page) => book(refs)(page, 0));
  const list = client.links.list();

  const first = await walk(list);
  refs.push('d', 'e');
  const second = await walk(list);

  expect([first.refs, second.refs]).toEqual([names(3), names(5)]);
  expect(asked()).toEqual([undefined, 2, undefined, 2, 3]);
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

test('the headers of a list go with every page, those fetched ahead and those of nextPage() included', async () => {
  const { client, sent } = serve(book(names(5)));
  const list = client.links.list({ headers: { 'x-team': 'one' }, prefetch: 1 });

  await walk(list);
  const page = await list;
  await page.nextPage();

  const headers = sent.map(({ init }) => new Headers(init.headers).get('x-team'));
  expect(headers).toEqual(['one', 'one', 'one', 'one']);
});

// toArray -------------------------------------------------------------------

test.each([
  [0, [], []],
  [1, ['a'], [undefined]],
  [2, ['a', 'b'], [undefined]],
  [3, ['a', 'b', 'c'], [undefined, 2]],
  [4, ['a', 'b', 'c', 'd'], [undefined, 2]],
  [5, names(5), [undefined, 2, 3]],
  [99, names(5), [undefined, 2, 3]],
  [Number.POSITIVE_INFINITY, names(5), [undefined, 2, 3]],
])('toArray() of up to %d links asks for no page more than it takes', async (limit, expected, pages) => {
  const { client, asked, settle } = serve(book(names(5)));

  const links = await client.links.list().toArray({ limit });
  await settle();

  expect(refsOf(links)).toEqual(expected);
  expect(asked()).toEqual(pages);
});

test.each([
  ['-1', { limit: -1 }],
  ['a fraction', { limit: 1.5 }],
  ['NaN', { limit: Number.NaN }],
  ['minus infinity', { limit: Number.NEGATIVE_INFINITY }],
  ['text', { limit: '5' }],
  ['missing', {}],
  ['of nothing', undefined],
  ['of null', null],
])('toArray() with a limit that is %s rejects and sends nothing', async (_what, options) => {
  const { client, sent, settle } = serve(book(names(5)));

  const error = await rejection(client.links.list().toArray(options as never));
  await settle();

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ code: 'validation', operation: 'links.list', issues: [{ path: 'limit' }] });
  expect(sent).toEqual([]);
});

test('toArray() rejects with the error of a page', async () => {
  const { client } = serve((page, before) =>
    page === 2 ? Response.json({ error: 'trouble' }, { status: 503 }) : book(names(5))(page, before),
  );

  const error = await rejection(client.links.list().toArray({ limit: 5 }));

  expect(error).toBeInstanceOf(HostedServerError);
});

// nextPage ------------------------------------------------------------------

test('nextPage() gives page after page, then null', async () => {
  const { client, asked } = serve(book(names(5)));
  const seen: string[][] = [];

  for (let page: LinkPage | null = await client.links.list(); page; page = await page.nextPage()) {
    seen.push(refsOf(page.links));
  }

  expect(seen).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('nextPage() asks whenever it is called, for the same page', async () => {
  const { client, asked } = serve(book(names(5)));
  const page = await client.links.list();

  const one = await page.nextPage();
  const other = await page.nextPage();

  expect([one, other].map((next) => refsOf(next?.links ?? []))).toEqual([
    ['c', 'd'],
    ['c', 'd'],
  ]);
  expect(asked()).toEqual([undefined, 2, 2]);
});

test('nextPage() of the last page sends nothing', async () => {
  const { client, asked } = serve(book(names(2)));
  const page = await client.links.list();

  const next = await page.nextPage();

  expect([page.hasNextPage, next]).toEqual([false, null]);
  expect(asked()).toEqual([undefined]);
});

test('nextPage() goes on from a page that pages() gave', async () => {
  const { client } = serve(book(names(5)));
  const given: LinkPage[] = [];
  for await (const page of client.links.list().pages()) {
    given.push(page);
    break;
  }

  const next = await given[0]?.nextPage();

  expect(refsOf(next?.links ?? [])).toEqual(['c', 'd']);
});

test('nextPage() takes a signal of its own and rejects with its reason', async () => {
  const { client, asked } = serve(book(names(5)));
  const page = await client.links.list();

  const error = await rejection(page.nextPage({ signal: AbortSignal.abort(reason) }));

  expect(error).toBe(reason);
  expect(asked()).toEqual([undefined]);
});

test('nextPage() takes an option that is undefined from the list', async () => {
  const { client, asked } = serve(book(names(5)));
  const ending = new AbortController();
  const page = await client.links.list({ signal: ending.signal });
  ending.abort(reason);

  const error = await rejection(page.nextPage({ signal: undefined } as never));

  expect(error).toBe(reason);
  expect(asked()).toEqual([undefined]);
});

test('nextPage() with an unknown option rejects and sends nothing', async () => {
  const { client, asked } = serve(book(names(5)));
  const page = await client.links.list();

  const error = await rejection(page.nextPage({ page: 7 } as never));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(asked()).toEqual([undefined]);
});

test('nextPage() rejects when the service does not advance', async () => {
  const { client, asked } = serve((_page, before) => wirePage([`link-${before}`], 1, 5));
  const page = await client.links.list();

  const error = await rejection(page.nextPage());

  expectStuck(error);
  expect(asked()).toEqual([undefined, 2]);
});

test('nextPage() drops a link that stood on the page it is called on', async () => {
  const { client } = serve(
    shelf([
      ['a', 'b'],
      ['b', 'c'],
    ]),
  );
  const page = await client.links.list();

  const next = await page.nextPage();

  expect(refsOf(next?.links ?? [])).toEqual(['c']);
});

test('a loop over nextPage() ends loudly when pages stay empty for ever', async () => {
  const { client, sent } = serve((page = 1) => wirePage(page === 1 ? ['a'] : [], page, 1e15));
  const loop = async () => {
    for (let page: LinkPage | null = await client.links.list(); page; page = await page.nextPage());
  };

  const error = await rejection(loop());

  expectStuck(error);
  expect(sent.length).toBeLessThan(30);
});

// Where to begin, how far to go ----------------------------------------------

test('a list can begin at another page', async () => {
  const { client, asked } = serve(book(names(9)));

  const { refs } = await walk(client.links.list({ page: 4 }));

  expect(refs).toEqual(['g', 'h', 'i']);
  expect(asked()).toEqual([4, 5]);
});

test('a list that begins at another page is that page when awaited, and goes on from there', async () => {
  const { client, asked } = serve(book(names(5)));

  const page = await client.links.list({ page: 2 });
  const next = await page.nextPage();

  expect(refsOf(page.links)).toEqual(['c', 'd']);
  expect(refsOf(next?.links ?? [])).toEqual(['e']);
  expect(asked()).toEqual([2, 3]);
});

test('a list that begins beyond the last page is one empty page', async () => {
  const { client, asked } = serve(book(names(5)));

  const { refs, error } = await walk(client.links.list({ page: 9 }));

  expect([refs, error]).toEqual([[], null]);
  expect(asked()).toEqual([9]);
});

test.each([
  [1, 0, names(2), [undefined]],
  [2, 0, names(4), [undefined, 2]],
  [2, 16, names(4), [undefined, 2]],
  [5, 16, names(9), [undefined, 2, 3, 4, 5]],
  [99, 3, names(9), [undefined, 2, 3, 4, 5]],
])('maxPages of %d, with %d ahead, asks for no page more', async (maxPages, prefetch, expected, pages) => {
  const { client, asked, settle } = serve(book(names(9)));

  const { refs, error } = await walk(client.links.list({ maxPages, prefetch }));
  await settle();

  expect([refs, error]).toEqual([expected, null]);
  expect(asked()).toEqual(pages);
});

test('maxPages counts from the page that the list begins at', async () => {
  const { client, asked } = serve(book(names(9)));

  const { refs } = await walk(client.links.list({ page: 2, maxPages: 2, prefetch: 8 }));

  expect(refs).toEqual(['c', 'd', 'e', 'f']);
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
