// Walks of the list of links: which links come, where a walk begins and ends, and which pages it requests.

import type { HostedClientOptions, ListOptions } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import {
  book,
  expectStuck,
  names,
  noneAndSomeAhead,
  type Pager,
  serve,
  shelf,
  sixPages,
  walk,
  whereStuck,
  wireLink,
  wirePage,
} from './page-service.js';

failOnStrayRejections();

interface End {
  readonly options?: ListOptions;
  readonly client?: Partial<HostedClientOptions>;
  /** Whether the same holds with each prefetch of `noneAndSomeAhead`. */
  readonly ahead?: true;
  /** The links that come, each a letter. */
  readonly refs?: string;
  /** The field that shows that the pages do not advance; null, by default, if the walk comes to its end. */
  readonly stuck?: string;
  /** Whether an awaited list rejects, too. */
  readonly first?: true;
  readonly requested?: readonly (number | undefined)[];
  /** The largest number of requests, without those that are prefetched. */
  readonly most?: number;
}

/** What is walked, the pages of the service, and the end. */
type Walk = readonly [what: string, pager: Pager, end: End];

/** The link of a page with one link: a, b, c, … */
const letter = (page: number) => String.fromCharCode(96 + page);
/** A page with one link. */
const single = (page: number, totalPages: number, number = page) => wirePage([letter(page)], number, totalPages);
/** The pages of a list, each with its links. */
const pagesOf = (...pages: readonly string[]): Pager => shelf(pages.map((refs) => [...refs]));
const unique = (pages: readonly string[]) => [...new Set(pages.join(''))].join('');
const nine = book(names(9));
const none = undefined;
const bases = [0, 1] as const;

const beginnings: readonly Walk[] = [
  ...bases.flatMap((base): readonly Walk[] => {
    const list = book(names(5), { base });
    const wire = { firstPage: base };
    return [
      [`a list from ${base} on`, list, { refs: 'abcde', requested: [none, base + 1, base + 2] }],
      [
        `a list from ${base} on, which is given`,
        list,
        { client: { wire }, refs: 'abcde', requested: [none, base + 1, base + 2] },
      ],
      [
        `the middle of a list from ${base} on, which is given`,
        list,
        { client: { wire }, options: { page: base + 1 }, refs: 'cde', requested: [base + 1, base + 2] },
      ],
      [
        `a list from ${1 - base} on, with another number given`,
        book(names(5), { base: 1 - base }),
        { client: { wire }, refs: '', stuck: 'meta.currentPage', first: true, requested: [none] },
      ],
      [
        `six pages from ${base} on, with prefetch`,
        shelf(sixPages, base),
        {
          options: { prefetch: 16 },
          refs: 'abcdef',
          requested: [none, 1, 2, 3, 4, 5].map((page) => page && page + base),
        },
      ],
      [
        `the middle of six pages from ${base} on, with prefetch`,
        shelf(sixPages, base),
        { options: { page: base + 2, prefetch: 16 }, refs: 'cdef' },
      ],
    ];
  }),
  ['the middle of a list from 1 on', nine, { options: { page: 2 }, refs: 'cdefghi', requested: [2, 3, 4, 5] }],
  [
    'the middle of a list from 0 on',
    book(names(9), { base: 0 }),
    { options: { page: 2 }, refs: 'efghi', requested: [2, 3, 4, 5] },
  ],
  [
    'a list from its page 0 on, of which nothing is known',
    book(names(5), { base: 0 }),
    { options: { page: 0 }, refs: 'abcde', requested: [0, 1, 2, 3] },
  ],
  [
    'page 0, for which the service sends page 1',
    (page = 1) => book(names(5))(Math.max(page, 1), 0),
    { options: { page: 0 }, refs: '', stuck: 'meta.currentPage', requested: [0] },
  ],
  [
    'page 0, for which the service sends an empty page',
    (page = 1) => (page === 0 ? wirePage([], 0, 3) : book(names(5))(page, 0)),
    { options: { page: 0 }, refs: 'abcde' },
  ],
  ['a list from a later page on', nine, { options: { page: 4 }, refs: 'ghi', requested: [4, 5] }],
  ['a list beyond its last page', nine, { options: { page: 9 }, refs: '', requested: [9] }],
  ['an account without links', book([]), { options: { prefetch: 4 }, refs: '', requested: [none] }],
  ...(
    [
      [1, 0, 'ab', [none]],
      [2, 0, 'abcd', [none, 2]],
      [2, 16, 'abcd', [none, 2]],
      [5, 16, 'abcdefghi', [none, 2, 3, 4, 5]],
      [99, 3, 'abcdefghi', [none, 2, 3, 4, 5]],
    ] as const
  ).map(
    ([maxPages, prefetch, refs, requested]): Walk => [
      `${maxPages} pages at most, with a prefetch of ${prefetch}`,
      nine,
      { options: { maxPages, prefetch }, refs, requested },
    ],
  ),
  [
    'two pages at most from page 2 on',
    nine,
    { options: { page: 2, maxPages: 2, prefetch: 8 }, refs: 'cdef', requested: [2, 3] },
  ],
];

const totals: readonly Walk[] = [
  [
    'a list without pages',
    (page = 1) => wirePage([], page, 0),
    { options: { prefetch: 4 }, refs: '', requested: [none] },
  ],
  ...([0, 2, 3] as const).map(
    (totalCount): Walk => [
      `a list of two links without pages whose count is ${totalCount}`,
      () => ({ links: ['a', 'b'].map(wireLink), meta: { currentPage: 1, limit: 2, totalCount, totalPages: 0 } }),
      {
        options: { prefetch: 4 },
        refs: totalCount > 2 ? '' : 'ab',
        ...(totalCount > 2 && { stuck: 'meta.totalPages' }),
        requested: [none],
      },
    ],
  ),
  [
    'a list that grows',
    (page = 1) => single(page, Math.min(page + 1, 7)),
    { ahead: true, refs: 'abcdefg', requested: [none, 2, 3, 4, 5, 6, 7] },
  ],
  [
    'a list of which more pages are announced later',
    (page = 1) => single(page, page < 3 ? 3 : 6),
    { options: { prefetch: 2 }, refs: 'abcdef', requested: [none, 2, 3, 4, 5, 6] },
  ],
  [
    'five pages of a list that grows with every page',
    (page = 1) => single(page, page + 1),
    { options: { maxPages: 5, prefetch: 3 }, refs: 'abcde', requested: [none, 2, 3, 4, 5] },
  ],
  [
    'a list that grows by an empty page with every page',
    (page = 1) => wirePage(page === 1 ? ['a'] : [], page, page + 1),
    { refs: 'a', stuck: 'links', most: 29 },
  ],
  [
    'a list that shrinks',
    (page = 1) => (page > 3 ? wirePage([], page, 3) : single(page, page === 1 ? 9 : 3)),
    { ahead: true, refs: 'abc' },
  ],
  [
    'a list that loses pages which were prefetched',
    (page = 1) => (page > 2 ? wirePage([], page, 2) : single(page, page === 1 ? 6 : 2)),
    { options: { prefetch: 5 }, refs: 'ab' },
  ],
  [
    'a list that is emptied',
    (page = 1) => (page === 1 ? wirePage(['a'], 1, 9) : wirePage([], page, 0)),
    { ahead: true, refs: 'a' },
  ],
  [
    'a list that shrinks to fewer pages than were read',
    (page = 1) => single(page, page < 3 ? 9 : 1),
    { refs: 'abc', requested: [none, 2, 3] },
  ],
  [
    'three pages of 1e15',
    (page = 1) => (page > 3 ? wirePage([], page, 1e15) : single(page, 1e15)),
    { ahead: true, refs: 'abc', stuck: 'links', most: 33 },
  ],
  ...[
    ['ab', '', 'c'],
    ['ab', '', '', '', 'c'],
    ['', 'a', '', 'bc'],
  ].map(
    (pages): Walk => [
      `empty pages in the middle of ${JSON.stringify(pages)}`,
      pagesOf(...pages),
      { ahead: true, refs: 'abc', requested: [none, ...pages.slice(1).map((_refs, at) => at + 2)] },
    ],
  ),
  [
    'empty pages for ever',
    (page = 1) => wirePage([], page, 1_000),
    { ahead: true, refs: '', stuck: 'links', most: 33 },
  ],
  ...(
    [
      [10, 'at the beginning', ''],
      [11, 'at the beginning', ''],
      [10, 'in the middle', 'a'],
      [11, 'in the middle', 'a'],
    ] as const
  ).map(
    ([count, where, first]): Walk => [
      `${count} consecutive empty pages ${where}`,
      pagesOf(...(first ? [first] : []), ...Array<string>(count).fill(''), 'b'),
      count > 10 ? { refs: first, stuck: 'links' } : { refs: `${first}b` },
    ],
  ),
];

const stuck: readonly Walk[] = [
  [
    'a number that stays 1',
    (_page, before) => single(before + 1, 40, 1),
    { ahead: true, refs: 'a', stuck: 'meta.currentPage', most: 2 },
  ],
  [
    'a number that goes back',
    (page = 1) => single(page, 5, page === 3 ? 1 : page),
    { refs: 'ab', stuck: 'meta.currentPage', requested: [none, 2, 3] },
  ],
  [
    'a number that jumps',
    (page = 1) => single(page, 5, page === 2 ? 4 : page),
    { refs: 'a', stuck: 'meta.currentPage', requested: [none, 2] },
  ],
  [
    'a number that goes on by two',
    (_page, before) => single(before + 1, 40, 1 + before * 2),
    { refs: 'a', stuck: 'meta.currentPage', requested: [none, 2] },
  ],
  [
    'a number that goes back on a page that is prefetched',
    (page = 1) => single(page, 8, page === 4 ? 3 : page),
    { options: { prefetch: 6 }, refs: 'abc', stuck: 'meta.currentPage' },
  ],
  ...[2, 7, 1e15].map(
    (number): Walk => [
      `a first page with the number ${number}`,
      (page) => wirePage(['a'], page ?? number, 9),
      { refs: '', stuck: 'meta.currentPage', first: true, requested: [none] },
    ],
  ),
  [
    'page 3, for which the service sends page 1',
    () => wirePage(['a', 'b'], 1, 5),
    { options: { page: 3 }, refs: '', stuck: 'meta.currentPage', requested: [3] },
  ],
  [
    'the same two links with each number',
    (page = 1) => wirePage(['a', 'b'], page, 40),
    { ahead: true, refs: 'ab', stuck: 'links', most: 3 },
  ],
  ['the same link with each number', (page = 1) => wirePage(['a'], page, 40), { refs: 'a', stuck: 'links', most: 4 }],
  [
    'the same two links in changing order',
    (page = 1) => wirePage(page % 2 === 0 ? ['b', 'a'] : ['a', 'b'], page, 40),
    { refs: 'ab', stuck: 'links', requested: [none, 2, 3] },
  ],
  [
    'the last of three pages again and again',
    (page = 1) => wirePage([...(['ab', 'cd', 'ef'][Math.min(page, 3) - 1] ?? '')], page, 1e15),
    { refs: 'abcdef', stuck: 'links', requested: [none, 2, 3, 4, 5] },
  ],
  [
    'three pages in a circle',
    (page = 1) => wirePage([...(['ab', 'cd', 'ef'][page % 3] ?? '')], page, 1e15),
    { stuck: 'links', most: 19 },
  ],
  [
    'two pages of one link in a circle',
    (page = 1) => wirePage([letter(1 + (page % 2))], page, 1e15),
    { stuck: 'links', most: 39 },
  ],
  [
    'pages that go in a circle after a while',
    (page = 1) => {
      const place = page < 4 ? page : 4 + (page % 3);
      return wirePage([letter(place), letter(place + 9)], page, 1e15);
    },
    { stuck: 'links', most: 19 },
  ],
  // Later pages are compared with page 8, the h, and from 16 on with that, the p.
  ...(
    [
      ['three times', 'abcdefghijklmnopqprpspt', 'abcdefghijklmnopqprpspt'],
      ['three times besides the next page', 'abcdefghijklmnoppqprpspt', 'abcdefghijklmnopqprpspt'],
      ['twice, and then another one twice', 'abcdefghihjhklmpqprps', 'abcdefghihjhklmpqprps'],
      ['four times', 'abcdefghijklmnopqprpsptp', 'abcdefghijklmnopqprpspt', 'links'],
      ['four times besides the next page', 'abcdefghijklmnoppqprpsptp', 'abcdefghijklmnopqprpspt', 'links'],
    ] as const
  ).map(
    ([what, pages, refs, path]): Walk => [
      `pages of one link, an older one of which comes again ${what}`,
      pagesOf(...pages),
      { refs, ...(path && { stuck: path }), requested: [none, ...[...pages].slice(1).map((_ref, at) => at + 2)] },
    ],
  ),
  ...(
    [
      ['as it is', ['ab', 'ab', 'ab', 'cd']],
      ['in another order', ['ab', 'ba', 'ab', 'cd']],
      ['in part', ['abc', 'ab', 'ba', 'de']],
      ['with empty pages between', ['ab', '', 'ab', '', 'ab', 'cd']],
      ['in the middle of a list', ['ab', 'cd', 'cd', 'cd', 'ef']],
      ['with one link a page', ['a', 'a', 'a', 'b']],
    ] as const
  ).map(
    ([how, pages]): Walk => [
      `a page that comes twice again, ${how}`,
      pagesOf(...pages),
      { refs: unique(pages.slice(0, -1)), stuck: 'links' },
    ],
  ),
  // A page that newer links pushed back makes the list a page longer: as the last one it is none of these.
  ...(
    [
      ['of two links', ['ab', 'ab']],
      ['in another order', ['ab', 'ba']],
      ['of one link', ['a', 'a']],
      ['after another', ['ab', 'cd', 'cd']],
      ['after an empty one', ['ab', '', 'ab']],
    ] as const
  ).map(
    ([how, pages]): Walk => [
      `a last page that is the one before, ${how}`,
      pagesOf(...pages),
      { refs: unique(pages), stuck: 'links' },
    ],
  ),
];

const shifted: readonly Walk[] = [
  ['a page that repeats all links but one', pagesOf('abc', 'bcd'), { refs: 'abcd' }],
  [
    'whole pages that come once again',
    pagesOf('ab', 'ab', 'cd', 'cd', 'ef', 'gh', 'gh', 'ij'),
    { ahead: true, refs: 'abcdefghij' },
  ],
  ['a link of the page before an empty one', pagesOf('ab', '', 'bc'), { refs: 'abc' }],
  ['a link that comes again on the next page of one link', pagesOf(...'aabc'), { refs: 'abc' }],
  ['older links that come again on pages of one link', pagesOf(...'abcbcd'), { refs: 'abcbcd' }],
  ['a last page with only a repeated link', pagesOf('ab', 'b'), { refs: 'ab' }],
  ['a page that shares links with an older one', pagesOf('abc', 'def', 'ghi', 'dej'), { refs: 'abcdefghidej' }],
  ['a page with some of the links of an older one', pagesOf('abc', 'def', 'ghi', 'de'), { refs: 'abcdefghide' }],
  ['a link that comes again later than on the next page', pagesOf('ab', 'cd', 'ae'), { refs: 'abcdae' }],
];

test.each([...beginnings, ...totals, ...stuck, ...shifted])('a walk of %s', async (_what, pager, end) => {
  for (const prefetch of end.ahead ? noneAndSomeAhead : [end.options?.prefetch ?? 0]) {
    const { client, asked, sent, inFlight, mostInFlight, settle } = serve(pager, end.client);

    const { refs, error } = await walk(client.links.list({ ...end.options, prefetch }));
    await settle();

    expect(whereStuck(error)).toBe(end.stuck ?? null);
    if (end.refs !== undefined) expect(refs.join('')).toBe(end.refs);
    if (end.requested) expect(asked()).toEqual(end.requested);
    if (end.most) expect(sent.length).toBeLessThanOrEqual(end.most + prefetch);
    expect(inFlight()).toBe(0);
    expect(mostInFlight()).toBeLessThanOrEqual(Math.max(1, prefetch));
    if (end.first) expectStuck(await rejection(client.links.list(end.options)));
  }
});
