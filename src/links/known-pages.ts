/**
 * Keeps the pages that a search has read, and decides which page it reads next and when it has read enough. The order of
 * the list is not known, and the list may change during the search (docs/protocol.md §4.4).
 *
 * @module
 */

import type { Link, PageMeta } from './types.js';

/** How many different times the links must show before their order lets pages be left out. */
const provenTimes = 12;
/** Two links that were created within this time, in ms, may be listed in the wrong order. */
const swappedMs = 1_000;
/** Where a list is also read between its ends before pages are left out, because it may be in another order there. */
const partsBetween = [1 / 2, 1 / 4, 3 / 4];

/** A page as it was read last. */
interface Reading {
  readonly links: readonly Link[];
  readonly meta: PageMeta;
  /** The reference ids of the links. */
  readonly content: string;
  /** The number of the request since which the page has had this content, and of the latest request for it. */
  readonly since: number;
  readonly until: number;
}

/** 1 if the first page has the newest links, -1 if the last page has them. */
type Order = 1 | -1;

export interface KnownPages {
  add(links: readonly Link[], meta: PageMeta): void;
  /**
   * `'enough'`: every link is known that was listed during the whole search, or at least if it is newer than `limit`.
   * `'contradictory'`: all pages are known, but `totalCount` is not the number of their links.
   */
  judge(limit: number): 'enough' | 'too few' | 'contradictory';
  /** The number of the page to read next. */
  next(limit: number): number;
  /** The number of pages in the list. */
  count(): number;
}

export function createKnownPages(maxPages: number): KnownPages {
  // In the order in which the pages were read last.
  const known = new Map<number, Reading>();
  let requests = 0;
  let first = 0;
  let totals = { totalCount: 0, totalPages: 0 };
  let order: Order | null = null;

  function add(links: readonly Link[], meta: PageMeta): void {
    requests += 1;
    if (requests === 1) first = meta.currentPage;
    const isShorter = meta.totalCount < totals.totalCount || meta.totalPages < totals.totalPages;
    totals = meta;
    // If links were removed, a link may have moved from an unread page to a known one.
    if (isShorter) {
      known.clear();
      order = null;
      return;
    }
    const content = JSON.stringify(links.map(({ refId }) => refId));
    const before = known.get(meta.currentPage);
    const since = before?.content === content ? before.since : requests;
    known.delete(meta.currentPage);
    known.set(meta.currentPage, { links, meta, content, since, until: requests });
    order = findOrder();
  }

  function judge(limit: number): 'enough' | 'too few' | 'contradictory' {
    const [oldest, ...others] = known.values();
    if (oldest && known.size === count()) {
      const isCounted = countLinks() === oldest.meta.totalCount;
      // All pages had the known content at one time: when the oldest reading was made.
      const isSnapshot = others.every(({ since }) => since <= oldest.until);
      if (isSnapshot && !isCounted) return 'contradictory';
      // A link that is added during the search is newer than all others. So if the newest link is on the page that was
      // read before the others, none was added after `totalCount` counted them.
      const newest = Math.max(...oldest.links.map(timeOf));
      const isFirst = others.every(({ links }) =>
        links.every((link) => link.createdAt !== null && timeOf(link) < newest),
      );
      if (isCounted && (isSnapshot || isFirst)) return 'enough';
    }
    // A list that fits on `maxPages` is read whole.
    const mayEnd = count() > maxPages || requests >= maxPages;
    return mayEnd && findBetween() === undefined && isPast(limit) ? 'enough' : 'too few';
  }

  function next(limit: number): number {
    const [oldest = first] = known.keys();
    if (known.size === count()) return oldest;
    const between = findBetween();
    if (between !== undefined && isPast(limit)) return between;
    const step = order ?? (known.size % 2 === 0 ? 1 : -1);
    let page = endOf(step);
    while (known.has(page)) page += step;
    return page;
  }

  function count(): number {
    return Math.max(totals.totalPages, 1);
  }

  function endOf(side: Order): number {
    return side === 1 ? first : first + count() - 1;
  }

  function findBetween(): number | undefined {
    return partsBetween.map((part) => first + Math.floor(count() * part)).find((page) => !known.has(page));
  }

  /** Whether every unread link is older than `limit`: the links of the last page before them are. */
  function isPast(limit: number): boolean {
    if (order === null || !isConsistent()) return false;
    let edge: Reading | undefined;
    // If a page was read before its newer neighbour, a link may have moved from the one to the other.
    for (let page = endOf(order); (known.get(page)?.until ?? 0) > (edge?.until ?? 0); page += order) {
      edge = known.get(page);
    }
    return edge?.links.every((link) => latestTime(link) < limit - swappedMs) ?? false;
  }

  /** Whether the totals agree with the lengths of the pages, and no more links are repeated than were added. */
  function isConsistent(): boolean {
    const readings = [...known.values()];
    const size = Math.max(...readings.map(({ links }) => links.length));
    const repeated = readings.reduce((sum, { links }) => sum + links.length, 0) - countLinks();
    const added = order === 1 ? totals.totalCount - (readings[0]?.meta.totalCount ?? 0) : 0;
    const isFull = ({ links, meta: { currentPage, totalCount, totalPages } }: Reading) => {
      const before = (currentPage - first) * size;
      return links.length === (currentPage - first === totalPages - 1 ? totalCount - before : size);
    };
    return repeated <= added && readings.every(isFull);
  }

  function countLinks(): number {
    return new Set([...known.values()].flatMap(({ links }) => links.map(({ refId }) => refId))).size;
  }

  /** The order of the known links; null if their dates do not show it. */
  function findOrder(): Order | null {
    const pages = [...known].toSorted(([one], [other]) => one - other).map(([, { links }]) => links);
    if (pages.length < 2 || pages.some(({ length }) => length === 0)) return null;
    if (countTimes(pages.flat()) >= provenTimes) return 1;
    return countTimes(pages.flat().toReversed()) >= provenTimes ? -1 : null;
  }

  return { add, judge, next, count };
}

/** Counts the different times of links that are listed from the newest to the oldest; 0 if they are not. */
function countTimes(links: readonly Link[]): number {
  let times = 0;
  let oldest = Number.POSITIVE_INFINITY;
  let counted = Number.POSITIVE_INFINITY;
  for (const { createdAt } of links) {
    const time = createdAt?.getTime() ?? Number.NaN;
    if (!(time <= oldest + swappedMs)) return 0;
    oldest = Math.min(oldest, time);
    if (time >= counted - swappedMs) continue;
    counted = time;
    times += 1;
  }
  return times;
}

export function timeOf({ createdAt }: Link): number {
  return createdAt?.getTime() ?? Number.NEGATIVE_INFINITY;
}

/** The latest time at which a link can have been created, because dates may be in whole seconds or whole minutes. */
export function latestTime({ createdAt }: Link): number {
  if (createdAt === null) return Number.POSITIVE_INFINITY;
  const time = createdAt.getTime();
  if (time % 60_000 === 0) return time + 59_999;
  return time % 1_000 === 0 ? time + 999 : time;
}
