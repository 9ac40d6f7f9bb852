/**
 * Walks pages (docs/protocol.md §2.3, §4.4). This module decides which page comes next. The number of the first page
 * and the size of a page are not known in advance. This module sends no requests: its caller passes a function that
 * fetches a page.
 *
 * @module
 */

import type { CallResult } from '../call/api-promise.js';
import type { Repeater } from '../call/attempt.js';
import { HostedResponseError } from '../errors/client-errors.js';
import type { ErrorFacts } from '../errors/hosted-error.js';
import type { CallOptions } from '../options.js';
import { withSignals } from '../runtime/clock.js';
import type { DecodedPage } from './decode.js';
import { comparePage, noPages, type SeenPages } from './repeated-pages.js';
import type { Link, PageMeta } from './types.js';

/** A page, with the response that it was read from. */
export type FetchedPage = CallResult<DecodedPage>;

/** The source of a list's pages. */
export interface PageSource {
  /**
   * Gives the option `wire.firstPage`. It is called only when a page is there, because a lazy client may not have started
   * before.
   */
  readonly firstPage: () => 'auto' | 0 | 1;
  /** Fetches a page; the first page, if it is given no number. */
  readonly fetch: (page: number | undefined, options: CallOptions, repeater?: Repeater) => Promise<FetchedPage>;
}

/** A page with its place in a walk. */
export interface PlacedPage {
  readonly fetched: FetchedPage;
  /** The links of the page that the previous page did not have. */
  readonly links: readonly Link[];
  readonly meta: PageMeta;
  /** The number of the next page; null if this is the last page. */
  readonly next: number | null;
  /** The number of the first page in this walk; null while it is not known. */
  readonly base: number | null;
  /** The data with which the next page is compared. */
  readonly seen: SeenPages;
}

/**
 * Finds the place of a page in a walk, and the number of the next page.
 *
 * `page` is the requested number, or undefined for the first page. `after` is the previous page of the walk.
 *
 * @throws {HostedResponseError} (`paging`) when the page is not the requested one, or the pages do not
 *   advance.
 */
export function placePage(
  fetched: FetchedPage,
  { page, after }: { readonly page: number | undefined; readonly after: Pick<PlacedPage, 'base' | 'seen'> | null },
  firstPage: PageSource['firstPage'],
): PlacedPage {
  const { links, meta } = fetched.data;
  const option = firstPage();
  const configured = option === 'auto' ? null : option;
  if (page !== undefined && meta.currentPage !== page) {
    throw createPageError(fetched, 'meta.currentPage', `must be ${page}, the requested page`);
  }
  if (meta.totalPages === 0 && links.length > 0 && meta.totalCount > links.length) {
    throw createPageError(
      fetched,
      'meta.totalPages',
      'must be 1 or more, because "meta.totalCount" is more than the number of links on the page',
    );
  }
  // If a list is empty, its page number says nothing about the first page.
  if (page === undefined && meta.totalPages > 0) {
    const expected = configured === null ? meta.currentPage <= 1 : meta.currentPage === configured;
    if (!expected)
      throw createPageError(fetched, 'meta.currentPage', `must be ${configured ?? '0 or 1'} on the first page`);
  }
  const base = after?.base ?? configured ?? (page === undefined ? meta.currentPage : null);
  const next = isFollowed(meta, base) ? meta.currentPage + 1 : null;
  const { newLinks, seen, problem } = comparePage(links, after?.seen ?? noPages, { isLast: next === null });
  if (problem !== null) throw createPageError(fetched, 'links', problem);
  return { fetched, links: newLinks, meta, next, base, seen };
}

// While the number of the first page is not known, a page after the last one may be requested. It is empty and ends the
// walk.
function isFollowed({ currentPage, totalPages }: PageMeta, firstPage: number | null): boolean {
  return firstPage === null ? currentPage < totalPages : currentPage - firstPage + 1 < totalPages;
}

/** Creates the error for a list whose pages cannot be used. */
export function createPageError(
  { response }: FetchedPage,
  path: string,
  message: string,
  reason: 'paging' | 'shape' = 'paging',
): HostedResponseError {
  const { status, headers, attempts, requestId } = response;
  const facts: ErrorFacts = { operation: 'links.list', outcome: 'answered', attempts, requestId };
  return new HostedResponseError(reason, [{ path, message }], facts, { status, headers, text: response.rawBody() });
}

export interface Walk extends PageSource {
  /** The options of each request. */
  readonly call: CallOptions;
  /** The number of the page that the walk begins with, if the caller gave one. */
  readonly page: number | undefined;
  /** How many pages are fetched ahead of the page being read. */
  readonly prefetch: number;
  readonly maxPages: number;
  /** Aborts when the caller ends the walk. */
  readonly stop: AbortSignal;
}

/**
 * Walks the pages in order, and fetches up to `prefetch` pages ahead. When the caller stops or an error ends the walk,
 * every request in flight is aborted. If a page fails, its error is thrown when the walk reaches this page.
 */
export async function* walkPages(walk: Walk): AsyncGenerator<PlacedPage, void, undefined> {
  const { call, fetch, firstPage, stop, prefetch, maxPages } = walk;
  const { signal } = call;
  const ending = new AbortController();
  stop.addEventListener('abort', () => ending.abort(stop.reason));
  const prefetched: Promise<FetchedPage>[] = [];
  const startFetch = (page: number | undefined) => {
    const fetching = withSignals([signal, ending.signal], (combined) => fetch(page, { ...call, signal: combined }));
    // If the request fails before it is awaited, or is never awaited, its failure must not become an unhandled
    // rejection.
    fetching.catch(() => undefined);
    prefetched.push(fetching);
  };
  try {
    let { page } = walk;
    startFetch(page);
    let after: Parameters<typeof placePage>[1]['after'] = null;
    for (let count = 1; ; count++) {
      const fetched = await (prefetched.shift() as Promise<FetchedPage>);
      const placed: PlacedPage = placePage(fetched, { page, after }, firstPage);
      signal?.throwIfAborted();
      stop.throwIfAborted();

      const { meta, next, base, seen } = placed;
      if (next === null || count >= maxPages) {
        yield placed;
        return;
      }
      // While the first page's number is unknown, 0 is assumed: otherwise a page after the last page could be
      // prefetched.
      const last = Math.min((base ?? 0) + meta.totalPages - 1, next + maxPages - count - 1);
      while (prefetched.length < prefetch && next + prefetched.length <= last) startFetch(next + prefetched.length);
      yield placed;
      signal?.throwIfAborted();
      if (prefetched.length === 0) startFetch(next);
      page = next;
      after = { base, seen };
    }
  } finally {
    ending.abort(stop.reason);
    await Promise.allSettled(prefetched);
  }
}
