/**
 * Keeps what a search has read, and decides which page it reads next and when it is certain. The order of the list is
 * not known, and the list may change during the search (docs/protocol.md §4.4).
 *
 * All evidence is a count: if as many links were seen as the list had at one time, then every link of that time was seen.
 *
 * @module
 */

import type { Link, PageMeta } from './types.js';

/** How many different times the links must show before their order lets pages be left out. */
const provenTimes = 12;
/** How many pages must then be read apart from the newest ones without a gap: the last page, and three between. */
const provenPages = 4;
/** Two links that were created within this time, in ms, may be listed in the wrong order. */
const swappedMs = 1_000;
/** Its multiples, without their integer parts, are spread evenly, but never in step with groups of equal size. */
const goldenRatio = (Math.sqrt(5) - 1) / 2;

interface Reading {
  readonly links: readonly Link[];
  readonly meta: PageMeta;
  /** The time of its newest link. */
  readonly newest: number;
}

/** A link, with the numbers of the first and the latest reading that showed it. */
interface KnownLink {
  readonly link: Link;
  readonly first: number;
  readonly last: number;
}

/** The links from the time `from` on. The list has `older` other links. */
interface Part {
  readonly from: number;
  readonly older: number;
}

const wholeList: Part = { from: Number.NEGATIVE_INFINITY, older: 0 };

/**
 * Which links count as listed at the time of a reading: those seen in it, or both before and after it; or also older
 * ones that were seen only after it. The latter is wrong if a link is listed long after it was created.
 */
type Proof = 'seen' | 'seen or old';

/** Creates the functions of a search that reads at most `maxPages` pages. */
export function createKnownPages(maxPages: number) {
  const readings: Reading[] = [];
  const known = new Map<string, KnownLink>();
  // The latest reading of each page, in the order of these readings.
  const latest = new Map<number, number>();
  // The first reading after the latest removal of links: a link may then move from an unread page to one that was read.
  let since = 0;
  // The latest reading of a page that had other links or totals before.
  let changed = 0;

  const totals = (): PageMeta => (readings.at(-1) as Reading).meta;
  const first = (): number => (readings[0] as Reading).meta.currentPage;
  /** The number of pages in the list. */
  const count = (): number => Math.max(totals().totalPages, 1);
  /** The number after that of the last page. */
  const end = (): number => first() + count();
  /** The number of the latest reading of a page; -1 if there is none. */
  const latestOf = (page: number): number => latest.get(page) ?? -1;

  function add(links: readonly Link[], meta: PageMeta): void {
    const at = readings.length;
    const { totalCount, totalPages } = at === 0 ? meta : totals();
    if (meta.totalCount < totalCount || meta.totalPages < totalPages) since = at;
    if (!isSame(readings[latestOf(meta.currentPage)], { links, meta })) changed = at;
    for (const link of links) known.set(link.refId, { link, first: known.get(link.refId)?.first ?? at, last: at });
    readings.push({ links, meta, newest: Math.max(...links.map(timeOf)) });
    latest.delete(meta.currentPage);
    latest.set(meta.currentPage, at);
  }

  /**
   * `'enough'`: every link is known that was listed during the whole search, or at least if it is newer than `limit`.
   * `'contradictory'`: the totals do not agree with the links.
   */
  function judge(limit: number): 'enough' | 'too few' | 'contradictory' {
    const listed = countListed(wholeList, 'seen');
    if (hasNewAfterEnd() || readings.some(({ meta }, at) => (listed[at] ?? 0) > meta.totalCount))
      return 'contradictory';
    const isLast = readings.length >= maxPages;
    if (isWhole('seen') && (isLast || !mayContinue())) return 'enough';
    if (isLast && (isWhole('seen or old') || isProven(limit))) return 'enough';
    // If every page was the same when it was read again, the other links of `totalCount` are on no page.
    return readings.length - 1 - changed >= count() ? 'contradictory' : 'too few';
  }

  /** The number of the page to read next. The page after the last one shows whether `totalPages` is too small. */
  function next(limit: number): number {
    const step = findStep();
    const [newest, oldest] = step === 1 ? [first(), end() - 1] : [end() - 1, first()];
    const part = count() < maxPages ? null : findNewestPart(limit);
    if (part) {
      // The latest request shows the links that were added during the search.
      if (readings.length === maxPages - 1 && hasSamples()) return newest;
      if (step === -1 && mayContinue()) return end();
      const unread = [oldest, ...spreadPages()].find((page) => latestOf(page) === -1);
      if (unread !== undefined) return unread;
    }
    for (let page = newest; page >= first() && page < end(); page += step) if (latestOf(page) < since) return page;
    if (mayContinue() && (isWhole('seen') || isWhole('seen or old'))) return end();
    const hasGrown = (readings[latestOf(newest)]?.meta.totalCount ?? 0) < totals().totalCount;
    if (hasGrown || (readings.length === maxPages - 1 && isWhole('seen or old'))) return newest;
    return [...latest.keys()].find((page) => page < end()) ?? first();
  }

  /** The latest readings of the pages, in the order of the list. */
  function readPages(): readonly Reading[] {
    const pages = [...latest.keys()].filter((page) => page < end()).toSorted((one, other) => one - other);
    return pages.map((page) => readings[latestOf(page)] as Reading);
  }

  const listLinks = (): readonly Link[] => readPages().flatMap(({ links }) => links);

  /** Whether the last page is full, so that only the page after it shows that it is the last one. */
  function mayContinue(): boolean {
    const last = readings[latestOf(end() - 1)];
    return latestOf(end()) === -1 && last !== undefined && last.links.length >= Math.max(last.meta.limit, 1);
  }

  /** Whether a page after the last one had new links. Some services repeat the last page there. */
  function hasNewAfterEnd(): boolean {
    const { links, meta } = readings.at(-1) as Reading;
    return meta.currentPage >= end() && links.some(({ refId }) => known.get(refId)?.first === readings.length - 1);
  }

  /** Whether all pages were read, and every link is known that was listed during the whole search. */
  function isWhole(proof: Proof): boolean {
    const seen = countSeen(wholeList);
    const isCounted = proof === 'seen' ? seen >= totals().totalCount : seen === totals().totalCount;
    const isFitting = readPages().length === count() && listLinks().length <= totals().totalCount;
    return isCounted && isFitting && wasListed(wholeList, proof);
  }

  /** Whether the order of the list shows that every link is known that is newer than `limit`. */
  function isProven(limit: number): boolean {
    const part = findNewestPart(limit);
    return part !== null && hasSamples() && countSeen(part) >= totals().totalCount - part.older;
  }

  /** Counts the known links of a part that are listed now, unless one was removed when another was added. */
  function countSeen({ from }: Part): number {
    let seen = 0;
    for (const { link, last } of known.values()) if (last >= since && timeOf(link) >= from) seen += 1;
    return seen;
  }

  /** Whether every link is known that a part had at the time of one of the readings up to `until`. */
  function wasListed(part: Part, proof: Proof, until = readings.length): boolean {
    const listed = countListed(part, proof);
    return readings.some(({ meta }, at) => at <= until && (listed[at] ?? 0) >= meta.totalCount - part.older);
  }

  /** Counts the known links of a part that were listed at the time of each reading. */
  function countListed({ from }: Part, proof: Proof): readonly number[] {
    const changes: number[] = [];
    for (const { link, first, last } of known.values()) {
      if (timeOf(link) < from) continue;
      const isOldAt = proof === 'seen' ? -1 : readings.findIndex(({ newest }) => latestTime(link) < newest - swappedMs);
      const start = isOldAt === -1 ? first : Math.min(first, isOldAt);
      changes[start] = (changes[start] ?? 0) + 1;
      changes[last + 1] = (changes[last + 1] ?? 0) - 1;
    }
    let listed = 0;
    return readings.map((_, at) => (listed += changes[at] ?? 0));
  }

  /** Whether enough pages were read that the search could leave out; a list shorter than `maxPages` is read whole. */
  function hasSamples(): boolean {
    if (count() < maxPages) return readPages().length === count() && countSeen(wholeList) >= totals().totalCount;
    const step = findStep();
    let newest = 0;
    for (let page = step === 1 ? first() : end() - 1; latestOf(page) !== -1 && newest < count(); page += step)
      newest += 1;
    const unread = count() - readPages().length;
    return 4 * unread < count() || readPages().length >= newest + provenPages;
  }

  /** Finds a page with a link that is older than `limit`, so that every newer link is known and newer than the page. */
  function findNewestPart(limit: number): Part | null {
    const step = findStep();
    const size = Math.max(...readings.map(({ links }) => links.length));
    if (limit === Number.NEGATIVE_INFINITY || !isOrdered(step, size)) return null;
    const sureLimit = limit - findTolerance();
    for (let page = step === 1 ? first() : end() - 1; latestOf(page) >= since; page += step) {
      const at = latestOf(page);
      const { links, meta } = readings[at] as Reading;
      if (!links.some((link) => latestTime(link) < sureLimit)) continue;
      const before = (page - first()) * size;
      const older = step === 1 ? meta.totalCount - before : before + links.length;
      const part = { from: Math.max(...links.map(timeOf)) + 1, older };
      if (wasListed(part, 'seen or old', at)) return part;
    }
    return null;
  }

  /** 1 if the first page seems to have the newest links, -1 if the last page may have them. */
  function findStep(): 1 | -1 {
    const times = listLinks().map(timeOf).filter(Number.isFinite);
    return (times[0] ?? 0) > (times.at(-1) ?? 0) ? 1 : -1;
  }

  /** Whether all pages are full, and the dates of enough links show that the list is in order. */
  function isOrdered(step: 1 | -1, size: number): boolean {
    const isFull = ({ links, meta: { currentPage, totalCount, totalPages } }: Reading) =>
      links.length === Math.min(size, totalCount - (currentPage - first()) * size) &&
      totalPages === Math.ceil(totalCount / size);
    const links = listLinks();
    return readPages().every(isFull) && countTimes(step === 1 ? links : links.toReversed()) >= provenTimes;
  }

  /** How far the order of the list may be wrong, in ms: a date may be as coarse as the coarsest one that is known. */
  function findTolerance(): number {
    return [...known.values()].reduce((most, { link }) => Math.max(most, unitOf(link)), swappedMs);
  }

  /** Pages at uneven distances: a list may consist of parts of equal length that are each in order. */
  function spreadPages(): readonly number[] {
    const parts = Array.from({ length: 3 * maxPages }, (_, index) => ((index + 1) * goldenRatio) % 1);
    return parts.map((part) => first() + Math.floor(part * count()));
  }

  return { add, judge, next, count, end };
}

function isSame(before: Reading | undefined, { links, meta }: Omit<Reading, 'newest'>): boolean {
  const isListed = ({ refId }: Link, index: number) => refId === before?.links[index]?.refId;
  return before?.links.length === links.length && before.meta.totalCount === meta.totalCount && links.every(isListed);
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

/**
 * The latest time at which a link can have been created: its date may lack a part. A whole hour or day of any time zone
 * is a multiple of a quarter of an hour.
 */
export function latestTime(link: Link): number {
  if (link.createdAt === null) return Number.POSITIVE_INFINITY;
  const time = timeOf(link);
  const unit = [60_000, 1_000, 100, 10].find((each) => time % each === 0) ?? 1;
  return time + (time % 900_000 === 0 ? 86_400_000 : unit) - 1;
}

/** The unit of a link's date, in ms: a date may be in whole seconds, minutes, hours or days. */
function unitOf(link: Link): number {
  return [86_400_000, 3_600_000, 60_000, 1_000].find((unit) => timeOf(link) % unit === 0) ?? 1;
}
