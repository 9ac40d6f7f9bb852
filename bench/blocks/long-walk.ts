/** Walks a million links in memory; each turn walks a tenth of them. */

import { createPages } from '../service/fixtures.ts';
import { assertLinks, assertSigned } from '../service/proof.ts';
import { createTarget, type Target } from '../service/target.ts';
import { createVariant } from '../variants/create-variant.ts';
import { type Block, type BlockSettings, measureCalls, measureHeap } from './block.ts';

const totalPages = 10_000;
/** A tenth of all pages. */
const pagesATurn = 1_000;

export async function prepare({ variant: name, dist }: BlockSettings): Promise<Block> {
  const target = createTarget(null);
  const variant = await createVariant(name, dist, servePages(target));
  const walk = (maxPages: number) => variant.pages({ prefetch: 0, maxPages })[Symbol.asyncIterator]();
  const warmUp = walk(500);
  while (!(await warmUp.next()).done);

  const pages = walk(totalPages);
  let read = 0;
  return async () => {
    target.sent.length = 0;
    let links = 0;
    let last: readonly unknown[] = [];
    const { cpu } = await measureCalls(pagesATurn, async () => {
      last = (await pages.next()).value?.links ?? [];
      links += last.length;
    });
    read += pagesATurn;
    if (links !== pagesATurn * 100) throw new Error(`${links} links were walked in ${pagesATurn} pages`);
    assertLinks(last, { page: read, variant });
    if (variant.isWhole) assertSigned(target.sent, pagesATurn);
    last = [];
    // Forced garbage collection makes the engine discard optimized code, so the block forces it only in the turns
    // that measure the heap.
    const isEnd = read === pagesATurn || read === totalPages;
    return isEnd ? { cpu, heap: await measureHeap() } : { cpu };
  };
}

/** Responds to each request with the requested page, in memory. */
function servePages(target: Target): Target {
  const pageOf = createPages({ totalPages });
  const fetch: Target['fetch'] = (input, init) => {
    const { page = 1 } = JSON.parse(String(init?.body)) as { page?: number };
    target.respondWith(pageOf(page));
    return target.fetch(input, init);
  };
  return { ...target, fetch };
}
