/**
 * The list of an account's links. Awaiting it gives one page; iterating it gives every link.
 *
 * @module
 */

import * as z from 'zod/mini';
import { type ApiPromise, createApiPromise } from '../call/api-promise.js';
import { addCallerFrames } from '../errors/caller-frames.js';
import { HostedValidationError } from '../errors/client-errors.js';
import type { Telemetry } from '../events.js';
import type { CallOptions } from '../options.js';
import { createAbortableIterable } from '../runtime/abortable-iterable.js';
import { isRecord, readProperty, withoutUndefined } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { callOptions, integer, missing } from '../validation/input.js';
import { type PageSource, type PlacedPage, placePage, walkPages } from './paging.js';
import type { Link, LinkPage } from './types.js';

/** Options of {@link Links.list}. */
export interface ListOptions extends CallOptions {
  /**
   * The number of the first page to read, in the service's numbering: 0 or more. Default: the first page of the list.
   */
  page?: number;
  /** How many pages to fetch ahead of the page being read: 0 to 16, default 0. Pages still come in order. */
  prefetch?: number;
  /** How many pages to read at most: 1 or more. Default: all. */
  maxPages?: number;
}

/**
 * The links of an account. Nothing is sent before the first await or iteration. All awaits of the list share one request
 * for the first page. Every iteration fetches all pages. `totalTimeoutMs` applies to each page.
 *
 * If links are created during the iteration, a link that was already read can appear again on the next page. This
 * duplicate is dropped, so a page can be empty. If a link appears again two or more pages later, the iteration yields
 * it twice. A `HostedResponseError` (`paging`) is thrown when the service keeps sending the same links or empty pages,
 * or when the numbering of the pages is wrong or changes during an iteration.
 *
 * @example Every link
 * ```ts
 * for await (const link of client.links.list()) console.log(link.refId, link.state);
 * ```
 *
 * @see [§2.3](../../docs/protocol.md#23-place-in-the-list) and [§4.4](../../docs/protocol.md#44-list-links) of
 *   docs/protocol.md
 */
export interface LinkList extends ApiPromise<LinkPage>, AsyncIterable<Link> {
  /**
   * Iterates every page, in order.
   *
   * @returns An async iterable of the pages. Every iteration fetches all pages.
   * @throws {HostedResponseError} when the pages do not advance (`paging`). The iteration throws this error.
   *
   * @example Page by page
   * ```ts
   * for await (const { links, meta } of client.links.list().pages()) {
   *   console.log(`page ${meta.currentPage} of ${meta.totalPages}: ${links.length} links`);
   * }
   * ```
   *
   * @see [§2.3](../../docs/protocol.md#23-place-in-the-list) and [§4.4](../../docs/protocol.md#44-list-links) of
   *   docs/protocol.md
   */
  pages(): AsyncIterable<LinkPage>;
  /**
   * Collects the first links in an array. `toArray` reads no more pages than it needs. With `prefetch`, it may request
   * more pages than it reads.
   *
   * @param options - How many links to collect. There is no default, because a list may be long.
   * @returns The links, in the service's order. With a limit of 0, nothing is sent.
   * @throws {HostedValidationError} when `limit` is invalid: it must be an integer of 0 or more, or `Infinity`.
   *
   * @example The first hundred
   * ```ts
   * const links = await client.links.list().toArray({ limit: 100 });
   * ```
   *
   * @see [§2.3](../../docs/protocol.md#23-place-in-the-list) and [§4.4](../../docs/protocol.md#44-list-links) of
   *   docs/protocol.md
   */
  toArray(options: {
    /** The largest number of links to collect; `Infinity` for all. */
    limit: number;
  }): Promise<Link[]>;
}

const listOptions = inputObject({
  ...callOptions,
  page: z.optional(integer(0)),
  prefetch: z.optional(integer(0, 16)),
  maxPages: z.optional(integer(1)),
  limit: missing('is not an option of list(): use list().toArray({ limit })'),
});

const facts = { operation: 'links.list' } as const;

/**
 * Creates a list; no request is sent yet.
 *
 * @internal
 */
export function createLinkList(
  options: ListOptions | undefined,
  { firstPage, fetch: fetchValid, warn }: PageSource & Pick<Telemetry, 'warn'>,
): LinkList {
  // The options are copied at once, so that later changes by the caller have no effect.
  const { data, issues } = check(listOptions, options === undefined ? {} : options);
  const { page, prefetch = 0, maxPages = Number.POSITIVE_INFINITY, limit: _limit, ...others } = data ?? {};
  const call = others as CallOptions;
  const { signal } = call;
  const fetch = data ? fetchValid : () => fetchValid(page, {}, { issues });
  let firstPagePromise: ApiPromise<LinkPage> | undefined;
  let delivered: unknown;

  function readFirstPage(): ApiPromise<LinkPage> {
    firstPagePromise ??= createApiPromise(
      fetch(page, call).then((fetched) => {
        const placed = placePage(fetched, { page, after: null }, firstPage);
        return { data: toLinkPage(placed), response: fetched.response };
      }),
    );
    return firstPagePromise;
  }

  // A generator sends nothing until its iteration begins.
  async function* walk(stop: AbortSignal): AsyncGenerator<PlacedPage, void, undefined> {
    try {
      const pages = walkPages({ fetch, firstPage, call, page, prefetch, maxPages, stop });
      yield* page === undefined ? warnIfShort(pages, warn) : pages;
    } catch (error) {
      return deliver(error);
    }
  }

  // All callers that await the first page get the same error; its stack shows the first caller. If the caller's signal
  // has aborted, the error is not changed, because it may be the reason of this signal.
  function deliver(error: unknown): never {
    if (!signal?.aborted && error !== delivered) addCallerFrames(error);
    delivered = error;
    throw error;
  }

  async function* iteratePages(stop: AbortSignal): AsyncGenerator<LinkPage, void, undefined> {
    for await (const placed of walk(stop)) yield toLinkPage(placed);
  }

  async function* iterateLinks(stop: AbortSignal): AsyncGenerator<Link, void, undefined> {
    for await (const placed of walk(stop)) {
      for (const link of placed.links) {
        signal?.throwIfAborted();
        yield link;
      }
    }
  }

  function toLinkPage({ links, meta, next, ...after }: PlacedPage): LinkPage {
    return Object.freeze({
      links: Object.freeze(links),
      meta: Object.freeze(meta),
      hasNextPage: next !== null,
      async nextPage(overrides: CallOptions = {}) {
        if (next === null) return null;
        const fetched = await fetch(next, { ...call, ...withoutUndefined(overrides) });
        return toLinkPage(placePage(fetched, { page: next, after }, firstPage));
      },
    });
  }

  return {
    // biome-ignore lint/suspicious/noThenProperty: a list is a promise that sends nothing before it is awaited.
    then: (onFulfilled, onRejected) => readFirstPage().catch(deliver).then(onFulfilled, onRejected),
    catch: (onRejected) => readFirstPage().catch(deliver).catch(onRejected),
    finally: (onFinally) => readFirstPage().catch(deliver).finally(onFinally),
    withResponse: () => readFirstPage().withResponse().catch(deliver),
    pages: () => createAbortableIterable(iteratePages),
    async toArray(given) {
      const limit = parseLimit(given);
      const collected: Link[] = [];
      if (limit === 0) return collected;
      for await (const link of createAbortableIterable(iterateLinks)) {
        collected.push(link);
        if (collected.length >= limit) break;
      }
      return collected;
    },
    [Symbol.asyncIterator]: () => createAbortableIterable(iterateLinks)[Symbol.asyncIterator](),
    [Symbol.toStringTag]: 'LinkList',
  };
}

/** Passes on the pages of a walk, and logs a warning if it ends with fewer links than each of its pages has counted. */
async function* warnIfShort(
  pages: AsyncIterable<PlacedPage>,
  warn: Telemetry['warn'],
): AsyncGenerator<PlacedPage, void, undefined> {
  let found = 0;
  let isAtEnd = false;
  const totals = new Set<number>();
  for await (const placed of pages) {
    yield placed;
    found += placed.links.length;
    isAtEnd = placed.next === null;
    totals.add(placed.meta.totalCount);
  }
  const [total = 0, ...others] = totals;
  if (!isAtEnd || others.length > 0 || found >= total) return;
  warn(`a list of links ended after ${found} links, but "totalCount" was ${total} on each page: links may be missing`);
}

function parseLimit(options: unknown): number {
  const limit = isRecord(options) ? readProperty(options, 'limit') : undefined;
  if (typeof limit === 'number' && limit >= 0 && (Number.isSafeInteger(limit) || limit === Number.POSITIVE_INFINITY)) {
    return limit;
  }
  const issues = [{ path: 'limit', message: 'must be an integer of 0 or more, or Infinity' }];
  throw new HostedValidationError(issues, facts);
}
