// Walking the list of links: totals, repeated pages and changes of a list that are no simple walk.

import type { HostedClientOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  book,
  expectStuck,
  names,
  noneAndSomeAhead,
  type Pager,
  refsOf,
  serve,
  shelf,
  walk,
  wirePage,
} from './page-service.js';

failOnStrayRejections();

/** What is wrong, in which member; the service that does it, and what its client was told. */
const stuckServices: readonly [string, string, Pager, Partial<HostedClientOptions>?][] = [
  ['meta.currentPage', 'must be 2, the requested page', (_page, before) => wirePage([`${before}`], 1, 5)],
  ['meta.currentPage', 'must be 0 or 1 on the first page', () => wirePage(['a'], 2, 5)],
  ['meta.currentPage', 'must be 0 on the first page', () => wirePage(['a'], 1, 5), { wire: { firstPage: 0 } }],
  ['meta.currentPage', 'must be 1 on the first page', () => wirePage(['a'], 0, 5), { wire: { firstPage: 1 } }],
  [
    'meta.totalPages',
    'must be 1 or more, because "meta.totalCount" is more than the number of links on the page',
    () => wirePage(['a'], 1, 0),
  ],
  ['links', 'must not be the same links as on the previous page', (page = 1) => wirePage(['a', 'b'], page, 5)],
  [
    'links',
    'must not be the same links as on an earlier page',
    (page = 1) => wirePage([`a${page % 3}`, `b${page % 3}`], page, 9),
  ],
  [
    'links',
    'must have new links: too many consecutive pages are empty or have only repeated links',
    (page = 1) => wirePage([], page, 1e15),
  ],
];

test.each(stuckServices)('what ends a walk loudly says: "%s" %s', async (path, message, pager, options) => {
  const { client } = serve(pager, options);

  const { error } = await walk(client.links.list());

  expectStuck(error);
  expect(error).toMatchObject({
    message: `Cannot list links: the response cannot be used: it is not the expected page ("${path}" ${message})`,
    issues: [{ path, message }],
    outcome: 'answered',
    retryable: false,
    attempts: 1,
  });
});

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

// A page that newer links pushed back makes the list a page longer: as the last one it is none of these.
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

test('what one walk has seen does not count in another', async () => {
  const { client } = serve(book(names(2)));
  const list = client.links.list();

  const walks = [await walk(list), await walk(list), await walk(client.links.list())];

  expect(walks.map(({ refs }) => refs)).toEqual([names(2), names(2), names(2)]);
});
