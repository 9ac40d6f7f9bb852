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

const rounds = 21;

type Calls = Readonly<Record<string, () => Promise<unknown>>>;

const utf8 = new TextEncoder();
const inMemory = (body: string): typeof globalThis.fetch => {
  const bytes = utf8.encode(body);
  return async () => new Response(bytes, { headers: { 'content-type': 'application/json' } });
};

const server = fork(new URL('server.ts', import.meta.url));
const [port] = (await once(server, 'message')) as [number];
const remote = `http://127.0.0.1:${port}`;
const local = 'https://sandbox.hosted.test';

const status = await costs(statusCalls(local, inMemory(jobStatus())), 400);
const page = await costs(listCalls(local, inMemory(linkPage(1, 1))), 40);
const remoteStatus = await costs(statusCalls(remote, globalThis.fetch), 150);
server.disconnect();

const kyAlone = status.ky ?? Number.NaN;
const rows: readonly Row[] = [
  {
    what: 'job status, in memory, CPU',
    unit: '× ky alone',
    ours: rounded((status.ours ?? 0) / kyAlone),
    aim: 1.3,
    others: othersIn(status, kyAlone),
    note: `ky alone: ${rounded(kyAlone)} µs`,
  },
  row('job status, loopback, CPU', remoteStatus, 1.4),
  row('list of 100 links, in memory, CPU', page, 1.5),
];
report(rows);

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
  const before = process.cpuUsage();
  for (let count = 0; count < times; count++) await call();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

function row(what: string, found: Readonly<Record<string, number>>, aim: number): Row {
  const bare = found.bare ?? Number.NaN;
  const ours = rounded((found.ours ?? 0) / bare);
  return { what, unit: '× bare fetch', ours, aim, others: othersIn(found, bare), note: `bare: ${rounded(bare)} µs` };
}

function othersIn(found: Readonly<Record<string, number>>, unit: number): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(found)
      .filter(([name]) => name !== 'ours')
      .map(([name, cost]) => [name, rounded(cost / unit)]),
  );
}
