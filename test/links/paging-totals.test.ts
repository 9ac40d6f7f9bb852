// Walking the list of links: a service whose totals are odd.

import { HostedResponseError } from 'hosted-client';
import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  book,
  expectStuck,
  names,
  noneAndSomeAhead,
  refsOf,
  serve,
  shelf,
  type WirePage,
  walk,
  whereStuck,
  wireLink,
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

test('no pages and no links is the end of the list', async () => {
  const { client, asked } = serve((page = 1) => wirePage([], page, 0));

  const { refs, error } = await walk(client.links.list({ prefetch: 4 }));

  expect([refs, error]).toEqual([[], null]);
  expect(asked()).toEqual([undefined]);
});

test.each([
  [0, ['a', 'b'], null],
  [2, ['a', 'b'], null],
  [3, [], 'meta.totalPages'],
])(
  'no pages, with two links and a count of %d, is the end unless links are missing',
  async (totalCount, expected, path) => {
    const { client, asked } = serve(() => ({
      links: ['a', 'b'].map(wireLink),
      meta: { currentPage: 1, limit: 2, totalCount, totalPages: 0 },
    }));

    const { refs, error } = await walk(client.links.list({ prefetch: 4 }));

    expect([refs, whereStuck(error)]).toEqual([expected, path]);
    expect(asked()).toEqual([undefined]);
  },
);

test.each(noneAndSomeAhead)('a list that grows under way is walked to its end (%d ahead)', async (prefetch) => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page, Math.min(page + 1, 7)));

  const { refs, error } = await walk(client.links.list({ prefetch }));

  expect(error).toBeNull();
  expect(refs).toEqual(Array.from({ length: 7 }, (_, index) => `link-${index + 1}`));
  expect(asked()).toEqual([undefined, 2, 3, 4, 5, 6, 7]);
});

test('pages that go round and round, with numbers that advance, are an error', async () => {
  const rounds = [
    ['link-1', 'link-2'],
    ['link-3', 'link-4'],
    ['link-5', 'link-6'],
  ];
  const { client, sent } = serve((page = 1) => wirePage(rounds[page % 3] ?? [], page, 1e15));

  const { error } = await walk(client.links.list());

  expectStuck(error);
  expect(sent.length).toBeLessThan(20);
});

test('pages of one link that go round and round are an error too', async () => {
  const { client, sent } = serve((page = 1) => wirePage([`link-${page % 2}`], page, 1e15));

  const { error } = await walk(client.links.list());

  expectStuck(error);
  expect(sent.length).toBeLessThan(40);
});

test('pages that go round and round only after a while are an error too', async () => {
  const { client, sent } = serve((page = 1) => {
    const place = page < 4 ? page : 4 + (page % 3);
    return wirePage([`link-${place}`, `link-${place}-too`], page, 1e15);
  });

  const { error } = await walk(client.links.list());

  expect(whereStuck(error)).toBe('links');
  expect(sent.length).toBeLessThan(20);
});

// Later pages are held against page 8, the h, and from 16 on against that, the p.
test.each([
  ['three times', 'abcdefghijklmnopqprpspt', 'abcdefghijklmnopqprpspt', null],
  ['three times besides the next page', 'abcdefghijklmnoppqprpspt', 'abcdefghijklmnopqprpspt', null],
  ['twice, and then another one twice', 'abcdefghihjhklmpqprps', 'abcdefghihjhklmpqprps', null],
  ['four times', 'abcdefghijklmnopqprpsptp', 'abcdefghijklmnopqprpspt', 'links'],
  ['four times besides the next page', 'abcdefghijklmnoppqprpsptp', 'abcdefghijklmnopqprpspt', 'links'],
])('with one link a page, an older one may come again three times: here %s', async (_what, pages, expected, path) => {
  const { client, sent } = serve(shelf([...pages].map((ref) => [ref])));

  const { refs, error } = await walk(client.links.list());

  expect([refs.join(''), whereStuck(error)]).toEqual([expected, path]);
  expect(sent).toHaveLength(pages.length);
});

test.each([
  [10, 'at the beginning', [], 'b', null],
  [11, 'at the beginning', [], '', 'links'],
  [10, 'in the middle', [['a']], 'ab', null],
  [11, 'in the middle', [['a']], 'a', 'links'],
])('of %d empty pages in a row %s, ten are tolerated', async (count, _where, first, expected, path) => {
  const empty = Array.from({ length: count }, () => []);
  const { client } = serve(shelf([...first, ...empty, ['b']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs.join(''), whereStuck(error)]).toEqual([expected, path]);
});

test('a list that grows by a page with every page is walked no further than maxPages', async () => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page, page + 1));

  const { refs } = await walk(client.links.list({ maxPages: 5, prefetch: 3 }));

  expect(refs).toHaveLength(5);
  expect(asked()).toEqual([undefined, 2, 3, 4, 5]);
});

test('a list that grows by an empty page with every page ends loudly', async () => {
  const { client, sent } = serve((page = 1) => wirePage(page === 1 ? ['a'] : [], page, page + 1));

  const { refs, error } = await walk(client.links.list());

  expectStuck(error);
  expect(refs).toEqual(['a']);
  expect(sent.length).toBeLessThan(30);
});

test.each(noneAndSomeAhead)('a list that shrinks under way ends where it now ends (%d ahead)', async (prefetch) => {
  const { client } = serve((page = 1) => wirePage(page > 3 ? [] : [`link-${page}`], page, page === 1 ? 9 : 3));

  const { refs, error } = await walk(client.links.list({ prefetch }));

  expect([refs, error]).toEqual([['link-1', 'link-2', 'link-3'], null]);
});

test.each(noneAndSomeAhead)('a list that is emptied under way ends (%d ahead)', async (prefetch) => {
  const { client } = serve((page = 1) => (page === 1 ? wirePage(['a'], 1, 9) : wirePage([], page, 0)));

  const { refs, error } = await walk(client.links.list({ prefetch }));

  expect([refs, error]).toEqual([['a'], null]);
});

test('a list that shrinks to fewer pages than were read ends', async () => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page, page < 3 ? 9 : 1));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['link-1', 'link-2', 'link-3'], null]);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test.each(noneAndSomeAhead)(
  'an absurd number of pages ends loudly after the real ones (%d ahead)',
  async (prefetch) => {
    const { client, sent, mostInFlight, settle } = serve((page = 1) =>
      wirePage(page > 3 ? [] : [`link-${page}`], page, 1e15),
    );

    const { refs, error } = await walk(client.links.list({ prefetch }));
    await settle();

    expectStuck(error);
    expect(refs).toEqual(['link-1', 'link-2', 'link-3']);
    expect(sent.length).toBeLessThan(50);
    expect(mostInFlight()).toBeLessThanOrEqual(Math.max(1, prefetch));
  },
);

test('an absurd number of pages does not hinder reading some', async () => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page, 1e15));

  const links = await client.links.list().toArray({ limit: 4 });

  expect(refsOf(links)).toEqual(['link-1', 'link-2', 'link-3', 'link-4']);
  expect(asked()).toEqual([undefined, 2, 3, 4]);
});

test.each([[[['a', 'b'], [], ['c']]], [[['a', 'b'], [], [], [], ['c']]], [[[], ['a'], [], ['b', 'c']]]])(
  'empty pages in the middle of %j are not the end',
  async (pages) => {
    const { client, sent } = serve(shelf(pages));

    const { refs, error } = await walk(client.links.list());
    const ahead = await walk(client.links.list({ prefetch: 3 }));

    expect([refs, error]).toEqual([['a', 'b', 'c'], null]);
    expect(ahead).toEqual({ refs, error });
    expect(sent).toHaveLength(pages.length * 2);
  },
);

test('an empty page in the middle is a page like any other to pages()', async () => {
  const { client } = serve(shelf([['a'], [], ['b']]));
  const seen: string[][] = [];

  for await (const page of client.links.list().pages()) seen.push(refsOf(page.links));

  expect(seen).toEqual([['a'], [], ['b']]);
});

test.each(noneAndSomeAhead)('empty pages for ever end loudly (%d ahead)', async (prefetch) => {
  const { client, sent } = serve((page = 1) => wirePage([], page, 1_000));

  const { refs, error } = await walk(client.links.list({ prefetch }));

  expectStuck(error);
  expect(refs).toEqual([]);
  expect(sent.length).toBeLessThan(50);
});
