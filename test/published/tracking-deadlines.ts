/**
 * Lets the service fail for a minute while 300 deadlines pass, on PGlite and on PostgreSQL with two workers, with the
 * defaults of all options: all jobs must be handed over with their results. With `--broken`, it instead lets one job
 * fail for ever, and measures for about eleven minutes when this job expires.
 */

import process, { argv, stdout } from 'node:process';
import { HostedClient, type JobRef } from 'hosted-client';
import { createMockService, type MockFault } from 'hosted-client/testing';
import { type Completion, createTracker, type Tracker, type TrackerOptions } from 'hosted-client/tracking';
import { programs, startCluster } from '../tracking/databases.ts';

const jobCount = 300;
const outageMs = 60_000;
/** Until the outage begins, every job is polled at least once. */
const beforeMs = 45_000;
const brokenMs = 900_000;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Place {
  readonly name: string;
  readonly workers: number;
  open(run: number): Pick<TrackerOptions, 'connectionString' | 'folder' | 'schema'>;
}

const serverError: MockFault = { kind: 'status', status: 503 };
const outages: readonly [name: string, fault: MockFault][] = [
  ['server errors', serverError],
  ['broken connections', { kind: 'network' }],
  ['a wrong key', { kind: 'status', status: 401 }],
  ['signatures of another key', { kind: 'bad-signature' }],
];

const cluster = programs === null ? null : await startCluster();
const places: readonly Place[] = [
  { name: 'PGlite', workers: 1, open: () => ({ folder: 'memory://' }) },
  ...(cluster === null
    ? []
    : [
        {
          name: 'PostgreSQL',
          workers: 2,
          open: (run: number) => ({ connectionString: cluster.connectionString, schema: `run_${run}` }),
        },
      ]),
];

try {
  const checks = argv.includes('--broken')
    ? places.flatMap((place) =>
        [true, false].flatMap((isAlone) =>
          [serverError, { kind: 'status', status: 404 } as const].map((fault) => ({ place, isAlone, fault })),
        ),
      )
    : places.flatMap((place) =>
        outages.flatMap(([name, fault]) => [0, outageMs].map((spreadMs) => ({ place, name, fault, spreadMs }))),
      );
  const runs: Promise<boolean>[] = [];
  for (const [run, check] of checks.entries()) {
    // One after another, because the first start of a PGlite takes seconds.
    const world = await openWorld(check.place, run);
    runs.push('isAlone' in check ? breakOne(check, world) : failAll(check, world));
  }
  if ((await Promise.all(runs)).includes(false)) process.exitCode = 1;
} finally {
  await cluster?.close();
}

/** A service, trackers of it that work, and what they handed over. */
async function openWorld({ open, workers }: Place, run: number) {
  const service = createMockService();
  const completions: Completion[] = [];
  const state: { fault: MockFault | null; only: JobRef | null } = { fault: null, only: null };
  const client = new HostedClient({
    ...service.sandbox.clientOptions,
    fetch: (url, init) => {
      const isHit = state.only === null || String(init?.body).includes(state.only.jobId);
      if (state.fault && isHit) service.sandbox.failNext('jobs.status', state.fault);
      return service.fetch(url, init);
    },
  });
  const logger = { debug() {}, info() {}, warn() {}, error() {} };
  const place = open(run);
  const trackers: Tracker[] = [];
  for (let n = 0; n < workers; n++) {
    const tracker = await createTracker({ client, logger, ...place });
    await tracker.onCompletion((completion) => void completions.push(completion));
    trackers.push(tracker);
  }
  const [tracker] = trackers;
  if (!tracker) throw new Error('there is no worker');
  return {
    tracker,
    jobs: service.sandbox.jobs,
    state,
    completions,
    stop: () => Promise.all(trackers.map((one) => one.stop())),
  };
}

type World = Awaited<ReturnType<typeof openWorld>>;

/** `spreadMs` is the time from the first deadline to the last one. The first is the beginning of the outage. */
async function failAll(
  check: { readonly place: Place; readonly name: string; readonly fault: MockFault; readonly spreadMs: number },
  { tracker, jobs, state, completions, stop }: World,
): Promise<boolean> {
  const outageAt = Date.now() + beforeMs;
  const tracked = Array.from({ length: jobCount }, (_, n) => ({
    ...jobs.start(),
    deadline: new Date(outageAt + (check.spreadMs * n) / jobCount),
  }));
  await tracker.track(tracked);
  await sleep(outageAt - Date.now() - 20);
  state.fault = check.fault;
  for (const job of tracked) jobs.complete(job, 'approved');
  await sleep(outageMs);
  let waiting = 0;
  for (const { userId, jobId } of tracked) {
    const job = await tracker.get({ userId, jobId });
    if (job?.state === 'tracking' && job.deadline !== null && job.deadline < new Date()) waiting += 1;
  }
  state.fault = null;
  const overAt = performance.now();
  while (completions.length < jobCount && performance.now() - overAt < 600_000) await sleep(100);
  const lastMs = performance.now() - overAt;
  const completed = new Set(completions.filter(({ outcome }) => outcome === 'completed').map(({ key }) => key)).size;
  await stop();
  stdout.write(
    `${check.place.name}, ${check.name}, deadlines over ${check.spreadMs / 1_000} s: ${completed} of ${jobCount} completed, ${waiting} waited past their deadline, the last ${(lastMs / 1_000).toFixed(1)} s after the outage\n`,
  );
  return completed === jobCount;
}

async function breakOne(
  { place, isAlone, fault }: { readonly place: Place; readonly isAlone: boolean; readonly fault: MockFault },
  { tracker, jobs, state, completions, stop }: World,
): Promise<boolean> {
  const deadlineAt = Date.now() + 10_000;
  const broken = jobs.start();
  await tracker.track({ ...broken, deadline: new Date(deadlineAt) });
  state.fault = fault;
  state.only = broken;
  if (!isAlone) await tracker.track(Array.from({ length: 20 }, () => jobs.start()));
  while (completions.length === 0 && Date.now() < deadlineAt + brokenMs) await sleep(100);
  const tookMs = Date.now() - deadlineAt;
  const end = completions[0];
  const code = end?.outcome === 'expired' ? end.lastError : null;
  const stateAtEnd = await tracker.get(broken);
  await stop();
  // Nothing can tell whether an outage or the only job of a schema is the cause of a server error.
  const isRight = isAlone && fault === serverError ? end === undefined : end?.outcome === 'expired';
  stdout.write(
    `${place.name}, one job that is broken with status ${fault.kind === 'status' ? fault.status : ''}, ${isAlone ? 'alone' : 'among others'}: ${end ? `${end.outcome} (${code}) ${(tookMs / 60_000).toFixed(1)} minutes after its deadline` : `${stateAtEnd?.state} a quarter of an hour after its deadline`}\n`,
  );
  return isRight && completions.length <= 1;
}
