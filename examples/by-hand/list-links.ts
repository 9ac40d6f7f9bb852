/** How all links are usually listed by hand; docs/moving.md says what is wrong with it. */

import { post } from './post.ts';

export async function listLinks(): Promise<readonly { ref_id: string }[]> {
  const links = [];
  for (let page = 1; ; page += 1) {
    const answer = await post('hosted_links/list', { page });
    links.push(...answer.links);
    if (page >= answer.meta.totalPages) return links;
  }
}
