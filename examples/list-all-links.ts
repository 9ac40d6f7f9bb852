/** Walks all links with four pages of prefetch, then fetches the first page and the next one. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

let active = 0;
for await (const link of client.links.list({ prefetch: 4 })) {
  if (link.state === 'active') active += 1;
}
console.log(`${active} links are active`);

const page = await client.links.list();
const next = await page.nextPage();
console.log(
  `${page.links.length} of ${page.meta.totalCount} are on the first page, ${next?.links.length ?? 0} on the next`,
);
