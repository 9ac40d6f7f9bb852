/**
 * Walking pages (docs/protocol.md §2.3, §4.4): which page follows, when neither the number of the
 * first page nor the size of one is known beforehand, and what to make of a service whose pages do
 * not advance. Knows nothing of requests: it is given a way to fetch a page.
 *
 * @module
 */

import type { CallResult } from '../call/api-promise.js';
import { HostedResponseError } from '../errors/errors.js';
import type { ErrorFacts } from '../errors/hosted-error.js';
import { withSignals } from '../runtime/clock.js';
import type { DecodedPage } from './operations.js';
import type { Link, PageMeta } from './types.js';

/** A page as it came. */
export type FetchedPage = CallResult<DecodedPage>;

/** A page in its place: links that stood on the page before it are dropped. */
export interface PlacedPage {
  readonly links: readonly Link[];
  readonly meta: PageMeta;
  /** The number of the page that follows; null where this is the last one. */
  readonly next: number | null;
  /** What the page that follows is held against. */
  readonly trail: Trail;
}

/** What a page leaves behind for the one that follows. */
export interface Trail {
  /** The number of the first page, as this walk counts; null while it is not known. */
  readonly base: number | null;
  /** The reference ids of the last page that was not empty. */
  readonly refIds: ReadonlySet<string>;
  /** How many pages in a row brought nothing new. */
  readonly pagesWithoutNew: number;
  /** How many of these had links, all of which had come before. */
  readonly repeats: number;
  /** How many pages there were. */
  readonly count: number;
  /** The reference ids of an earlier page: the one before the last power of two (Brent's cycle detection). */
  readonly checkpoint: ReadonlySet<string>;
  /** How often that page came again since. */
  readonly checkpointRepeats: number;
}

/** What a client knows of the number of the first page: told, learnt, or nothing yet. */
export interface FirstPage {
  /** The number that the client was told; null where it is to be learnt. */
  readonly configured: number | null;
  /** The number; null while it is not known. */
  current(): number | null;
  /** Learns it from a first page, anew from each: a service may change it. */
  learn(page: FetchedPage): void;
}

/** Keeps what is known of the first page's number. */
export function createFirstPage(given: 'auto' | 0 | 1): FirstPage {
  const configured = given === 'auto' ? null : given;
  let learnt: number | null = null;
  // A first page that several share is placed by each of them, and may by then be older than another.
  const seen = new WeakSet<FetchedPage>();
  return {
    configured,
    current: () => configured ?? learnt,
    learn: (page) => {
      if (!seen.has(page)) learnt = page.data.meta.currentPage;
      seen.add(page);
    },
  };
}

/** How many pages in a row may bring nothing before that is taken for a service that is stuck. */
const maxPagesWithoutNew = 10;
/** How often a page of a single link may come again before that is taken for a circle. */
const maxCheckpointRepeats = 3;

/** What the first page is held against. */
const emptyTrail: Trail = {
  base: null,
  refIds: new Set(),
  pagesWithoutNew: 0,
  repeats: 0,
  count: 0,
  checkpoint: new Set(),
  checkpointRepeats: 0,
};

/**
 * Puts a page in its place.
 *
 * `page` is its number, undefined for the first one; `after` what the page before it left behind.
 *
 * @throws {HostedResponseError} (`paging`) when the page is not the one that was asked for, is the
 *   one before it for the second time in a row, or is one of many that bring nothing.
 */
export function placePage(
  fetched: FetchedPage,
  { page, after }: { readonly page: number | undefined; readonly after: Trail | null },
  firstPage: FirstPage,
): PlacedPage {
  const { links, meta } = fetched.data;
  const { configured } = firstPage;
  if (page !== undefined && meta.currentPage !== page) {
    throw createPagingError(fetched, 'meta.currentPage', `must be ${page}, the page that was asked for`);
  }
  if (meta.totalPages === 0 && links.length > 0 && meta.totalCount > links.length) {
    throw createPagingError(fetched, 'meta.totalPages', 'must be 1 or more where more links are counted than came');
  }
  // An empty list says nothing of where it would begin.
  if (page === undefined && meta.totalPages > 0) {
    const expected = configured === null ? meta.currentPage <= 1 : meta.currentPage === configured;
    if (!expected)
      throw createPagingError(fetched, 'meta.currentPage', `must be ${configured ?? '0 or 1'} on the first page`);
    firstPage.learn(fetched);
  }
  const before = after ?? emptyTrail;
  const base = before.base ?? (page === undefined ? meta.currentPage : firstPage.current());
  // Pages that are counted otherwise now than when the walk began: it would miss one, or stop too early.
  if (before.base !== null && firstPage.current() !== before.base) {
    const now = `must be counted from ${before.base}, as this walk began, and is counted from ${firstPage.current()} now`;
    throw createPagingError(fetched, 'meta.currentPage', now);
  }

  const fresh = links.filter(({ refId }) => !before.refIds.has(refId));
  const pagesWithoutNew = fresh.length > 0 ? 0 : before.pagesWithoutNew + 1;
  const isRepeat = links.length > 0 && fresh.length === 0;
  const repeats = fresh.length > 0 ? 0 : before.repeats + (isRepeat ? 1 : 0);
  const next = isFollowed(meta, base) ? meta.currentPage + 1 : null;
  // As many new links as a page has push all of its links onto the next one, and the last page further
  // back: once, that is a coincidence; twice in a row, or at the end, the service does not advance.
  const isWhole = isRepeat && links.length >= before.refIds.size;
  if (repeats > 1 || (isWhole && next === null))
    throw createPagingError(fetched, 'links', 'must not be those of the page before');
  // A page that brings nothing new was judged above.
  const { checkpoint } = before;
  const isCheckpointPage =
    fresh.length > 0 && links.length === checkpoint.size && links.every(({ refId }) => checkpoint.has(refId));
  const checkpointRepeats = before.checkpointRepeats + (isCheckpointPage ? 1 : 0);
  // New links may shift a single one here again from anywhere, but hardly over and over.
  if (isCheckpointPage && (links.length > 1 || checkpointRepeats > maxCheckpointRepeats)) {
    throw createPagingError(fetched, 'links', 'must not be those of an earlier page');
  }
  if (pagesWithoutNew > maxPagesWithoutNew)
    throw createPagingError(fetched, 'links', 'must not stay empty page after page');

  const refIds = links.length > 0 ? new Set(links.map(({ refId }) => refId)) : before.refIds;
  const count = before.count + 1;
  const movesCheckpoint = Number.isInteger(Math.log2(count));
  const trail = {
    base,
    refIds,
    pagesWithoutNew,
    repeats,
    count,
    checkpoint: movesCheckpoint ? refIds : checkpoint,
    checkpointRepeats: movesCheckpoint ? 0 : checkpointRepeats,
  };
  return { links: fresh, meta, next, trail };
}

// While the number of the first page is not known, the last page may be followed by one more: an
// empty one, after which nothing is asked for.
function isFollowed({ currentPage, totalPages }: PageMeta, firstPage: number | null): boolean {
  return firstPage === null ? currentPage < totalPages : currentPage - firstPage + 1 < totalPages;
}

function createPagingError({ response }: FetchedPage, path: string, message: string): HostedResponseError {
  const { status, headers, attempts, requestId } = response;
  const facts: ErrorFacts = { operation: 'links.list', outcome: 'answered', attempts, requestId };
  return new HostedResponseError('paging', [{ path, message }], facts, { status, headers, text: response.rawBody() });
}

/** How to walk. */
export interface Walk {
  readonly fetch: (page: number, signal: AbortSignal) => Promise<FetchedPage>;
  readonly firstPage: FirstPage;
  /** The page the walk begins with, on its way, and its number where the caller named one. */
  readonly first: Promise<FetchedPage>;
  readonly page: number | undefined;
  /** How many pages may be on their way ahead of the one being read. */
  readonly prefetch: number;
  readonly maxPages: number;
  /** The caller's. */
  readonly signal: AbortSignal | undefined;
  /** Aborts when the walk is ended from outside. */
  readonly stop: AbortSignal;
}

/**
 * Walks the pages in order, fetching up to `prefetch` of them ahead. When whoever walks stops, or
 * something goes wrong, every request under way is ended; an error surfaces at its own page.
 */
export async function* walkPages(walk: Walk): AsyncGenerator<PlacedPage, void, undefined> {
  const { firstPage, signal, stop, prefetch, maxPages } = walk;
  const ending = new AbortController();
  stop.addEventListener('abort', () => ending.abort(stop.reason));
  const prefetched: Promise<FetchedPage>[] = [];
  const startFetch = (page: number) => {
    const fetching = withSignals([signal, ending.signal], (combined) => walk.fetch(page, combined));
    // It may fail before its turn comes: it is heard of then, or not at all.
    fetching.catch(() => undefined);
    prefetched.push(fetching);
  };
  try {
    let current = walk.first;
    let { page } = walk;
    let after: Trail | null = null;
    for (let count = 1; ; count++) {
      const placed: PlacedPage = placePage(await current, { page, after }, firstPage);
      signal?.throwIfAborted();
      stop.throwIfAborted();

      const { meta, next, trail } = placed;
      if (next === null || count >= maxPages) {
        yield placed;
        return;
      }
      // With the first page's number unknown, the last page that is sure to be one may be one earlier.
      const last = Math.min((trail.base ?? 0) + meta.totalPages - 1, next + maxPages - count - 1);
      while (prefetched.length < prefetch && next + prefetched.length <= last) startFetch(next + prefetched.length);
      yield placed;
      signal?.throwIfAborted();
      if (prefetched.length === 0) startFetch(next);
      current = prefetched.shift() as Promise<FetchedPage>;
      page = next;
      after = trail;
    }
  } finally {
    ending.abort(stop.reason);
    await Promise.allSettled(prefetched);
  }
}
