// Walking the list of links: pages that are fetched ahead.

import { HostedNotFoundError, type LinkPage } from 'hosted-client';
import { expect, test } from 'vitest';
import { rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, held, names, refsOf, serve, shelf, sixPages, walk, wirePage } from './page-service.js';

failOnStrayRejections();

test('a list without prefetch asks for a page when it is wanted, and not before', async () => {
  const { client, asked, settle } = serve(shelf(sixPages));
  const pages = client.links.list().pages()[Symbol.asyncIterator]();

  await pages.next();
  await settle();
  const afterFirst = asked();
  await pages.next();
  await settle();

  expect(afterFirst).toEqual([undefined]);
  expect(asked()).toEqual([undefined, 2]);
});

test('prefetch keeps as many pages on their way as it says, and never more', async () => {
  const { pager, release } = held(sixPages);
  const { client, asked, settle, mostInFlight } = serve(pager);
  const pages = client.links.list({ prefetch: 2 }).pages()[Symbol.asyncIterator]();

  const first = pages.next();
  await settle();
  const beforeFirst = asked();
  release(1);
  await first;
  await settle();
  const whileFirstIsRead = asked();
  release(2, 3);
  await settle();
  const whileFirstIsStillRead = asked();
  await pages.next();
  await settle();
  const whileSecondIsRead = asked();

  expect(beforeFirst).toEqual([undefined]);
  expect(whileFirstIsRead).toEqual([undefined, 2, 3]);
  expect(whileFirstIsStillRead).toEqual([undefined, 2, 3]);
  expect(whileSecondIsRead).toEqual([undefined, 2, 3, 4]);
  expect(mostInFlight()).toBe(2);
  await pages.return?.();
});

test.each([1, 3, 16])(
  'a walk with %d pages ahead asks for every page once and has no more in flight',
  async (prefetch) => {
    const refs = Array.from({ length: 100 }, (_, index) => `ref-${index}`);
    const { client, asked, mostInFlight } = serve(book(refs));

    const walked = await walk(client.links.list({ prefetch }));

    expect(walked).toEqual({ refs, error: null });
    expect(asked()).toEqual([undefined, ...Array.from({ length: 49 }, (_, index) => index + 2)]);
    expect(mostInFlight()).toBeLessThanOrEqual(prefetch);
  },
);

test('pages that were fetched ahead come in order, whatever order their responses come in', async () => {
  const { pager, release } = held(sixPages);
  const { client, settle } = serve(pager);
  const seen: string[] = [];
  release(1);

  const walked = (async () => {
    for await (const link of client.links.list({ prefetch: 5 })) seen.push(link.refId);
  })();
  const steps: string[][] = [];
  for (const number of [6, 4, 5, 3, 2]) {
    await settle();
    release(number);
    await settle();
    steps.push([...seen]);
  }
  await walked;

  expect(steps.slice(0, 4)).toEqual([['a'], ['a'], ['a'], ['a']]);
  expect(seen).toEqual(names(6));
});

test('a walk from the middle fetches ahead only what is sure to exist while the first number is unknown', async () => {
  const { pager, release } = held(sixPages, 0);
  const { client, asked, settle } = serve(pager);
  const pages = client.links.list({ page: 2, prefetch: 16 }).pages()[Symbol.asyncIterator]();
  release(2);

  const first = await pages.next();
  await settle();

  expect(refsOf((first.value as LinkPage).links)).toEqual(['c']);
  expect(asked()).toEqual([2, 3, 4, 5]);
  await pages.return?.();
});

test('an error of a page that was fetched ahead surfaces at its page, after the good ones', async () => {
  const { pager, release } = held(sixPages);
  const { client, asked, inFlight, settle } = serve((page, before) =>
    page === 4 ? Response.json({ error: 'gone' }, { status: 404 }) : pager(page, before),
  );
  const seen: string[] = [];
  release(1);

  const walked = (async () => {
    for await (const link of client.links.list({ prefetch: 5 })) seen.push(link.refId);
  })();
  const failed = rejection(walked);
  await settle();
  const whenItFailed = [...seen];
  release(2, 3);

  const error = await failed;
  expect(error).toBeInstanceOf(HostedNotFoundError);
  expect(error).toMatchObject({ code: 'not_found', status: 404 });
  expect(whenItFailed).toEqual(['a']);
  expect(seen).toEqual(['a', 'b', 'c']);
  await settle();
  expect(asked()).toEqual([undefined, 2, 3, 4, 5, 6]);
  expect(inFlight()).toBe(0);
});

test('errors of several pages that were fetched ahead leave none of them unhandled', async () => {
  const { client, settle } = serve((page = 1) =>
    page === 1 ? wirePage(['a'], 1, 9) : Response.json({ error: 'gone' }, { status: 404 }),
  );
  const links = client.links.list({ prefetch: 8 })[Symbol.asyncIterator]();

  await links.next();
  await settle();
  await rejection(links.next(), HostedNotFoundError);
});

// return() -----------------------------------------------------------------

test('return() while the first page is awaited ends its request at once, and leaves that of an await alone', async () => {
  const { pager, release } = held(sixPages);
  const { client, asked, inFlight, settle } = serve(pager);
  const list = client.links.list({ prefetch: 2 });
  const page = list.then(({ links }) => refsOf(links));
  const links = list[Symbol.asyncIterator]();

  const next = links.next();
  await settle();
  await Promise.all([next, links.return?.()]);
  const left = inFlight();
  release(1);

  expect(left).toBe(1);
  expect(await page).toEqual(['a']);
  expect(asked()).toEqual([undefined, undefined]);
});
