// Walking the list of links: what stops a walk, and what is left behind.

import { expect, test } from 'vitest';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { held, refsOf, serve, sixPages, walk, wirePage } from './page-service.js';

failOnStrayRejections();

test('return() while a page is awaited sends nothing more', async () => {
  const { pager, release } = held(sixPages);
  const { client, asked, inFlight, settle } = serve(pager);
  const pages = client.links.list({ prefetch: 4 }).pages()[Symbol.asyncIterator]();

  const next = pages.next();
  await settle();
  const returned = pages.return?.();
  release(1);
  await Promise.all([next, returned]);
  await settle();

  expect(asked()).toEqual([undefined]);
  expect(inFlight()).toBe(0);
});

test('return() while the first page is awaited does not wait for it, and leaves it to the caller who awaits the list', async () => {
  const { pager, release } = held(sixPages);
  const { client, asked, settle } = serve(pager);
  const list = client.links.list({ prefetch: 2 });
  const page = list.then(({ links }) => refsOf(links));
  const links = list[Symbol.asyncIterator]();

  const next = links.next();
  await settle();
  let isOver = false;
  const returned = links.return?.().then(() => {
    isOver = true;
  });
  await settle();
  const wasOver = isOver;
  release(1);
  await Promise.all([next, returned]);
  await settle();

  expect(wasOver).toBe(true);
  expect(await page).toEqual(['a']);
  expect(asked()).toEqual([undefined]);
});

test('return() of a later iteration ends its first request at once', async () => {
  let before = 0;
  const { pager, release } = held(sixPages);
  const { client, sent, inFlight, settle } = serve(() => (before++ === 0 ? wirePage(['a'], 1, 1) : pager(1, 0)));
  const list = client.links.list();
  await walk(list);
  const links = list[Symbol.asyncIterator]();

  const next = links.next();
  await settle();
  const returned = links.return?.();
  await settle();
  const left = inFlight();
  release(1);
  await Promise.all([next, returned]);

  expect(sent).toHaveLength(2);
  expect(left).toBe(0);
});
