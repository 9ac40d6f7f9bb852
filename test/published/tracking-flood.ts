/**
 * Floods a tracker with callbacks that carry captured signatures and name invented jobs of a public link, on PGlite and
 * on PostgreSQL, with the defaults of all options. Genuine jobs of the link end meanwhile: each must be handed over at
 * most 5 s later than without a flood, and within the budget. No job that was answered 200 may be forgotten unseen.
 */

import { createHmac } from 'node:crypto';
import { stdout } from 'node:process';
import { HostedClient } from 'hosted-client';
import { createMockService } from 'hosted-client/testing';
import { createTracker } from 'hosted-client/tracking';
import { busiestSecond, endRun, openPlaces, type Place, silent } from './tracker-runs.ts';

/** The default of `maxRequestsPerSecond`. */
const rate = 10;
/** How long a genuine job may take longer than without a flood. */
const maxDelayMs = 5_000;
const genuineJobs = 6;
const everyMs = 5_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Flood {
  readonly name: string;
  /** The signed times that were captured, as text. */
  readonly times: readonly string[];
  /** How many invented jobs each of them names. */
  readonly jobs: number;
}

const dayAgo = Date.now() - 86_400_000;
const floods: readonly Flood[] = [
  { name: 'no flood', times: [], jobs: 0 },
  { name: 'one pair', times: [new Date(dayAgo).toISOString()], jobs: 3_000 },
  {
    name: '1,000 pairs',
    times: Array.from({ length: 1_000 }, (_, n) => new Date(dayAgo + n * 80_000 + 7).toISOString()),
    jobs: 10,
  },
  { name: 'one pair in whole seconds', times: [`${new Date(dayAgo).toISOString().slice(0, 19)}Z`], jobs: 3_000 },
];

interface Outcome {
  readonly delays: readonly number[];
  readonly busiest: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly forgotten: number;
  readonly looks: number;
}

let runs = 0;

/** On PostgreSQL, a process only receives, and two work; in a folder, one does both. */
async function run(place: Place, { times, jobs }: Flood): Promise<Outcome> {
  const service = createMockService();
  const { apiKey = '', partnerId } = service.sandbox.clientOptions;
  const requests: number[] = [];
  const asked = new Set<string>();
  const client = new HostedClient({
    ...service.sandbox.clientOptions,
    logger: silent,
    fetch: async (url, init) => {
      requests.push(performance.now());
      asked.add(String((JSON.parse(String(init?.body)) as { job_id?: unknown }).job_id));
      await sleep(30);
      return service.fetch(url, init);
    },
  });
  const where = place.open(runs++);
  const door = await createTracker({ client, ...where });
  const workers = [door];
  while (place.workers > 1 && workers.length <= place.workers) workers.push(await createTracker({ client, ...where }));
  const handledAt = new Map<string, number>();
  for (const worker of place.workers > 1 ? workers.slice(1) : workers) {
    await worker.onCompletion(({ job }) => {
      if (job) handledAt.set(job.jobId, performance.now());
    });
  }
  const { refId } = await client.links.create({
    companyName: 'Example Partner',
    dataPrivacyPolicyUrl: 'https://partner.example/privacy',
    callbackUrl: 'https://partner.example/callbacks',
  });
  await door.trackLink(refId);
  const handle = door.handler();
  const post = (body: string) => handle(new Request('http://door.test/', { method: 'POST', body }));

  const statuses: Record<string, number> = {};
  const accepted = new Set<string>();
  let isOver = false;

  // All of it as fast as it goes, and then again and again, a hundred a second.
  async function flood(): Promise<void> {
    for (let round = 0; ; round++) {
      for (let n = 0; n < jobs; n++) {
        for (const [at, timestamp] of times.entries()) {
          if (isOver) return;
          const jobId = `invented ${at} ${n}`;
          const signature = createHmac('sha256', apiKey).update(`${timestamp}${partnerId}sid_request`).digest('base64');
          const PartnerParams = { user_id: 'nobody', job_id: jobId, link_id: refId };
          const { status } = await post(JSON.stringify({ ResultCode: '0810', PartnerParams, timestamp, signature }));
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (status === 200) accepted.add(jobId);
          if (round > 0) await sleep(10);
        }
      }
      if (times.length === 0) return;
    }
  }

  const flooding = flood();
  const delays: number[] = [];
  await sleep(1_000);
  for (let n = 0; n < genuineJobs; n++) {
    const job = service.sandbox.jobs.start({ linkRefId: refId });
    service.sandbox.jobs.complete(job, 'approved');
    const body = await (await service.sandbox.jobs.callback(job)).text();
    const postedAt = performance.now();
    while ((await post(body)).status !== 200) await sleep(1_000);
    const isHandled = () => handledAt.has(job.jobId);
    while (!isHandled() && performance.now() < postedAt + 120_000) await sleep(10);
    delays.push((handledAt.get(job.jobId) ?? Number.POSITIVE_INFINITY) - postedAt);
    await sleep(Math.max(0, postedAt + everyMs - performance.now()));
  }
  isOver = true;
  await flooding;
  const stored = await Promise.all(
    [...accepted].map(async (jobId) => asked.has(jobId) || (await door.get({ userId: 'nobody', jobId })) !== null),
  );
  await Promise.all(workers.map((worker) => worker.stop()));
  return {
    delays,
    busiest: busiestSecond(requests),
    statuses,
    forgotten: stored.filter((isThere) => !isThere).length,
    looks: [...asked].filter((jobId) => accepted.has(jobId)).length,
  };
}

const places = await openPlaces();
const problems: string[] = [];
try {
  for (const place of places) {
    let longest = 0;
    for (const flood of floods) {
      const { delays, busiest, statuses, forgotten, looks } = await run(place, flood);
      const slowest = Math.max(...delays);
      const what = `${place.name}, ${flood.name}`;
      stdout.write(
        `${what}: ${delays.length} genuine jobs handed over after ${delays.map((ms) => (ms / 1_000).toFixed(2)).join(', ')} s; ` +
          `busiest second ${busiest} of ${rate}; responses ${JSON.stringify(statuses)}, ${looks} looks, ${forgotten} forgotten\n`,
      );
      if (flood.times.length === 0) longest = slowest;
      if (slowest > longest + maxDelayMs) problems.push(`${what}: a genuine job came more than 5 s later`);
      if (busiest > rate * 1.3) problems.push(`${what}: a second saw more than 1.3 times the budget`);
      if (forgotten > 0) problems.push(`${what}: jobs were forgotten before their first look`);
    }
  }
} finally {
  await Promise.all(places.map((place) => place.close()));
}
endRun(problems);
