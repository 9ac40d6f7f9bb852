/**
 * What fetching ahead is worth, and what it holds: a walk of 1,000 pages of 100 links, 5 ms away on
 * loopback. Run it with `npm run bench:walking`; a number after it is how many pages to walk.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { HostedClient } from 'hosted-client';
import { report, rounded } from './report.ts';
import { apiKey, partnerId } from './service.ts';

const pages = Number(process.argv[2] ?? 1_000);
const server = fork(new URL('server.ts', import.meta.url), ['5', String(pages)]);
const [port] = (await once(server, 'message')) as [number];
const client = new HostedClient({
  partnerId,
  apiKey,
  baseUrls: { sandbox: `http://127.0.0.1:${port}` },
});

await walk({ prefetch: 8, consumerMs: 0, pages: 50 });
const plain = await walk({ prefetch: 0, consumerMs: 0, pages });
const ahead = await walk({ prefetch: 8, consumerMs: 0, pages });
const slowPlain = await walk({ prefetch: 0, consumerMs: 5, pages });
const slowAhead = await walk({ prefetch: 8, consumerMs: 5, pages });
server.disconnect();

report([
  {
    what: `${pages} pages of 100 links, 5 ms away, eight ahead`,
    unit: '× as fast as one by one',
    ours: rounded(plain.ms / ahead.ms),
    aim: 4,
    better: 'higher',
    note: `${seconds(plain.ms)} and ${seconds(ahead.ms)}; heap grew ${megabytes(plain.grown)} and ${megabytes(ahead.grown)}`,
  },
  {
    what: 'the same with a consumer of 5 ms a page',
    unit: '× as fast as one by one',
    ours: rounded(slowPlain.ms / slowAhead.ms),
    aim: 2,
    better: 'higher',
    note: `${seconds(slowPlain.ms)} and ${seconds(slowAhead.ms)}`,
  },
]);

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
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}
