/**
 * Finds a link by what its creator knows of it. Loaded at first use: it is needed after a create that failed.
 *
 * @module
 */

import * as z from 'zod/mini';
import { HostedValidationError } from '../errors/errors.js';
import type { CallOptions } from '../options.js';
import { isRecord } from '../protocol/json.js';
import { check } from '../validation/check.js';
import { callOptions, inputObject, integer, nonBlank } from '../validation/input.js';
import { type FetchedPage, type FirstPage, placePage } from './paging.js';
import type { Link } from './types.js';

/** What the caller searches for, and how pages are fetched. */
export interface Search {
  /** As the caller gave them, copied. */
  readonly query: unknown;
  readonly options: unknown;
  readonly firstPage: FirstPage;
  readonly fetch: (query: () => unknown, options: CallOptions | undefined) => Promise<FetchedPage>;
}

const linkQueryShape = {
  name: z.optional(nonBlank),
  userId: z.optional(nonBlank),
  createdAfter: z.optional(z.custom<Date>(isValidDate, 'must be a valid Date')),
};

const criteria = Object.keys(linkQueryShape);

const linkQuery = inputObject(linkQueryShape).check(
  z.refine((query) => Object.values(query).some((criterion) => criterion !== undefined), {
    error: 'at least one of "name", "userId" and "createdAfter" must be there',
    when: ({ value }) => isRecord(value) && Object.keys(value).every((name) => criteria.includes(name)),
  }),
);

const findOptions = inputObject({ ...callOptions, maxPages: z.optional(integer(1)) });

/**
 * Reads pages from the end where the newest links are, until a link fits.
 *
 * @throws {HostedValidationError} when query or options are invalid.
 */
export async function findLink({ query, options, firstPage, fetch }: Search): Promise<Link | null> {
  const { fits, createdAfter, maxPages, call } = readSearch(query, options);
  const readPage = async (page?: number) =>
    placePage(await fetch(() => ({ page }), call), { page, after: null }, firstPage);

  const { links, meta } = await readPage();
  // The pages that were read, from each end of the list to its middle, and the numbers of those in between.
  const front = [links];
  const back: (readonly Link[])[] = [];
  let low = meta.currentPage + 1;
  let high = meta.currentPage + meta.totalPages - 1;
  let isFromBack = false;
  for (let count = 1; ; count++) {
    const all = [...front, ...back.toReversed()].flat();
    const order = orderOf(all);
    const [latest, newest] = isFromBack ? [back, order !== 'newest first'] : [front, order !== 'oldest first'];
    const found = newest ? newestFirst(latest.at(-1) ?? [], order).find(fits) : undefined;
    if (found) return found;
    const edge = (order === 'oldest first' ? back : front).at(-1) ?? [];
    // Without an order, an old link says nothing about the pages in between.
    const isPast = order !== null && edge.some(({ createdAt }) => isBefore(createdAt, createdAfter));
    if (low > high || count >= maxPages || isPast) return newestFirst(all, order).find(fits) ?? null;
    isFromBack = order === null ? !isFromBack : order === 'oldest first';
    if (isFromBack) back.push((await readPage(high--)).links);
    else front.push((await readPage(low++)).links);
  }
}

/** §4.4 does not say in which order links are listed: null if their dates do not show it. */
type Order = 'newest first' | 'oldest first' | null;

function orderOf(links: readonly Link[]): Order {
  const times = links.flatMap(({ createdAt }) => (createdAt === null ? [] : [createdAt.getTime()]));
  const steps = times.slice(1).map((time, index) => time - (times[index] ?? time));
  const rises = steps.some((step) => step > 0);
  const falls = steps.some((step) => step < 0);
  if (rises === falls) return null;
  return falls ? 'newest first' : 'oldest first';
}

function newestFirst(links: readonly Link[], order: Order): readonly Link[] {
  return order === 'oldest first' ? links.toReversed() : links;
}

function isBefore(createdAt: Date | null, limit: Date | undefined): boolean {
  return createdAt !== null && limit !== undefined && createdAt < limit;
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
  const fits = (link: Link) =>
    (name === undefined || link.name === name) &&
    (userId === undefined || link.userIds.includes(userId)) &&
    (createdAfter === undefined || (link.createdAt !== null && link.createdAt >= createdAfter));
  return { fits, createdAfter, maxPages, call: call as CallOptions };
}

function isValidDate(value: unknown): boolean {
  return value instanceof Date && !Number.isNaN(value.getTime());
}
