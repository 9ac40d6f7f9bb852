// After a create whose outcome is unknown: the newest link that matches is found, or null is certain, or find() rejects.

import { HostedResponseError, HostedValidationError, type Link } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { describe, expect, test } from 'vitest';
import { clientOf, newLink } from '../support/fake-fetch.js';
import { held, type Pager, pageOf, serve, type WirePage } from './page-service.js';

const start = Date.parse('2026-01-01T00:00:00.250Z');
const minute = 60_000;
const at = (minutes: number) => new Date(start + minutes * minute);

interface Draft {
  readonly name?: string;
  readonly userId?: string;
  readonly createdAt?: string | null;
}

const named = (minutes: number): Draft => ({ name: 'a', createdAt: at(minutes).toISOString() });

function link({ name = 'other', userId = 'nobody', createdAt = at(0).toISOString() }: Draft, index: number): object {
  return {
    ...{ link_url: `https://links.hosted.test/${index}`, ref_id: `ref-${index}` },
    ...{ name, user_id: userId, created_at: createdAt },
  };
}

/** A list of `size` links a page, each created a minute after the one before, unless the drafts say otherwise. */
function listOf(drafts: readonly Draft[], { newestFirst = false, base = 1, size = 2 } = {}): Pager {
  const links = drafts.map(link);
  const ordered = newestFirst ? links.toReversed() : links;
  return (page = base): WirePage => pageOf(ordered, page, { base, size });
}

const dated = (count: number, special: Readonly<Record<number, Draft>> = {}): readonly Draft[] =>
  Array.from({ length: count }, (_, index) => ({ createdAt: at(index).toISOString(), ...special[index] }));

const refOf = (link: Link | null) => link?.refId ?? null;

const thrownBy = (finding: Promise<unknown>) => finding.catch((error: unknown) => error);

test.each([
  ['the newest first', true],
  ['the oldest first', false],
])('links.find() reads each page of a list with %s twice', async (_order, newestFirst) => {
  const drafts = dated(99, { 20: { name: 'wanted' }, 96: { name: 'wanted' } });
  const { client, asked } = serve(listOf(drafts, { newestFirst, size: 20 }));

  expect(refOf(await client.links.find({ name: 'wanted' }))).toBe('ref-96');
  expect(asked()).toEqual([undefined, 2, 3, 4, 5, undefined, 2, 3, 4, 5]);
  expect(refOf(await client.links.find({ name: 'wanted', createdAfter: at(96.5) }))).toBeNull();
});

test('links.find() reads on after links older than createdAfter', async () => {
  const drafts: Draft[] = [
    ...[{ createdAt: at(1).toISOString() }, { createdAt: at(9).toISOString() }],
    ...[{ createdAt: at(8).toISOString(), name: 'wanted' }, { createdAt: at(1).toISOString() }],
  ];
  const { client } = serve(listOf(drafts));

  expect(refOf(await client.links.find({ name: 'wanted', createdAfter: at(7) }))).toBe('ref-2');
});

test('links.find() fetches four pages ahead', async () => {
  const { pager, release } = held(Array.from({ length: 9 }, (_, page) => [`ref-${page}`]));
  const { client, mostInFlight, settle } = serve(pager);

  const finding = client.links.find({ name: 'wanted' }).catch(() => undefined);
  for (let page = 1; page <= 9; page++) {
    release(page);
    await settle();
  }
  await finding;

  expect(mostInFlight()).toBe(4);
});

test.each([
  [6, 12, 12],
  [6, 13, 12],
])('links.find() reads a list of %d pages with a maxPages of %d, in %d requests', async (pages, maxPages, requests) => {
  const { client, asked } = serve(listOf(dated(2 * pages)));

  expect(await client.links.find({ name: 'a' }, { maxPages })).toBeNull();
  expect(asked()).toHaveLength(requests);
});

test.each([
  [6, 11, 12],
  [501, undefined, 1_002],
])(
  'links.find() refuses a list of %d pages with a maxPages of %s after one request',
  async (pages, maxPages, enough) => {
    const { client, asked } = serve(listOf(dated(2 * pages)));

    const error = await thrownBy(client.links.find({ name: 'a' }, maxPages === undefined ? {} : { maxPages }));

    expect(error).toMatchObject({ code: 'response', reason: 'paging', issues: [{ path: 'meta.totalPages' }] });
    expect(String(error)).toContain(`pass a "maxPages" of ${enough} or more`);
    expect(asked()).toHaveLength(1);
  },
);

test('links.find() refuses a list that grows beyond half of maxPages while it is read', async () => {
  const { client, asked } = serve((page = 1, requests) => pageOf(dated(4 + 2 * requests).map(link), page));

  const error = await thrownBy(client.links.find({ name: 'a' }, { maxPages: 8 }));

  expect(error).toMatchObject({ reason: 'paging', issues: [{ path: 'meta.totalPages' }] });
  expect(asked()).toHaveLength(4);
});

test.each([0, 1] as const)('links.find() reads a list whose pages are counted from %d', async (base) => {
  const { client } = serve(listOf(dated(8, { 7: { name: 'wanted' } }), { base }));

  expect(refOf(await client.links.find({ name: 'wanted' }))).toBe('ref-7');
});

test.each([
  [{ name: 'a', userId: 'u' }, 'ref-2'],
  [{ name: 'A' }, null],
  [{ name: 'a ' }, null],
  [{ userId: 'u' }, 'ref-2'],
  [{ createdAfter: at(3) }, 'ref-3'],
  [{ createdAfter: at(4) }, null],
])('links.find() compares %o exactly, and every criterion counts', async (query, expected) => {
  const drafts = dated(4, { 0: { name: 'a' }, 1: { userId: 'u' }, 2: { name: 'a', userId: 'u' } });
  const { client } = serve(listOf(drafts));

  expect(refOf(await client.links.find(query))).toBe(expected);
});

test.each([['soon'], [null]])(
  'links.find() rejects with "shape" if a match has the date %j and createdAfter is given',
  async (createdAt) => {
    const { client } = serve(listOf([{ createdAt, name: 'a' }]));

    const error = await thrownBy(client.links.find({ name: 'a', createdAfter: at(0) }));

    expect(error).toBeInstanceOf(HostedResponseError);
    expect(error).toMatchObject({ reason: 'shape', issues: [{ path: 'links[].created_at' }], operation: 'links.list' });
    expect(String(error)).toContain('leave out "createdAfter"');
    expect(await client.links.find({ name: 'b', createdAfter: at(0) })).toBeNull();
    expect(refOf(await client.links.find({ name: 'a' }))).toBe('ref-0');
  },
);

test.each([
  ['it has no date', [named(1), { ...named(0), createdAt: null }]],
  ['it has the same date', [named(1), named(1)]],
  ['it has the same date, to the millisecond', Array.from({ length: 2 }, () => named(1.000_05))],
  [
    'its date is in whole minutes',
    [
      { ...named(0), createdAt: '2026-01-01T00:01Z' },
      { ...named(0), createdAt: '2026-01-01T00:01:30.500Z' },
    ],
  ],
])('links.find() rejects with "shape" if another match may be the newest: %s', async (_why, drafts) => {
  const { client } = serve(listOf(drafts));

  const error = await thrownBy(client.links.find({ name: 'a' }));

  expect(error).toMatchObject({ reason: 'shape', issues: [{ path: 'links[].created_at' }] });
  expect(String(error)).toContain('which of the links that match is the newest');
});

test.each([
  ['2026-01-01T00:07:01Z', '2026-01-01T00:07:01.900Z', 'ref-7'],
  ['2026-01-01T00:07:00.800Z', '2026-01-01T00:07:00.900Z', null],
  ['2026-01-01T00:07:01Z', '2026-01-01T00:07:02.000Z', null],
  ['2026-01-01T00:07:00Z', '2026-01-01T00:07:00.900Z', 'ref-7'],
  ['2026-01-01T00:07Z', '2026-01-01T00:07:01.000Z', 'shape'],
  ['2026-01-01T00:07Z', '2026-01-01T00:07:59.900Z', 'shape'],
  ['2026-01-01T00:07Z', '2026-01-01T00:08:00.000Z', null],
  ['2026-01-01T01:00Z', '2026-01-01T01:59:59.900Z', 'shape'],
  ['2026-01-01T01:00Z', '2026-01-02T01:00:00.000Z', null],
  ['2026-01-02T00:00Z', '2026-01-02T23:59:59.900Z', 'shape'],
  ['2026-01-02T00:00Z', '2026-01-03T00:00:00.000Z', null],
  ['2026-01-02T00:00+02:00', '2026-01-02T09:00:00.000+02:00', 'shape'],
  ['2026-01-02T00:00+05:30', '2026-01-02T23:59:59.000+05:30', 'shape'],
  ['2026-01-01T12:00+05:30', '2026-01-01T12:20:00.000+05:30', 'shape'],
  ['2026-01-01T00:07:00.5Z', '2026-01-01T00:07:00.550Z', 'ref-7'],
])('links.find() tells whether a link of %s was created after %s', async (createdAt, createdAfter, expected) => {
  const { client } = serve(listOf(dated(8, { 7: { name: 'a', createdAt } }), { newestFirst: true }));

  const result = await client.links
    .find({ name: 'a', createdAfter: new Date(createdAfter) })
    .then(refOf, ({ reason }) => reason);

  expect(result).toBe(expected);
});

/** A list of two links a page that has other links from the request with the index `after` on. */
const changing = (before: readonly object[], now: readonly object[], after: number): Pager => {
  return (page = 1, requests) => pageOf(requests < after ? before : now, page);
};

const undated = Array.from({ length: 8 }, (_, index) => link({ createdAt: null, name: `${index}` }, index));
const oldestFirst = dated(8).map((draft, index) => link({ ...draft, name: `${index}` }, index));
const added = link({ createdAt: at(100).toISOString() }, 100);

test.each([
  ['one is removed', oldestFirst, oldestFirst.slice(1)],
  ['the oldest is replaced', oldestFirst, [...oldestFirst.slice(1), added]],
  ['one is added', oldestFirst.toReversed(), [added, ...oldestFirst.toReversed()]],
  ['one of those without a date is removed', undated, undated.slice(1)],
  ['one of those without a date is added', undated, [link({ createdAt: null }, 100), ...undated]],
  ['one of those without a date is replaced', undated, [...undated.slice(1), link({ createdAt: null }, 100)]],
])(
  'links.find() finds each link that stays in a list from which %s between two requests',
  async (_what, before, now) => {
    for (let after = 1; after < 12; after++) {
      for (let index = 1; index < 8; index++) {
        const { client } = serve(changing(before, now, after));

        const found = await client.links.find({ name: `${index}` }, { maxPages: 20 });

        expect(refOf(found), `ref-${index}, changed after ${after} requests`).toBe(`ref-${index}`);
      }
    }
  },
);

/** Links of the minutes given, listed in this order. The link of minute `wanted` is the one to find. */
const listed = (minutes: readonly number[], wanted: number) =>
  minutes.map((minutes) => link({ ...named(minutes), name: minutes === wanted ? 'wanted' : 'other' }, minutes * 10));

const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, index) => from - index);
const up = (from: number, to: number) => down(to, from).toReversed();

// In each row, `wanted` is in the list, or comes into it, while it grows by one link.
test.each([
  ['an old one comes to the front', 5, down(8, 1), [0.5, ...down(8, 1)], 0.5],
  ['an old one comes to the end', 3, up(1, 9), [...up(1, 9), 0.5], 0.5],
  ['a late one comes before it, without any order', 2, [5, 2, 3, 4, 1], [5, 2, 3, 4.9, 4, 1], 4],
  ['a late one comes before it, newest first', 1, down(3, 1), [3, 2.9, 2, 1], 2],
  ['a late one comes before it, oldest first', 3, up(1, 13), [...up(1, 9), 8.5, ...up(10, 13)], 10],
  ['a new one comes to the wrong end', 3, up(1, 13), [40, ...up(1, 13)], 40],
  ['a late one comes before it, on the fourth page', 4, down(21, 1), [...down(21, 8), 7.5, ...down(7, 1)], 7],
])('links.find() misses no link if %s', async (_what, size, before, now, wanted) => {
  for (let after = 1; after < 30; after++) {
    const pager: Pager = (page = 1, requests) =>
      pageOf(listed(requests < after ? before : now, wanted), page, { size });
    const { client, asked } = serve(pager);

    const found = await client.links.find({ name: 'wanted' }).then(refOf, ({ reason }) => reason);

    const isShown = before.includes(wanted) || asked().length > after;
    expect(found, `after ${after} requests`).toSatisfy(
      (ref) => ref === `ref-${wanted * 10}` || ref === 'paging' || !isShown,
    );
  }
});

test('links.find() rejects if a list changes with each reading, and guesses nothing', async () => {
  const { client, asked } = serve((page = 1, requests) => {
    const minutes = down(6 + Math.floor(requests / 3), 1 + Math.floor(requests / 3));
    return pageOf(listed(minutes, 3), page);
  });

  const error = await thrownBy(client.links.find({ name: 'wanted' }, { maxPages: 20 }));

  expect(error).toMatchObject({ code: 'response', reason: 'paging', issues: [{ path: 'links' }] });
  expect(String(error)).toContain('must be the same when the list is read again');
  expect(asked().length).toBeLessThanOrEqual(20);
});

describe('a list that lacks a field', () => {
  const without = (field: string, drafts: readonly object[]) =>
    serve((page = 1) =>
      pageOf(
        drafts.map((draft) => ({ ...draft, [field]: undefined })),
        page,
      ),
    ).client.links;
  const three = dated(3, { 0: { name: 'a', userId: 'u' } }).map(link);

  test.each([
    ['name', { name: 'a' }],
    ['user_id', { userId: 'u' }],
    ['user_id', { name: 'a', userId: 'u' }],
  ])('%s is an error if %o is searched for', async (field, query) => {
    const error = await thrownBy(without(field, three).find(query));

    expect(error).toBeInstanceOf(HostedResponseError);
    const message = expect.stringContaining('must have the name and the users that you look for');
    expect(error).toMatchObject({ reason: 'shape', issues: [{ path: 'links[]', message }] });
  });

  test('is an error if a link without it was created at the very time of createdAfter', async () => {
    // Not in whole seconds, which could be a time that was cut.
    const createdAfter = new Date(at(2).getTime() + 1_001);
    const nameless = { ...three[2], created_at: createdAfter.toISOString() };

    const error = await thrownBy(without('name', [nameless]).find({ name: 'a', createdAfter }));

    expect(error).toMatchObject({ issues: [{ path: 'links[]' }] });
  });

  test('is an error that names the field, also if another link has it', async () => {
    const { client } = serve(listOf([named(1), { ...named(1), name: '' }]));

    expect(await thrownBy(client.links.find({ name: 'a' }))).toMatchObject({ issues: [{ path: 'links[]' }] });
  });

  test('is no error if the links without it are older, or differ in other fields', async () => {
    expect(refOf(await without('user_id', three).find({ name: 'a' }))).toBe('ref-0');
    expect(await without('user_id', three).find({ name: 'b', userId: 'u' })).toBeNull();
    expect(await without('name', three).find({ name: 'a', createdAfter: at(5) })).toBeNull();
  });

  test('is no error if links that are not for a single use have no user', async () => {
    const reusable = three.map((draft) => ({ ...draft, is_single_use: false }));

    expect(await without('user_id', reusable).find({ userId: 'u' })).toBeNull();
  });
});

test('totals that are both wrong by whole pages hide the links of these pages, which no search can notice', async () => {
  const drafts = dated(6, { 5: { name: 'wanted' } }).map(link);
  const { client } = serve((page = 1) => {
    const { links, meta } = pageOf(drafts, page);
    return { links, meta: { ...meta, totalCount: 4, totalPages: 2 } };
  });

  expect(await client.links.find({ name: 'wanted' })).toBeNull();
});

test.each([
  ['an error response', () => new Response('', { status: 500 }), { status: 500 }],
  ['status 404', () => new Response('', { status: 404 }), { code: 'not_found' }],
  ['a failed connection', () => Promise.reject(new TypeError()), { code: 'connection' }],
])('links.find() rejects after %s for a page of its second reading', async (_what, respond, expected) => {
  const { client } = serve((page = 1, requests) => (requests === 4 ? respond() : pageOf(dated(6).map(link), page)));

  expect(await thrownBy(client.links.find({ name: 'a' }))).toMatchObject(expected);
});

test.each([
  ['totalCount', { totalCount: 5 }, 4],
  ['totalCount', { totalCount: 3 }, 4],
  ['totalPages', { totalPages: 1 }, 2],
  ['totals', { totalCount: 0, totalPages: 0 }, 2],
])('links.find() rejects with "paging" if the wrong %s contradict the links', async (_which, wrong, requests) => {
  const links = dated(4).map(link);
  const { client, asked } = serve((page = 1) => {
    const honest = pageOf(links, page);
    return { links: honest.links, meta: { ...honest.meta, ...wrong } };
  });

  const error = await thrownBy(client.links.find({ name: 'b' }));

  const message = expect.stringContaining('must be the number of links on all pages');
  expect(error).toMatchObject({ code: 'response', reason: 'paging', issues: [{ path: 'meta.totalCount', message }] });
  expect(asked()).toHaveLength(requests);
});

test('links.find() reads a list whose last page is empty', async () => {
  const links = dated(6, { 1: { name: 'a' } }).map(link);
  const { client } = serve((page = 1) => {
    const honest = pageOf(links, page);
    return { ...honest, meta: { ...honest.meta, totalPages: 4 } };
  });

  expect(refOf(await client.links.find({ name: 'a' }))).toBe('ref-1');
  expect(await client.links.find({ name: 'b' })).toBeNull();
});

test('links.find() gives null for an empty list', async () => {
  const { client, asked } = serve(() => ({
    links: [],
    meta: { currentPage: 1, limit: 2, totalCount: 0, totalPages: 0 },
  }));

  expect(await client.links.find({ name: 'a' })).toBeNull();
  expect(asked()).toEqual([undefined, undefined]);
});

test('finds what a create made whose answer was lost', async () => {
  const clock = createTestClock();
  const { sandbox, fetch } = createMockService({ clock });
  const { HostedClient } = await import('hosted-client');
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  for (let index = 0; index < 500; index++) {
    await clock.advance(60_007);
    sandbox.links.seed(1);
  }
  const createdAfter = new Date(clock.now());
  await clock.advance(1_000);
  sandbox.failNext('links.create', { kind: 'truncate' });
  const link = {
    ...newLink,
    name: 'order 4711',
  };

  const error = await client.links.create(link).catch((reason: unknown) => reason);
  const found = await client.links.find({ name: 'order 4711', createdAfter });

  expect(error).toMatchObject({ outcome: 'unknown', message: expect.stringContaining('links.find()') });
  expect(found).toMatchObject({ name: 'order 4711' });
});

test.each([
  [{}, undefined, '', 'at least one of "name", "userId" and "createdAfter" must be given'],
  [{ name: undefined }, undefined, '', 'at least one of "name", "userId" and "createdAfter" must be given'],
  [undefined, undefined, '', 'must be an object'],
  [{ name: ' ' }, undefined, 'name', 'must not be blank'],
  [{ userId: 7 }, undefined, 'userId', 'must be a string'],
  [{ createdAfter: '2026-01-01' }, undefined, 'createdAfter', 'must be a valid Date'],
  [{ createdAfter: new Date(Number.NaN) }, undefined, 'createdAfter', 'must be a valid Date'],
  [{ name: 'a', refId: 'b' }, undefined, 'refId', 'is not a known property'],
  [{ name: 'a' }, { maxPages: 1 }, 'maxPages', 'must be an integer of 2 or more, got 1'],
  [{ name: 'a' }, { prefetch: 2 }, 'prefetch', 'is not a known property'],
  [{ name: 'a' }, null, '', 'must be an object'],
])('%o with %o is refused, and nothing is sent', async (query, options, path, message) => {
  const { client, sent } = clientOf({});

  const error = await client.links.find(query as never, options as never).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ operation: 'links.list', issues: [{ path, message }] });
  expect(String(error)).toMatch(/Cannot list links: /);
  expect(sent).toHaveLength(0);
});

test('passes options on, and ends with its signal', async () => {
  const { client, sent } = serve(listOf(dated(4)));
  const aborting = new AbortController();
  aborting.abort(new Error('enough'));

  await client.links.find({ name: 'a' }, { maxPages: 4, headers: { 'x-team': 'one' } });
  const aborted = client.links.find({ name: 'a' }, { signal: aborting.signal });

  await expect(aborted).rejects.toThrow('enough');
  expect(sent.map(({ init }) => new Headers(init.headers).get('x-team'))).toEqual(['one', 'one', 'one', 'one']);
});
