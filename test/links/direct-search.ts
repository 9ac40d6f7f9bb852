/** Searches in a list without a client, so that a test can make many thousands of them. */

import type { Link } from 'hosted-client';
import { decodePage } from '../../src/links/decode.js';
import { findLink } from '../../src/links/find-link.js';
import type { FetchedPage } from '../../src/links/paging.js';
import type { Pager, WirePage } from './page-service.js';

export interface DirectSearch {
  readonly query: object;
  readonly maxPages: number;
  readonly firstPage: 'auto' | 0 | 1;
}

/** Searches in the list of `pager`, and counts the requests. */
export async function search(pager: Pager, { query, maxPages, firstPage }: DirectSearch) {
  const asked: (number | undefined)[] = [];
  const problems: string[] = [];
  const report = (path: string) => problems.push(path) > 0;
  async function fetch(page: number | undefined): Promise<FetchedPage> {
    asked.push(page);
    const wire = (await pager(page, asked.length - 1)) as WirePage;
    const data = decodePage(wire as never, { report } as never);
    const response = { status: 200, headers: new Headers(), attempts: 1, requestId: null, rawBody: () => '' };
    return { data, response } as unknown as FetchedPage;
  }
  const source = { firstPage: () => firstPage, fetch };
  const found: Link | null | Error = await findLink(query, { maxPages }, source).catch((error: Error) => error);
  if (problems.length > 0) throw new Error(`The drawn pages cannot be read: ${problems.join()}`);
  return { found, asked };
}
