// Walking the list of links: totals, repeated pages and changes of a list that are no simple walk.

import { type HostedClientOptions, HostedResponseError } from 'hosted-client';
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
  type WirePage,
  walk,
  wirePage,
} from './page-service.js';

failOnStrayRejections();

test('meta as text counts as numbers', async () => {
  const { client, asked } = serve((page = 1) => {
    const { links, meta } = book(names(5))(page, 0) as WirePage;
    return {
      links,
      meta: Object.fromEntries(Object.entries(meta).map(([name, value]) => [name, `${value}`])) as never,
    };
  });

  const page = await client.links.list();
  const { refs, error } = await walk(client.links.list({ prefetch: 2 }));

  expect(page.meta).toEqual({ currentPage: 1, limit: 2, totalCount: 6, totalPages: 3 });
  expect([refs, error]).toEqual([names(5), null]);
  expect(asked()).toEqual([undefined, undefined, 2, 3]);
});

test.each(['', 'many', '-1', '1e3', '2.5', -1, 2.5, null, undefined, true, [], {}, 1e16])(
  'a number of pages that is %j is a response of the wrong shape',
  async (totalPages) => {
    const { client, sent } = serve(() => wirePage(['a'], 1, totalPages));

    const { refs, error } = await walk(client.links.list({ prefetch: 4 }));

    expect(error).toBeInstanceOf(HostedResponseError);
    expect(error).toMatchObject({ reason: 'shape', issues: [{ path: 'meta.totalPages' }] });
    expect(refs).toEqual([]);
    expect(sent).toHaveLength(1);
  },
);

// Later pages are held against page 8, the h, and from 16 on against that, the p.
test('an absurd number of pages does not hinder reading some', async () => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page, 1e15));

  const links = await client.links.list().toArray({ limit: 4 });

  expect(refsOf(links)).toEqual(['link-1', 'link-2', 'link-3', 'link-4']);
  expect(asked()).toEqual([undefined, 2, 3, 4]);
});

test('an empty page in the middle is a page like any other to pages()', async () => {
  const { client } = serve(shelf([['a'], [], ['b']]));
  const seen: string[][] = [];

  for await (const page of client.links.list().pages()) seen.push(refsOf(page.links));

  expect(seen).toEqual([['a'], [], ['b']]);
});

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

test('what ends a walk loudly says where the response is wrong, and keeps the response behind a method', async () => {
  const { client } = serve(() => wirePage(['secret-ref'], 1, 5));

  const { error } = await walk(client.links.list());

  const { message, issues, outcome, retryable, attempts } = error as HostedResponseError;
  expect(issues).toMatchObject([{ path: 'meta.currentPage' }]);
  expect([outcome, retryable, attempts]).toEqual(['answered', false, 1]);
  expect((error as HostedResponseError).rawBody()).toContain('secret-ref');
  expect(message + JSON.stringify(error)).not.toContain('secret-ref');
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
