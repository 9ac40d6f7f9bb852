/**
 * Finds a link by properties that its creator knows.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/client-errors.js';
import type { CallOptions } from '../options.js';
import { check, inputObject } from '../validation/check.js';
import { callOptions, integer, nonBlank, validDate } from '../validation/input.js';
import { createPageError, type FetchedPage, type PageSource, walkPages } from './paging.js';
import type { Link } from './types.js';

const linkQuery = inputObject({
  name: z.optional(nonBlank),
  userId: z.optional(nonBlank),
  createdAfter: z.optional(validDate()),
}).check(
  z.refine(
    (query) => Object.values(query).some((criterion) => criterion !== undefined),
    'at least one of "name", "userId" and "createdAfter" must be given',
  ),
);

// The list is read at least twice.
const findOptions = inputObject({ ...callOptions, maxPages: z.optional(integer(2)) });

/** How many pages are fetched ahead. */
const prefetch = 4;

/**
 * Reads the whole list until two readings in a row agree: the second one has every link of the first one, and as many
 * links as the list says. A link can escape a reading only if it moves to a page that was already read. It does so if it
 * moves itself, or if another link is removed, and the two readings then differ.
 *
 * @throws {HostedValidationError} when the query or the options are invalid.
 * @throws {HostedResponseError} when the result is not certain.
 */
export async function findLink(query: unknown, options: unknown, source: PageSource): Promise<Link | null> {
  const { criteria, maxPages, call } = readSearch(query, options);
  let left = maxPages;
  let earlier = await readList(Math.floor(maxPages / 2));
  for (;;) {
    if (earlier.pages > left) throw createPageError(earlier.lastPage, 'links', mustBeStable);
    const latest = await readList(left);
    if ([...earlier.links.keys()].every((refId) => latest.links.has(refId))) {
      const { links, fewest, most, lastPage } = latest;
      if (links.size < fewest || links.size > most) throw createPageError(lastPage, 'meta.totalCount', mustBeCounted);
      // If links were added during the reading, the list is read again: it may have passed one of them by.
      if (links.size === most) return findNewest(links, criteria, lastPage);
    }
    earlier = latest;
  }

  function fetchPage(page: number | undefined, each: CallOptions): Promise<FetchedPage> {
    left -= 1;
    return source.fetch(page, each);
  }

  /** @throws {HostedResponseError} when the list has more than `mostPages` pages. */
  async function readList(mostPages: number) {
    const first = await fetchPage(undefined, call);
    assertFewPages(first, mostPages);
    const links = new Map<string, Link>();
    const counts: number[] = [];
    let lastPage = first;
    const pages = walkPages({
      fetch: async (page, each) => (page === undefined ? first : fetchPage(page, each)),
      firstPage: source.firstPage,
      call,
      page: undefined,
      prefetch,
      maxPages: mostPages,
      stop: new AbortController().signal,
    });
    for await (const { fetched, next } of pages) {
      lastPage = fetched;
      counts.push(fetched.data.meta.totalCount);
      for (const link of fetched.data.links) links.set(link.refId, link);
      // The list may have grown since its first page was read.
      if (next !== null && counts.length === mostPages) assertFewPages(fetched, 0);
    }
    // The number of links when the reading began, and the largest number since then.
    const [fewest = 0] = counts;
    return { links, fewest, most: Math.max(...counts), pages: counts.length, lastPage };
  }
}

function assertFewPages(page: FetchedPage, maxPages: number): void {
  const { totalPages } = page.data.meta;
  if (totalPages <= maxPages) return;
  const message = `must be at most half of "maxPages", because the list is read twice: pass a "maxPages" of ${2 * totalPages} or more, or look for the link with links.list()`;
  throw createPageError(page, 'meta.totalPages', message);
}

const mustBeStable =
  'must be the same when the list is read again, but links were added or removed: search again, or pass a larger "maxPages"';
const mustBeCounted =
  'must be the number of links on all pages: otherwise, the link that you look for may be on none of them; search again, or look for it with links.list()';
const mustDiffer =
  'must show which of the links that match is the newest: look at them with links.list(), and choose by other properties';
const mustBeDated =
  'must show whether a link that matches was created before "createdAfter": its date cannot be read, or may be in whole minutes, hours or days; look at it with links.list(), pass an earlier "createdAfter" or, if no other link matches, leave out "createdAfter"';
const mustBeSent =
  'must have the name and the users that you look for: otherwise, a link without them may be the one; look at the newest links with links.list()';

function findNewest(
  links: ReadonlyMap<string, Link>,
  { mayMatch, isMatch, createdAfter }: ReturnType<typeof readSearch>['criteria'],
  lastPage: FetchedPage,
): Link | null {
  const matches = [...links.values()].filter(mayMatch);
  const [newest, ...others] = matches.toSorted((one, other) => timeOf(other) - timeOf(one));
  if (newest === undefined) return null;
  const rivals = others.filter((link) => latestTime(link) >= timeOf(newest));
  const fail = (path: string, message: string) => createPageError(lastPage, path, message, 'shape');
  if (![newest, ...rivals].every(isMatch)) throw fail('links[]', mustBeSent);
  if (rivals.length > 0) throw fail('links[].created_at', mustDiffer);
  // The second that a date may lack is less than the difference between two clocks.
  if (createdAfter - timeOf(newest) >= 1_000) throw fail('links[].created_at', mustBeDated);
  return newest;
}

function timeOf({ createdAt }: Link): number {
  return createdAt?.getTime() ?? Number.NEGATIVE_INFINITY;
}

/**
 * The latest time at which a link can have been created: its date may lack a part. A whole hour or day of any time zone
 * is a multiple of a quarter of an hour.
 */
function latestTime(link: Link): number {
  if (link.createdAt === null) return Number.POSITIVE_INFINITY;
  const time = timeOf(link);
  const unit = [60_000, 1_000, 100, 10].find((each) => time % each === 0) ?? 1;
  return time + (time % 900_000 === 0 ? 86_400_000 : unit) - 1;
}

function readSearch(givenQuery: unknown, givenOptions: unknown) {
  const query = check(linkQuery, givenQuery);
  const options = check(findOptions, givenOptions);
  if (!query.data || !options.data) {
    throw new HostedValidationError([...query.issues, ...options.issues], { operation: 'links.list' });
  }
  const { name, userId, createdAfter: after } = query.data;
  const { maxPages = 1_000, ...call } = options.data;
  const createdAfter = after?.getTime() ?? Number.NEGATIVE_INFINITY;
  const hasName = (link: Link) => name === undefined || link.name === name;
  const hasUser = ({ userIds }: Link) => userId === undefined || userIds.includes(userId);
  const criteria = {
    createdAfter,
    /** Whether a link that may match does match. */
    isMatch: (link: Link) => hasName(link) && hasUser(link),
    /** Whether a link matches, or lacks what would show that it does not. */
    mayMatch: (link: Link) =>
      (hasName(link) || !link.name) && (hasUser(link) || lacksUser(link)) && latestTime(link) >= createdAfter,
  };
  return { criteria, maxPages, call: call as CallOptions };
}

// §2.2: only a single-use link has a user.
function lacksUser({ userIds, isSingleUse }: Link): boolean {
  return userIds.length === 0 && isSingleUse !== false;
}
