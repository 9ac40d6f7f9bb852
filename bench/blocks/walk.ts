/** Walks pages over loopback, once without and once with prefetched pages. */

import { assertLinks, assertSigned } from '../service/proof.ts';
import { createTarget } from '../service/target.ts';
import { createVariant } from '../variants/create-variant.ts';
import type { Block, BlockSettings } from './block.ts';

export interface WalkSettings {
  /** The URL of the service, which delays each response. */
  readonly url: string;
  /** How many pages to walk with prefetch (`ahead`), and how many without (`oneByOne`). */
  readonly pages: { readonly ahead: number; readonly oneByOne: number };
  readonly prefetch: number;
}

export async function prepare({
  variant: name,
  dist,
  url,
  pages,
  prefetch,
}: WalkSettings & BlockSettings): Promise<Block> {
  const target = createTarget(url);
  const variant = await createVariant(name, dist, target);

  /** Returns the time of one page, in ms. */
  async function walk(window: { prefetch: number; maxPages: number }): Promise<number> {
    target.sent.length = 0;
    const startedAt = performance.now();
    let count = 0;
    let last: readonly unknown[] = [];
    for await (const page of variant.pages(window)) {
      count += page.links.length;
      last = page.links;
    }
    const ms = performance.now() - startedAt;
    if (count !== window.maxPages * 100) throw new Error(`${count} links were walked in ${window.maxPages} pages`);
    assertLinks(last, { page: window.maxPages, variant });
    if (variant.isWhole) assertSigned(target.sent, window.maxPages);
    return ms / window.maxPages;
  }

  await walk({ prefetch, maxPages: 50 });
  return async () => ({
    oneByOne: await walk({ prefetch: 0, maxPages: pages.oneByOne }),
    ahead: await walk({ prefetch, maxPages: pages.ahead }),
  });
}
