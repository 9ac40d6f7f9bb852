// The list of links as an array, and page after page.

import { HostedServerError, HostedValidationError, type LinkPage } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, expectStuck, names, reason, refsOf, serve, shelf, wirePage } from './page-service.js';

failOnStrayRejections();

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

  const error = await rejection(client.links.list().toArray(options as never), HostedValidationError);
  await settle();

  expect(error).toMatchObject({ operation: 'links.list', issues: [{ path: 'limit' }] });
  expect(sent).toEqual([]);
});

test('toArray() rejects with the error of a page', async () => {
  const { client } = serve((page, before) =>
    page === 2 ? Response.json({ error: 'trouble' }, { status: 503 }) : book(names(5))(page, before),
  );

  await rejection(client.links.list().toArray({ limit: 5 }), HostedServerError);
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

  await rejection(page.nextPage({ page: 7 } as never), HostedValidationError);

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
