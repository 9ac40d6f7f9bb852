/** A service that pages as a test says, a client of it, and what is read of its list. */

import { type HostedClientOptions, HostedResponseError, type Link, type LinkList } from 'hosted-client';
import { createTestClock } from 'hosted-client/testing';
import { expect } from 'vitest';
import { clientOf, deferred } from '../support/fake-fetch.js';
import { createImmediateSigner } from '../support/immediate-signer.js';

/** A page on the wire (docs/protocol.md §2.3, §4.4). */
export interface WirePage {
  readonly links: readonly object[];
  readonly meta: Readonly<Record<'currentPage' | 'limit' | 'totalCount' | 'totalPages', unknown>>;
}

/** Answers a request by the page it asks for, undefined for the first, and by how many came before it. */
export type Pager = (page: number | undefined, before: number) => WirePage | Response | Promise<WirePage | Response>;

/** A service that pages like `pager`, and breaks the connection rather than be asked for ever. */
export function serve(pager: Pager, options: Partial<HostedClientOptions> = {}, mostRequests = 60) {
  const clock = createTestClock();
  let inFlight = 0;
  let mostInFlight = 0;
  const { client, sent } = clientOf(
    async ({ body }, signal) => {
      if (sent.length > mostRequests) throw new TypeError('asked too often');
      inFlight += 1;
      mostInFlight = Math.max(mostInFlight, inFlight);
      const ended = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      try {
        const page = await Promise.race([pager(body.page as number | undefined, sent.length - 1), ended]);
        return page instanceof Response ? page : Response.json(page);
      } finally {
        inFlight -= 1;
      }
    },
    { signer: createImmediateSigner(), clock, maxRetries: 0, ...options } as Partial<HostedClientOptions>,
  );
  return {
    client,
    sent,
    clock,
    /** The pages that were asked for, in order of arrival. */
    asked: () => sent.map(({ body }) => body.page),
    inFlight: () => inFlight,
    mostInFlight: () => mostInFlight,
    /** Lets everything run that does not wait for time or for a response. */
    settle: () => clock.advance(0),
  };
}

export function wireLink(ref: string): object {
  return { link_url: `https://links.hosted.test/${ref}`, ref_id: ref };
}

export function wirePage(refs: readonly string[], currentPage: unknown, totalPages: unknown): WirePage {
  return { links: refs.map(wireLink), meta: { currentPage, limit: 2, totalCount: 6, totalPages } };
}

/** A page of a list whose totals are right. */
export function pageOf(links: readonly object[], page: number, { base = 1, size = 2 } = {}): WirePage {
  return {
    links: links.slice((page - base) * size, (page - base + 1) * size),
    meta: { currentPage: page, limit: size, totalCount: links.length, totalPages: Math.ceil(links.length / size) },
  };
}

/** `count` names of links: a, b, c, … */
export function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => String.fromCharCode(97 + index));
}

/** An honest list of `refs`, two links a page. */
export function book(refs: readonly string[], { base = 1, size = 2 } = {}): Pager {
  return (page = base) => {
    const from = (page - base) * size;
    return wirePage(refs.slice(from, from + size), page, Math.ceil(refs.length / size));
  };
}

/** A list of exactly these pages, the first of which has the number `base`. */
export function shelf(pages: readonly (readonly string[])[], base = 1): Pager {
  return (page = base) => wirePage(pages[page - base] ?? [], page, pages.length);
}

/** Walks to the end, and tells which links came and what error ended it. */
export async function walk(list: LinkList): Promise<{ refs: string[]; error: unknown }> {
  const refs: string[] = [];
  try {
    for await (const link of list) refs.push(link.refId);
    return { refs, error: null };
  } catch (error) {
    return { refs, error };
  }
}

export function refsOf(links: readonly Link[]): string[] {
  return links.map(({ refId }) => refId);
}

export function expectStuck(error: unknown): void {
  expect(error).toBeInstanceOf(HostedResponseError);
  expect(error).toMatchObject({ code: 'response', reason: 'paging', operation: 'links.list', status: 200 });
}

/** Which member shows that the pages do not advance; null where they do. */
export function whereStuck(error: unknown): string | null {
  if (error === null) return null;
  expectStuck(error);
  return (error as HostedResponseError).issues.map(({ path }) => path).join();
}

export const reason = { why: 'the user left' };

/** A list of pages whose responses come when they are let go. */
export function held(pages: readonly (readonly string[])[], base = 1) {
  const gates = pages.map(() => deferred());
  const release = (...numbers: readonly number[]) => {
    for (const number of numbers) gates[number - base]?.resolve();
  };
  const pager: Pager = async (page = base, before) => {
    await gates[page - base]?.promise;
    return shelf(pages, base)(page, before);
  };
  return { pager, release };
}

export const sixPages = [['a'], ['b'], ['c'], ['d'], ['e'], ['f']];

export const noneAndSomeAhead = [0, 1, 4, 16];
