/** Fetches one page of links, and the next. */

import { HostedClient } from 'hosted-client';

const client = HostedClient.fromEnv();

const page = await client.links.list();
console.log(`${page.meta.totalCount} links on ${page.meta.totalPages} pages`);

const next = await page.nextPage();
console.log(next ? `the next page has ${next.links.length}` : 'there is no other page');
