/**
 * What it costs to wait for 10,000 jobs in one process: heap a job, requests in flight, and CPU a
 * poll against a bare `jobs.status` call. The service answers in memory, so that nothing else is
 * measured. Run it with `npm run bench:waiting`.
 */

import { createHmac } from 'node:crypto';
import { HostedClient, type JobRef } from 'hosted-client';
import { median, report, rounded } from './report.ts';

const jobCount = 10_000;
const pollsMeasured = 40_000;
const concurrency = 10;
const rounds = 5;

let inFlight = 0;
let mostInFlight = 0;
let answered = 0;

const client = new HostedClient({
  partnerId: '085',
  apiKey: 'bench-key',
  baseUrls: { sandbox: 'https://sandbox.hosted.test' },
  fetch: async () => {
    inFlight += 1;
    mostInFlight = Math.max(mostInFlight, inFlight);
    await new Promise((resolve) => setImmediate(resolve));
    inFlight -= 1;
    answered += 1;
    const timestamp = new Date().toISOString();
    const signature = createHmac('sha256', 'bench-key').update(`${timestamp}085sid_request`).digest('base64');
    return Response.json({ job_complete: false, signature, timestamp });
  },
});

const jobs = Array.from(
  { length: jobCount },
  (_, index): JobRef => ({ userId: `user-${index}`, jobId: `job-${index}` }),
);
const [first = { userId: 'user', jobId: 'job' }] = jobs;

const heap = await heapPerJob();
mostInFlight = 0;
const bare: number[] = [];
const polled: number[] = [];
for (let round = 0; round < rounds; round++) {
  bare.push(await cpuOf(bareCalls));
  polled.push(await cpuOf(polls));
}
const ratio = median(polled) / median(bare);

report([
  { what: `${jobCount} jobs waiting, heap of one`, unit: 'bytes', ours: Math.round(heap), aim: 1_024 },
  { what: 'most requests in flight', unit: 'requests', ours: mostInFlight, aim: concurrency },
  {
    what: 'a poll, CPU',
    unit: '× a jobs.status call',
    ours: rounded(ratio),
    aim: 1.3,
    note: `${rounded(median(bare))} and ${rounded(median(polled))} µs`,
  },
]);

// Every job has been polled once and holds its last status when the heap is measured.
async function heapPerJob(): Promise<number> {
  const ending = new AbortController();
  await bareCalls(2_000);
  const before = heapUsed();
  const target = answered + jobCount;
  const entries = client.jobs.waitForAll(jobs, {
    concurrency,
    minDelayMs: 600_000,
    maxDelayMs: 600_000,
    deadlineMs: 3_600_000,
    signal: ending.signal,
  });
  const waiting = entries[Symbol.asyncIterator]().next();
  waiting.catch(() => undefined);
  while (answered < target || inFlight > 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const after = heapUsed();
  ending.abort();
  await waiting.catch(() => undefined);
  return (after - before) / jobCount;
}

async function polls(count: number): Promise<void> {
  const ending = new AbortController();
  const target = answered + count;
  const onPoll = () => {
    if (answered >= target) ending.abort();
  };
  const entries = client.jobs.waitForAll(jobs, {
    concurrency,
    minDelayMs: 100,
    maxDelayMs: 100,
    signal: ending.signal,
    onPoll,
  });
  await entries[Symbol.asyncIterator]()
    .next()
    .catch(() => undefined);
  // The service here answers what was aborted as well: that is not the next round's.
  while (inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
}

async function bareCalls(count: number): Promise<void> {
  let left = count;
  const worker = async () => {
    while (left-- > 0) await client.jobs.status(first);
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

async function cpuOf(run: (count: number) => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await run(pollsMeasured / rounds);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (pollsMeasured / rounds);
}

function heapUsed(): number {
  if (!globalThis.gc) throw new Error('run with node --expose-gc');
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed;
}
