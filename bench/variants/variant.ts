/** The interface of all variants, and the variants that only post JSON. */

import { job, partnerId, paths } from '../service/fixtures.ts';

/** A way to call the service. */
export interface Variant {
  /** Whether the variant signs each request, verifies each response, and decodes the full value. */
  readonly isWhole: boolean;
  status(): Promise<unknown>;
  list(): Promise<unknown>;
  pages(walk: Walk): AsyncIterable<{ readonly links: readonly unknown[] }>;
}

/** How to walk pages. */
export interface Walk {
  /** The number of pages to fetch ahead. */
  readonly prefetch: number;
  readonly maxPages: number;
}

/** Creates a variant from a function that posts a body and returns parsed JSON. */
export function postingVariant(post: (path: string, body: object) => Promise<unknown>): Variant {
  const status = { partner_id: partnerId, user_id: job.userId, job_id: job.jobId, history: false, image_links: false };
  const fetchPage = (page?: number) => post(paths.list, { partner_id: partnerId, page }) as Promise<WirePage>;
  return {
    isWhole: false,
    status: () => post(paths.status, status),
    list: () => fetchPage(),
    pages: (walk) => walkPages(fetchPage, walk),
  };
}

interface WirePage {
  readonly links: readonly unknown[];
  readonly meta: { readonly totalPages: number };
}

/** Walks pages in order, and fetches `prefetch` pages ahead. This is the simplest walk with prefetch. */
async function* walkPages(
  fetchPage: (page?: number) => Promise<WirePage>,
  { prefetch, maxPages }: Walk,
): AsyncGenerator<WirePage, void, undefined> {
  let page = await fetchPage();
  const last = Math.min(page.meta.totalPages, maxPages);
  const ahead: Promise<WirePage>[] = [];
  let launched = 1;
  for (let read = 1; ; read++) {
    while (ahead.length < prefetch && launched < last) ahead.push(fetchPage(++launched));
    yield page;
    if (read >= last) return;
    page = await (ahead.shift() ?? fetchPage(++launched));
  }
}
