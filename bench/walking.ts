/**
 * What fetching ahead is worth, and what it holds: a walk of 1,000 pages of 100 links, 5 ms away on
 * loopback. Run it with `npm run bench:walking`; a number after it is how many pages to walk.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { HostedClient } from 'hosted-client';

const pages = Number(process.argv[2] ?? 1_000);
const server = fork(new URL('page-server.ts', import.meta.url), [String(pages), '100', '5']);
const [port] = (await once(server, 'message')) as [number];
const client = new HostedClient({
  partnerId: '085',
  apiKey: 'bench-key',
  baseUrls: { sandbox: `http://127.0.0.1:${port}` },
});

await walk({ prefetch: 8, consumerMs: 0, pages: 50 });
const plain = await walk({ prefetch: 0, consumerMs: 0, pages });
const ahead = await walk({ prefetch: 8, consumerMs: 0, pages });
const slowPlain = await walk({ prefetch: 0, consumerMs: 5, pages });
const slowAhead = await walk({ prefetch: 8, consumerMs: 5, pages });
server.disconnect();

console.log(`pages of 100 links, 5 ms away               ${pages}`);
console.log(`one by one                                  ${seconds(plain.ms)}, heap grew ${megabytes(plain.grown)}`);
console.log(`eight ahead                                 ${seconds(ahead.ms)}, heap grew ${megabytes(ahead.grown)}`);
console.log(`eight ahead are faster                      ${(plain.ms / ahead.ms).toFixed(1)} times (aim: 4)`);
console.log(`with a consumer of 5 ms a page, one by one  ${seconds(slowPlain.ms)}`);
console.log(`with a consumer of 5 ms a page, eight ahead ${seconds(slowAhead.ms)}`);
console.log(`eight ahead are faster                      ${(slowPlain.ms / slowAhead.ms).toFixed(1)} times (aim: 2)`);

async function walk({
  prefetch,
  consumerMs,
  pages: maxPages,
}: {
  prefetch: number;
  consumerMs: number;
  pages: number;
}) {
  const startedAt = performance.now();
  let links = 0;
  let count = 0;
  let early = 0;
  let late = 0;
  for await (const page of client.links.list({ prefetch, maxPages }).pages()) {
    links += page.links.length;
    count += 1;
    if (count === Math.ceil(maxPages / 10)) early = heapUsed();
    if (count === maxPages - 10) late = heapUsed();
    if (consumerMs > 0) await pause(consumerMs);
  }
  if (links !== maxPages * 100) throw new Error(`walked ${links} links of ${maxPages * 100}`);
  return { ms: performance.now() - startedAt, grown: late - early };
}

function heapUsed(): number {
  if (!globalThis.gc) throw new Error('run with node --expose-gc');
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MB between its first tenth and its end`;
}
