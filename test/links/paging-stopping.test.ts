// Walking the list of links: what stops a walk, and what is left behind.

import { getEventListeners } from 'node:events';
import { HostedNotFoundError, type Link } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { deferred, rejection } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';
import { book, held, names, reason, refsOf, serve, shelf, sixPages, walk, wirePage } from './page-service.js';

failOnStrayRejections();

test('break sends nothing more', async () => {
  const { client, asked, settle } = serve(shelf(sixPages));
  const seen: string[] = [];

  for await (const link of client.links.list()) {
    seen.push(link.refId);
    if (seen.length === 2) break;
  }
  await settle();

  expect(seen).toEqual(['a', 'b']);
  expect(asked()).toEqual([undefined, 2]);
});

test('break ends the requests of pages that are on their way, though they never get a response', async () => {
  const { pager, release } = held(sixPages);
  const { client, sent, asked, inFlight, settle } = serve(pager);
  release(1);

  for await (const _page of client.links.list({ prefetch: 3 }).pages()) {
    await settle();
    break;
  }
  await settle();

  expect(asked()).toEqual([undefined, 2, 3, 4]);
  expect(sent.slice(1).map(({ init }) => init.signal?.aborted)).toEqual([true, true, true]);
  expect(inFlight()).toBe(0);
});

test('an error of a caller who reads a list ends its requests and passes through', async () => {
  const { pager, release } = held(sixPages);
  const { client, inFlight, asked, settle } = serve(pager);
  const mistake = new Error('of the reader');
  release(1);

  const read = async () => {
    for await (const _link of client.links.list({ prefetch: 2 })) throw mistake;
  };
  const error = await rejection(read());
  await settle();

  expect(error).toBe(mistake);
  expect(asked().length).toBeLessThanOrEqual(3);
  expect(inFlight()).toBe(0);
});

test('return() before the first next() sends nothing', async () => {
  const { client, sent, settle } = serve(shelf(sixPages));
  const links = client.links.list()[Symbol.asyncIterator]();

  await links.return?.();
  const { done } = await links.next();
  await settle();

  expect(done).toBe(true);
  expect(sent).toEqual([]);
});

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

test('return() while a page is awaited that never comes ends its request at once', async () => {
  const { pager, release } = held(sixPages);
  const { client, sent, inFlight, settle } = serve(pager);
  const pages = client.links.list().pages()[Symbol.asyncIterator]();
  release(1);
  await pages.next();

  const next = pages.next();
  await settle();
  await pages.return?.();

  expect(await next).toEqual({ done: true, value: undefined });
  expect(await pages.next()).toEqual({ done: true, value: undefined });
  await settle();
  expect(sent.map(({ init }) => init.signal?.aborted)).toEqual([false, true]);
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

test('a list whose signal is aborted already rejects with the reason and sends nothing', async () => {
  const { client, sent, settle } = serve(shelf(sixPages));
  const signal = AbortSignal.abort(reason);

  const errors = [
    await rejection(client.links.list({ signal })),
    (await walk(client.links.list({ signal, prefetch: 4 }))).error,
    await rejection(client.links.list({ signal }).toArray({ limit: 1 })),
    await rejection(client.links.list({ signal }).pages()[Symbol.asyncIterator]().next()),
  ];
  await settle();

  for (const error of errors) expect(error).toBe(reason);
  expect(sent).toEqual([]);
});

test('an abort while a page is awaited rejects with the reason itself', async () => {
  const { pager, release } = held(sixPages);
  const { client, asked, inFlight, settle } = serve(pager);
  const controller = new AbortController();
  const pages = client.links.list({ signal: controller.signal }).pages()[Symbol.asyncIterator]();
  release(1);
  await pages.next();

  const next = rejection(pages.next());
  await settle();
  controller.abort(reason);

  expect(await next).toBe(reason);
  await settle();
  expect(asked()).toEqual([undefined, 2]);
  expect(inFlight()).toBe(0);
});

test('an abort while the body of a page is read rejects with the reason itself', async () => {
  const controller = new AbortController();
  const read = deferred();
  const stalling = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(new TextEncoder().encode('{"links":[')),
    pull: () => read.resolve(),
  });
  const { client } = serve(() => new Response(stalling));

  const walked = walk(client.links.list({ signal: controller.signal }));
  await read.promise;
  controller.abort(reason);

  expect(await walked).toEqual({ refs: [], error: reason });
});

test('an abort between pages rejects with the reason itself and sends nothing more', async () => {
  const { client, asked, settle } = serve(shelf(sixPages));
  const controller = new AbortController();
  const pages = client.links.list({ signal: controller.signal }).pages()[Symbol.asyncIterator]();
  await pages.next();

  controller.abort(reason);
  const error = await rejection(pages.next());
  await settle();

  expect(error).toBe(reason);
  expect(asked()).toEqual([undefined]);
});

test('an abort within a page rejects with the reason itself', async () => {
  const { client, asked } = serve(book(names(4)));
  const controller = new AbortController();
  const links = client.links.list({ signal: controller.signal })[Symbol.asyncIterator]();
  const { value } = await links.next();

  controller.abort(reason);
  const error = await rejection(links.next());

  expect((value as Link).refId).toBe('a');
  expect(error).toBe(reason);
  expect(asked()).toEqual([undefined]);
});

test('an abort with pages on their way rejects with the reason itself and ends them all', async () => {
  const { pager, release } = held(sixPages);
  const { client, sent, asked, inFlight, settle } = serve(pager);
  const controller = new AbortController();
  const pages = client.links.list({ signal: controller.signal, prefetch: 3 }).pages()[Symbol.asyncIterator]();
  release(1);
  await pages.next();

  const next = rejection(pages.next());
  await settle();
  controller.abort(reason);

  expect(await next).toBe(reason);
  await settle();
  expect(asked()).toEqual([undefined, 2, 3, 4]);
  expect(sent.slice(1).map(({ init }) => init.signal?.aborted)).toEqual([true, true, true]);
  expect(inFlight()).toBe(0);
});

test('an abort ends pages on their way though no caller waits for one', async () => {
  const { pager, release } = held(sixPages);
  const { client, sent, inFlight, settle } = serve(pager);
  const controller = new AbortController();
  const pages = client.links.list({ signal: controller.signal, prefetch: 3 }).pages()[Symbol.asyncIterator]();
  release(1);
  await pages.next();
  await settle();

  controller.abort(reason);
  await settle();

  expect(sent.slice(1).map(({ init }) => init.signal?.aborted)).toEqual([true, true, true]);
  expect(inFlight()).toBe(0);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

test('an abort rejects a walk even when what is fetched ahead has arrived', async () => {
  const { client, settle } = serve(shelf(sixPages));
  const controller = new AbortController();
  const pages = client.links.list({ signal: controller.signal, prefetch: 3 }).pages()[Symbol.asyncIterator]();
  await pages.next();
  await settle();

  controller.abort(reason);

  expect(await rejection(pages.next())).toBe(reason);
});

test('an abort of a list without a reason rejects with the platform’s AbortError itself', async () => {
  const { pager } = held(sixPages);
  const { client, settle } = serve(pager);
  const controller = new AbortController();

  const walked = walk(client.links.list({ signal: controller.signal }));
  await settle();
  controller.abort();

  expect((await walked).error).toBe(controller.signal.reason);
});

test('100 walks on one signal, however they end, leave no listener on it', async () => {
  const { signal } = new AbortController();
  const { client } = serve(
    (page, before) =>
      page === 4 && before % 3 === 0 ? Response.json({}, { status: 404 }) : shelf(sixPages)(page, before),
    {},
    1_000,
  );
  const walkOrBreak = async (index: number) => {
    const list = client.links.list({ signal, prefetch: index % 4 });
    if (index % 2 === 0) return walk(list);
    for await (const _link of list) break;
    return null;
  };

  for (let index = 0; index < 100; index++) await walkOrBreak(index);

  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a walk that is broken off, or fails, leaves no sleeper on the clock', async () => {
  const clock = createTestClock();
  const sleeping = new Set<object>();
  const counted = {
    now: () => clock.now(),
    sleep: async (ms: number, signal?: AbortSignal) => {
      const sleeper = {};
      sleeping.add(sleeper);
      try {
        await clock.sleep?.(ms, signal);
      } finally {
        sleeping.delete(sleeper);
      }
    },
  };
  const { pager, release } = held(sixPages);
  const missing = () => Response.json({ error: 'gone' }, { status: 404 });
  const { client } = serve((page, before) => (page === 9 ? missing() : pager(page, before)), { clock: counted });
  release(1);

  for await (const _link of client.links.list({ prefetch: 4 })) break;
  const { error } = await walk(client.links.list({ page: 9 }));
  await clock.advance(0);

  expect(error).toBeInstanceOf(HostedNotFoundError);
  expect(sleeping.size).toBe(0);
});
