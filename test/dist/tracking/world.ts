/** What a run has: a database, the service, the tracker of this process, workers, and what they delivered. */

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process, { execPath } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HostedClient } from 'hosted-client';
import { createTracker, type SqlPool, type Tracker, type TrackerOptions } from 'hosted-client/tracking';
import pg from 'pg';
import { randomFrom } from '../../support/random.ts';
import { freePort } from '../../support/terminal.ts';
import type { Cluster } from '../../tracking/databases.ts';
import { buildVersion, type Version } from './builds.ts';
import { asker } from './database.ts';
import { idsOf, numberOf, stateOf } from './jobs.ts';
import { type PlaceName, places } from './places.ts';
import { type DatabaseProxy, startProxy } from './proxy.ts';
import type { Scenario } from './scenario.ts';
import { startService } from './service.ts';
import {
  type Context,
  createHandler,
  type Delivery,
  openPlace,
  type PlaceOptions,
  untilStored,
  type WorkerPlan,
} from './worker.ts';

/** A place for a worker: who is killed there is replaced. */
export interface Slot {
  readonly at: number;
  version: Version | null;
  child: ChildProcess | null;
  readonly proxy: DatabaseProxy | null;
  readonly port: number;
  /** It is stopped for a good reason. */
  isStopping: boolean;
  /** Its machine has vanished, or fallen silent: it is not replaced. */
  isGone: boolean;
  log: string;
}

export type World = Awaited<ReturnType<typeof openWorld>>;

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const verbose = process.argv.includes('--verbose');

/** Opens the world of a run, in a database of its own. */
export async function openWorld(scenario: Scenario, cluster: Cluster | null, placeName: PlaceName, run: number) {
  const { jobs: jobCount, guard = null, handler = {}, options = {}, versions, haste = 1 } = scenario;
  const random = randomFrom(20_261_122 + run);
  const problems = new Set<string>();
  const closing: (() => unknown)[] = [];
  const ended = new AbortController();
  const sleep = (ms: number) => wait(Math.max(0, ms), undefined, { signal: ended.signal });
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  closing.push(() => rmSync(folder, { recursive: true, force: true }));
  const { failing = 0, delayMs = 0 } = scenario.service ?? {};
  const service = await startService(jobCount, random, failing, delayMs);
  closing.push(service.close);
  const counts = {
    deliveries: 0,
    handed: 0,
    callbacks: 0,
    repeated: 0,
    broken: 0,
    kills: 0,
    deploys: 0,
    deadlocks: 0,
    blocks: 0,
  };

  /** Ends the run before its time. */
  function fail(problem: string): void {
    problems.add(problem);
    ended.abort();
  }

  // The database.
  const base = cluster && (await openBase(cluster, `run_${run}`));
  const place: PlaceOptions = await places[placeName]({
    connectionString: base?.connectionString ?? '',
    pool: base?.pool as SqlPool,
    folder,
    onClose: (close) => closing.unshift(close),
  });
  if (base) closing.push(() => base.pool.end());

  // The tracker of this process.
  const { partnerId, apiKey, origin } = service;
  const client = new HostedClient({
    ...{ partnerId, apiKey, logger: silent, fetch: service.fetch },
    baseUrls: { sandbox: service.mock.sandbox.baseUrl },
  });
  if (scenario.instant) answerAtOnce(client);
  const isAlone = place.folder !== undefined && scenario.workers > 0;
  const trackers: Tracker<Context>[] = [];
  async function openTracker(more: Partial<TrackerOptions> = {}): Promise<Tracker<Context>> {
    const logger = verbose ? console : silent;
    const opened = await createTracker<Context>({ client, ...openPlace(place), logger, ...options, ...more });
    trackers.push(opened);
    return opened;
  }
  const tracker = isAlone || guard ? null : await untilStored(() => openTracker());

  // The database is measured, and not the service.
  function answerAtOnce({ jobs }: HostedClient): void {
    type Status = Awaited<ReturnType<typeof jobs.status>>;
    const ask = jobs.status.bind(jobs);
    const known = new Map<string, Promise<Status>>();
    const answer = async (query: { userId: string; jobId: string }): Promise<Status> => {
      const n = numberOf(query.jobId);
      const isPending = Date.now() < (service.endsAt[n] ?? 0);
      service.requests += 1;
      if (isPending) service.stillPending += 1;
      else service.foundAt[n] ||= Date.now();
      const name = isPending ? 'pending' : stateOf(n);
      const first = known.get(name) ?? ask({ ...query, history: true });
      known.set(name, first);
      const status = await first;
      return { ...status, userId: query.userId, jobId: query.jobId } as Status;
    };
    jobs.status = answer as unknown as typeof jobs.status;
  }

  // The workers.
  const delivered = join(folder, 'delivered');
  const deliveries = openSync(delivered, 'a+');
  closing.push(() => closeSync(deliveries));
  const slots: Slot[] = [];
  const target = base ? Number(new URL(place.connectionString ?? base.connectionString).port) : 0;
  for (let at = 0; at < scenario.workers; at++) {
    const proxy = scenario.proxied?.includes(at) ? await startProxy(target) : null;
    if (proxy) closing.unshift(proxy.close);
    const state = { child: null, isStopping: false, isGone: false, log: '' };
    const version = versions?.[at] ?? null;
    slots.push({ at, version, proxy, port: guard ? await freePort() : 0, ...state });
  }

  async function start(slot: Slot): Promise<void> {
    const { at, proxy, version } = slot;
    const file = version
      ? join(await buildVersion(folder, version, haste), 'worker.mjs')
      : fileURLToPath(new URL('worker.ts', import.meta.url));
    const own = proxy ? { ...place, connectionString: behind(place.connectionString ?? '', target, proxy) } : place;
    const skewMs = guard?.skewsMs[at] ?? 0;
    const plan: WorkerPlan = {
      ...{
        service: { partnerId, apiKey, origin },
        place: own,
        options,
        handler,
        delivered,
        tracks: scenario.tracks?.[at],
      },
      guard: guard ? { port: slot.port, leaseMs: guard.leaseMs, skewMs } : undefined,
    };
    const child = spawn(execPath, ['--expose-gc', file], {
      env: { ...process.env, WORKER_PLAN: JSON.stringify(plan) },
      stdio: ['ignore', 'ignore', verbose ? 'inherit' : 'pipe', 'ipc'],
    });
    slot.child = child;
    child.stderr?.on('data', (chunk) => {
      slot.log = `${slot.log}${chunk}`.slice(-600);
    });
    child.on('exit', (_, signal) => {
      slot.child = null;
      if (ended.signal.aborted || slot.isGone) return;
      if (signal !== 'SIGKILL' && !slot.isStopping) return fail(`a worker ended by itself: ${slot.log}`);
      slot.isStopping = false;
      start(slot).catch((error) => fail(String(error)));
    });
  }

  // What they deliver.
  // Of each job, 16 bytes of the hash of its key: a long run must not grow by what it remembers itself.
  const keys = Buffer.alloc(16 * jobCount);
  const late = { ends: [] as number[], found: 0 };
  let rest = '';
  let lastAt = 0;
  const expectedContext = (n: number) => (guard ? null : scenario.feed.linked ? -1 : n);

  function note({ key, jobId, n: context, outcome, state, at }: Delivery): void {
    counts.deliveries += 1;
    const n = numberOf(jobId);
    if (context !== expectedContext(n)) problems.add('a completion has another context');
    if (outcome !== 'completed' || state !== stateOf(n))
      problems.add(`a completion has no verified status (${outcome})`);
    const known = keys.subarray(16 * n, 16 * n + 16);
    const hash = createHash('sha256').update(key).digest().subarray(0, 16);
    const isKnown = known.some((byte) => byte > 0);
    if (isKnown && !known.equals(hash)) problems.add('a job has two keys');
    if (isKnown) return;
    known.set(hash);
    counts.handed += 1;
    lastAt = performance.now();
    late.ends.push(at - (service.endsAt[n] ?? 0));
    const foundAt = service.foundAt[n];
    if (foundAt) late.found = Math.max(late.found, at - foundAt);
  }

  /** Whether two jobs have one key. */
  function hasTwins(): boolean {
    const each = Array.from({ length: jobCount }, (_, n) => keys.toString('hex', 16 * n, 16 * n + 16));
    return new Set(each.filter((key) => /[^0]/.test(key))).size < counts.handed;
  }

  function readDelivered(): void {
    const chunk = Buffer.alloc(1 << 18);
    for (let length = readSync(deliveries, chunk); length > 0; length = readSync(deliveries, chunk)) {
      const lines = `${rest}${chunk.toString('latin1', 0, length)}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) note(JSON.parse(line));
    }
  }
  const reading = setInterval(readDelivered, 50);
  closing.unshift(() => clearInterval(reading));

  return {
    ...{
      scenario,
      cluster,
      base,
      place,
      service,
      tracker,
      trackers,
      slots,
      counts,
      problems,
      random,
      sleep,
      ended,
      late,
      hasTwins,
    },
    ...{ client, openTracker, folder, ask: base && asker(base.pool) },
    /** When the last job was handed over, in ms of this process. */
    lastAt: () => lastAt,
    /** Whether everything has been fed. */
    isFed: false,
    /** How many jobs have to be handed over. */
    expected: jobCount - (scenario.feed.endless ?? 0) - (scenario.feed.failing ?? 0),
    /** When the feed of the rest began, and how many polls had found a job pending. */
    rest: { at: 0, pending: 0 },
    async startWork(count = scenario.trackers ?? 1): Promise<void> {
      for (const slot of slots) await start(slot);
      if (scenario.workers > 0) return;
      for (let more = 1; more < count; more++) await openTracker();
      for (const one of trackers) await one.onCompletion(createHandler(handler, note));
    },
    /** Kills a worker; it is replaced, unless its machine is gone. */
    kill(slot: Slot, isGone = false): void {
      slot.isGone ||= isGone;
      if (slot.child?.kill('SIGKILL')) counts.kills += 1;
    },
    async readHeap({ child }: Slot): Promise<number> {
      if (!child) return 0;
      const heap = once(child, 'message', { signal: ended.signal });
      child.send('heap');
      return Number((await heap)[0]);
    },
    /** Stops all workers: each must end by itself. */
    async stop(): Promise<void> {
      ended.abort();
      const stopping = slots.map(async ({ child, isGone }) => {
        if (!child) return;
        const exited = once(child, 'exit');
        child.kill(isGone ? 'SIGKILL' : 'SIGTERM');
        await Promise.race([exited, wait(20_000)]);
        if (!isGone && child.exitCode !== 0) problems.add('a worker that was stopped did not end by itself');
      });
      await Promise.all(stopping);
      readDelivered();
    },
    async close(): Promise<void> {
      ended.abort();
      for (const { child } of slots) child?.kill('SIGKILL');
      await wait(100);
      await Promise.all(trackers.map((one) => one.stop()));
      for (const close of closing) await close();
    },
  };
}

async function openBase(cluster: Cluster, name: string) {
  await cluster.pool.query(`create database ${name}`);
  const connectionString = cluster.connectionString.replace(/postgres$/, name);
  const pool = new pg.Pool({ connectionString, max: 10, connectionTimeoutMillis: 20_000 });
  pool.on('error', () => {});
  await pool.query('create extension pg_stat_statements');
  return { connectionString, pool };
}

function behind(connectionString: string, port: number, proxy: DatabaseProxy): string {
  return connectionString.replace(`:${port}/`, `:${proxy.port}/`);
}

/** The jobs of a batch, as they are tracked. */
export function toTrack(numbers: readonly number[], { feed }: Scenario, startedAt: number, jobCount: number) {
  const { contextBytes = 0, failing = 0, deadlinesMs } = feed;
  return numbers.map((n) => ({
    ...idsOf(n),
    context: {
      n,
      ...(n < failing && { fails: true }),
      // Nothing that can be compressed.
      ...(contextBytes > 0 && { more: padOf(n, contextBytes) }),
    },
    ...(deadlinesMs && {
      deadline: new Date(startedAt + deadlinesMs[0] + ((deadlinesMs[1] - deadlinesMs[0]) * n) / jobCount),
    }),
  }));
}

function padOf(seed: number, bytes: number): string {
  const random = randomFrom(seed);
  return Array.from({ length: bytes }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('');
}
