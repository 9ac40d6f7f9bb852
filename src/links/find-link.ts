/**
 * Finds a link by properties that its creator knows.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError, isHostedError } from '../errors/errors.js';
import type { CallOptions } from '../options.js';
import { check, inputObject } from '../validation/check.js';
import { callOptions, integer, nonBlank, validDate } from '../validation/input.js';
import { createKnownPages, latestTime, timeOf } from './known-pages.js';
import { createPageError, type PageSource, placePage } from './paging.js';
import type { Link } from './types.js';

const linkQuery = inputObject({
  name: z.optional(nonBlank),
  userId: z.optional(nonBlank),
  createdAfter: z.optional(validDate),
}).check(
  z.refine(
    (query) => Object.values(query).some((criterion) => criterion !== undefined),
    'at least one of "name", "userId" and "createdAfter" must be given',
  ),
);

const findOptions = inputObject({ ...callOptions, maxPages: z.optional(integer(1)) });

/**
 * Reads pages until it is certain which link is the newest that matches, or that none does.
 *
 * @throws {HostedValidationError} when the query or the options are invalid.
 * @throws {HostedResponseError} when the pages do not show this.
 */
export async function findLink(
  query: unknown,
  options: unknown,
  { firstPage, fetch }: PageSource,
): Promise<Link | null> {
  const { criteria, maxPages, call } = readSearch(query, options);
  const pages = createKnownPages(maxPages);
  const matches = new Map<string, Link>();
  let fetched = await fetch({}, call);
  let { links, meta } = placePage(fetched, { page: undefined, after: null }, firstPage);
  for (let count = 1; ; count++) {
    pages.add(links, meta);
    for (const link of links) if (criteria.mayMatch(link)) matches.set(link.refId, link);
    const newest = findNewest(matches);
    const limit = Math.max(criteria.createdAfter, newest ? timeOf(newest) : Number.NEGATIVE_INFINITY);

    const verdict = pages.judge(limit);
    if (verdict === 'contradictory') throw createPageError(fetched, 'meta.totalCount', mustBeCounted);
    if (verdict === 'enough') {
      const problem = newest && findProblem(newest, matches, criteria);
      if (problem) throw createPageError(fetched, problem.path, problem.message, 'shape');
      return newest;
    }
    if (count >= maxPages) {
      const advice = Number.isFinite(criteria.createdAfter) ? 'a later' : 'a';
      const missing = `must all be read, or be in the order of their dates: the link may be on a page that was not read, or that changed meanwhile; pass ${advice} "createdAfter", or a larger "maxPages" (${2 * pages.count() - 1} if the list does not change)`;
      throw createPageError(fetched, 'links', missing);
    }

    const page = pages.next(limit);
    try {
      fetched = await fetch({ page }, call);
      ({ links, meta } = placePage(fetched, { page, after: null }, firstPage));
    } catch (error) {
      // A service may respond with an error if there is no page after the last one.
      if (page < pages.end() || !hasResponse(error)) throw error;
      [links, meta] = [[], { ...meta, currentPage: page }];
    }
  }
}

/** Whether the service responded, but not with a usable page. */
function hasResponse(error: unknown): boolean {
  return isHostedError(error) && (error.outcome === 'refused' || error.outcome === 'answered');
}

const mustBeCounted =
  'must be the number of links on all pages: otherwise, the link that you look for may be on none of them; search again, or look for it with links.list()';
const mustDiffer =
  'must show which of the links that match is the newest: look at them with links.list(), and choose by other properties';
const mustBeDated =
  'must show whether a link that matches was created before "createdAfter": its date cannot be read, or may be in whole minutes, hours or days; look at it with links.list(), pass an earlier "createdAfter" or, if no other link matches, leave out "createdAfter"';
const mustBeSent =
  'must have the name and the users that you look for: otherwise, a link without them may be the one; look at the newest links with links.list()';

function findNewest(matches: ReadonlyMap<string, Link>): Link | null {
  let newest: Link | null = null;
  for (const link of matches.values()) if (newest === null || timeOf(link) > timeOf(newest)) newest = link;
  return newest;
}

function findProblem(newest: Link, matches: ReadonlyMap<string, Link>, { isMatch, createdAfter }: Criteria) {
  const time = timeOf(newest);
  const others = [...matches.values()].filter((link) => link !== newest && latestTime(link) >= time);
  if (![newest, ...others].every(isMatch)) return { path: 'links[]', message: mustBeSent };
  if (others.length > 0) return { path: 'links[].created_at', message: mustDiffer };
  // The second that a date may lack is less than the difference between two clocks.
  return createdAfter - time >= 1_000 ? { path: 'links[].created_at', message: mustBeDated } : null;
}

interface Criteria {
  readonly createdAfter: number;
  /** Whether a link that may match does match. */
  readonly isMatch: (link: Link) => boolean;
  /** Whether a link matches, or lacks what would show that it does not. */
  readonly mayMatch: (link: Link) => boolean;
}

function readSearch(givenQuery: unknown, givenOptions: unknown) {
  const query = check(linkQuery, givenQuery);
  const options = check(findOptions, givenOptions);
  if (!query.data || !options.data) {
    throw new HostedValidationError([...query.issues, ...options.issues], { operation: 'links.list' });
  }
  const { name, userId, createdAfter: after } = query.data;
  const { maxPages = 10, ...call } = options.data;
  const createdAfter = after?.getTime() ?? Number.NEGATIVE_INFINITY;
  const hasName = (link: Link) => name === undefined || link.name === name;
  const hasUser = ({ userIds }: Link) => userId === undefined || userIds.includes(userId);
  const criteria: Criteria = {
    createdAfter,
    isMatch: (link) => hasName(link) && hasUser(link),
    mayMatch: (link) =>
      (hasName(link) || !link.name) && (hasUser(link) || lacksUser(link)) && latestTime(link) >= createdAfter,
  };
  return { criteria, maxPages, call: call as CallOptions };
}

// §2.2: only a single-use link has a user.
function lacksUser({ userIds, isSingleUse }: Link): boolean {
  return userIds.length === 0 && isSingleUse !== false;
}
