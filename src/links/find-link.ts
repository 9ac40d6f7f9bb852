/**
 * Finds a link by properties that its creator knows.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/errors.js';
import type { CallOptions } from '../options.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { callOptions, integer, isValidDate, nonBlank } from '../validation/input.js';
import { createKnownPages, latestTime, timeOf } from './known-pages.js';
import { createPageError, type FetchedPage, type FirstPage, placePage } from './paging.js';
import type { Link } from './types.js';

export interface Search {
  /** The caller's values, copied. */
  readonly query: unknown;
  readonly options: unknown;
  readonly firstPage: FirstPage;
  readonly fetch: (query: unknown, options: CallOptions | undefined) => Promise<FetchedPage>;
}

const linkQueryShape = {
  name: z.optional(nonBlank),
  userId: z.optional(nonBlank),
  createdAfter: z.optional(z.custom<Date>(isValidDate, 'must be a valid Date')),
};

const criteria = Object.keys(linkQueryShape);

const linkQuery = inputObject(linkQueryShape).check(
  z.refine((query) => Object.values(query).some((criterion) => criterion !== undefined), {
    error: 'at least one of "name", "userId" and "createdAfter" must be given',
    when: ({ value }) => isRecord(value) && Object.keys(value).every((name) => criteria.includes(name)),
  }),
);

const findOptions = inputObject({ ...callOptions, maxPages: z.optional(integer(1)) });

/**
 * Reads pages until it is certain which link is the newest that matches, or that none does.
 *
 * @throws {HostedValidationError} when the query or the options are invalid.
 * @throws {HostedResponseError} when the pages do not show this.
 */
export async function findLink({ query, options, firstPage, fetch }: Search): Promise<Link | null> {
  const { mayMatch, createdAfter, maxPages, call } = readSearch(query, options);
  const pages = createKnownPages(maxPages);
  const matches = new Map<string, Link>();
  let page: number | undefined;
  for (let count = 1; ; count++) {
    const fetched = await fetch({ page }, call);
    const { links, meta } = placePage(fetched, { page, after: null }, firstPage);
    pages.add(links, meta);
    for (const link of links) if (mayMatch(link)) matches.set(link.refId, link);
    const newest = findNewest(matches);
    const limit = newest ? Math.max(createdAfter, timeOf(newest)) : createdAfter;

    const verdict = pages.judge(limit);
    if (verdict === 'contradictory') throw createPageError(fetched, 'paging', 'meta.totalCount', mustBeCounted);
    if (verdict === 'enough') {
      const problem = newest && findProblem(newest, matches, createdAfter);
      if (problem) throw createPageError(fetched, 'shape', 'links[].created_at', problem);
      return newest;
    }
    if (count >= maxPages) throw createPageError(fetched, 'paging', 'links', describeMissing(pages.count()));
    page = pages.next(limit);
  }
}

const mustBeCounted =
  'must be the number of links on all pages: otherwise, the link that you look for may be on none of them; search again, or look for it with links.list()';
const mustDiffer =
  'must show which of the links that match is the newest: look at them with links.list(), and choose by other properties';
const mustBeDated =
  'must show whether a link that matches the other criteria was created before "createdAfter": its date cannot be read, or is in whole minutes; look at the link with links.list(); you can pass an earlier "createdAfter" or, if no other link has this name or user id, leave out "createdAfter"';

function describeMissing(pageCount: number): string {
  return `must all be read, or show their order by their dates: the link that you look for may be on a page that was not read, or that changed meanwhile; pass a "createdAfter", or a larger "maxPages" (${2 * pageCount - 1} if the list does not change)`;
}

function findNewest(matches: ReadonlyMap<string, Link>): Link | null {
  let newest: Link | null = null;
  for (const link of matches.values()) if (newest === null || timeOf(link) > timeOf(newest)) newest = link;
  return newest;
}

function findProblem(newest: Link, matches: ReadonlyMap<string, Link>, createdAfter: number): string | null {
  const time = timeOf(newest);
  for (const link of matches.values()) if (link !== newest && latestTime(link) >= time) return mustDiffer;
  // The second that a date may lack is less than the difference between two clocks.
  return createdAfter - time >= 1_000 ? mustBeDated : null;
}

function readSearch(givenQuery: unknown, givenOptions: unknown) {
  const query = check(linkQuery, givenQuery);
  const options = check(findOptions, givenOptions);
  if (!query.data || !options.data) {
    const issues = [...query.issues, ...options.issues];
    throw new HostedValidationError(issues, { operation: 'links.list', task: 'find a link' });
  }
  const { name, userId, createdAfter: after } = query.data;
  const { maxPages = 10, ...call } = options.data;
  const createdAfter = after?.getTime() ?? Number.NEGATIVE_INFINITY;
  const mayMatch = (link: Link) =>
    (name === undefined || link.name === name) &&
    (userId === undefined || link.userIds.includes(userId)) &&
    latestTime(link) >= createdAfter;
  return { mayMatch, createdAfter, maxPages, call: call as CallOptions };
}
