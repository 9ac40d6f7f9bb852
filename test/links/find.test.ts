// After a create whose outcome is unknown: the link is looked for from where the newest links are.

import { HostedResponseError, HostedValidationError, type Link } from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { describe, expect, test } from 'vitest';
import { clientOf } from '../support/fake-fetch.js';
import { type Pager, serve, type WirePage } from './page-service.js';

const start = Date.parse('2026-01-01T00:00:00.000Z');
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

/** A list of two links a page; each is made a minute after the one before, unless said. */
function listOf(drafts: readonly Draft[], { newestFirst = false, base = 1 } = {}): Pager {
  const links = drafts.map(link);
  const ordered = newestFirst ? links.toReversed() : links;
  return (page = base): WirePage => ({
    links: ordered.slice((page - base) * 2, (page - base) * 2 + 2),
    meta: { currentPage: page, limit: 2, totalCount: links.length, totalPages: Math.ceil(links.length / 2) },
  });
}

const dated = (count: number, special: Readonly<Record<number, Draft>> = {}): readonly Draft[] =>
  Array.from({ length: count }, (_, index) => ({ createdAt: at(index).toISOString(), ...special[index] }));

const refOf = (link: Link | null) => link?.refId ?? null;

describe.each([
  ['newest first', true],
  ['oldest first', false],
])('a list with the %s', (_order, newestFirst) => {
  const pagesFromNewest = newestFirst ? [undefined, 2, 3, 4, 5] : [undefined, 10, 9, 8, 7];

  test('gives the newest link with the name, and reads no further', async () => {
    const drafts = dated(20, { 3: { name: 'wanted' }, 15: { name: 'wanted' } });
    const { client, asked } = serve(listOf(drafts, { newestFirst }));

    const found = await client.links.find({ name: 'wanted' });

    expect(refOf(found)).toBe('ref-15');
    expect(asked()).toEqual(pagesFromNewest.slice(0, newestFirst ? 3 : 4));
  });

  test('stops where links are older than createdAfter', async () => {
    const drafts = dated(20, { 3: { name: 'wanted' } });
    const { client, asked } = serve(listOf(drafts, { newestFirst }));

    const found = await client.links.find({ name: 'wanted', createdAfter: at(16.5) });

    expect(found).toBeNull();
    expect(asked()).toEqual(pagesFromNewest.slice(0, newestFirst ? 2 : 3));
  });

  test('reads at most maxPages, ten unless said', async () => {
    const drafts = dated(60, { [newestFirst ? 0 : 31]: { name: 'wanted' } });
    const { client, asked } = serve(listOf(drafts, { newestFirst }));

    expect(await client.links.find({ name: 'wanted' })).toBeNull();
    expect(asked()).toHaveLength(10);
    expect(await client.links.find({ name: 'wanted' }, { maxPages: 3 })).toBeNull();
    expect(asked()).toHaveLength(13);
    expect(refOf(await client.links.find({ name: 'wanted' }, { maxPages: 40 }))).not.toBeNull();
  });

  test('gives a link of the page that was read first, when no newer one fits', async () => {
    const drafts = dated(6, { 0: { userId: 'person' }, 1: { userId: 'person' } });
    const { client } = serve(listOf(drafts, { newestFirst }));

    expect(refOf(await client.links.find({ userId: 'person' }))).toBe('ref-1');
  });

  test.each([0, 1] as const)('pages may be counted from %d', async (base) => {
    const { client, asked } = serve(listOf(dated(8, { 7: { name: 'wanted' } }), { newestFirst, base }));

    expect(refOf(await client.links.find({ name: 'wanted' }))).toBe('ref-7');
    expect(asked()).toEqual(newestFirst ? [undefined] : [undefined, base + 3]);
  });
});

test('where dates do not tell the order, both ends are read in turn', async () => {
  const same = Array.from({ length: 12 }, (): Draft => ({}));
  const { client, asked } = serve(listOf(same.with(9, { name: 'wanted' })));

  expect(refOf(await client.links.find({ name: 'wanted' }))).toBe('ref-9');
  expect(asked()).toEqual([undefined, 6, 2, 5]);
});

test('where dates do not tell the order, a match on the first page costs one more', async () => {
  const { client, asked } = serve(listOf([{ name: 'wanted' }, ...Array.from({ length: 11 }, (): Draft => ({}))]));

  expect(refOf(await client.links.find({ name: 'wanted' }))).toBe('ref-0');
  expect(asked()).toEqual([undefined, 6]);
});

test('createdAfter ends nothing where dates do not tell the order', async () => {
  const drafts: Draft[] = [
    ...[{ createdAt: at(1).toISOString() }, { createdAt: at(9).toISOString() }],
    ...[{ createdAt: at(2).toISOString() }, { createdAt: at(1).toISOString() }],
    ...[{ createdAt: at(8).toISOString(), name: 'wanted' }, { createdAt: at(1).toISOString() }],
  ];
  const { client } = serve(listOf(drafts));

  expect(refOf(await client.links.find({ name: 'wanted', createdAfter: at(7) }))).toBe('ref-4');
});

test.each([
  [{ name: 'a', userId: 'u' }, 'ref-2'],
  [{ name: 'A' }, null],
  [{ name: 'a ' }, null],
  [{ userId: 'u' }, 'ref-2'],
  [{ createdAfter: at(3) }, 'ref-3'],
  [{ createdAfter: at(3.02) }, null],
])('%o is compared exactly, and every criterion counts', async (query, expected) => {
  const drafts = dated(4, { 0: { name: 'a' }, 1: { userId: 'u' }, 2: { name: 'a', userId: 'u' } });
  const { client } = serve(listOf(drafts));

  expect(refOf(await client.links.find(query))).toBe(expected);
});

test.each([['soon'], [null]])(
  'a link that fits but for its date, %j, may be the one: that is an error',
  async (createdAt) => {
    const { client } = serve(listOf([{ createdAt, name: 'a' }]));

    const error = await client.links.find({ name: 'a', createdAfter: at(0) }).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(HostedResponseError);
    expect(error).toMatchObject({ reason: 'shape', issues: [{ path: 'links[].created_at' }], operation: 'links.list' });
    expect(String(error)).toContain('leave out "createdAfter"');
    expect(await client.links.find({ name: 'b', createdAfter: at(0) })).toBeNull();
    expect(refOf(await client.links.find({ name: 'a' }))).toBe('ref-0');
  },
);

test('a link with a date is preferred to one without', async () => {
  const { client } = serve(listOf([...dated(3, { 1: { name: 'a' } }), { createdAt: null, name: 'a' }]));

  expect(refOf(await client.links.find({ name: 'a', createdAfter: at(0) }))).toBe('ref-1');
});

test.each([
  ['2026-01-01T00:07:00Z', 'ref-7'],
  ['2026-01-01T00:07:00.800Z', null],
])('a date in whole seconds, %s, may be of any time in its second', async (createdAt, expected) => {
  const drafts = dated(8, { 7: { name: 'a', createdAt } });
  const { client } = serve(listOf(drafts, { newestFirst: true }));

  expect(refOf(await client.links.find({ name: 'a', createdAfter: new Date('2026-01-01T00:07:00.900Z') }))).toBe(
    expected,
  );
});

test.each([
  ['newest first', true],
  ['oldest first', false],
])('a list of one link a page, %s: the newest is given', async (_order, newestFirst) => {
  const drafts = dated(4, { 0: { name: 'a' }, 3: { name: 'a' } }).map(link);
  const ordered = newestFirst ? drafts.toReversed() : drafts;
  const { client } = serve((page = 1) => ({
    links: [ordered[page - 1] ?? {}],
    meta: { currentPage: page, limit: 1, totalCount: 4, totalPages: 4 },
  }));

  expect(refOf(await client.links.find({ name: 'a' }))).toBe('ref-3');
});

describe('a list that is not in the order of its dates', () => {
  const shuffled = (count: number, special: Readonly<Record<number, Draft>>) =>
    dated(count, special).toSorted((one, other) => scattered(one) - scattered(other));
  const scattered = ({ createdAt }: Draft) => ((Date.parse(String(createdAt)) / minute) * 7) % 19;

  test('gives the newest of all pages', async () => {
    for (let newest = 1; newest < 12; newest++) {
      const drafts = shuffled(12, { 0: { name: 'a', createdAt: at(0).toISOString() }, [newest]: named(newest) });
      const { client } = serve(listOf(drafts));

      expect((await client.links.find({ name: 'a' }))?.createdAt).toEqual(at(newest));
    }
  });

  test('is an error where it has more pages than are read: null would be a guess', async () => {
    const { client, asked } = serve(listOf(shuffled(40, { 20: named(20) })));

    const error = await client.links.find({ name: 'b', createdAfter: at(1) }).catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'response', reason: 'paging', issues: [{ path: 'links' }] });
    expect(String(error)).toContain('"maxPages"');
    expect(asked()).toHaveLength(10);
    expect(await client.links.find({ name: 'b' }, { maxPages: 20 })).toBeNull();
    expect((await client.links.find({ name: 'a' }, { maxPages: 20 }))?.createdAt).toEqual(at(20));
  });

  test('but two links that were swapped within a second do not make it one', async () => {
    const drafts = dated(60).with(57, { createdAt: new Date(at(58).getTime() + 400).toISOString() });
    const { client, asked } = serve(listOf(drafts, { newestFirst: true }));

    expect(await client.links.find({ name: 'a', createdAfter: at(54.5) })).toBeNull();
    expect(asked()).toHaveLength(3);
  });
});

test('finds the oldest link although new ones move it to another page', async () => {
  const newestFirst = dated(6, { 0: { name: 'a' } })
    .map(link)
    .toReversed();
  const { client } = serve((page = 1, before) => {
    const added = Array.from({ length: Math.min(before, 3) * 2 }, (_, index) =>
      link({ createdAt: at(100 + index).toISOString() }, 100 + index),
    );
    const all = [...added.toReversed(), ...newestFirst];
    return {
      links: all.slice((page - 1) * 2, page * 2),
      meta: { currentPage: page, limit: 2, totalCount: all.length, totalPages: all.length / 2 },
    };
  });

  expect(refOf(await client.links.find({ name: 'a' }))).toBe('ref-0');
});

test('without dates, finds a link that moves behind a page that was read from the end', async () => {
  const undated = Array.from({ length: 8 }, (_, index) => link({ createdAt: null, name: `${index}` }, index));
  const { client } = serve((page = 1, before) => {
    const all = before < 2 ? undated : [link({ createdAt: null }, 100), ...undated];
    return {
      links: all.slice((page - 1) * 2, page * 2),
      meta: { currentPage: page, limit: 2, totalCount: all.length, totalPages: Math.ceil(all.length / 2) },
    };
  });

  expect(refOf(await client.links.find({ name: '5' }))).toBe('ref-5');
});

test('an empty list has no link', async () => {
  const { client, asked } = serve(() => ({
    links: [],
    meta: { currentPage: 1, limit: 2, totalCount: 0, totalPages: 0 },
  }));

  expect(await client.links.find({ name: 'a' })).toBeNull();
  expect(asked()).toEqual([undefined]);
});

test('finds what a create made whose answer was lost', async () => {
  const clock = createTestClock();
  const { sandbox, fetch } = createMockService({ clock });
  const { HostedClient } = await import('hosted-client');
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  sandbox.links.seed(500);
  const createdAfter = new Date(clock.now());
  await clock.advance(1_000);
  sandbox.failNext('links.create', { kind: 'truncate' });
  const link = {
    companyName: 'Example Ltd',
    dataPrivacyPolicyUrl: 'https://partner.test/privacy',
    callbackUrl: 'https://partner.test/callback',
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
  [{ name: 'a' }, { maxPages: 0 }, 'maxPages', 'must be an integer of 1 or more, got 0'],
  [{ name: 'a' }, { prefetch: 2 }, 'prefetch', 'is not a known property'],
  [{ name: 'a' }, null, '', 'must be an object'],
])('%o with %o is refused, and nothing is sent', async (query, options, path, message) => {
  const { client, sent } = clientOf({});

  const error = await client.links.find(query as never, options as never).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ operation: 'links.list', issues: [{ path, message }] });
  expect(String(error)).toMatch(/Cannot find a link: /);
  expect(sent).toHaveLength(0);
});

test('a query that throws as it is read is refused, without what it threw', async () => {
  const { client } = clientOf({});
  const query = {
    get name(): string {
      throw new Error('secret');
    },
  };

  const error = await client.links.find(query).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(String(error)).not.toContain('secret');
});

test('what the caller changes later is not looked for', async () => {
  const { client } = serve(listOf(dated(4, { 2: { name: 'wanted' }, 3: { name: 'changed' } })));
  const query = { name: 'wanted' };

  const finding = client.links.find(query);
  query.name = 'changed';

  expect(refOf(await finding)).toBe('ref-2');
});

test('a date that the caller changes later counts as it was', async () => {
  const { client } = serve(listOf(dated(20, { 5: { name: 'wanted' } })));
  const createdAfter = at(4);

  const finding = client.links.find({ name: 'wanted', createdAfter });
  createdAfter.setTime(at(10).getTime());

  expect(refOf(await finding)).toBe('ref-5');
});

test('passes options on, and ends with its signal', async () => {
  const { client, sent } = serve(listOf(dated(20)));
  const aborting = new AbortController();
  aborting.abort(new Error('enough'));

  await client.links.find({ name: 'a' }, { maxPages: 1, headers: { 'x-team': 'one' } });
  const aborted = client.links.find({ name: 'a' }, { signal: aborting.signal });

  await expect(aborted).rejects.toThrow('enough');
  expect(new Headers(sent[0]?.init.headers).get('x-team')).toBe('one');
  expect(sent).toHaveLength(1);
});

test('a page that is not the one asked for is an error', async () => {
  const { client } = serve((page) => listOf(dated(20))(page === 10 ? 3 : page, 0));

  await expect(client.links.find({ name: 'a' })).rejects.toMatchObject({ code: 'response', reason: 'paging' });
});
