/**
 * What a call costs in CPU of the client's process: ours, which signs, verifies and decodes, beside
 * bare fetch and the others, which do not. All take turns in one run. Run it with `npm run bench`.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { HostedClient } from 'hosted-client';
import { peersOver } from './peers/peers.js';
import { median, type Row, report, rounded } from './report.ts';
import { apiKey, job, jobStatus, linkPage, partnerId } from './service.ts';

const rounds = 15;

type Calls = Readonly<Record<string, () => Promise<unknown>>>;

const utf8 = new TextEncoder();
const inMemory = (body: string): typeof globalThis.fetch => {
  const bytes = utf8.encode(body);
  return async () => new Response(bytes, { headers: { 'content-type': 'application/json' } });
};

const local = 'https://sandbox.hosted.test';

/** Each in a process of its own: what hundreds of thousands of answers leave behind slows the next down. */
const parts: Readonly<Record<string, () => Promise<Row>>> = {
  async status() {
    const found = await costs(statusCalls(local, inMemory(jobStatus())), 2_000);
    return row('job status, in memory, CPU', found, { of: 'ky', unit: '× ky alone', aim: 1.3 });
  },
  async loopback() {
    const server = fork(new URL('server.ts', import.meta.url));
    const [port] = (await once(server, 'message')) as [number];
    const found = await costs(statusCalls(`http://127.0.0.1:${port}`, globalThis.fetch), 400);
    server.disconnect();
    return row('job status, loopback, CPU', found, { of: 'bare', unit: '× bare fetch', aim: 1.4 });
  },
  async list() {
    const found = await costs(listCalls(local, inMemory(linkPage(1, 1))), 200);
    return row('list of 100 links, in memory, CPU', found, { of: 'bare', unit: '× bare fetch', aim: 1.5 });
  },
};
const part = parts[process.argv[2] ?? ''];
if (!part) throw new Error(`Say what to measure: ${Object.keys(parts).join(', ')}`);
report([await part()]);

function statusCalls(baseUrl: string, fetch: typeof globalThis.fetch): Calls {
  const client = new HostedClient({ partnerId, apiKey, baseUrls: { sandbox: baseUrl }, fetch });
  const body = { partner_id: partnerId, user_id: job.userId, job_id: job.jobId, history: false, image_links: false };
  return { ours: () => client.jobs.status(job), ...otherCalls(baseUrl, fetch, '/v1/job_status', body) };
}

function listCalls(baseUrl: string, fetch: typeof globalThis.fetch): Calls {
  const client = new HostedClient({ partnerId, apiKey, baseUrls: { sandbox: baseUrl }, fetch });
  return {
    ours: async () => client.links.list(),
    ...otherCalls(baseUrl, fetch, '/v1/hosted/list', { partner_id: partnerId }),
  };
}

function otherCalls(baseUrl: string, fetch: typeof globalThis.fetch, path: string, body: object): Calls {
  const bare = async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    return JSON.parse(await (await fetch(baseUrl + path, init)).text()) as unknown;
  };
  const peers = Object.entries(peersOver(baseUrl, fetch));
  return { bare, ...Object.fromEntries(peers.map(([name, call]) => [name, () => call(path, body)])) };
}

/** Median CPU of one call, in µs, of each: one after the other in every round. */
async function costs(calls: Calls, each: number): Promise<Readonly<Record<string, number>>> {
  const found: Record<string, number[]> = {};
  for (let round = -3; round < rounds; round++) {
    for (const [name, call] of Object.entries(calls)) {
      const cost = await cpuOf(call, each);
      // The first rounds are for the compiler.
      if (round >= 0) found[name] = [...(found[name] ?? []), cost];
    }
  }
  return Object.fromEntries(Object.entries(found).map(([name, values]) => [name, median(values)]));
}

async function cpuOf(call: () => Promise<unknown>, times: number): Promise<number> {
  // What the one before left behind is not this one's to clear away.
  globalThis.gc?.();
  for (let count = 0; count < times / 4; count++) await call();
  const before = process.cpuUsage();
  for (let count = 0; count < times; count++) await call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

/** All of them as multiples of what one of them costs. */
function row(
  what: string,
  found: Readonly<Record<string, number>>,
  { of, unit, aim }: { of: 'bare' | 'ky'; unit: string; aim: number },
): Row {
  const one = found[of] ?? Number.NaN;
  const multiples = Object.entries(found).map(([name, cost]) => [name, rounded(cost / one)] as const);
  const { ours = Number.NaN, ...others } = Object.fromEntries(multiples);
  return { what, unit, ours, aim, others, note: `${of}: ${rounded(one)} µs` };
}
