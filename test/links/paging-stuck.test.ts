// Walking the list of links: a service whose pages do not advance.

import type { HostedClientOptions, HostedResponseError } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { expectStuck, names, noneAndSomeAhead, type Pager, serve, walk, wirePage } from './page-service.js';

failOnStrayRejections();

test.each(noneAndSomeAhead)('a page number that stays the same ends the walk loudly (%d ahead)', async (prefetch) => {
  const { client, sent } = serve((_page, before) => wirePage([`link-${before}`], 1, 40));

  const { refs, error } = await walk(client.links.list({ prefetch }));

  expectStuck(error);
  expect(refs).toEqual(['link-0']);
  expect(sent.length).toBeLessThanOrEqual(2 + prefetch);
});

test('a page number that goes backwards ends the walk loudly', async () => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page === 3 ? 1 : page, 5));

  const { refs, error } = await walk(client.links.list());

  expectStuck(error);
  expect(refs).toEqual(['link-1', 'link-2']);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('a page number that jumps ends the walk loudly', async () => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page === 2 ? 4 : page, 5));

  const { refs, error } = await walk(client.links.list());

  expectStuck(error);
  expect(refs).toEqual(['link-1']);
  expect(asked()).toEqual([undefined, 2]);
});

test('a page number that counts on beyond what was asked for ends the walk loudly', async () => {
  const { client, sent } = serve((_page, before) => wirePage([`link-${before}`], 1 + before * 2, 40));

  const { error } = await walk(client.links.list());

  expectStuck(error);
  expect(sent).toHaveLength(2);
});

test.each([2, 7, 1e15])('a first page with the number %d ends the walk loudly', async (number) => {
  const { client, asked } = serve((page) => wirePage(['a'], page ?? number, 9));

  const walked = await walk(client.links.list());
  const awaited = await rejection(client.links.list());

  expectStuck(walked.error);
  expectStuck(awaited);
  expect(walked.refs).toEqual([]);
  expect(asked()).toEqual([undefined, undefined]);
});

test('a service that responds with its first page whatever it is asked ends a walk from the middle loudly', async () => {
  const { client, asked } = serve(() => wirePage(['a', 'b'], 1, 5));

  const { refs, error } = await walk(client.links.list({ page: 3 }));

  expectStuck(error);
  expect(refs).toEqual([]);
  expect(asked()).toEqual([3]);
});

test.each(noneAndSomeAhead)(
  'a service that ignores the page but echoes its number ends loudly (%d ahead)',
  async (prefetch) => {
    const { client, sent } = serve((page = 1) => wirePage(['a', 'b'], page, 40));

    const { refs, error } = await walk(client.links.list({ prefetch }));

    expectStuck(error);
    expect(refs).toEqual(['a', 'b']);
    expect(sent.length).toBeLessThanOrEqual(3 + prefetch);
  },
);

test('a service that ignores the page, echoes its number and has one link ends loudly', async () => {
  const { client, sent } = serve((page = 1) => wirePage(['a'], page, 40));

  const { refs, error } = await walk(client.links.list());

  expectStuck(error);
  expect(refs).toEqual(['a']);
  expect(sent.length).toBeLessThanOrEqual(4);
});

test('a service that ignores the page and mixes its links ends loudly', async () => {
  const { client, sent } = serve((page = 1) => wirePage(page % 2 === 0 ? ['b', 'a'] : ['a', 'b'], page, 40));

  const { refs, error } = await walk(client.links.list());

  expectStuck(error);
  expect(refs).toEqual(['a', 'b']);
  expect(sent).toHaveLength(3);
});

test('a service that responds beyond its end with its last page ends loudly after the good ones', async () => {
  const { client, sent } = serve((page = 1) =>
    wirePage(
      names(6)
        .slice(Math.min(page, 3) * 2 - 2)
        .slice(0, 2),
      page,
      1e15,
    ),
  );

  const { refs, error } = await walk(client.links.list());

  expectStuck(error);
  expect(refs).toEqual(names(6));
  expect(sent).toHaveLength(5);
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
