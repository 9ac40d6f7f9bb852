// Walking the list of links: which pages are asked for and when, and what a service that pages oddly leads to.

import { getEventListeners } from 'node:events';
import {
  HostedClient,
  type HostedClientOptions,
  HostedConnectionError,
  HostedNotFoundError,
  HostedResponseError,
  HostedServerError,
  HostedValidationError,
  type Link,
  type LinkList,
  type LinkPage,
  type ListOptions,
} from 'hosted-client';
import { createMockService, createTestClock } from 'hosted-client/testing';
import { expect, test } from 'vitest';
import { clientOf, deferred, rejection, sign } from '../support/fake-fetch.js';
import { failOnStrayRejections } from '../support/stray-rejections.js';

/** A page on the wire (docs/protocol.md §2.3, §4.4). */
interface WirePage {
  readonly links: readonly object[];
  readonly meta: Readonly<Record<'currentPage' | 'limit' | 'totalCount' | 'totalPages', unknown>>;
}

/** Answers a request by the page it asks for, undefined for the first, and by how many came before it. */
type Pager = (page: number | undefined, before: number) => WirePage | Response | Promise<WirePage | Response>;

/** A signer that is done at once: no thread decides in which order requests leave. */
const signer = {
  name: 'immediate',
  sign: ({ timestamp }: { timestamp: string }) => sign(timestamp),
  verify: () => true,
};

/** A service that pages like `pager`, and breaks the connection rather than be asked for ever. */
function serve(pager: Pager, options: Partial<HostedClientOptions> = {}, mostRequests = 60) {
  const clock = createTestClock();
  let inFlight = 0;
  let mostInFlight = 0;
  const { client, sent } = clientOf(
    async ({ body }, signal) => {
      if (sent.length > mostRequests) throw new TypeError('asked too often');
      inFlight += 1;
      mostInFlight = Math.max(mostInFlight, inFlight);
      const ended = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      try {
        const page = await Promise.race([pager(body.page as number | undefined, sent.length - 1), ended]);
        return page instanceof Response ? page : Response.json(page);
      } finally {
        inFlight -= 1;
      }
    },
    { signer, clock, maxRetries: 0, ...options },
  );
  return {
    client,
    sent,
    clock,
    /** The pages that were asked for, in order of arrival. */
    asked: () => sent.map(({ body }) => body.page),
    inFlight: () => inFlight,
    mostInFlight: () => mostInFlight,
    /** Lets everything run that does not wait for time or for an answer. */
    settle: () => clock.advance(0),
  };
}

function wireLink(ref: string): object {
  return { link_url: `https://links.hosted.test/${ref}`, ref_id: ref };
}

function wirePage(refs: readonly string[], currentPage: unknown, totalPages: unknown): WirePage {
  return { links: refs.map(wireLink), meta: { currentPage, limit: 2, totalCount: 6, totalPages } };
}

/** `count` names of links: a, b, c, … */
function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));
}

/** An honest list of `refs`, two links a page. */
function book(refs: readonly string[], { base = 1, size = 2 } = {}): Pager {
  return (page = base) => {
    const from = (page - base) * size;
    return wirePage(refs.slice(from, from + size), page, Math.ceil(refs.length / size));
  };
}

/** A list of exactly these pages, the first of which has the number `base`. */
function shelf(pages: readonly (readonly string[])[], base = 1): Pager {
  return (page = base) => wirePage(pages[page - base] ?? [], page, pages.length);
}

/** Walks to the end, and tells which links came and what error ended it. */
async function walk(list: LinkList): Promise<{ refs: string[]; error: unknown }> {
  const refs: string[] = [];
  try {
    for await (const link of list) refs.push(link.refId);
    return { refs, error: null };
  } catch (error) {
    return { refs, error };
  }
}

function refsOf(links: readonly Link[]): string[] {
  return links.map(({ refId }) => refId);
}

function expectStuck(error: unknown): void {
  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ code: 'response', reason: 'paging', operation: 'links.list', status: 200 });
}

/** Which member shows that the pages do not advance; null where they do. */
function whereStuck(error: unknown): string | null {
  if (error === null) return null;
  expectStuck(error);
  return (error as HostedResponseError).issues.map(({ path }) => path).join();
}

const reason = { why: 'the user left' };
failOnStrayRejections();

// What a list is ------------------------------------------------------------

test('links.list() sends nothing before it is awaited or iterated', async () => {
  const { client, sent, settle } = serve(book(names(5)));

  const list = client.links.list({ prefetch: 3 });
  const pages = list.pages();
  list[Symbol.asyncIterator]();
  pages[Symbol.asyncIterator]();
  await settle();

  expect(sent).toEqual([]);
});

test('links.list() awaited is the first page', async () => {
  const { client, asked } = serve(book(names(5)));

  const page = await client.links.list();

  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(page.meta).toEqual({ currentPage: 1, limit: 2, totalCount: 6, totalPages: 3 });
  expect(page.hasNextPage).toBe(true);
  expect(asked()).toEqual([undefined]);
});

test('links.list() awaited is one page however much is to be fetched ahead', async () => {
  const { client, asked, settle } = serve(book(names(9)));

  await client.links.list({ prefetch: 4 });
  await settle();

  expect(asked()).toEqual([undefined]);
});

test('links.list() iterated is every link, in order', async () => {
  const { client, asked } = serve(book(names(5)));

  const { refs, error } = await walk(client.links.list());

  expect(error).toBeNull();
  expect(refs).toEqual(names(5));
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('links.list().pages() is every page, in order', async () => {
  const { client, asked } = serve(book(names(5)));
  const pages: LinkPage[] = [];

  for await (const page of client.links.list().pages()) pages.push(page);

  expect(pages.map(({ links }) => refsOf(links))).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(pages.map(({ meta }) => meta.currentPage)).toEqual([1, 2, 3]);
  expect(pages.map(({ hasNextPage }) => hasNextPage)).toEqual([true, true, false]);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('links.list() of an account without links is one empty page', async () => {
  const { client, asked } = serve(book([]));

  const { refs, error } = await walk(client.links.list({ prefetch: 4 }));
  const page = await client.links.list();

  expect([refs, error]).toEqual([[], null]);
  expect([page.links, page.hasNextPage, await page.nextPage()]).toEqual([[], false, null]);
  expect(asked()).toEqual([undefined, undefined]);
});

test('the pages of a list cannot be changed', async () => {
  const { client } = serve(book(names(3)));

  const page = await client.links.list();

  expect([page, page.links, page.meta].map((value) => Object.isFrozen(value))).toEqual([true, true, true]);
});

test('the first await and the first iteration of a list share the first page', async () => {
  const { client, asked } = serve(book(names(5)));
  const list = client.links.list();

  const page = await list;
  const { refs } = await walk(list);

  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(refs).toEqual(names(5));
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('a list that is iterated first shares the first page with a later await', async () => {
  const { client, asked } = serve(book(names(3)));
  const list = client.links.list();

  const { refs } = await walk(list);
  const page = await list;
  const again = await list;

  expect(refs).toEqual(names(3));
  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(again).toBe(page);
  expect(asked()).toEqual([undefined, 2]);
});

test('an await and an iteration at the same time share the first page', async () => {
  const { client, asked } = serve(book(names(3)));
  const list = client.links.list();

  const [page, { refs }] = await Promise.all([list, walk(list)]);

  expect(refsOf(page.links)).toEqual(['a', 'b']);
  expect(refs).toEqual(names(3));
  expect(asked()).toEqual([undefined, 2]);
});

test('every later iteration of a list asks anew', async () => {
  const refs = names(3);
  const { client, asked } = serve((page) => book(refs)(page, 0));
  const list = client.links.list();

  const first = await walk(list);
  refs.push('d', 'e');
  const second = await walk(list);

  expect([first.refs, second.refs]).toEqual([names(3), names(5)]);
  expect(asked()).toEqual([undefined, 2, undefined, 2, 3]);
});

test('pages() can be iterated again, and then asks anew', async () => {
  const { client, asked } = serve(book(names(3)));
  const pages = client.links.list().pages();
  const seen: string[][] = [];

  for await (const page of pages) seen.push(refsOf(page.links));
  for await (const page of pages) seen.push(refsOf(page.links));

  expect(seen).toEqual([['a', 'b'], ['c'], ['a', 'b'], ['c']]);
  expect(asked()).toEqual([undefined, 2, undefined, 2]);
});

test('two iterations of a list at the same time do not disturb each other', async () => {
  const { client, asked } = serve(book(names(5)));
  const list = client.links.list();

  const [one, other] = await Promise.all([walk(list), walk(list)]);

  expect([one, other]).toEqual([
    { refs: names(5), error: null },
    { refs: names(5), error: null },
  ]);
  expect(asked().sort()).toEqual([2, 2, 3, 3, undefined, undefined]);
});

test('links.list() behaves as a promise: then, catch, finally, withResponse and Promise.all share one request', async () => {
  const { client, asked } = serve(book(names(3)));
  const list = client.links.list();
  let settled = false;

  const { data, response } = await list.withResponse();
  const [page] = await Promise.all([list]);
  const caught = await list.catch(() => null);
  await list.finally(() => {
    settled = true;
  });

  expect(refsOf(data.links)).toEqual(['a', 'b']);
  expect(response).toMatchObject({ status: 200, attempts: 1 });
  expect([page, caught, settled]).toEqual([data, data, true]);
  expect(asked()).toEqual([undefined]);
});

test('the time limits of a list count for each page', async () => {
  const clock = createTestClock();
  const { fetch, sandbox } = createMockService({ clock, latencyMs: 50_000, pageSize: 2 });
  sandbox.links.seed(6);
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });

  const walked = walk(client.links.list({ timeoutMs: 60_000, totalTimeoutMs: 70_000 }));
  await clock.advance(150_000);

  const { refs, error } = await walked;
  expect(error).toBeNull();
  expect(refs).toHaveLength(6);
});

test('the headers of a list go with every page, those fetched ahead and those of nextPage() included', async () => {
  const { client, sent } = serve(book(names(5)));
  const list = client.links.list({ headers: { 'x-team': 'one' }, prefetch: 1 });

  await walk(list);
  const page = await list;
  await page.nextPage();

  const headers = sent.map(({ init }) => new Headers(init.headers).get('x-team'));
  expect(headers).toEqual(['one', 'one', 'one', 'one']);
});

// toArray -------------------------------------------------------------------

test.each([
  [0, [], []],
  [1, ['a'], [undefined]],
  [2, ['a', 'b'], [undefined]],
  [3, ['a', 'b', 'c'], [undefined, 2]],
  [4, ['a', 'b', 'c', 'd'], [undefined, 2]],
  [5, names(5), [undefined, 2, 3]],
  [99, names(5), [undefined, 2, 3]],
  [Number.POSITIVE_INFINITY, names(5), [undefined, 2, 3]],
])('toArray() of up to %d links asks for no page more than it takes', async (limit, expected, pages) => {
  const { client, asked, settle } = serve(book(names(5)));

  const links = await client.links.list().toArray({ limit });
  await settle();

  expect(refsOf(links)).toEqual(expected);
  expect(asked()).toEqual(pages);
});

test.each([
  ['-1', { limit: -1 }],
  ['a fraction', { limit: 1.5 }],
  ['NaN', { limit: Number.NaN }],
  ['minus infinity', { limit: Number.NEGATIVE_INFINITY }],
  ['text', { limit: '5' }],
  ['missing', {}],
  ['of nothing', undefined],
  ['of null', null],
])('toArray() with a limit that is %s rejects and sends nothing', async (_what, options) => {
  const { client, sent, settle } = serve(book(names(5)));

  const error = await rejection(client.links.list().toArray(options as never));
  await settle();

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(error).toMatchObject({ code: 'validation', operation: 'links.list', issues: [{ path: 'limit' }] });
  expect(sent).toEqual([]);
});

test('toArray() rejects with the error of a page', async () => {
  const { client } = serve((page, before) =>
    page === 2 ? Response.json({ error: 'trouble' }, { status: 503 }) : book(names(5))(page, before),
  );

  const error = await rejection(client.links.list().toArray({ limit: 5 }));

  expect(error).toBeInstanceOf(HostedServerError);
});

// nextPage ------------------------------------------------------------------

test('nextPage() gives page after page, then null', async () => {
  const { client, asked } = serve(book(names(5)));
  const seen: string[][] = [];

  for (let page: LinkPage | null = await client.links.list(); page; page = await page.nextPage()) {
    seen.push(refsOf(page.links));
  }

  expect(seen).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('nextPage() asks whenever it is called, for the same page', async () => {
  const { client, asked } = serve(book(names(5)));
  const page = await client.links.list();

  const one = await page.nextPage();
  const other = await page.nextPage();

  expect([one, other].map((next) => refsOf(next?.links ?? []))).toEqual([
    ['c', 'd'],
    ['c', 'd'],
  ]);
  expect(asked()).toEqual([undefined, 2, 2]);
});

test('nextPage() of the last page sends nothing', async () => {
  const { client, asked } = serve(book(names(2)));
  const page = await client.links.list();

  const next = await page.nextPage();

  expect([page.hasNextPage, next]).toEqual([false, null]);
  expect(asked()).toEqual([undefined]);
});

test('nextPage() goes on from a page that pages() gave', async () => {
  const { client } = serve(book(names(5)));
  const given: LinkPage[] = [];
  for await (const page of client.links.list().pages()) {
    given.push(page);
    break;
  }

  const next = await given[0]?.nextPage();

  expect(refsOf(next?.links ?? [])).toEqual(['c', 'd']);
});

test('nextPage() takes a signal of its own and rejects with its reason', async () => {
  const { client, asked } = serve(book(names(5)));
  const page = await client.links.list();

  const error = await rejection(page.nextPage({ signal: AbortSignal.abort(reason) }));

  expect(error).toBe(reason);
  expect(asked()).toEqual([undefined]);
});

test('nextPage() with an unknown option rejects and sends nothing', async () => {
  const { client, asked } = serve(book(names(5)));
  const page = await client.links.list();

  const error = await rejection(page.nextPage({ page: 7 } as never));

  expect(error).toBeInstanceOf(HostedValidationError);
  expect(asked()).toEqual([undefined]);
});

test('nextPage() rejects when the service does not advance', async () => {
  const { client, asked } = serve((_page, before) => wirePage([`link-${before}`], 1, 5));
  const page = await client.links.list();

  const error = await rejection(page.nextPage());

  expectStuck(error);
  expect(asked()).toEqual([undefined, 2]);
});

test('nextPage() drops a link that stood on the page it is called on', async () => {
  const { client } = serve(
    shelf([
      ['a', 'b'],
      ['b', 'c'],
    ]),
  );
  const page = await client.links.list();

  const next = await page.nextPage();

  expect(refsOf(next?.links ?? [])).toEqual(['c']);
});

test('a loop over nextPage() ends loudly when pages stay empty for ever', async () => {
  const { client, sent } = serve((page = 1) => wirePage(page === 1 ? ['a'] : [], page, 1e15));
  const loop = async () => {
    for (let page: LinkPage | null = await client.links.list(); page; page = await page.nextPage());
  };

  const error = await rejection(loop());

  expectStuck(error);
  expect(sent.length).toBeLessThan(30);
});

// Where to begin, how far to go ----------------------------------------------

test('a list can begin at another page', async () => {
  const { client, asked } = serve(book(names(9)));

  const { refs } = await walk(client.links.list({ page: 4 }));

  expect(refs).toEqual(['g', 'h', 'i']);
  expect(asked()).toEqual([4, 5]);
});

test('a list that begins at another page is that page when awaited, and goes on from there', async () => {
  const { client, asked } = serve(book(names(5)));

  const page = await client.links.list({ page: 2 });
  const next = await page.nextPage();

  expect(refsOf(page.links)).toEqual(['c', 'd']);
  expect(refsOf(next?.links ?? [])).toEqual(['e']);
  expect(asked()).toEqual([2, 3]);
});

test('a list that begins beyond the last page is one empty page', async () => {
  const { client, asked } = serve(book(names(5)));

  const { refs, error } = await walk(client.links.list({ page: 9 }));

  expect([refs, error]).toEqual([[], null]);
  expect(asked()).toEqual([9]);
});

test.each([
  [1, 0, names(2), [undefined]],
  [2, 0, names(4), [undefined, 2]],
  [2, 16, names(4), [undefined, 2]],
  [5, 16, names(9), [undefined, 2, 3, 4, 5]],
  [99, 3, names(9), [undefined, 2, 3, 4, 5]],
])('maxPages of %d, with %d ahead, asks for no page more', async (maxPages, prefetch, expected, pages) => {
  const { client, asked, settle } = serve(book(names(9)));

  const { refs, error } = await walk(client.links.list({ maxPages, prefetch }));
  await settle();

  expect([refs, error]).toEqual([expected, null]);
  expect(asked()).toEqual(pages);
});

test('maxPages counts from the page that the list begins at', async () => {
  const { client, asked } = serve(book(names(9)));

  const { refs } = await walk(client.links.list({ page: 2, maxPages: 2, prefetch: 8 }));

  expect(refs).toEqual(['c', 'd', 'e', 'f']);
  expect(asked()).toEqual([2, 3]);
});

// Fetching ahead --------------------------------------------------------------

/** A list of pages whose answers come when they are let go. */
function held(pages: readonly (readonly string[])[], base = 1) {
  const gates = pages.map(() => deferred());
  const release = (...numbers: readonly number[]) => {
    for (const number of numbers) gates[number - base]?.resolve();
  };
  const pager: Pager = async (page = base, before) => {
    await gates[page - base]?.promise;
    return shelf(pages, base)(page, before);
  };
  return { pager, release };
}

const sixPages = [['a'], ['b'], ['c'], ['d'], ['e'], ['f']];

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

test('pages that were fetched ahead come in order, whatever order their answers come in', async () => {
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

test('pages are fetched ahead while a page is being read', async () => {
  const { client, asked, settle } = serve(shelf(sixPages));
  const links = client.links.list({ prefetch: 3 })[Symbol.asyncIterator]();

  await links.next();
  await settle();

  expect(asked()).toEqual([undefined, 2, 3, 4]);
  await links.return?.();
});

test('prefetch never asks beyond the last page', async () => {
  const { client, asked, settle } = serve(shelf(sixPages));

  const { refs } = await walk(client.links.list({ prefetch: 16 }));
  await settle();

  expect(refs).toEqual(names(6));
  expect(asked()).toEqual([undefined, 2, 3, 4, 5, 6]);
});

test('prefetch never asks beyond the last page of a list that begins at 0', async () => {
  const { client, asked, settle } = serve(shelf(sixPages, 0));

  const { refs } = await walk(client.links.list({ prefetch: 16 }));
  await settle();

  expect(refs).toEqual(names(6));
  expect(asked()).toEqual([undefined, 1, 2, 3, 4, 5]);
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

test.each([0, 1])('a walk with prefetch from the middle of a list that begins at %d is complete', async (base) => {
  const { client } = serve(shelf(sixPages, base));

  const { refs, error } = await walk(client.links.list({ page: base + 2, prefetch: 16 }));

  expect([refs, error]).toEqual([['c', 'd', 'e', 'f'], null]);
});

test('pages that are announced under way are fetched ahead too', async () => {
  const { client, asked } = serve((page = 1) => wirePage([`link-${page}`], page, page < 3 ? 3 : 6));

  const { refs } = await walk(client.links.list({ prefetch: 2 }));

  expect(refs).toHaveLength(6);
  expect(asked()).toEqual([undefined, 2, 3, 4, 5, 6]);
});

test('pages that were fetched ahead and have gone meanwhile are not missed', async () => {
  const { client } = serve((page = 1) => wirePage(page > 2 ? [] : [`link-${page}`], page, page === 1 ? 6 : 2));

  const { refs, error } = await walk(client.links.list({ prefetch: 5 }));

  expect([refs, error]).toEqual([['link-1', 'link-2'], null]);
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

test('a guard that trips on a page that was fetched ahead surfaces at its page, after the good ones', async () => {
  const { client, inFlight, settle } = serve((page = 1) => wirePage([`link-${page}`], page === 4 ? 3 : page, 8));

  const { refs, error } = await walk(client.links.list({ prefetch: 6 }));
  await settle();

  expectStuck(error);
  expect(refs).toEqual(['link-1', 'link-2', 'link-3']);
  expect(inFlight()).toBe(0);
});

test('errors of several pages that were fetched ahead leave none of them unhandled', async () => {
  const { client, settle } = serve((page = 1) =>
    page === 1 ? wirePage(['a'], 1, 9) : Response.json({ error: 'gone' }, { status: 404 }),
  );
  const links = client.links.list({ prefetch: 8 })[Symbol.asyncIterator]();

  await links.next();
  await settle();
  const error = await rejection(links.next());

  expect(error).toBeInstanceOf(HostedNotFoundError);
});

// Stopping ------------------------------------------------------------------

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

test('break ends the requests of pages that are on their way, though they are never answered', async () => {
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

test('an error of whoever reads a list ends its requests and passes through', async () => {
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

test('return() while the first page is awaited does not wait for it, and leaves it to whoever awaits the list', async () => {
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

test('an abort ends pages on their way though nobody waits for one', async () => {
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

// Bad options ---------------------------------------------------------------

test.each<[string, unknown, string]>([
  ['a page of -1', { page: -1 }, 'page'],
  ['a page of 1.5', { page: 1.5 }, 'page'],
  ['a page that is text', { page: '2' }, 'page'],
  ['a page that is NaN', { page: Number.NaN }, 'page'],
  ['a prefetch of 17', { prefetch: 17 }, 'prefetch'],
  ['a prefetch of -1', { prefetch: -1 }, 'prefetch'],
  ['a prefetch of true', { prefetch: true }, 'prefetch'],
  ['maxPages of 0', { maxPages: 0 }, 'maxPages'],
  ['maxPages of 0.5', { maxPages: 0.5 }, 'maxPages'],
  ['a timeoutMs of 0', { timeoutMs: 0 }, 'timeoutMs'],
  ['a signal that is none', { signal: {} }, 'signal'],
  ['an unknown member', { pageSize: 50 }, 'pageSize'],
])('links.list() with %s rejects, however it is used, and sends nothing', async (_what, options, path) => {
  const { client, sent, settle } = serve(book(names(5)));
  const list = () => client.links.list(options as ListOptions);

  const errors = [
    await rejection(list()),
    await rejection(list().withResponse()),
    (await walk(list())).error,
    await rejection(list().pages()[Symbol.asyncIterator]().next()),
    await rejection(list().toArray({ limit: 5 })),
  ];
  await settle();

  for (const error of errors) {
    expect(error).toBeInstanceOf(HostedValidationError);
    expect(error).toMatchObject({ code: 'validation', operation: 'links.list', outcome: 'not_sent' });
    expect((error as HostedValidationError).issues).toMatchObject([{ path }]);
  }
  expect(sent).toEqual([]);
});

test.each([[5], ['options'], [[1]], [true], [() => undefined]])(
  'links.list(%j) never throws, and rejects, however it is used',
  async (options) => {
    const { client, sent } = serve(book(names(5)));
    const list = () => client.links.list(options as never);

    const errors = [
      await rejection(list()),
      (await walk(list())).error,
      await rejection(list().pages()[Symbol.asyncIterator]().next()),
      await rejection(list().toArray({ limit: 5 })),
    ];

    for (const error of errors) expect(error).toBeInstanceOf(HostedValidationError);
    expect(sent).toEqual([]);
  },
);

test('links.list() names every bad option at once', async () => {
  const { client } = serve(book(names(5)));

  const error = await rejection(client.links.list({ page: -1, prefetch: 17, maxPages: 0, timeoutMs: -5 }));

  expect((error as HostedValidationError).issues.map(({ path }) => path).sort()).toEqual([
    'maxPages',
    'page',
    'prefetch',
    'timeoutMs',
  ]);
});

test('a list that nobody awaits or iterates leaves no unhandled rejection, bad options or not', async () => {
  const { client, sent, settle } = serve(book(names(5)));

  client.links.list({ page: -1 });
  client.links.list({ signal: AbortSignal.abort(reason) }).pages();
  await settle();

  expect(sent).toEqual([]);
});

// Guards: pages that do not advance -------------------------------------------

const noneAndSomeAhead = [0, 1, 4, 16];

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

test('a service that answers with its first page whatever it is asked ends a walk from the middle loudly', async () => {
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

test('a service that answers beyond its end with its last page ends loudly after the good ones', async () => {
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
  ['meta.currentPage', 'must be 2, the page that was asked for', (_page, before) => wirePage([`${before}`], 1, 5)],
  ['meta.currentPage', 'must be 0 or 1 on the first page', () => wirePage(['a'], 2, 5)],
  ['meta.currentPage', 'must be 0 on the first page', () => wirePage(['a'], 1, 5), { wire: { firstPage: 0 } }],
  ['meta.currentPage', 'must be 1 on the first page', () => wirePage(['a'], 0, 5), { wire: { firstPage: 1 } }],
  ['meta.totalPages', 'must be 1 or more where more links are counted than came', () => wirePage(['a'], 1, 0)],
  ['links', 'must not be those of the page before', (page = 1) => wirePage(['a', 'b'], page, 5)],
  ['links', 'must not be those of an earlier page', (page = 1) => wirePage([`a${page % 3}`, `b${page % 3}`], page, 9)],
  ['links', 'must not stay empty page after page', (page = 1) => wirePage([], page, 1e15)],
];

test.each(stuckServices)('what ends a walk loudly says: "%s" %s', async (path, message, pager, options) => {
  const { client } = serve(pager, options);

  const { error } = await walk(client.links.list());

  expectStuck(error);
  expect(error).toMatchObject({
    message: `Cannot list links: the response cannot be used: it is not the next page ("${path}" ${message})`,
    issues: [{ path, message }],
    outcome: 'answered',
    retryable: false,
    attempts: 1,
  });
});

test('what ends a walk loudly says where the answer is wrong, and keeps the answer behind a method', async () => {
  const { client } = serve(() => wirePage(['secret-ref'], 1, 5));

  const { error } = await walk(client.links.list());

  const { message, issues, outcome, retryable, attempts } = error as HostedResponseError;
  expect(issues).toMatchObject([{ path: 'meta.currentPage' }]);
  expect([outcome, retryable, attempts]).toEqual(['answered', false, 1]);
  expect((error as HostedResponseError).rawBody()).toContain('secret-ref');
  expect(message + JSON.stringify(error)).not.toContain('secret-ref');
});

// Guards: odd totals ----------------------------------------------------------

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
  'a number of pages that is %j is an answer of the wrong shape',
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
])('of %d empty pages in a row %s, ten are borne', async (count, _where, first, expected, path) => {
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

// Guards: the number of the first page ------------------------------------------

test.each([0, 1])('the number of the first page, %d, is learnt from the first answer', async (base) => {
  const { client, asked } = serve(book(names(5), { base }));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([names(5), null]);
  expect(asked()).toEqual([undefined, base + 1, base + 2]);
});

test.each([0, 1] as const)('the number of the first page, %d, can be given', async (base) => {
  const { client, asked } = serve(book(names(5), { base }), { wire: { firstPage: base } });

  const whole = await walk(client.links.list());
  const fromTheMiddle = await walk(client.links.list({ page: base + 1 }));

  expect(whole).toEqual({ refs: names(5), error: null });
  expect(fromTheMiddle).toEqual({ refs: ['c', 'd', 'e'], error: null });
  expect(asked()).toEqual([undefined, base + 1, base + 2, base + 1, base + 2]);
});

test.each([0, 1] as const)('the number of the first page, given wrongly as %d, ends the walk loudly', async (given) => {
  const { client, sent } = serve(book(names(5), { base: 1 - given }), { wire: { firstPage: given } });

  const walked = await walk(client.links.list());
  const awaited = await rejection(client.links.list());

  expectStuck(walked.error);
  expectStuck(awaited);
  expect(walked.refs).toEqual([]);
  expect(sent).toHaveLength(2);
});

test('a walk from the middle of a list that begins at 1 asks for no page more than there is', async () => {
  const { client, asked } = serve(book(names(9)));

  const { refs, error } = await walk(client.links.list({ page: 2 }));

  expect([refs, error]).toEqual([names(9).slice(2), null]);
  expect(asked()).toEqual([2, 3, 4, 5]);
});

test('a walk from the middle of a list that begins at 0 ends quietly with an empty page', async () => {
  const { client, asked } = serve(book(names(9), { base: 0 }));

  const { refs, error } = await walk(client.links.list({ page: 2 }));

  expect([refs, error]).toEqual([names(9).slice(4), null]);
  expect(asked()).toEqual([2, 3, 4, 5]);
});

test('a walk from a page 0 goes on past the last page, as it does not know that the list begins there', async () => {
  const { client, asked } = serve(book(names(5), { base: 0 }));

  const { refs, error } = await walk(client.links.list({ page: 0 }));

  expect([refs, error]).toEqual([names(5), null]);
  expect(asked()).toEqual([0, 1, 2, 3]);
});

test('a page 0 that a list from 1 on answers with its first page ends the walk loudly', async () => {
  const { client, asked } = serve((page = 1) => book(names(5))(Math.max(page, 1), 0));

  const { refs, error } = await walk(client.links.list({ page: 0 }));

  expectStuck(error);
  expect(refs).toEqual([]);
  expect(asked()).toEqual([0]);
});

test('a page 0 that a list from 1 on answers with nothing is followed by the whole list', async () => {
  const { client } = serve((page = 1) => (page === 0 ? wirePage([], 0, 3) : book(names(5))(page, 0)));

  const { refs, error } = await walk(client.links.list({ page: 0 }));

  expect([refs, error]).toEqual([names(5), null]);
});

test.each([0, 1])('a client that has learnt that a list begins at %d walks from the middle by it', async (base) => {
  const { client, asked } = serve(book(names(5), { base }));

  const before = await walk(client.links.list({ page: base + 1 }));
  const beforeAsked = asked().length;
  await client.links.list();
  const after = await walk(client.links.list({ page: base + 1, prefetch: 8 }));

  expect(before).toEqual({ refs: ['c', 'd', 'e'], error: null });
  expect(after).toEqual(before);
  expect(asked().slice(beforeAsked)).toEqual([undefined, base + 1, base + 2]);
});

test('a walk from the middle goes by what another list of the client learns meanwhile', async () => {
  const { client, asked } = serve(book(names(5), { base: 0 }));
  const pages = client.links.list({ page: 1 }).pages()[Symbol.asyncIterator]();

  await pages.next();
  await client.links.list();
  const second = await pages.next();
  const third = await pages.next();

  expect(refsOf((second.value as LinkPage).links)).toEqual(['e']);
  expect(third.done).toBe(true);
  expect(asked()).toEqual([1, undefined, 2]);
});

test.each([
  [1, 0],
  [0, 1],
])('a list whose first page has the number %d, and then %d, is walked by the latest', async (from, to) => {
  let base = from;
  const { client, asked } = serve((page) => book(names(5), { base })(page, 0));

  const before = await walk(client.links.list());
  base = to;
  const after = await walk(client.links.list({ prefetch: 4 }));
  const middle = await walk(client.links.list({ page: to + 1, prefetch: 4 }));

  expect(before).toEqual({ refs: names(5), error: null });
  expect(after).toEqual({ refs: names(5), error: null });
  expect(middle).toEqual({ refs: ['c', 'd', 'e'], error: null });
  expect(asked()).toEqual([...[undefined, from + 1, from + 2], ...[undefined, to + 1, to + 2], ...[to + 1, to + 2]]);
});

test.each([
  [1, 0],
  [0, 1],
])('a walk under way ends loudly when another list finds pages counted from %d counted from %d', async (from, to) => {
  let base = from;
  const { client } = serve((page) => book(names(9), { base })(page, 0));
  const pages = client.links.list().pages()[Symbol.asyncIterator]();
  const kept = await client.links.list();

  await pages.next();
  await pages.next();
  base = to;
  await client.links.list();
  const errors = [await rejection(pages.next()), await rejection(kept.nextPage())];

  for (const error of errors) {
    expectStuck(error);
    expect(error).toMatchObject({
      message: expect.stringContaining(`must be counted from ${from}, as this walk began, and is counted from ${to}`),
      issues: [{ path: 'meta.currentPage' }],
    });
  }
});

test('a page that was fetched before the first number changed teaches it once, when it comes', async () => {
  let base = 1;
  const { client, asked } = serve((page) => book(names(2), { base })(page, 0));
  const early = client.links.list();

  await early;
  base = 0;
  await client.links.list();
  const walked = await walk(early);
  const middle = await walk(client.links.list({ page: 0 }));

  expect([walked, middle]).toEqual([
    { refs: names(2), error: null },
    { refs: names(2), error: null },
  ]);
  expect(asked()).toEqual([undefined, undefined, 0]);
});

test('an empty list teaches nothing about where a list begins', async () => {
  let refs: readonly string[] = [];
  const { client } = serve((page, before) => (refs.length === 0 ? wirePage([], 0, 0) : book(refs)(page, before)));

  const empty = await walk(client.links.list());
  refs = names(5);
  const filled = await walk(client.links.list());

  expect([empty, filled]).toEqual([
    { refs: [], error: null },
    { refs: names(5), error: null },
  ]);
});

test('two clients learn where lists begin on their own', async () => {
  const one = serve(book(names(5), { base: 0 }));
  const other = serve(book(names(5), { base: 1 }));

  await one.client.links.list();
  const walked = await walk(other.client.links.list());

  expect(walked).toEqual({ refs: names(5), error: null });
});

// Guards: a list that moves ---------------------------------------------------

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

test('a page of several links that repeats all but one is no repeated page', async () => {
  const { client } = serve(
    shelf([
      ['a', 'b', 'c'],
      ['b', 'c', 'd'],
    ]),
  );

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c', 'd'], null]);
});

test.each(noneAndSomeAhead)(
  'a whole page that comes again once, and once later, is no end (%d ahead)',
  async (prefetch) => {
    const pages = ['ab', 'ab', 'cd', 'cd', 'ef', 'gh', 'gh', 'ij'].map((refs) => [...refs]);
    const { client } = serve(shelf(pages));

    const { refs, error } = await walk(client.links.list({ prefetch }));

    expect([refs, error]).toEqual([names(10), null]);
  },
);

test.each([
  ['as it is', ['ab', 'ab', 'ab', 'cd']],
  ['in another order', ['ab', 'ba', 'ab', 'cd']],
  ['in part', ['abc', 'ab', 'ba', 'de']],
  ['with empty pages between', ['ab', '', 'ab', '', 'ab', 'cd']],
  ['in the middle of a list', ['ab', 'cd', 'cd', 'cd', 'ef']],
  ['with one link a page', ['a', 'a', 'a', 'b']],
])('a page that comes again twice in a row, %s, ends the walk loudly', async (_how, pages) => {
  const { client } = serve(shelf(pages.map((refs) => [...refs])));

  const { refs, error } = await walk(client.links.list());

  expect(whereStuck(error)).toBe('links');
  expect(refs).toEqual([...new Set(pages.slice(0, -1).join(''))]);
});

// A page that newer links pushed back makes the list a page longer: as the last one it is none of these.
test.each([
  ['of two links', ['ab', 'ab']],
  ['in another order', ['ab', 'ba']],
  ['of one link', ['a', 'a']],
  ['after another', ['ab', 'cd', 'cd']],
  ['after an empty one', ['ab', '', 'ab']],
])('a last page that is the one before again, %s, ends the walk loudly', async (_what, pages) => {
  const { client } = serve(shelf(pages.map((refs) => [...refs])));

  const { refs, error } = await walk(client.links.list());

  expect(whereStuck(error)).toBe('links');
  expect(refs).toEqual([...new Set(pages.join(''))]);
});

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

test('a link that stood on the page before an empty one is dropped too', async () => {
  const { client } = serve(shelf([['a', 'b'], [], ['b', 'c']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c'], null]);
});

test('with one link a page, a link that was shifted onto the next page comes once', async () => {
  const { client } = serve(shelf([['a'], ['a'], ['b'], ['c']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c'], null]);
});

test('with one link a page, an older link that two new ones shifted here is left to the reader', async () => {
  const { client } = serve(shelf([['a'], ['b'], ['c'], ['b'], ['c'], ['d']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c', 'b', 'c', 'd'], null]);
});

test('a last page that holds nothing but a shifted link is the end', async () => {
  const { client } = serve(shelf([['a', 'b'], ['b']]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b'], null]);
});

test.each([
  ['shares links with', ['d', 'e', 'j']],
  ['has but some of the links of', ['d', 'e']],
])('a page that %s an older one is no repeated page', async (_what, last) => {
  const { client } = serve(shelf([['a', 'b', 'c'], ['d', 'e', 'f'], ['g', 'h', 'i'], last]));

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([[...names(9), ...last], null]);
});

test('a link that comes again later than on the next page is left to the reader', async () => {
  const { client } = serve(
    shelf([
      ['a', 'b'],
      ['c', 'd'],
      ['a', 'e'],
    ]),
  );

  const { refs, error } = await walk(client.links.list());

  expect([refs, error]).toEqual([['a', 'b', 'c', 'd', 'a', 'e'], null]);
});

test('what one walk has seen does not count in another', async () => {
  const { client } = serve(book(names(2)));
  const list = client.links.list();

  const walks = [await walk(list), await walk(list), await walk(client.links.list())];

  expect(walks.map(({ refs }) => refs)).toEqual([names(2), names(2), names(2)]);
});

// Errors ----------------------------------------------------------------------

test('an error of the first page is that of every way to use the list', async () => {
  const { client, sent } = serve(() => Response.json({ error: 'trouble' }, { status: 503 }));
  const list = client.links.list();

  const awaited = await rejection(list);
  const walked = await walk(list);

  expect(awaited).toBeInstanceOf(HostedServerError);
  expect(walked).toEqual({ refs: [], error: awaited });
  expect(sent).toHaveLength(1);
});

test('after an error a new iteration asks anew', async () => {
  const { client } = serve((page, before) =>
    before === 0 ? Response.json({ error: 'trouble' }, { status: 503 }) : book(names(3))(page, before),
  );
  const list = client.links.list();

  const failed = await walk(list);
  const again = await walk(list);

  expect(failed.error).toBeInstanceOf(HostedServerError);
  expect(again).toEqual({ refs: names(3), error: null });
});

test('an error in the middle comes after the links before it, and ends the walk', async () => {
  const { client, asked } = serve((page, before) => {
    if (page === 3) throw new TypeError('fetch failed');
    return shelf(sixPages)(page, before);
  });

  const { refs, error } = await walk(client.links.list());

  expect(error).toBeInstanceOf(HostedConnectionError);
  expect(refs).toEqual(['a', 'b']);
  expect(asked()).toEqual([undefined, 2, 3]);
});

test('pages are tried again as any call is, fetched ahead or not', async () => {
  const { fetch, sandbox } = createMockService({ pageSize: 2 });
  sandbox.links.seed(8);
  sandbox.failNext('links.list', { kind: 'status', status: 503, retryAfter: '0' }, 2);
  const clock = { now: () => Date.now(), sleep: immediateBackOff };
  const client = new HostedClient({ ...sandbox.clientOptions, fetch, clock });

  const { refs, error } = await walk(client.links.list({ prefetch: 2 }));

  expect(error).toBeNull();
  expect(refs).toHaveLength(8);
  expect(sandbox.requests.filter(({ status }) => status === 503)).toHaveLength(2);
});

/** Back-off ends at once, time limits never. */
function immediateBackOff(ms: number, signal?: AbortSignal): Promise<void> {
  return ms < 10_000
    ? Promise.resolve()
    : new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
}

// The whole service -------------------------------------------------------------

const dialects = ([0, 1] as const).flatMap((firstPage) =>
  (['table', 'sample', 'random'] as const).flatMap((spelling) =>
    [0, 3].map((prefetch) => ({ firstPage, spelling, prefetch })),
  ),
);

test.each(dialects)(
  'every link of a service that pages from $firstPage and spells by $spelling comes once ($prefetch ahead)',
  async ({ firstPage, spelling, prefetch }) => {
    const { fetch, sandbox } = createMockService({ firstPage, spelling, pageSize: 3 });
    sandbox.links.seed(10);
    const client = new HostedClient({ ...sandbox.clientOptions, fetch });

    const { refs, error } = await walk(client.links.list({ prefetch }));

    const stored = sandbox.links.all().map((link) => (link as { ref_id: string }).ref_id);
    expect(error).toBeNull();
    expect(refs.toSorted()).toEqual(stored.toSorted());
    expect(new Set(refs).size).toBe(10);
    expect(sandbox.requests).toHaveLength(4);
    expect(sandbox.requests.every(({ status }) => status === 200)).toBe(true);
  },
);

test.each(dialects)(
  'a walk from the middle of a service that pages from $firstPage and spells by $spelling is complete ($prefetch ahead)',
  async ({ firstPage, spelling, prefetch }) => {
    const { fetch, sandbox } = createMockService({ firstPage, spelling, pageSize: 3 });
    sandbox.links.seed(10);
    const client = new HostedClient({ ...sandbox.clientOptions, fetch });

    const whole = await new HostedClient({ ...sandbox.clientOptions, fetch }).links.list().toArray({ limit: 99 });
    const { refs, error } = await walk(client.links.list({ page: firstPage + 2, prefetch }));

    expect(error).toBeNull();
    expect(refs).toEqual(refsOf(whole).slice(6));
  },
);

test('every page of a service without links, in either base, is the end', async () => {
  for (const firstPage of [0, 1] as const) {
    const { fetch, sandbox } = createMockService({ firstPage });
    const client = new HostedClient({ ...sandbox.clientOptions, fetch });

    const walked = await walk(client.links.list({ prefetch: 3 }));

    expect(walked).toEqual({ refs: [], error: null });
    expect(sandbox.requests).toHaveLength(1);
  }
});

test('links that are made while a service is walked shift others, and every link that was there comes once', async () => {
  const { fetch, sandbox } = createMockService({ pageSize: 3 });
  sandbox.links.seed(9);
  const client = new HostedClient({ ...sandbox.clientOptions, fetch });
  const before = refsOf(await client.links.list().toArray({ limit: 99 }));
  const seen: string[] = [];

  for await (const page of client.links.list().pages()) {
    seen.push(...refsOf(page.links));
    if (page.meta.currentPage === 1) sandbox.links.seed(2);
  }

  expect(seen.filter((ref) => before.includes(ref))).toEqual(before);
});
