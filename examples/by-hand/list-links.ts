/** Typical hand-written code that lists all links; docs/moving.md lists its mistakes. */

import { post } from './post.ts';

export async function listLinks(): Promise<readonly { ref_id: string }[]> {
  const links = [];
  for (let page = 1; ; page += 1) {
    const answer = await post('hosted_links/list', { page });
    links.push(...answer.links);
    if (page >= answer.meta.totalPages) return links;
  }
}
