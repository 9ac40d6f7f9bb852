/**
 * Finds a link by properties that its creator knows. This module is loaded at first use, because it is only needed
 * after a failed create.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/errors.js';
import type { CallOptions } from '../options.js';
import { isRecord } from '../runtime/untrusted-objects.js';
import { check, inputObject } from '../validation/check.js';
import { callOptions, integer, isValidDate, nonBlank } from '../validation/input.js';
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
 * Reads pages until a link matches, beginning with the pages of the newest links.
 *
 * @throws {HostedValidationError} when the query or the options are invalid.
 * @throws {HostedResponseError} when the pages do not show whether a link matches.
 */
export async function findLink({ query, options, firstPage, fetch }: Search): Promise<Link | null> {
  const { fits, createdAfter, maxPages, call } = readSearch(query, options);
  const hasTime = createdAfter !== undefined;

  const firstFetched = await fetch({ page: undefined }, call);
  const { links, meta } = placePage(firstFetched, { page: undefined, after: null }, firstPage);
  // The pages that were read from the front and the back of the list. `low` to `high` are the numbers of the unread
  // pages.
  const front = [links];
  const back: (readonly Link[])[] = [];
  let low = meta.currentPage + 1;
  let last = meta.currentPage + meta.totalPages - 1;
  let high = last;
  let isMoved = false;
  let isRereading = false;
  let isFromBack = false;
  for (let count = 1; ; count++) {
    const all = [...front, ...back.toReversed()].flat();
    const order = orderOf(all);
    const isOrdered = order === 'newest first' || order === 'oldest first';
    // If links were added or removed during the search, a link that was not read yet may have moved to a page that was
    // already read from the back. So these pages are read again.
    if (low > high && isMoved && order !== 'oldest first') {
      high = last;
      isRereading = true;
    }
    const isOver = low > high;

    const latest = isOrdered ? ((isFromBack ? back : front).at(-1) ?? []) : all;
    const isNewest = isOrdered ? isFromBack === (order === 'oldest first') : hasTime || (order === null && count > 1);
    const found = isNewest ? findNewest(latest, order, fits) : undefined;
    if (found) return found;
    const edge = (order === 'oldest first' ? back : front).at(-1) ?? [];
    // If the list has no order, an old link does not show that the links on unread pages are older.
    const isPast = isOrdered && edge.some(({ createdAt }) => isBefore(createdAt, createdAfter));
    if (isOver || isPast || count >= maxPages) {
      const isGuess = order === 'mixed' && !isOver;
      const newest = findNewest(all, order, fits);
      if (newest && (hasTime || !isGuess)) return newest;
      if (hasTime && all.some((link) => link.createdAt === null && fits(link, 'at any time'))) {
        throw createPageError(firstFetched, 'shape', 'links[].created_at', mustBeDated);
      }
      if (isGuess) throw createPageError(firstFetched, 'paging', 'links', mustBeInOrder);
      return null;
    }

    isFromBack = isOrdered ? order === 'oldest first' : !isRereading && !isFromBack;
    const page = isFromBack ? high-- : low++;
    const placed = placePage(await fetch({ page }, call), { page, after: null }, firstPage);
    (isFromBack ? back : front).push(placed.links);
    isMoved ||= placed.meta.totalCount !== meta.totalCount || placed.meta.totalPages !== meta.totalPages;
    last = meta.currentPage + placed.meta.totalPages - 1;
  }
}

const mustBeDated =
  'must be a date: a link that matches the other criteria has no readable date, so "createdAfter" cannot be checked; look at the link with links.list(); if no other link has this name or user id, you can leave out "createdAfter"';
const mustBeInOrder =
  'must be in the order of their dates, or must fit on "maxPages" pages: otherwise, the link that you look for may be on a page that was not read';

/**
 * The order of a list: §4.4 does not name an order, so the dates of the links decide. Null if the dates show no order.
 */
type Order = 'newest first' | 'oldest first' | 'mixed' | null;

/** Two links that were created within this time, in ms, may be listed in the wrong order. */
const swappedMs = 1_000;

function orderOf(links: readonly Link[]): Order {
  const times = links.flatMap(({ createdAt }) => (createdAt === null ? [] : [createdAt.getTime()]));
  let rise = 0;
  let fall = 0;
  for (let at = 1; at < times.length; at++) {
    const step = (times[at] ?? 0) - (times[at - 1] ?? 0);
    rise = Math.max(rise, step);
    fall = Math.max(fall, -step);
  }
  if (rise === 0 && fall === 0) return null;
  // A step is the time between two neighbouring links. A step against the order is tolerated only up to `swappedMs`,
  // and only up to a tenth of the longest step.
  if (Math.min(rise, fall) > Math.min(swappedMs, Math.max(rise, fall) / 10)) return 'mixed';
  return fall > rise ? 'newest first' : 'oldest first';
}

function findNewest(links: readonly Link[], order: Order, fits: (link: Link) => boolean): Link | undefined {
  const listed = order === 'oldest first' ? links.toReversed() : links;
  let newest: Link | undefined;
  for (const link of listed) if (fits(link) && (!newest || timeOf(link) > timeOf(newest))) newest = link;
  return newest;
}

function timeOf({ createdAt }: Link): number {
  return createdAt?.getTime() ?? Number.NEGATIVE_INFINITY;
}

function isBefore(createdAt: Date | null, limit: Date | undefined): boolean {
  return createdAt !== null && limit !== undefined && createdAt.getTime() < limit.getTime() - swappedMs;
}

// If the service writes whole seconds, the link may have been created up to 999 ms after `createdAt`.
function isAtOrAfter(createdAt: Date, limit: Date): boolean {
  const time = createdAt.getTime();
  return (time % 1_000 === 0 ? time + 999 : time) >= limit.getTime();
}

function readSearch(givenQuery: unknown, givenOptions: unknown) {
  const query = check(linkQuery, givenQuery);
  const options = check(findOptions, givenOptions);
  if (!query.data || !options.data) {
    const issues = [...query.issues, ...options.issues];
    throw new HostedValidationError(issues, { operation: 'links.list', task: 'find a link' });
  }
  const { name, userId, createdAfter } = query.data;
  const { maxPages = 10, ...call } = options.data;
  const fits = (link: Link, when?: 'at any time') =>
    (name === undefined || link.name === name) &&
    (userId === undefined || link.userIds.includes(userId)) &&
    (createdAfter === undefined ||
      when !== undefined ||
      (link.createdAt !== null && isAtOrAfter(link.createdAt, createdAfter)));
  return { fits, createdAfter, maxPages, call: call as CallOptions };
}
