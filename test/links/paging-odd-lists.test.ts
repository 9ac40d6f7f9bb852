// Walking the list of links: totals, repeated pages and changes of a list that are no simple walk.

import type { HostedClientOptions, LinkList, ListOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  book,
  expectStuck,
  names,
  noneAndSomeAhead,
  type Pager,
  pageOf,
  refsOf,
  serve,
  shelf,
  type WirePage,
  walk,
  wireLink,
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

// Fewer links than the list says -------------------------------------------------

const readAll = async (list: LinkList) => void (await walk(list));

/** Five links in all; of the last page, a link is missing. */
const short: Pager = (page = 1) => ({ ...pageOf(names(5).map(wireLink), page), ...(page === 3 && { links: [] }) });

const growing: Pager = (page = 1) => {
  const { links, meta } = short(page, 0) as WirePage;
  return { links, meta: { ...meta, totalCount: 4 + page } };
};

test.each<[string, Pager, ListOptions, (list: LinkList) => Promise<unknown>, boolean]>([
  ['ends before its total', short, {}, readAll, true],
  ['ends before its total, with pages fetched ahead', short, { prefetch: 4 }, readAll, true],
  ['has one page with fewer links than its total', () => wirePage(['a'], 1, 1), {}, readAll, true],
  [
    'repeats a link of the page before',
    (page = 1) => wirePage(['ab', 'bc', 'de'][page - 1]?.split('') ?? [], page, 3),
    {},
    readAll,
    true,
  ],
  ['has all its links', (page = 1) => pageOf(names(5).map(wireLink), page), {}, readAll, false],
  [
    'has more links than its total',
    shelf([
      ['a', 'b', 'c', 'd'],
      ['e', 'f', 'g'],
    ]),
    {},
    readAll,
    false,
  ],
  ['has a total that changes', growing, {}, readAll, false],
  ['is begun in its middle', short, { page: 2 }, readAll, false],
  ['is read up to a page', short, { maxPages: 2 }, readAll, false],
  ['is left', short, {}, (list) => list.toArray({ limit: 4 }), false],
  ['is awaited', short, {}, async (list) => list, false],
])('a list that %s has a line about missing links, or none', async (_what, pager, options, read, isSaid) => {
  const lines: string[] = [];
  const quiet = () => undefined;
  const logger = { debug: quiet, info: quiet, error: quiet, warn: (line: string) => void lines.push(line) };
  const { client } = serve(pager, { logger });

  await read(client.links.list(options));

  const line = expect.stringMatching(
    /^hosted-client: a list of links ended after \d links, but "totalCount" was \d on each page/,
  );
  expect(lines).toEqual(isSaid ? [line] : []);
});
